package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// Arguments that make the test binary a supervisor, what starts a converter, or a converter.
const (
	fakeSupervisor = "fake-supervisor"
	fakeStarter    = "fake-starter"
	fakeConverter  = "fake-converter"
)

// runFake returns the main function of those processes.
func runFake(args []string) (status int) {
	verdict := os.NewFile(3, "verdict")
	limits := Limits{}
	if args[0] != fakeConverter { // --memory N -- program
		limits.Memory, _ = strconv.ParseInt(args[2], 10, 64)
	}
	switch args[0] {
	case fakeSupervisor:
		syscall.CloseOnExec(3)
		if Supervise(os.Stdin, verdict, []string{os.Args[0], fakeStarter}, limits, args[4:]) != nil {
			return 1
		}
	case fakeStarter:
		_ = StartConverter(verdict, limits, args[4:])
		return 1
	case fakeConverter:
		return convertAs(args[1:])
	}
	return 0
}

// convertAs does what the document says.
func convertAs(args []string) int {
	from := os.Stdin
	if len(args) > 1 {
		f, err := os.Open(args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		from = f
	}
	body := new(bytes.Buffer)
	_, _ = body.ReadFrom(from)
	word, rest, _ := strings.Cut(body.String(), " ")
	switch word {
	case "fails":
		fmt.Fprintln(os.Stderr, "no such font")
		return 3
	case "crashes":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "hangs":
		forever()
	case "orphan": // it ends what would end it
		_ = os.WriteFile(rest, []byte(strconv.Itoa(os.Getpid())), 0o600)
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL)
		forever()
	case "memory":
		fmt.Print(len(wantMemory()), " bytes are there")
		return 0
	case "endless":
		for {
			fmt.Println("and so on")
		}
	case "file":
		f, err := os.Create("large")
		if err == nil {
			err = f.Truncate(maxConverterFile + 1)
		}
		fmt.Fprintln(os.Stderr, err)
		return 4
	case "child": // it leaves a process in a session of its own, which holds the output
		child := exec.Command(os.Args[0], fakeConverter, "child") //nolint:noctx,gosec // its end is what is tested
		input, err := os.Create("input")
		if err == nil {
			_, err = input.WriteString("hangs")
		}
		if err == nil {
			_, err = input.Seek(0, 0)
		}
		child.Stdin, child.Stdout, child.SysProcAttr = input, os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 5
		}
		_ = os.WriteFile(rest, []byte(strconv.Itoa(child.Process.Pid)+" "+strconv.Itoa(os.Getpid())), 0o600)
		fmt.Print("left one behind")
		return 0
	case "child-hangs":
		if status := convertAs([]string{args[0], rest}); status != 0 {
			return status
		}
		forever()
	case "where":
		dir, _ := os.Getwd()
		names, _ := filepath.Glob("*")
		fmt.Print(dir, " ", os.Getenv("HOME") == dir, os.Getenv("TMPDIR") == dir, names, os.Getenv("SECRET"))
		return 0
	}
	fmt.Printf("%s of %q", args[0], body)
	return 0
}

// converter is one that is a fake, with so much time.
func converter(timeout time.Duration, more ...string) extract.Converter {
	return extract.Converter{
		MediaType: "image/png", Command: append([]string{os.Args[0], fakeConverter, "text"}, more...), Timeout: timeout,
		MaxMemory: 2 << 30, MaxOutput: 1 << 10,
	}
}

func converterPool(t *testing.T) *Pool {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	return newPool(t, Settings{Supervisor: []string{os.Args[0], fakeSupervisor}})
}

// wantNoTraces wants that no folder of a converter is left.
func wantNoTraces(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestConvert(t *testing.T) {
	t.Setenv("SECRET", "open sesame")
	for name, tt := range map[string]struct {
		body   string
		change func(*extract.Converter)
		text   string
		reason Reason
		words  string
	}{
		"its input":    {body: "a  b\n", text: `text of "a b\n"`},
		"a file":       {body: "a b", change: func(c *extract.Converter) { c.Command = append(c.Command, "{file}") }, text: `text of "a b"`},
		"no shell":     {body: "a", change: func(c *extract.Converter) { c.Command[2] = "$HOME;`true`" }, text: "$HOME;`true` of \"a\""},
		"HTML":         {body: "<p>b&amp;c", change: func(c *extract.Converter) { c.HTML, c.Command[2] = true, "<title>a</title>" }, text: `of " b&c"`},
		"a status":     {body: "fails", reason: Failed, words: "ended with status 3: no such font"},
		"a signal":     {body: "crashes", reason: Crashed, words: "ended by the signal killed"},
		"no end":       {body: "hangs", change: func(c *extract.Converter) { c.Timeout = time.Second }, reason: TooSlow, words: "did not end within 1s"},
		"no output":    {body: "x", change: func(c *extract.Converter) { c.Command = []string{"/bin/true"} }},
		"too much":     {body: "endless", text: strings.TrimSpace(strings.Repeat("and so on ", 103)[:1<<10])},
		"not there":    {body: "x", change: func(c *extract.Converter) { c.Command = []string{"/none/ocr"} }, reason: Unavailable, words: "cannot start /none/ocr: no such file or directory"},
		"no program":   {body: "x", change: func(c *extract.Converter) { c.Command = []string{"/etc/passwd"} }, reason: Unavailable, words: "permission denied"},
		"a large body": {body: strings.Repeat("x", 1<<20), text: strings.Repeat("x", 1<<10-9)},
	} {
		t.Run(name, func(t *testing.T) {
			p := converterPool(t)
			c := converter(patience)
			if tt.change != nil {
				tt.change(&c)
			}
			page, err := p.Convert(t.Context(), c, []byte(tt.body))
			failed, _ := errors.AsType[*Error](err)
			switch {
			case tt.reason == "" && err != nil, tt.reason != "" && failed == nil:
				t.Fatalf("got %v", err)
			case failed != nil && (failed.Reason != tt.reason || !strings.Contains(failed.Words, tt.words)):
				t.Errorf("got %v, want %s: %s", err, tt.reason, tt.words)
			case failed == nil && (name == "a large body" && !strings.HasSuffix(page.Text, tt.text) || name != "a large body" && page.Text != tt.text):
				t.Errorf("got %q, want %q", page.Text, tt.text)
			case failed == nil && page.Converter != c.Command[0]:
				t.Errorf("converted by %q", page.Converter)
			}
			if cut := len(page.Metas) > 0; cut != (name == "too much" || name == "a large body") {
				t.Errorf("metas: %v", page.Metas)
			}
			wantNoTraces(t)
		})
	}
}

// TestConverterIsLimited: memory, files, and what a converter sees of its surroundings.
func TestConverterIsLimited(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits are set on Linux")
	}
	t.Setenv("SECRET", "open sesame")
	p := converterPool(t)
	c := converter(patience)
	c.MaxMemory = 512 << 20
	_, err := p.Convert(t.Context(), c, []byte("memory"))
	if failed, ok := errors.AsType[*Error](err); !ok || failed.Reason != OutOfMemory && !strings.Contains(failed.Words, "ThreadSanitizer") {
		t.Errorf("got %v, want the reason %s", err, OutOfMemory)
	}
	_, err = p.Convert(t.Context(), converter(patience), []byte("file"))
	if failed, ok := errors.AsType[*Error](err); !ok || !strings.Contains(failed.Words, "file too large") && failed.Reason != TooLarge {
		t.Errorf("got %v, want that the file is too large", err)
	}
	page, err := p.Convert(t.Context(), converter(patience), []byte("where"))
	if err != nil || !strings.HasSuffix(page.Text, " true true [document]") || !strings.Contains(page.Text, "/sextant-convert-") {
		t.Errorf("got %q, %v", page.Text, err)
	}
	wantNoTraces(t)
}

// TestConvertersChildrenEnd: what a converter leaves behind ends with it, by whatever it ended
// itself, also in a session of its own.
func TestConvertersChildrenEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("such processes are found on Linux")
	}
	for name, end := range map[string]func(*testing.T, *Pool, string){
		"by itself": func(t *testing.T, p *Pool, pids string) {
			if page, err := p.Convert(t.Context(), converter(patience), []byte("child "+pids)); err != nil || page.Text != "left one behind" {
				t.Errorf("got %q, %v", page.Text, err)
			}
		},
		"by the end of the crawl": func(t *testing.T, p *Pool, pids string) {
			c := converter(patience, "{file}")
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				for t.Context().Err() == nil {
					if _, err := os.Stat(pids); err == nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			c.Command[2] = pids
			if _, err := p.Convert(ctx, c, []byte("child-hangs "+filepath.Join(filepath.Dir(pids), "body"))); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want the end of the context", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := converterPool(t)
			dir := t.TempDir()
			pids := filepath.Join(dir, "pids")
			testdir.Write(t, filepath.Join(dir, "body"), "child "+pids)
			end(t, p, pids)
			wantEnded(t, pids)
			wantNoTraces(t)
		})
	}
}

// wantEnded wants that none of the processes in a file is there.
func wantEnded(t *testing.T, file string) {
	t.Helper()
	text := testdir.Read(t, file)
	for word := range strings.FieldsSeq(string(text)) {
		stat, err := os.ReadFile(filepath.Join("/proc", word, "cmdline"))
		if err == nil && strings.Contains(string(stat), fakeConverter) {
			t.Errorf("process %s is there still: %q", word, stat)
		}
	}
}

// TestConverterEndsWithTheCrawler: a supervisor whose crawler was killed ends what it runs.
func TestConverterEndsWithTheCrawler(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("such processes are found on Linux")
	}
	p := converterPool(t)
	pids := filepath.Join(t.TempDir(), "pids")
	words := append(p.settings.Supervisor, append(Limits{Memory: 2 << 30}.arguments(), converter(patience).Command...)...)
	supervisor := exec.Command(words[0], words[1:]...) //nolint:noctx,gosec // ends with its input
	in, err := supervisor.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	results, resultsWriter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	supervisor.ExtraFiles = []*os.File{resultsWriter}
	if err := supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	_ = resultsWriter.Close()
	body := filepath.Join(filepath.Dir(pids), "body")
	testdir.Write(t, body, "child "+pids)
	if err := writeBody(in, []byte("child-hangs "+body)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(pids); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := in.Close(); err != nil { // as the kernel does for a crawler that is gone
		t.Fatal(err)
	}
	if err := supervisor.Wait(); err != nil {
		t.Error(err)
	}
	wantEnded(t, pids)
	wantNoTraces(t)
}

// TestConvertersWaitForEachOther: no more run at once than may, and the end of the pool ends
// those that wait, too.
func TestConvertersWaitForEachOther(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := NewPool(Settings{Supervisor: []string{os.Args[0], fakeSupervisor}}, slog.New(slog.DiscardHandler))
	ended := make(chan error)
	for range 2 {
		go func() {
			_, err := p.Convert(context.Background(), converter(patience), []byte("hangs"))
			ended <- err
		}()
	}
	for len(p.conversions) == 0 {
		time.Sleep(time.Millisecond)
	}
	if cap(p.conversions) != 1 {
		t.Errorf("%d run at once", cap(p.conversions))
	}
	go p.Close()
	for range 2 {
		if err := <-ended; !errors.Is(err, errClosed) {
			t.Errorf("got %v, want that the pool is closed", err)
		}
	}
	p.reap()
}

// TestConverterWithoutSupervisor: a converter that ends what watches it holds nobody up.
func TestConverterWithoutSupervisor(t *testing.T) {
	c, note := converter(patience), filepath.Join(t.TempDir(), "pid")
	c.Timeout = 5 * time.Second // for it to begin on a busy machine
	_, err := converterPool(t).Convert(t.Context(), c, []byte("orphan "+note))
	var e *Error
	if !errors.As(err, &e) || e.Reason != TooSlow {
		t.Errorf("got %v", err)
	}
	written := testdir.Read(t, note)
	pid, err := strconv.Atoi(string(written))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// forever does not return: a plain select would end the process where the runtime finds that
// nothing can wake it.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
