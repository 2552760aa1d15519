package papi

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push/wire"
)

// inventory answers reading commands with what is scripted by command.
func inventory(t *testing.T, answers map[string]string) *Target {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		answer, cut := strings.CutSuffix(answers[command], "CUT")
		if status, ok := strings.CutPrefix(answer, "STATUS "); ok {
			var code int
			_, _ = fmt.Sscan(status, &code)
			w.WriteHeader(code)
			return
		}
		if answer == "" && command == "get_documents_status" {
			for _, uri := range r.URL.Query()["PAPI_uri"] {
				answer += fmt.Sprintf("%s %t s\n", uri, strings.Contains(uri, "here"))
			}
		}
		if _, err := fmt.Fprint(w, answer); err != nil || cut {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	if answers["get_current_session_id"] == "" {
		answers["get_current_session_id"] = "7"
	}
	target, err := New(Settings{Server: wire.Settings{URL: srv.URL, Retries: -1}, Connector: "c"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

func TestEnumerate(t *testing.T) {
	for name, tt := range map[string]struct{ answer, want, err string }{
		"empty":       {"", "", ""},
		"two":         {"http%3A%2F%2Fh%2Fa+b s1\nhttp://h/c \n", "http://h/a b=s1;http://h/c=;", ""},
		"no line end": {"a 1\nb 2", "a=1;b=2;", ""},
		"cut off":     {"a 1\nhttp%3A%2F%2Fh%2FCUT", "a=1;", "reading the response"},
		"garbage":     {"a 1\n\nb 2\n", "a=1;", "not a URI with its stamp"},
		"escape":      {"%zz 1\n", "", "not a URI with its stamp"},
		"long line":   {strings.Repeat("x", maxLine+1), "", "token too long"},
		"refused":     {"STATUS 400", "", "400"},
	} {
		got := ""
		err := inventory(t, map[string]string{"enumerate_synced_entries": tt.answer}).Enumerate(t.Context(), "", func(uri, stamp string) error {
			got += uri + "=" + stamp + ";"
			return nil
		})
		if got != tt.want || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, tt.want, tt.err)
		}
	}
	enough := errors.New("enough")
	target := inventory(t, map[string]string{"enumerate_synced_entries": "a 1\nb 2\n"})
	if err := target.Enumerate(t.Context(), "", func(string, string) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
}

func TestCount(t *testing.T) {
	for answer, want := range map[string]string{"12": "12 <nil>", "x": "not a number", "STATUS 500": "500"} {
		n, err := inventory(t, map[string]string{"count_synced_entries": answer}).Count(t.Context(), "http://h/")
		if got := fmt.Sprint(n, " ", err); !strings.Contains(got, want) {
			t.Errorf("%q: %s", answer, got)
		}
	}
}

func TestPresent(t *testing.T) {
	uris, want := []string{}, map[string]bool{}
	for i := range 300 { // several requests
		uri := fmt.Sprintf("http://h/%d/%s", i, []string{"here", "gone"}[i%2])
		uris, want[uri] = append(uris, uri), i%2 == 0
	}
	got, err := inventory(t, map[string]string{}).Present(t.Context(), uris)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, answer := range []string{"http://h/ true\nhttp://h/ true", "http://other/ true", "http://h/ maybe", "http://h/", "STATUS 400"} {
		if _, err := inventory(t, map[string]string{"get_documents_status": answer}).Present(t.Context(), []string{"http://h/"}); err == nil {
			t.Errorf("%q was understood", answer)
		}
	}
}
