package robots_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/robots"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

type noMemory struct{}

func (noMemory) Value(context.Context, scheduler.ValueName) ([]byte, error)  { return nil, nil }
func (noMemory) SetValue(context.Context, scheduler.ValueName, []byte) error { return nil }

// The loop of the package's documentation against a real server.
func TestCrawlersLoop(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		switch r.URL.Path {
		case "/robots.txt":
			http.Redirect(w, r, "/moved/robots.txt", http.StatusMovedPermanently)
		case "/moved/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private")
		}
	}))
	defer s.Close()
	settings := fetcher.DefaultSettings()
	settings.Exempt = []string{s.Listener.Addr().String()}
	f := fetcher.New(settings, slog.New(slog.DiscardHandler))
	defer f.Close()
	cache := robots.NewCache(noMemory{}, robots.Settings{})

	for path, want := range map[string]robots.State{"/a": robots.Allowed, "/private/b": robots.Disallowed} {
		u, err := weburl.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		var v robots.Verdict
		for v.State = robots.NeedsFetch; v.State == robots.NeedsFetch; {
			if v, err = cache.Verdict(t.Context(), "Sextant", u); err != nil {
				t.Fatal(err)
			}
			if v.State == robots.NeedsFetch {
				resp, fetchErr := f.Fetch(t.Context(), v.Request())
				if err := cache.Record(t.Context(), u, resp, fetchErr); err != nil {
					t.Fatal(err)
				}
			}
		}
		if v.State != want {
			t.Errorf("%s: state %d, want %d", path, v.State, want)
		}
	}
	if d := cmp.Diff([]string{"/robots.txt", "/moved/robots.txt"}, asked); d != "" {
		t.Errorf("asked for (-want +got):\n%s", d)
	}
}
