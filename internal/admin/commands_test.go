package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/scheduler"
)

func TestCommands(t *testing.T) {
	data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t)})
	ctx := t.Context()
	a := dial(t, data, "")
	many := make([]string, 10)
	for i := range many { // more than another request may have
		many[i] = fmt.Sprintf("http://h/%d%s", i, strings.Repeat("x", maxRequestBytes/9))
	}
	refreshed, err := a.Refresh(ctx, Selection{URLs: many, Match: `<Path val="/a"/>`, Full: true})
	if diff := cmp.Diff(crawl.Refreshed{URLs: len(many), Waiting: 1, Excluded: 2}, refreshed); diff != "" || err != nil {
		t.Errorf("Refresh: %v (-want +got):\n%s", err, diff)
	}
	removed, err := a.Remove(ctx, Selection{All: true})
	if diff := cmp.Diff(crawl.Removed{Deletions: 1, Roots: []string{"http://root/"}}, removed); diff != "" || err != nil {
		t.Errorf("Remove: %v (-want +got):\n%s", err, diff)
	}
	if _, err := a.Refresh(ctx, Selection{Match: "<Pat/>"}); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--match:1:1") {
		t.Errorf("a faulty condition: %v", err)
	}
	if err := errors.Join(a.Post(ctx, "/pause", nil, nil, new(struct{})), a.Post(ctx, "/resume", nil, nil, new(struct{}))); err != nil {
		t.Error(err)
	}
	var copied strings.Builder
	if err := a.Backup(ctx, &copied); err != nil || copied.String() != "a backup" {
		t.Errorf("Backup: %q, %v", copied.String(), err)
	}
	if n, err := a.DecideDeletions(ctx, "release", DeletionQuery{URLs: many}); n.Deletions != len(many) || err != nil {
		t.Errorf("Release of %d: %+v, %v", len(many), n, err)
	}
	if n, err := a.DecideDeletions(ctx, "drop", DeletionQuery{All: true}); n != (Decided{Deletions: 10, NewTexts: 1, OfEdits: 1}) || err != nil {
		t.Errorf("DropDeletions of all: %+v, %v", n, err)
	}
}

// TestFailingCommands: what was asked wrongly, what cannot be done, and what failed
// are told apart, and a list that breaks off is no whole one.
func TestFailingCommands(t *testing.T) {
	for _, tt := range []struct{ broken, want error }{
		{fmt.Errorf("%w: http://h/", scheduler.ErrNotFound), ErrDeclined},
		{scheduler.ErrFull, nil},
		{errors.New("of no known kind"), nil},
	} {
		data, _ := serve(t, fakeCrawler{name: "a", store: storeWith(t), broken: tt.broken})
		a := dial(t, data, "")
		_, refreshErr := a.Refresh(t.Context(), Selection{All: true})
		_, removeErr := a.Remove(t.Context(), Selection{All: true})
		_, releaseErr := a.DecideDeletions(t.Context(), "release", DeletionQuery{All: true})
		for what, err := range map[string]error{"refresh": refreshErr, "remove": removeErr, "release": releaseErr} {
			if err == nil || !strings.Contains(err.Error(), tt.broken.Error()) || errors.Is(err, ErrDeclined) != (tt.want != nil) || errors.Is(err, ErrRefused) {
				t.Errorf("%s with %v: %v", what, tt.broken, err)
			}
		}
		if err := a.Post(t.Context(), "/pause", nil, nil, new(struct{})); err == nil {
			t.Error("a failed pause is none")
		}
		if err := a.Backup(t.Context(), io.Discard); err == nil {
			t.Error("half a backup is a whole one")
		}
		if err := Each(t.Context(), a, "/deletions", nil, func(Deletion) error { return nil }); err == nil {
			t.Error("a list that breaks off is none")
		}
	}
}

// TestCommandBodies: bodies that are no command are refused with what is wrong.
func TestCommandBodies(t *testing.T) {
	s := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.DiscardHandler))
	for _, tt := range []struct{ path, body, want string }{
		{"refresh", `{"urls":`, "not a valid command"},
		{"remove", `{"urls":["http://a.test/1"],"forever":null}`, "is null: write a value"},
		{"refresh", `{"url":["http://h/"]}`, `unknown field \"url\"`},
		{"remove", `{"all":"yes"}`, "cannot unmarshal"},
		{"add", `{"urls":[]} {}`, "there is more after"},
		{"deletions/release", `{}`, "name URLs, a host, a reason, an edit, or all"},
		{"deletions/drop", `{"urls":["http://h/"],"all":true}`, "name URLs, a host, a reason, an edit, or all"},
		{"outbox/retry", `{}`, "name URLs, a target, a source, or all"},
		{"outbox/drop", `{"target":"papi","all":true}`, "name URLs, a target, a source, or all"},
	} {
		w := httptest.NewRecorder()
		s.answer(w, ownerRequest(t, tt.path, tt.body))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %.60s: %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
}

// TestCommandsAreLogged: every change says in the log what was asked and done.
func TestCommandsAreLogged(t *testing.T) {
	var log bytes.Buffer
	s := NewServer([]Crawler{fakeCrawler{name: "a", store: storeWith(t)}}, fakeService{}, fakeConfig{}, nil, slog.New(slog.NewTextHandler(&log, nil)))
	for path, body := range map[string]string{
		"refresh": `{"group":"news"}`, "remove": `{"urls":["http://h/1"],"full":true}`, "pause": `{}`, "resume": `{}`,
		"deletions/release": `{"all":true}`, "deletions/drop": `{"urls":["http://h/2"]}`,
		"outbox/retry": `{"target":"papi","source":""}`, "outbox/drop": `{"all":true}`,
	} {
		w := httptest.NewRecorder()
		s.answer(w, ownerRequest(t, path, body))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	who := `who="operator uid 7 (ann) socket" crawler=a `
	for _, want := range []string{
		`msg=change what=refresh ` + who + `target="group \"news\"" urls=0 waiting=1 excluded=2 result=done`,
		`msg=change what=remove ` + who + `target="1 URLs, the first http://h/1, full" urls=1 deletions=1 result=done`,
		`msg=change what=pause ` + who + `result=done`, `msg=change what=resume ` + who + `result=done`,
		`msg=change what="release deletions" ` + who + `target=all count=0 result=done`,
		`msg=change what="drop deletions" ` + who + `target="1 URLs, the first http://h/2" count=11 result=done`,
		`msg=change what="retry dead letters" ` + who + `target="source \"\", target \"papi\"" count=20 result=done`,
		`msg=change what="drop dead letters" ` + who + `target=all count=30 result=done`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s\n%s", want, log.String())
		}
	}
}

// ownerRequest returns a POST as it comes over the Unix socket.
func ownerRequest(t *testing.T, path, body string) *http.Request {
	owner := Caller{Role: Operator, Name: "uid 7 (ann)", Remote: "socket", Socket: true}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), ownerKey{}, owner), http.MethodPost, "/api/v1/"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r
}

// TestCallerHungUp: a request fails when its caller is gone, which is no error of the service.
func TestCallerHungUp(t *testing.T) {
	for _, gone := range []bool{true, false} {
		var log bytes.Buffer
		s := NewServer(nil, fakeService{}, fakeConfig{}, nil, slog.New(slog.NewTextHandler(&log, nil)))
		ctx, hangUp := context.WithCancel(t.Context())
		defer hangUp()
		broken := &route{path: "/broken", answer: func(*call) (any, error) {
			if gone {
				hangUp()
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return nil, errors.New("broken")
		}}
		s.serve(broken, httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/broken", http.NoBody), Caller{Role: Operator})
		if strings.Contains(log.String(), "level=ERROR") == gone {
			t.Errorf("gone %t: %s", gone, &log)
		}
	}
}

// TestBackupIsLogged: it is told who took all that was crawled, or wanted to.
func TestBackupIsLogged(t *testing.T) {
	d := openDoor(t, nil, nil)
	for token, want := range map[string]string{
		d.operator: `level=INFO msg=change what=backup who="operator operator.token 127.0.0.1`,
		d.reader:   `level=WARN msg="change refused" what=backup who="reader reader.token 127.0.0.1`,
	} {
		d.do(t, d.request(t, "GET", "/api/v1/backup", token, ""))
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log has no %s\n%s", want, d.log.String())
		}
	}
}
