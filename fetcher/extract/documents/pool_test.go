package documents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// fakeWorker is the argument that makes the test binary a worker whose reader does
// what documents tell it.
const fakeWorker = "fake-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && (os.Args[1] == fakeSupervisor || os.Args[1] == fakeStarter || os.Args[1] == fakeConverter) {
		syscall.Exit(runFake(os.Args[1:])) // without the second that the race detector waits at the end
	}
	if len(os.Args) > 3 && os.Args[1] == fakeWorker {
		timeout, err := time.ParseDuration(os.Args[2])
		if err == nil {
			var memory int64
			if memory, err = strconv.ParseInt(os.Args[3], 10, 64); err == nil {
				err = Restrict(memory)
			}
		}
		if err == nil {
			err = Serve(os.Stdin, os.Stdout, timeout, &fakeReader{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type fakeReader struct {
	read int
	held []byte
}

func (*fakeReader) Prepare(Kind) error { return nil }

// Search looks as the real one does.
func (*fakeReader) Search(ctx context.Context, o *tree.Order, body []byte) (tree.Found, error) {
	return tree.Read(ctx, o, body)
}

// Read obeys the word after {\rtf.
func (f *fakeReader) Read(ctx context.Context, _ Kind, body []byte) (extract.Page, error) {
	f.read++
	word := strings.TrimPrefix(string(body), `{\rtf `)
	switch word {
	case "loop":
		for { //nolint:staticcheck // that is what it must do
		}
	case "exit":
		os.Exit(7)
	case "exit unless new":
		if f.read > 1 {
			os.Exit(7)
		}
	case "panic":
		panic("on purpose")
	case "memory":
		f.held = wantMemory()
	case "noise":
		fmt.Fprint(os.Stdout, "x\x00\x00\x00\x01y")
	case "slow machine":
		time.Sleep(1500 * time.Millisecond)
	case "patient":
		<-ctx.Done()
		return extract.Page{Title: "half"}, nil
	case "empty-handed":
		<-ctx.Done()
		return extract.Page{}, ctx.Err()
	case "locked":
		return extract.Page{}, fmt.Errorf("of page 1: %w", extract.ErrEncrypted)
	case "jail":
		_, open := os.Open("/etc/passwd")
		_, dial := net.Dial("tcp", "127.0.0.1:1") //nolint:noctx // it must fail
		start := exec.Command("/bin/true").Run()  //nolint:noctx // the same
		return extract.Page{Title: fmt.Sprintf("%s %s %t %d", errno(open), errno(dial), start != nil, len(os.Environ()))}, nil
	}
	return extract.Page{Title: word, Text: fmt.Sprint(f.read), Links: []extract.Link{{Href: "/<&>"}}}, nil
}

// wantMemory wants more than it may have. It does so at once: a process that takes it bit by bit ends at whatever asks
// for the last of it, and Go's runtime has no words for all of that.
//
//go:noinline
func wantMemory() []byte { return make([]byte, 8<<30) }

func errno(err error) string {
	if err != nil && strings.Contains(err.Error(), "too many open files") {
		return "refused"
	}
	return fmt.Sprint(err)
}

// patience is that of a machine that is busy, too.
const patience = time.Minute

// fakeWorkers are settings by which a document has so much time: soft says when its
// reader is asked to end, hard when it is killed.
func fakeWorkers(workers int, soft, hard time.Duration) Settings {
	return Settings{
		Command: []string{os.Args[0], fakeWorker, time.Duration(float64(soft) / softTime).String(), strconv.Itoa(256 << 20)},
		Workers: workers, Timeout: hard,
	}
}

func newPool(t *testing.T, s Settings) *Pool {
	t.Helper()
	p := NewPool(s, slog.New(slog.DiscardHandler))
	t.Cleanup(p.Close)
	return p
}

func read(ctx context.Context, p *Pool, word string) (extract.Page, error) {
	return p.Read(ctx, "text/rtf", []byte(`{\rtf `+word))
}

// wantRead wants that the pool reads, whatever came before.
func wantRead(t *testing.T, p *Pool, count string) {
	t.Helper()
	page, err := read(t.Context(), p, "plain")
	if err != nil || page.Title != "plain" || page.Text != count || page.Links[0].Href != "/<&>" {
		t.Errorf("the next document: %+v, %v; want it to be number %s of its worker", page, err, count)
	}
}

func TestHostileDocuments(t *testing.T) {
	tests := []struct {
		word   string
		reason Reason
		next   string // number of the next document in its worker
	}{
		{"loop", TooSlow, "1"},
		{"exit", Crashed, "1"},
		{"memory", OutOfMemory, "1"},
		{"noise", Crashed, "1"},
		{"panic", Crashed, "3"}, // only its goroutine's stack is unwound
		{"locked", Encrypted, "3"},
		{"empty-handed", TooSlow, "3"},
	}
	for _, tt := range tests {
		t.Run(tt.word, func(t *testing.T) {
			soft, hard := patience, patience
			switch tt.word {
			case "loop":
				hard = time.Second
			case "empty-handed":
				soft = time.Second / wallFactor
			}
			p := newPool(t, fakeWorkers(1, soft, patience))
			wantRead(t, p, "1")
			if hard != patience {
				p.reap()
				p.Set(fakeWorkers(1, soft, hard))
			}
			_, err := read(t.Context(), p, tt.word)
			p.Set(fakeWorkers(1, soft, patience))
			failed, ok := errors.AsType[*Error](err)
			if ok && strings.Contains(failed.Words, "ThreadSanitizer") {
				failed.Reason = OutOfMemory // how the race detector says it
			}
			if !ok || failed.Reason != tt.reason {
				t.Errorf("got %v, want the reason %s", err, tt.reason)
			}
			wantRead(t, p, tt.next)
		})
	}
}

func TestOutOfMemory(t *testing.T) {
	for words, want := range map[string]bool{
		"fatal error: runtime: out of memory":                                       true,
		"runtime: failed to create new OS thread (have 9 already; errno=11)":        true,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIG": true,
		"mmap: cannot allocate memory":                                              true,
		"panic: index out of range":                                                 false,
		"pthread_mutex_lock failed: no such":                                        false,
		"":                                                                          false,
	} {
		if outOfMemory(words) != want {
			t.Errorf("%q: not %v", words, want)
		}
	}
}

// TestWorkerThatGrewOld: what ends a worker that has read others is read again.
func TestWorkerThatGrewOld(t *testing.T) {
	p := newPool(t, fakeWorkers(1, patience, patience))
	wantRead(t, p, "1")
	page, err := read(t.Context(), p, "exit unless new")
	if err != nil || page.Text != "1" {
		t.Errorf("got %+v, %v; want it from a new worker", page, err)
	}
	for i := 2; i <= documentsPerWorker; i++ {
		wantRead(t, p, strconv.Itoa(i))
	}
	wantRead(t, p, "1")
}

func TestSoftTime(t *testing.T) {
	p := newPool(t, fakeWorkers(1, time.Second/wallFactor, patience))
	if page, err := read(t.Context(), p, "patient"); err != nil || page.Title != "half" {
		t.Errorf("got %+v, %v; want what was read until then", page, err)
	}
}

// TestSlowMachine: a worker that does not get on has not used the document's time.
func TestSlowMachine(t *testing.T) {
	testneed.File(t, "/proc/self/statm", "linux")
	p := newPool(t, fakeWorkers(1, time.Second, time.Second))
	if page, err := read(t.Context(), p, "slow machine"); err != nil || page.Title != "slow machine" {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestContextEnds(t *testing.T) {
	p := newPool(t, fakeWorkers(1, patience, patience))
	wantRead(t, p, "1")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	for range 3 { // one at work, two that wait for its worker
		all.Go(func() {
			if _, err := read(ctx, p, "loop"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the end of the context", err)
			}
		})
	}
	all.Wait()
	wantRead(t, p, "1")
}

func TestManyAtOnce(t *testing.T) {
	p := newPool(t, fakeWorkers(2, patience, patience))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			word := fmt.Sprintf("document %d", i)
			if page, err := read(t.Context(), p, word); err != nil || page.Title != word {
				t.Errorf("got %+v, %v", page, err)
			}
		})
	}
	all.Wait()
}

func TestClose(t *testing.T) {
	p := newPool(t, fakeWorkers(1, patience, patience))
	ended := make(chan error)
	go func() {
		_, err := read(context.Background(), p, "loop")
		ended <- err
	}()
	for len(p.slots) == 0 { // until it has the worker
		time.Sleep(time.Millisecond)
	}
	go p.close() // Close itself is the test's cleanup
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("got %v, want that the pool is closed", err)
	}
	if _, err := read(t.Context(), p, "plain"); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want that the pool is closed", err)
	}
}

func TestWorkersByNeed(t *testing.T) {
	p := newPool(t, fakeWorkers(2, patience, patience))
	wantRead(t, p, "1")
	wantRead(t, p, "2") // one is enough for one after the other
	p.reap()
	wantRead(t, p, "1")
}

func TestNoWorker(t *testing.T) {
	p := NewPool(Settings{Command: []string{"/nowhere/at/all"}}, slog.New(slog.DiscardHandler))
	t.Cleanup(p.Close)
	_, err := read(t.Context(), p, "plain")
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Reason != Unavailable {
		t.Errorf("got %v, want the reason %s", err, Unavailable)
	}
}

func TestJail(t *testing.T) {
	testneed.File(t, "/proc/self/statm", "linux")
	p := newPool(t, fakeWorkers(1, patience, patience))
	page, err := read(t.Context(), p, "jail")
	if err != nil || page.Title != "refused refused true 0" {
		t.Errorf("files, connections, programs, variables: got %q, %v", page.Title, err)
	}
}

// TestCommand: what the pool starts by default is the command that exists.
func TestCommand(t *testing.T) {
	words, err := Settings{}.withDefaults().command()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(words[1:], " "); got != "read-document --timeout 30s --memory 536870912" {
		t.Errorf("got %q", got)
	}
}
