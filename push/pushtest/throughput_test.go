package pushtest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

// discard is a receiver that reads what comes, strictly enough to count it, and keeps
// nothing.
type discard struct {
	documents  atomic.Uint64
	checkpoint atomic.Pointer[string]
}

func (d *discard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch _, command, _ := strings.Cut(r.URL.Path, "/papi/4/connectors/web/"); {
	case r.URL.Path == "/documents":
		_, _ = fmt.Fprint(w, d.documents.Load())
	case command == "get_current_session_id":
		_, _ = io.WriteString(w, "1")
	case command == "set_checkpoint":
		value := r.URL.Query().Get("PAPI_checkpoint")
		d.checkpoint.Store(&value)
	case command == "get_checkpoint":
		_, _ = io.WriteString(w, *d.checkpoint.Load())
	case command == "add_documents":
		d.parts(w, r)
	default:
		d.lines(w, r)
	}
}

func (d *discard) parts(w http.ResponseWriter, r *http.Request) {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for parts := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err != nil {
			return
		}
		if strings.HasSuffix(part.FormName(), ":uri") {
			d.documents.Add(1)
		}
	}
}

func (d *discard) lines(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	n := bytes.Count(body, []byte("\n"))
	if err != nil || !bytes.HasSuffix(body, []byte("}\n")) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/_bulk") {
		d.documents.Add(uint64(n)) //nolint:gosec // not negative
		return
	}
	n /= 2
	d.documents.Add(uint64(n)) //nolint:gosec // not negative
	_, _ = io.WriteString(w, `{"errors":false,"items":[`+strings.TrimSuffix(strings.Repeat(`{"index":{"status":201}},`, n), ",")+"]}")
}

func beDiscard(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return http.Serve(l, &discard{}) //nolint:gosec // for a test
}

// endless is an outbox of a number of documents that are made when they are read.
type endless struct {
	count  uint64
	text   string // as it stands in JSON
	cursor atomic.Uint64
}

func (o *endless) Open(context.Context, []string) error { return nil }

func (o *endless) Entries(_ context.Context, after uint64, n, maxBytes int) ([]push.Entry, error) {
	var out []push.Entry
	for size := 0; after < o.count && len(out) < n && size < maxBytes; {
		after++
		address := fmt.Sprintf("http://www.example.com/a/page/%d.html", after)
		body := fmt.Appendf(nil, `{"url":%q,"title":"Page %d","text":"%s","content_type":"text/html","charset":"utf-8","language":"en","fetched_at":"2026-01-02T03:04:05Z","depth":3,"hash":"%032x","metas":{"author":["A"],"keywords":["a","b"]}}`,
			address, after, o.text, after)
		out = append(out, push.Entry{Seq: after, URL: address, Body: body})
		size += len(body)
	}
	return out, nil
}

func (o *endless) Cursor(context.Context, string) (uint64, error) { return o.cursor.Load(), nil }
func (o *endless) Safe(_ context.Context, _ string, seq uint64) error {
	o.cursor.Store(seq)
	return nil
}
func (o *endless) Bury(context.Context, string, push.Entry, string, time.Time) error { return nil }
func (o *endless) Changed() <-chan struct{}                                          { return nil }

// TestThroughput pushes SEXTANT_PUSH documents of 3 KB through the relay and each
// target to a receiver in another process, and prints rate and memory.
func TestThroughput(t *testing.T) {
	n, err := strconv.ParseUint(os.Getenv("SEXTANT_PUSH"), 10, 64)
	if err != nil {
		t.Skip("set SEXTANT_PUSH to a number of documents")
	}
	for name, open := range map[string]func(address string) (push.Target, error){
		"papi": func(address string) (push.Target, error) {
			return papi.New(papi.Settings{Server: wire.Settings{URL: address}, Connector: "web", SyncFirstPoll: time.Millisecond})
		},
		"elasticsearch": func(address string) (push.Target, error) {
			return elastic.New(elastic.Settings{Server: wire.Settings{URL: address}, Index: "web", Limits: wire.Limits{Requests: 2, Count: 250}})
		},
		"webhook": func(address string) (push.Target, error) {
			return webhook.New(webhook.Settings{Server: wire.Settings{URL: address}, Limits: wire.Limits{Requests: 2, Count: 250}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			receiver := &process{t: t, dir: discarding, address: testport.Reserve(t)}
			receiver.start()
			defer receiver.stop()
			target, err := open(receiver.url())
			if err != nil {
				t.Fatal(err)
			}
			measure(t, target, n)
			var arrived uint64
			receiver.read("/documents", url.Values{}, &arrived)
			http.DefaultClient.CloseIdleConnections()
			if arrived != n {
				t.Errorf("%d documents arrived, %d were pushed", arrived, n)
			}
		})
	}
}

func measure(t *testing.T, target push.Target, n uint64) {
	outbox := &endless{count: n, text: strings.Repeat("All words of a page of some length. ", 2500/36)}
	relay, err := push.NewRelay(outbox, []push.TargetSettings{{Target: target}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, stopped := make(chan error, 1), make(chan struct{})
	var early, late int64 // the most memory in the first half and in the second
	go func() {
		defer close(stopped)
		for ctx.Err() == nil {
			if now := anonymous(); outbox.cursor.Load() < n/2 {
				early = max(early, now)
			} else {
				late = max(late, now)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	begun, busy := time.Now(), processorTime()
	go func() { done <- relay.Run(ctx) }()
	if err := relay.Drained(ctx); err != nil {
		t.Error(err)
	}
	took := time.Since(begun)
	cancel()
	<-stopped
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%d documents in %.1f s: %.0f/s; %.0f µs of processor each, the receiver's not counted; RssAnon up to %d MiB in the first half, %d MiB in the second",
		n, took.Seconds(), float64(n)/took.Seconds(), (processorTime()-busy).Seconds()*1e6/float64(n), early>>20, late>>20)
}

// processorTime is what the process has used, 0 where the system does not say.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// anonymous is the process's own memory, in bytes; 0 where the system does not say.
func anonymous() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}
