package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// appShell is a page that only its scripts fill.
const appShell = `<html><head><title>App</title><script src=/app.js></script></head><body><div id=app></div></body></html>`

// madeBrowser is a browser of the tests: of each page it makes what its program does.
type madeBrowser struct {
	program func(ctx context.Context, p render.Page) (render.Rendered, error)

	mu    sync.Mutex
	pages []string
}

func (b *madeBrowser) Render(ctx context.Context, p render.Page) (render.Rendered, error) {
	b.mu.Lock()
	b.pages = append(b.pages, p.URL)
	b.mu.Unlock()
	return b.program(ctx, p)
}

// asks makes requests for a page, and tells what came of them.
func asks(ctx context.Context, p render.Page, urls ...string) string {
	var said []string
	for _, u := range urls {
		a, err := p.Fetch(ctx, render.Request{URL: u, Method: http.MethodGet, Kind: "Script", Header: http.Header{"Origin": {hostA}}})
		switch {
		case errors.Is(err, render.ErrRefused):
			said = append(said, "refused")
		case err != nil:
			said = append(said, "failed")
		default:
			said = append(said, fmt.Sprint(a.Status))
		}
	}
	return strings.Join(said, " ")
}

func content(words string) render.Rendered {
	return render.Rendered{HTML: []byte("<title>Made</title><body><p>" + words + `</p><a href="/made">made</a>`)}
}

// rendering has the pages of a world rendered.
func rendering(w *world, how policy.Render, program func(context.Context, render.Page) (render.Rendered, error)) *madeBrowser {
	b := &madeBrowser{program: program}
	w.settings.Renderer = b
	w.settings.Fetches = []policy.Fetch{{Name: "rendered", Fetcher: w.settings.Fetcher, Render: &how,
		Match: func(u weburl.URL) bool { return u.Origin() == hostA }}}
	return b
}

// TestRenderedPages: auto is for pages that only their scripts fill, always for every page; what a browser makes of
// one is read as the page is, and that it did is remembered.
func TestRenderedPages(t *testing.T) {
	for name, c := range map[string]struct {
		how  policy.Render
		want []string
	}{
		"auto":   {policy.Render{}, []string{hostA + "/"}},
		"always": {policy.Render{Always: true, Selector: "#x"}, []string{hostA + "/", hostA + "/made", hostA + "/plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.set(hostA+"/", answered{body: appShell})
				w.page(hostA + "/made")
				w.page(hostA + "/plain")
				b := rendering(w, c.how, func(_ context.Context, p render.Page) (render.Rendered, error) {
					if p.Selector != c.how.Selector || p.Status != http.StatusOK || len(p.Body) == 0 {
						t.Errorf("%s was handed over with %q, status %d, %d bytes", p.URL, p.Selector, p.Status, len(p.Body))
					}
					return content("what the scripts of " + p.URL + " write, which is long enough"), nil
				})
				w.begin()
				w.quiet()
				slices.Sort(b.pages)
				if diff := cmp.Diff(c.want, b.pages); diff != "" {
					t.Error(diff)
				}
				home := w.record(hostA + "/")
				if home.Class != scheduler.OK || home.Directives&scheduler.Rendered == 0 || home.Reason == scheduler.ReasonAppShell {
					t.Errorf("it is %v, %v, %v", home.Class, home.Directives, home.Reason)
				}
				plain := w.record(hostA + "/plain")
				if got := plain.Directives&scheduler.Rendered != 0; got != c.how.Always {
					t.Errorf("the page that was whole already: rendered %t", got)
				}
				u, err := weburl.Parse(hostA)
				if err != nil {
					t.Fatal(err)
				}
				if got := w.crawl.HostPages(u.HostKey()); got == nil || got.Rendered != int64(len(c.want)) || got.RenderFailed+got.Searched+got.Main != 0 {
					t.Errorf("of the host are known %+v", got)
				}
				if got := w.status().Rendered; got == nil || got.Pages != int64(len(c.want)) {
					t.Errorf("the status is %+v", got)
				}
			}, hostA+"/", hostA+"/plain")
		})
	}
}

// TestRenderedRequests: what a page asks for goes the way of the crawler's own requests: robots.txt, log-ins and
// addresses count, and the hosts rest afterwards.
func TestRenderedRequests(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Frontier.Aggressive, w.settings.Frontier.Throttle = false, 10*time.Second
		w.set(hostA+"/", answered{body: appShell})
		w.page(hostA + "/next")
		w.set(hostA+"/robots.txt", answered{body: "User-agent: *\nDisallow: /closed"})
		w.set(hostB+"/robots.txt", answered{body: "User-agent: *\nDisallow: /closed"})
		for _, u := range []string{hostA + "/app.js", hostB + "/lib.js", hostC + "/api"} {
			w.set(u, answered{body: "x"})
		}
		const private = "http://10.1.2.3/"
		w.set(private, answered{body: "secret"})
		var said string
		var ended time.Time
		rendering(w, policy.Render{}, func(ctx context.Context, p render.Page) (render.Rendered, error) {
			own := slices.Repeat([]string{hostA + "/app.js"}, 7)
			said = asks(ctx, p, append(own, hostA+"/closed", hostB+"/lib.js", hostB+"/closed", hostC+"/api", private, "http://127.0.0.1/", "http://[", hostB+"/none")...)
			ended = time.Now()
			a, err := p.Fetch(ctx, render.Request{URL: hostB + "/lib.js", Method: http.MethodPost, Kind: "Fetch", Header: http.Header{}, Body: []byte("posted")})
			if err != nil || string(a.Body) != "posted" {
				t.Errorf("what is posted gives %q, %v", a.Body, err)
			}
			return content("what the scripts write"), nil
		})
		w.settings.Fetches = append(w.settings.Fetches, policy.Fetch{Name: "other", Fetcher: w.settings.Fetcher,
			Match: func(u weburl.URL) bool { return u.Origin() == hostC }, Login: nil})
		w.settings.Fetches[1].Fetcher.Header = http.Header{"X-Key": {"secret"}}
		w.begin()
		w.quiet()
		want := strings.Repeat("200 ", 7) + "refused 200 refused refused refused refused refused 404"
		if said != want {
			t.Errorf("the requests came to\n%s, want\n%s", said, want)
		}
		for _, not := range []string{hostA + "/closed", hostB + "/closed", hostC + "/api", private, "http://127.0.0.1/"} {
			if n := w.hits(not); n > 0 {
				t.Errorf("%s was asked for %d times", not, n)
			}
		}
		if n := w.hits(hostA + "/app.js"); n != 7 {
			t.Errorf("its own script was asked for %d times", n)
		}
		// Eight requests of the page and one of its own: the next page comes after two pauses.
		if next := w.record(hostA + "/next"); next.FetchedAt.Sub(ended).Round(time.Second) != 20*time.Second {
			t.Errorf("the host rested for %v", next.FetchedAt.Sub(ended))
		}
	}, hostA+"/", hostA+"/next")
}

// TestRenderingFails: a crash and a time-out are temporary errors of a reason of their own, and without a browser pages
// wait; nothing that is indexed is lost by any of them.
func TestRenderingFails(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		class scheduler.Class
		why   scheduler.Reason
	}{
		"crash":      {&render.Error{Kind: render.Crashed, Words: "it crashed"}, scheduler.Temporary, scheduler.ReasonRendering},
		"time-out":   {&render.Error{Kind: render.TimedOut, Words: "too slow"}, scheduler.Temporary, scheduler.ReasonRendering},
		"incomplete": {&render.Error{Kind: render.Incomplete, Words: "no script"}, scheduler.Temporary, scheduler.ReasonRendering},
		"no browser": {&render.Error{Kind: render.Unavailable, Words: "there is none"}, scheduler.Pending, scheduler.ReasonNoBrowser},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.set(hostA+"/", answered{body: appShell})
				rendering(w, policy.Render{}, func(context.Context, render.Page) (render.Rendered, error) { return render.Rendered{}, c.err })
				w.begin()
				time.Sleep(time.Minute)
				r := w.record(hostA + "/")
				if r.Class != c.class || r.Reason != c.why || r.LastError != c.err.Error() {
					t.Errorf("it is %v, %v, %q", r.Class, r.Reason, r.LastError)
				}
				if r.NextAt.Before(time.Now()) || len(w.index()) > 0 {
					t.Errorf("next at %v; in the index are %q", r.NextAt, w.index())
				}
			}, hostA+"/")
		})
	}
}

// TestRenderedEmpty: a page that stays a shell while requests of its scripts fail keeps the document that it has.
func TestRenderedEmpty(t *testing.T) {
	for name, left := range map[string]string{"with its scripts": appShell, "as the browser gives it": `<title>App</title><body><div id="app"></div>`} {
		t.Run(name, func(t *testing.T) { renderedEmpty(t, left) })
	}
}

func renderedEmpty(t *testing.T, left string) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(hostA+"/", answered{body: appShell})
		out := content("what the scripts write at first")
		rendering(w, policy.Render{}, func(context.Context, render.Page) (render.Rendered, error) { return out, nil })
		w.begin()
		w.quiet()
		first := w.record(hostA + "/")
		out = render.Rendered{HTML: []byte(left), Counts: render.Counts{Requests: 1, Failed: 1}}
		w.refresh(Selection{All: true})
		time.Sleep(time.Minute)
		if r := w.record(hostA + "/"); r.Class != scheduler.Temporary || r.Reason != scheduler.ReasonRendering || r.Hash != first.Hash || !r.Indexed {
			t.Errorf("it is %v, %v (%q); indexed %t, and the document is the same: %t", r.Class, r.Reason, r.LastError, r.Indexed, r.Hash == first.Hash)
		}
	}, hostA+"/")
}

// TestRenderedBare: a page that has hardly any text once its scripts ran has a reason, if requests for data were
// refused or the scripts wrote nothing. One that is short by itself has none.
func TestRenderedBare(t *testing.T) {
	const post = "POST " + hostA + "/api/graphql"
	for name, c := range map[string]struct {
		left    string
		refused []string
		why     scheduler.Reason
		words   string
	}{
		"loading":        {"<p>Loading data</p>", []string{post, post, post, post}, scheduler.ReasonAppShell, "; requests refused: 4 (" + post},
		"empty":          {"", []string{post}, scheduler.ReasonAppShell, "; requests refused: 1 (" + post},
		"without a word": {"", nil, scheduler.ReasonAppShell, "its scripts added hardly any text"},
		"short":          {"<p>No news today</p>", nil, scheduler.NoReason, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.set(hostA+"/", answered{body: appShell})
				rendering(w, policy.Render{}, func(context.Context, render.Page) (render.Rendered, error) {
					return render.Rendered{HTML: []byte("<title>App</title><body>" + c.left), Counts: render.Counts{Refused: len(c.refused), RefusedData: c.refused}}, nil
				})
				w.begin()
				w.quiet()
				if r := w.record(hostA + "/"); r.Class != scheduler.OK || r.Reason != c.why || !strings.Contains(r.LastError, c.words) {
					t.Errorf("it is %v, %v, %q", r.Class, r.Reason, r.LastError)
				}
				if got := w.status().Shells; (got != nil) != (c.why == scheduler.ReasonAppShell) {
					t.Errorf("the status counts %+v", got)
				}
			}, hostA+"/")
		})
	}
}

// TestRenderedAgain: the page is fetched whole each time, since its scripts may make another one of the same answer;
// where they lead elsewhere, it redirects.
func TestRenderedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(hostA+"/", answered{body: appShell})
		w.page(hostA + "/made")
		const said = "what the scripts write of the weather and the roads in each town and village of the country"
		words, location := said, ""
		b := rendering(w, policy.Render{}, func(_ context.Context, p render.Page) (render.Rendered, error) {
			out := content(words)
			out.Location = location
			return out, nil
		})
		w.begin()
		w.quiet()
		first := w.record(hostA + "/").Hash
		words = said + ", and what they add later"
		w.refresh(Selection{All: true})
		w.quiet()
		if second := w.record(hostA + "/").Hash; len(b.pages) != 2 || second == first {
			t.Errorf("it was rendered %d times, and its document is another one: %t", len(b.pages), second != first)
		}
		location = hostA + "/made"
		w.refresh(Selection{All: true})
		w.quiet()
		if r := w.record(hostA + "/"); r.Class != scheduler.Redirect || r.RedirectTo != location {
			t.Errorf("it is %v and leads to %q", r.Class, r.RedirectTo)
		}
	}, hostA+"/")
}

// TestEmptiedPage: a page of which its scripts leave nothing is read as its server sent it, unless that says nothing
// either, or the scripts lead elsewhere.
func TestEmptiedPage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(hostA+"/", answered{body: `<title>Home</title><p>said by the server</p><a href="/led">a</a><a href="/bare">b</a>`})
		w.set(hostA+"/led", answered{body: `<p>said by the server</p>`})
		w.set(hostA+"/bare", answered{body: `<title>Bare</title>`})
		w.page(hostA + "/other")
		rendering(w, policy.Render{Always: true}, func(_ context.Context, p render.Page) (render.Rendered, error) {
			switch p.URL {
			case hostA + "/led":
				return render.Rendered{HTML: []byte("<body></body>"), Location: hostA + "/other"}, nil
			case hostA + "/other":
				return content("what its scripts write, which is long enough"), nil
			}
			return render.Rendered{HTML: []byte("<body></body>")}, nil
		})
		w.begin()
		w.quiet()
		home := w.record(hostA + "/")
		if home.Class != scheduler.OK || home.Directives&scheduler.Rendered != 0 {
			t.Errorf("it is %v, %v", home.Class, home.Directives)
		}
		if got := w.target.documents[hostA+"/"]; got.Title != "Home" || !strings.Contains(got.Text, "said by the server") {
			t.Errorf("%+v", got)
		}
		if led := w.record(hostA + "/led"); led.Class != scheduler.Redirect {
			t.Errorf("where the scripts lead elsewhere it is %v", led.Class)
		}
		if bare := w.record(hostA + "/bare"); bare.Directives&scheduler.Rendered == 0 {
			t.Errorf("where the server says nothing it is %v, %v", bare.Class, bare.Directives)
		}
	}, hostA+"/")
}
