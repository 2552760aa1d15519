package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// intranet is a site of pages that all link to each other's next, behind a log-in.
type intranet struct {
	*httptest.Server
	pages int
	form  bool

	mu       sync.Mutex
	password string
	left     int // pages until the password changes or the session is forgotten; 0 is never
	sid      int // the session that is known
	logIns   int
	wrong    int // credentials that were refused
	asked    []string
}

func newIntranet(t *testing.T, pages int, form bool) *intranet {
	s := &intranet{pages: pages, form: form, password: "right"}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *intranet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	switch {
	case r.URL.Path == "/robots.txt":
		w.WriteHeader(http.StatusForbidden) // as many servers have it
		return
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		if r.FormValue("password") != s.password {
			s.wrong++
			break
		}
		s.logIns++
		s.sid++
		http.SetCookie(w, &http.Cookie{Name: "SID", Value: fmt.Sprint(s.sid), Path: "/"})
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	case r.URL.Path == "/login":
	case !s.admits(w, r):
		return
	default:
		s.page(w, r)
		return
	}
	fmt.Fprint(w, `<title>Log in</title><form method="post" action="/login"><input name="user"><input type="password" name="password"></form>`)
}

// admits lets a request in or answers it.
func (s *intranet) admits(w http.ResponseWriter, r *http.Request) bool {
	if s.form {
		cookie, err := r.Cookie("SID")
		if err == nil && cookie.Value == fmt.Sprint(s.sid) {
			return true
		}
		http.Redirect(w, r, "/login", http.StatusFound)
		return false
	}
	if _, password, _ := r.BasicAuth(); password != s.password {
		s.wrong++
		w.Header().Set("WWW-Authenticate", `Basic realm="intranet"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return true
}

func (s *intranet) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>%s</title>", r.URL.Path)
	for i := range s.pages - 1 {
		fmt.Fprintf(w, `<a href="/p%d">%d</a>`, i, i)
	}
	if s.left > 0 {
		if s.left--; s.left == 0 {
			s.password, s.sid = "changed", s.sid+1
		}
	}
}

// set changes the server between two crawls.
func (s *intranet) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *intranet) login() policy.Fetch {
	l := &policy.Login{Name: "intranet", Origins: []string{s.URL}, Identity: [32]byte{1}}
	if s.form {
		l.Kind = auth.Form{URL: s.URL + "/login", Fields: []auth.Field{{Name: "user", Value: secret.New("u")}, {Name: "password", Value: secret.New("right")}}}
	} else {
		l.Kind = auth.Basic{Username: "u", Password: secret.New("right")}
	}
	return policy.Fetch{Match: func(u weburl.URL) bool { return strings.HasPrefix(u.String(), s.URL) }, Fetcher: fetcher.DefaultSettings(), Login: l}
}

func benchOf(t *testing.T, s *intranet) *bench {
	b := newBench(t, s.URL+"/")
	b.settings.Fetches = []policy.Fetch{s.login()}
	return b
}

// TestPasswordChangesInMidRefresh: nothing is deleted, the status and the stored
// URLs say why nothing is fetched, and the wrong password is hardly ever sent.
func TestPasswordChangesInMidRefresh(t *testing.T) {
	for _, form := range []bool{false, true} {
		t.Run(fmt.Sprintf("form=%v", form), func(t *testing.T) {
			site := newIntranet(t, 50, form)
			b := benchOf(t, site)
			b.once()
			if got := len(b.indexed()); got != 50 {
				t.Fatalf("%d documents, want 50", got)
			}
			b.newOrders()
			site.set(func() { site.left, site.wrong, site.asked = 10, 0, nil })
			b.with(func(c *Crawl, store *store.Store) {
				if _, err := c.Refresh(t.Context(), Selection{All: true, Full: true}); err != nil {
					t.Fatal(err)
				}
				if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
					t.Fatal(err)
				}
				status, err := c.Status(t.Context())
				if err != nil || len(status.Sessions) != 1 {
					t.Fatalf("status %+v, %v", status.Sessions, err)
				}
				session := status.Sessions[0]
				want := "status 401"
				if form {
					want = "log-in failed"
				}
				if session.State != "failed" || !strings.Contains(session.Words, want) || session.Until == nil || status.Indexed != 50 {
					t.Errorf("session %v with %d documents indexed, want it failed for %q", session, status.Indexed, want)
				}
				words := 0
				for i := range 49 {
					u, _ := weburl.Parse(fmt.Sprintf("%s/p%d", site.URL, i))
					stored, _, err := report.LookUp(t.Context(), store, u)
					if err != nil || !stored.Indexed {
						t.Errorf("%s: indexed %v, %v", u, stored.Indexed, err)
					}
					if strings.Contains(stored.LastError, "intranet: ") {
						words++
					}
				}
				if words < 30 {
					t.Errorf("%d URLs say that they wait for the log-in, want most of 50", words)
				}
			})
			b.verify()
			if got := len(b.indexed()); got != 50 {
				t.Errorf("%d documents at the indexer, want 50", got)
			}
			for _, o := range b.newOrders() {
				if strings.HasPrefix(o, "delete") {
					t.Errorf("order %s", o)
				}
			}
			// Those that were on their way when it changed, and then a try or two.
			if site.wrong == 0 || site.wrong > b.settings.Workers+3 {
				t.Errorf("the wrong password was sent %d times", site.wrong)
			}
		})
	}
}

// TestSessionExpiresInMidCrawl: the crawl logs in again, and no log-in page is content.
func TestSessionExpiresInMidCrawl(t *testing.T) {
	site := newIntranet(t, 30, true)
	site.left = 12
	b := benchOf(t, site)
	b.settings.Fetches[0].Login.Kind = auth.Form{URL: site.URL + "/login", Fields: []auth.Field{{Name: "password", Value: secret.New("right")}}}
	expire := func() { site.sid, site.left = site.sid+1, 0 }
	// The session is forgotten, the password stays.
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site.ServeHTTP(w, r)
		site.set(func() {
			if site.password == "changed" {
				site.password = "right"
				expire()
			}
		})
	})
	b.once()
	if got := len(b.indexed()); got != 30 || site.logIns != 2 {
		t.Errorf("%d documents after %d log-ins, want 30 after 2", got, site.logIns)
	}
	for _, d := range b.target.documents {
		if d.Title == "Log in" {
			t.Errorf("the log-in page is the document %s", d.URL)
		}
	}
}

// TestLogInsCountAsRequests: each request that a server gets is in the totals.
func TestLogInsCountAsRequests(t *testing.T) {
	site := newIntranet(t, 3, true)
	b := benchOf(t, site)
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
		if got := c.meter.Totals().Requests; got != int64(len(site.asked)) {
			t.Errorf("%d requests counted, the server got %d: %v", got, len(site.asked), site.asked)
		}
	})
	if !slices.Contains(site.asked, "POST /login") {
		t.Errorf("no log-in: %v", site.asked)
	}
}

// TestSessionSurvivesReload: with the same settings nobody logs in again, with
// others a new session begins.
func TestSessionSurvivesReload(t *testing.T) {
	site := newIntranet(t, 3, true)
	b := benchOf(t, site)
	b.with(func(c *Crawl, _ *store.Store) {
		if err := c.Run(t.Context(), Once{Drain: true}); err != nil {
			t.Fatal(err)
		}
		reloaded := func(identity byte) visit.SessionStatus {
			s := b.settings
			s.Fetcher.UserAgent = "Other"
			s.Fetches = []policy.Fetch{site.login()}
			s.Fetches[0].Fetcher.UserAgent = "Other"
			s.Fetches[0].Login.Identity = [32]byte{identity}
			if err := c.Reload(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			status, err := c.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return status.Sessions[0]
		}
		if s := reloaded(1); s.State != "good" || s.LogIns != 1 {
			t.Errorf("with the same settings: %v", s)
		}
		if !c.inForce().FetchState.Accesses.Adopted() {
			t.Error("the session does not ask by the new settings")
		}
		if s := reloaded(2); s.State != "logged out" || s.LogIns != 0 {
			t.Errorf("with other settings: %v", s)
		}
	})
}

// TestFirstFetchCounts: each page has the settings of the first that matches, and
// robots.txt those of its host.
func TestFirstFetchCounts(t *testing.T) {
	var mu sync.Mutex
	got := map[string]string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = r.Header.Get("X-By")
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /a/\nDisallow: /b/\n")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<a href="/a/1">1</a><a href="/b/2">2</a><a href="/c/3">3</a>`)
	}))
	defer server.Close()
	by := func(name, prefix string, ignore *bool) policy.Fetch {
		s := fetcher.DefaultSettings()
		s.Header = http.Header{"X-By": {name}}
		return policy.Fetch{Name: name, Fetcher: s, IgnoreRobots: ignore, Match: func(u weburl.URL) bool { return strings.HasPrefix(u.Path(), prefix) }}
	}
	b := newBench(t, server.URL+"/")
	b.settings.Fetches = []policy.Fetch{by("a", "/a/", new(true)), by("again", "/a/", nil), by("b", "/b/", nil)}
	b.once()
	if len(got) != 4 || got["/a/1"] != "a" || got["/"] != "" || got["/c/3"] != "" {
		t.Errorf("asked for by %v; /b/2 is forbidden by robots.txt, /a/1 too but for its settings", got)
	}
}

// TestDenyPrivate: a private address is not dialled, also where a root names it, and
// nothing is deleted for it.
func TestDenyPrivate(t *testing.T) {
	const root = "http://10.255.255.1:9/"
	const privateDenied = "the configuration denies private addresses"
	b := newBench(t, root)
	b.settings.DenyPrivate = true
	b.once()
	if r, ok := b.record(root); !ok || r.Status == policy.StatusExcluded || r.Class != "ignored" || !strings.Contains(r.LastError, privateDenied) {
		t.Errorf("%+v, want it ignored for %q", r, privateDenied)
	}
}

// TestEnableCookies: cookies of all sites come back where they are kept.
func TestEnableCookies(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if cookie, err := r.Cookie("seen"); r.URL.Path == "/p" && (err != nil || cookie.Value != "yes") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes", Path: "/"})
		fmt.Fprint(w, `<title>t</title><a href="/p">p</a>`)
	}))
	defer server.Close()
	for _, keep := range []bool{false, true} {
		b := newBench(t, server.URL+"/")
		b.settings.EnableCookies = keep
		b.once()
		if got := slices.Contains(b.indexed(), server.URL+"/p"); got != keep {
			t.Errorf("cookies kept: %v; the page behind one is indexed: %v", keep, got)
		}
	}
}

// TestRedirectsForCookies: sites ask by a redirect in a circle whether cookies are kept. One
// that goes on all the same is an error, after one request more.
func TestRedirectsForCookies(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		n := asked[r.URL.Path]
		mu.Unlock()
		_, missing := r.Cookie("test")
		set := func(name, value string) { http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/"}) }
		switch path := r.URL.Path; {
		case path == "/":
			fmt.Fprint(w, `<title>home</title><a href="/self">1</a><a href="/there">2</a><a href="/endless">3</a><a href="/plain">4</a>`)
		case path == "/self" && missing != nil:
			set("test", "1")
			http.Redirect(w, r, "/self", http.StatusFound)
		case path == "/there":
			if _, err := r.Cookie("checked"); err != nil {
				http.Redirect(w, r, "/check", http.StatusFound)
				return
			}
			fmt.Fprint(w, "<title>there</title>There it is.")
		case path == "/check":
			http.Redirect(w, r, "/back", http.StatusFound)
		case path == "/back":
			set("checked", "1")
			http.Redirect(w, r, "/there", http.StatusFound)
		case path == "/endless":
			set("n", fmt.Sprint(n))
			http.Redirect(w, r, "/endless", http.StatusFound)
		case path == "/plain":
			http.Redirect(w, r, "/plain", http.StatusFound)
		default:
			fmt.Fprintf(w, "<title>%s</title>The page %s.", path, path)
		}
	}))
	defer server.Close()
	for _, keep := range []bool{false, true} {
		clear(asked)
		b := newBench(t, server.URL+"/")
		b.settings.EnableCookies, b.settings.Workers = keep, 1
		b.once()
		for _, path := range []string{"/self", "/there"} {
			if got := slices.Contains(b.indexed(), server.URL+path); got != keep {
				r, _ := b.record(server.URL + path)
				t.Errorf("cookies kept: %v; %s is indexed: %v (%+v)", keep, path, got, r)
			}
		}
		for path, want := range map[string]int{"/endless": 1, "/plain": 1} {
			if keep && path == "/endless" {
				want = 2
			}
			r, _ := b.record(server.URL + path)
			if asked[path] != want || !strings.Contains(r.LastError, "leads to itself") {
				t.Errorf("cookies kept: %v; %s was asked for %d times, want %d: %q", keep, path, asked[path], want, r.LastError)
			}
		}
	}
}

// TestProxyOfAFetch: what a Fetch matches goes through its proxy, robots.txt too,
// and what it does not match goes straight, also with perAddress.
func TestProxyOfAFetch(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.String()] = r.Header.Get("Proxy-Authorization")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>t</title>`)
	}))
	defer proxy.Close()
	site := newIntranet(t, 1, false)
	b := newBench(t, "http://inside.invalid/", site.URL+"/")
	b.settings.Frontier.PerAddress = true
	s := fetcher.DefaultSettings()
	s.Proxy = &fetcher.Proxy{URL: proxy.URL, User: "u", Password: secret.New("p")}
	b.settings.Fetches = []policy.Fetch{site.login(), {Fetcher: s}}
	b.once()
	const basic = "Basic dTpw"
	if len(asked) != 2 || asked["http://inside.invalid/"] != basic || asked["http://inside.invalid/robots.txt"] != basic {
		t.Errorf("the proxy was asked for %v", asked)
	}
	if got := len(b.indexed()); got != 2 {
		t.Errorf("documents %v, want both roots", b.indexed())
	}
}
