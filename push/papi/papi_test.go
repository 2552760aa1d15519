package papi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(t *testing.T, s *server, change func(*Settings)) *Target {
	t.Helper()
	set := Settings{Server: wire.Settings{URL: "http://indexer:10002", Transport: s.serve()}, Connector: "web pages"}
	if change != nil {
		change(&set)
	}
	p, err := New(set)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bubble runs a test against a server of its own, in fake time.
func bubble(t *testing.T, test func(t *testing.T, s *server)) {
	synctest.Test(t, func(t *testing.T) { test(t, newServer(t)) })
}

func docs(first, n int) []push.Entry {
	var es []push.Entry
	for i := range n {
		es = append(es, pushtest.Doc(fmt.Sprintf("http://h/%d", first+i), "text"))
	}
	return pushtest.Numbered(uint64(first), es...)
}

func mustPush(t *testing.T, p *Target, es []push.Entry) {
	t.Helper()
	if refused, err := p.Push(t.Context(), es); err != nil || len(refused) > 0 {
		t.Fatalf("Push: %v, refused %v", err, refused)
	}
}

func mustCheckpoint(t *testing.T, p *Target, seq uint64) {
	t.Helper()
	if err := p.Checkpoint(t.Context(), seq); err != nil {
		t.Fatalf("Checkpoint: %v", err)
	}
}

func (s *server) check(t *testing.T, want ...string) {
	t.Helper()
	s.with(func() {
		if diff := cmp.Diff(want, s.requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		s.requests = nil
	})
}

func TestConformance(t *testing.T) {
	pushtest.TestTarget(t, func(t *testing.T) pushtest.OpenedTarget {
		s := newServer(t)
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		set := Settings{Server: wire.Settings{URL: srv.URL + "/"}, Connector: "web pages"}
		p, err := New(set)
		if err != nil {
			t.Fatal(err)
		}
		return pushtest.OpenedTarget{Target: p, Safe: s.safe, Reopen: func() push.Target {
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			if p, err = New(set); err != nil {
				t.Fatal(err)
			}
			return p
		}}
	})
}

func TestConformanceDeletionsInURL(t *testing.T) {
	pushtest.TestTarget(t, func(t *testing.T) pushtest.OpenedTarget {
		s := newServer(t)
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		p, err := New(Settings{Server: wire.Settings{URL: srv.URL}, Connector: "web pages", DeletionsInURL: true})
		if err != nil {
			t.Fatal(err)
		}
		return pushtest.OpenedTarget{Target: p, Safe: s.safe, Reopen: func() push.Target { return p }}
	})
}

func TestRequests(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		p := target(t, s, nil)
		mustPush(t, p, pushtest.Numbered(1,
			pushtest.Doc("http://h/a", "1"), pushtest.Doc("http://h/b", "1"), pushtest.Del("http://h/a"), pushtest.Del("http://h/c"),
			pushtest.Doc("http://h/a", "2"), pushtest.Doc("http://h/a", "3")))
		mustCheckpoint(t, p, 6)
		s.check(t, "get_current_session_id", "add 2", "delete 2", "add 1", "add 1", "set_checkpoint", "get_checkpoint")
	})
}

func TestDocumentParts(t *testing.T) {
	page := push.Document{
		URL: "http://h/dir/r%C3%A9sum%C3%A9.pdf?x=1", Source: "web", Title: "A \"title\"", Text: "the text",
		ContentType: "application/pdf; version=1", Charset: "ISO-8859-1", Language: "fr", LastModified: "2025-01-02T03:04:05Z", Hash: "ab12",
		Metas: map[string][]string{"author": {"Ann", "Bob"}, "title": {"forged"}, "source": {"forged"}, "we\"ird\r\nname": {"v"}, "none": nil},
	}
	metas := []part{
		{name: "meta:title", value: "A \"title\""},
		{name: "meta:lastmodifieddate", value: "2025-01-02T03:04:05Z"},
		{name: "meta:publicUrl", value: page.URL},
		{name: "meta:language", value: "fr"},
		{name: "meta:file_name", value: "résumé.pdf"},
	}
	rest := []part{
		{name: "meta:source", value: "web"},
		{name: "meta:author", value: "Ann"},
		{name: "meta:author", value: "Bob"},
		{name: "meta:we\"ird name", value: "v"},
	}
	text := []part{
		{name: "part_bytes:master", value: "the text", contentType: "text/plain;charset=UTF-8"},
		{name: "part_directive:master:encoding", value: "UTF-8"},
		{name: "part_directive:master:mimeHint", value: "text/plain"},
	}
	with := func(change func(*push.Document)) push.Document {
		d := page
		change(&d)
		return d
	}
	content := string([]byte{0, 255, '\r', '\n', '-', '-'})
	tests := map[string]struct {
		document push.Document
		settings func(*Settings)
		want     []part
	}{
		"text": {page, nil, slices.Concat([]part{{name: "stamp", value: "ab12"}}, metas, rest, text)},
		"stamped by seq, with a class": {page, func(s *Settings) { s.Stamp, s.Class = StampSeq, "document" }, slices.Concat(
			[]part{{name: "stamp", value: "7"}, {name: "directive:datamodel_class", value: "document"}}, metas, rest, text)},
		"content": {with(func(d *push.Document) { d.Content = []byte(content) }), nil, slices.Concat(
			[]part{{name: "stamp", value: "ab12"}}, metas, []part{{name: "meta:file_size", value: "6"}}, rest, []part{
				{name: "part_bytes:master", value: content, contentType: "application/pdf; version=1"},
				{name: "part_directive:master:encoding", value: "ISO-8859-1"},
				{name: "part_directive:master:filename", value: "résumé.pdf"},
				{name: "part_directive:master:mimeHint", value: "application/pdf"},
			})},
		"hardly anything": {push.Document{URL: "http://h/", Metas: map[string][]string{"title": {"from a meta"}}}, nil, []part{
			{name: "stamp", value: "7"}, {name: "meta:publicUrl", value: "http://h/"}, {name: "meta:title", value: "from a meta"},
			{name: "part_bytes:master", contentType: "text/plain;charset=UTF-8"}, text[1], text[2],
		}},
		"hostile type": {push.Document{URL: "http://h/", Content: []byte("x"), ContentType: "a/b\r\nX: y"}, nil, []part{
			{name: "stamp", value: "7"}, {name: "meta:publicUrl", value: "http://h/"}, {name: "meta:file_size", value: "1"},
			{name: "part_bytes:master", value: "x", contentType: "application/octet-stream"},
			{name: "part_directive:master:mimeHint", value: "application/octet-stream"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *server) {
				p := target(t, s, test.settings)
				e := pushtest.DocumentEntry(test.document)
				e.Seq = 7
				mustPush(t, p, []push.Entry{e})
				got := slices.Clone(s.now[e.URL].parts)
				for i := range got {
					got[i].disposition = ""
				}
				if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(part{})); diff != "" {
					t.Errorf("parts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestBadDocumentIsFound(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		p := target(t, s, nil)
		es := docs(1, 100)
		for _, i := range []int{0, 41, 42, 99} {
			es[i] = pushtest.Doc(fmt.Sprintf("http://h/bad%d", i), "x")
		}
		es[50] = push.Entry{Op: push.Add, URL: "http://h/garbage", Body: []byte(`{"url":`)}
		es = append(es, pushtest.Del("http://h/keep"), pushtest.Del("http://h/1"))
		refused, err := p.Push(t.Context(), pushtest.Numbered(1, es...))
		if err != nil {
			t.Fatal(err)
		}
		words := map[uint64]string{}
		for _, r := range refused {
			words[r.Seq] = r.Words
		}
		want := map[uint64]string{
			1: "cannot take <http://h/bad0>", 42: "cannot take <http://h/bad41>", 43: "cannot take <http://h/bad42>", 100: "cannot take <http://h/bad99>",
			51: "the outbox contains no valid document here: unexpected end of JSON input", 101: "no",
		}
		if diff := cmp.Diff(want, words); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		if len(s.now) != 95 {
			t.Errorf("%d documents were taken, want 95", len(s.now))
		}
	})
}

func TestTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		p := target(t, s, nil)
		s.script = []fault{{status: 413}, {}, {status: 413}, {status: 413, body: "<html><body>Too\nlarge</body></html>"}}
		refused, err := p.Push(t.Context(), docs(1, 4))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]push.Refusal{{Seq: 3, Words: "Too large"}}, refused); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		if len(s.now) != 3 {
			t.Errorf("%d documents were taken, want 3", len(s.now))
		}
	})
}

func TestRestart(t *testing.T) {
	tests := map[string]func(p *Target, ctx context.Context) error{
		"found by add": func(p *Target, ctx context.Context) error { _, err := p.Push(ctx, docs(5, 2)); return err },
		"found by delete": func(p *Target, ctx context.Context) error {
			_, err := p.Push(ctx, pushtest.Numbered(5, pushtest.Del("http://h/1")))
			return err
		},
		"found by the checkpoint": func(p *Target, ctx context.Context) error { return p.Checkpoint(ctx, 4) },
	}
	for name, call := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *server) {
				p := target(t, s, nil)
				mustPush(t, p, docs(1, 2))
				mustCheckpoint(t, p, 2)
				mustPush(t, p, docs(3, 2))
				s.with(s.restart)
				if err := call(p, t.Context()); !errors.Is(err, push.ErrRewind) {
					t.Fatalf("%v, want ErrRewind", err)
				}
				mustPush(t, p, docs(3, 2))
				mustCheckpoint(t, p, 4)
				if n := len(s.safe()); n != 4 {
					t.Errorf("%d documents are safe, want 4", n)
				}
			})
		})
	}
}

// The server restarts between set_checkpoint and the sync.
func TestRestartBeforeSync(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		s.syncTakes = time.Minute
		p := target(t, s, nil)
		mustPush(t, p, docs(1, 2))
		time.AfterFunc(30*time.Second, func() { s.with(s.restart) })
		if err := p.Checkpoint(t.Context(), 2); !errors.Is(err, push.ErrRewind) {
			t.Fatalf("%v, want ErrRewind", err)
		}
		mustPush(t, p, docs(1, 2))
		mustCheckpoint(t, p, 2)
		if n := len(s.safe()); n != 2 {
			t.Errorf("%d documents are safe, want 2", n)
		}
	})
}

// An equal seq that another life of the store made safe is not this one's.
func TestOldCheckpointProvesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		transport := s.serve()
		for range 2 {
			p, err := New(Settings{Server: wire.Settings{URL: "http://indexer", Transport: transport}, Connector: "web pages"})
			if err != nil {
				t.Fatal(err)
			}
			mustPush(t, p, docs(1, 2))
			begun := time.Now()
			mustCheckpoint(t, p, 2)
			if d := time.Since(begun); d < s.syncTakes {
				t.Errorf("safe after %s, before the sync that takes %s", d, s.syncTakes)
			}
			s.with(func() { s.syncTakes = time.Minute })
		}
	})
}

func TestSlowSync(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		s.syncTakes = 25 * time.Minute
		p := target(t, s, nil)
		mustPush(t, p, docs(1, 2))
		for i := range 2 {
			begun := time.Now()
			if err := p.Checkpoint(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "the server has synced") {
				t.Fatalf("checkpoint %d: %v", i, err)
			}
			if d := time.Since(begun); d > 10*time.Minute || d < 9*time.Minute {
				t.Errorf("gave up after %s, want 10 minutes", d)
			}
		}
		mustCheckpoint(t, p, 2) // of the first set_checkpoint
		sets := 0
		gets := 0
		for _, r := range s.requests {
			switch r {
			case "set_checkpoint":
				sets++
			case "get_checkpoint":
				gets++
			}
		}
		if sets != 1 || gets > 1000 {
			t.Errorf("%d set_checkpoint and %d get_checkpoint, want 1 and at most 1000", sets, gets)
		}
	})
}

// A checkpoint that was given up does not cover what was pushed after it.
func TestPushAfterCheckpointGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		s.syncTakes = 25 * time.Minute
		p := target(t, s, nil)
		mustPush(t, p, docs(1, 2))
		if err := p.Checkpoint(t.Context(), 2); err == nil {
			t.Fatal("safe too early")
		}
		mustPush(t, p, docs(1, 3))
		for p.Checkpoint(t.Context(), 2) != nil {
			t.Log("not yet")
		}
		if n := len(s.safe()); n != 3 {
			t.Errorf("%d documents are safe, want 3", n)
		}
	})
}

func TestRetries(t *testing.T) {
	tests := map[string]struct {
		script   []fault
		err      string // "" for success
		min, max time.Duration
		requests []string
	}{
		"500 once": {[]fault{{status: 500}}, "", 250 * time.Millisecond, 500 * time.Millisecond,
			[]string{"get_current_session_id", "add 1"}},
		"500 for good": {slices.Repeat([]fault{{status: 500, body: "<error>out of &lt;memory&gt;</error>"}}, 5),
			`500 Internal Server Error: "out of <memory>"`, 3750 * time.Millisecond, 7500 * time.Millisecond, []string{"get_current_session_id"}},
		"503 with Retry-After": {[]fault{{status: 503, header: "Retry-After: 30"}}, "", 30 * time.Second, 30 * time.Second,
			[]string{"get_current_session_id", "add 1"}},
		"a date in Retry-After": {[]fault{{status: 503, header: "Retry-After: Sat, 01 Jan 2000 00:00:20 GMT"}}, "", 19 * time.Second, 20 * time.Second,
			[]string{"get_current_session_id", "add 1"}},
		"Retry-After of years": {[]fault{{status: 429, header: "Retry-After: 9223372036854775807"}}, "", 0, time.Minute,
			[]string{"get_current_session_id", "add 1"}},
		"Retry-After of nonsense": {[]fault{{status: 503, header: "Retry-After: soon"}}, "", 250 * time.Millisecond, 500 * time.Millisecond,
			[]string{"get_current_session_id", "add 1"}},
		"stall": {[]fault{{stall: time.Hour}}, "", 2 * time.Minute, 2*time.Minute + 500*time.Millisecond,
			[]string{"get_current_session_id", "add 1"}},
		"lost answer": {[]fault{{loseAnswer: true}}, "", 250 * time.Millisecond, 500 * time.Millisecond,
			[]string{"get_current_session_id", "add 1", "add 1"}},
		"401":      {[]fault{{status: 401}}, "check the user and password", 0, 0, []string{"get_current_session_id"}},
		"404":      {[]fault{{status: 404}}, "check url and the names", 0, 0, []string{"get_current_session_id"}},
		"405":      {[]fault{{status: 405}}, "405", 0, 0, []string{"get_current_session_id"}},
		"redirect": {[]fault{{status: 302, header: "Location: /elsewhere"}}, "a redirect", 0, 0, []string{"get_current_session_id"}},
		"garbage":  {[]fault{{status: 400, body: "\x00\xff<<<&&&" + strings.Repeat("\x1b[31m", 100_000)}}, "", 0, 0, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *server) {
				s.script = test.script
				p := target(t, s, nil)
				begun := time.Now()
				refused, err := p.Push(t.Context(), docs(1, 1))
				if (test.err == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.err)) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				if d := time.Since(begun); d < test.min || d > test.max {
					t.Errorf("took %s, want %s to %s", d, test.min, test.max)
				}
				if test.requests != nil {
					s.check(t, test.requests...)
					return
				}
				if len(refused) != 1 || len(refused[0].Words) > 1000 || strings.ContainsAny(refused[0].Words, "\x00\x1b") {
					t.Errorf("refused %+v", refused)
				}
			})
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		s.down = true
		p := target(t, s, nil)
		_, err := p.Push(t.Context(), docs(1, 1))
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("error %v", err)
		}
		time.AfterFunc(time.Second, func() { s.with(func() { s.down = false }) })
		mustPush(t, p, docs(1, 1))
	})
}

func TestNoSession(t *testing.T) {
	for _, body := range []string{"", "-1", "9223372036854775808", "<html>welcome</html>", "12 13", strings.Repeat("1", 1<<20)} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		p, err := New(Settings{Server: wire.Settings{URL: srv.URL}, Connector: "c"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Push(t.Context(), docs(1, 1)); err == nil || !strings.Contains(err.Error(), "is url the address") || len(err.Error()) > 400 {
			t.Errorf("session %.50q: error %.500v", body, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	}
}

func TestBasicAuth(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		s.user = "ann"
		var transport http.RoundTripper
		p := target(t, s, func(set *Settings) {
			set.Server.User, set.Server.Password, transport = "ann", secret.New("secret"), set.Server.Transport
		})
		mustPush(t, p, docs(1, 1))
		p = target(t, s, func(set *Settings) {
			set.Server.User, set.Server.Password, set.Server.Transport = "ann", secret.New("wrong"), transport
		})
		if _, err := p.Push(t.Context(), docs(2, 1)); err == nil || strings.Contains(err.Error(), "wrong") || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte("ann:wrong"))) {
			t.Errorf("error %v", err)
		}
	})
}

// A certificate that nobody trusts is not a matter of trying again.
func TestUntrusted(t *testing.T) {
	s := newServer(t)
	srv := httptest.NewUnstartedServer(s)
	srv.Config.ErrorLog = quiet()
	srv.StartTLS()
	defer srv.Close()
	p, err := New(Settings{Server: wire.Settings{URL: srv.URL, RetryWait: time.Hour, RetryWaitMax: time.Hour}, Connector: "web pages"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Push(t.Context(), docs(1, 1)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}

func TestDeletionsInURLAreCut(t *testing.T) {
	bubble(t, func(t *testing.T, s *server) {
		p := target(t, s, func(set *Settings) { set.DeletionsInURL = true })
		var es []push.Entry
		for i := range 30 {
			es = append(es, pushtest.Del(fmt.Sprintf("http://h/%d/%s", i, strings.Repeat("é", 100))))
		}
		es = append(es, pushtest.Del("http://h/"+strings.Repeat("x", 9000)))
		refused, err := p.Push(t.Context(), pushtest.Numbered(1, es...))
		if err != nil || len(refused) != 1 || refused[0].Seq != 31 {
			t.Errorf("%v, refused %v", err, refused)
		}
		if len(s.requests) < 4 {
			t.Errorf("requests %v", s.requests)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for name, s := range map[string]Settings{
		"no url":       {Connector: "c"},
		"no host":      {Server: wire.Settings{URL: "http://"}, Connector: "c"},
		"no scheme":    {Server: wire.Settings{URL: "indexer:10002"}, Connector: "c"},
		"ftp":          {Server: wire.Settings{URL: "ftp://indexer"}, Connector: "c"},
		"query":        {Server: wire.Settings{URL: "http://indexer/?a"}, Connector: "c"},
		"user":         {Server: wire.Settings{URL: "http://ann:secret@indexer/"}, Connector: "c"},
		"no connector": {Server: wire.Settings{URL: "http://indexer"}},
		"dots":         {Server: wire.Settings{URL: "http://indexer"}, Connector: ".."},
		"control":      {Server: wire.Settings{URL: "http://ind\nexer"}, Connector: "c"},
	} {
		if _, err := New(s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
