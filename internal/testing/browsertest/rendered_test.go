package browsertest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
)

// These tests crawl with the program and a Chromium of its own. What they say of time are lower bounds, which hold on a
// slow machine, too.

// chromiumCommand is that of a Browser element.
func chromiumCommand(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts browsers")
	}
	needsBrowser(t)
	path := chromium
	if os.Geteuid() == 0 { // its sandbox does not work for root
		path += " --no-sandbox"
	}
	return path
}

// appSite answers by handlers of its paths, and notes what it is asked for.
type appSite struct {
	*httptest.Server
	mux http.ServeMux

	mu    sync.Mutex
	asked []askedFor
}

type askedFor struct {
	path   string
	at     time.Time // before it was answered
	header http.Header
}

func newAppSite(t *testing.T) *appSite {
	t.Helper()
	s := new(appSite)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, askedFor{r.URL.Path, time.Now(), r.Header})
		s.mu.Unlock()
		s.mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// page has a path answered with a text.
func (s *appSite) page(path, kind, body string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, body)
	})
}

// of returns the requests for paths with these beginnings.
func (s *appSite) of(prefixes ...string) (all []askedFor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		for _, p := range prefixes {
			if strings.HasPrefix(a.path, p) {
				all = append(all, a)
			}
		}
	}
	return all
}

// TestRenderedPoliteness: at the servers, the requests of a page that is rendered come 100 ms apart and are 40 at most,
// those that robots.txt forbids do not come, and the hosts rest by their number afterwards: the page's own, and one
// that is asked beside.
func TestRenderedPoliteness(t *testing.T) {
	const throttle, gap = 300 * time.Millisecond, 100 * time.Millisecond
	command := chromiumCommand(t)
	a, b := newAppSite(t), newAppSite(t)
	other := strings.Replace(b.URL, "127.0.0.1", "localhost", 1)
	a.page("/robots.txt", "text/plain", "User-agent: *\nDisallow: /private/\n")
	b.page("/robots.txt", "text/plain", "User-agent: *\nDisallow: /closed/\n")
	a.page("/many", "text/html", `<title>App</title><div id=app></div><script src=/app.js></script>`)
	a.page("/next", "text/html", "<title>Next</title>the next page of the host")
	a.page("/api/", "text/plain", "data")
	b.page("/own", "text/html", "<title>Own</title>a page of the other host")
	b.page("/after", "text/html", "<title>After</title>another page of the other host")
	b.page("/lib/", "text/plain", "data")
	a.page("/app.js", "text/javascript", strings.ReplaceAll(`(async () => { const all = [];
		for (let i = 0; i < 8; i++) all.push(fetch('OTHER/lib/' + i));
		all.push(fetch('/private/x'), fetch('OTHER/closed/x'));
		for (let i = 0; i < 50; i++) all.push(fetch('/api/' + i));
		await Promise.allSettled(all);
		document.body.innerHTML = '<p id=done>what the scripts have made</p><a href="OTHER/after">after</a>'; })()`, "OTHER", other))
	run := func(args ...string) *exec.Cmd { return sextant(t, args...) }
	documents, said := testrun.Once(t, run, a.URL, fmt.Sprintf(`<CrawlConfig><Crawler name="app" nthreads="2" throttleTimeMS="%d">
		<Root url="%[2]s/many"/><Root url="%[2]s/next"/><Root url="%[3]s/own"/>
		<Rules><Rule><Path val="/after"/><Accept/><Index/></Rule></Rules>
		<Browser command="%[4]s" timeoutS="600"/><Fetch name="app" render="auto" renderSelector="#done"><Host val="127.0.0.1"/></Fetch>
	</Crawler></CrawlConfig>`, throttle.Milliseconds(), a.URL, other, command))
	if d := documents["many"]; !strings.Contains(d.Text, "what the scripts have made") || len(documents) != 4 {
		t.Fatalf("%v\n%s", documents, said)
	}
	if n := len(a.of("/private/")) + len(b.of("/closed/")); n > 0 {
		t.Errorf("%d requests that robots.txt forbids", n)
	}
	page, own, others := a.of("/many")[0].at, a.of("/api/", "/app.js"), b.of("/lib/")
	if n := len(own) + len(others); n > 40 || n < 30 || len(others) != 8 {
		t.Errorf("%d requests to its own host, %d to the other", len(own), len(others))
	}
	all := append(append([]askedFor{}, own...), others...)
	for i := range all {
		before := 0
		for j := range all {
			if all[j].at.Before(all[i].at) {
				before++
			}
		}
		// The first may go 100 ms after the page, each other 100 ms after the one before.
		if after := all[i].at.Sub(page); after < time.Duration(before+1)*gap {
			t.Errorf("request %d, %s, comes %s after the page", before+1, all[i].path, after)
		}
	}
	rests := func(what string, last []askedFor, next []askedFor) {
		t.Helper()
		if len(next) != 1 {
			t.Fatalf("%s: %d requests for the next page", what, len(next))
		}
		if pause, want := next[0].at.Sub(last[len(last)-1].at), throttle*time.Duration(max(4, len(last)))/4; pause < want {
			t.Errorf("%s rests %s after %d requests, want %s", what, pause, len(last), want)
		}
	}
	rests("the page's own host", own, a.of("/next"))
	rests("the other host", others, b.of("/after"))
}

// intranetApp is a site behind a log-in form whose pages are shells, an article, a file for a converter, and a page
// that is whole.
type intranetApp struct {
	*appSite
	mu      sync.Mutex
	version int    // of the data
	session string // that is logged in
	ends    string // the path whose request ends the session
}

func newIntranetApp(t *testing.T) *intranetApp {
	t.Helper()
	s := &intranetApp{appSite: newAppSite(t), version: 1}
	s.page("/robots.txt", "text/plain", "")
	s.page("/app.js", "text/javascript", `fetch('/api' + location.pathname).then((r) => { if (!r.ok) throw r.status; return r.text(); }).then((t) => { document.getElementById('app').innerHTML = t; })`)
	s.mux.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.FormValue("password") != "open sesame" {
			fmt.Fprint(w, `<title>Log in</title>Please log in <form method=post><input name=user><input type=password name=password></form>`)
			return
		}
		s.mu.Lock()
		s.session += "x"
		http.SetCookie(w, &http.Cookie{Name: "SID", Value: s.session, Path: "/", HttpOnly: true})
		s.mu.Unlock()
		fmt.Fprint(w, "welcome")
	})
	s.mux.HandleFunc("/", s.answer)
	return s
}

func (s *intranetApp) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == s.ends { // the session has ended meanwhile
		s.session, s.ends = s.session+"ended", ""
	}
	if c, err := r.Cookie("SID"); err != nil || c.Value != s.session {
		if strings.HasPrefix(r.URL.Path, "/api/") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, "/login", http.StatusFound)
		return
	}
	const shell = `<title>App</title><div id="app"></div><script src="/app.js"></script>`
	article := "<article><h1>A headline</h1>" + strings.Repeat("<p>"+strings.Repeat("An article goes on with words. ", 20)+"</p>", 5) + "</article>"
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("ETag", `"same"`)
	switch path := r.URL.Path; {
	case path == "/":
		fmt.Fprint(w, `<title>Home</title>home <a href=/plain>p</a> <a href=/app/changes>c</a> <a href=/app/plain>a</a> <a href=/news/1>n</a> <a href=/files/a>f</a>`)
	case r.Header.Get("If-None-Match") != "":
		w.WriteHeader(http.StatusNotModified)
	case path == "/plain":
		fmt.Fprint(w, "<title>Plain</title><h1>Heading</h1>a page that is whole")
	case path == "/files/a":
		w.Header().Set("Content-Type", "application/x-own")
		fmt.Fprint(w, "a file of our own")
	case path == "/app/plain" && s.version > 1:
		fmt.Fprint(w, "<title>Now plain</title><h1>Heading</h1>what was a shell is whole now")
	case path == "/app/changes", path == "/app/plain", path == "/news/1":
		fmt.Fprint(w, shell)
	case path == "/api/app/changes":
		fmt.Fprintf(w, "<h1>Version %d</h1>data of the application", s.version)
	case path == "/api/app/plain":
		fmt.Fprint(w, "<h1>Heading</h1>made by scripts")
	case path == "/api/news/1":
		fmt.Fprint(w, "<nav><a href=/>Menu of all pages</a></nav><main>"+article+"</main>")
	default:
		http.NotFound(w, r)
	}
}

// TestRenderedIntranet: rendering, a log-in whose session ends, Fields, main content and a Converter work together, at
// the second visit as well: fetched whole each time, with what changed, and what became a plain page.
func TestRenderedIntranet(t *testing.T) {
	command := chromiumCommand(t)
	site, dir := newIntranetApp(t), t.TempDir()
	converter := filepath.Join(dir, "convert")
	if err := os.WriteFile(converter, []byte("#!/bin/sh\ntr a-z A-Z <\"$1\"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	text := fmt.Sprintf(`<CrawlConfig><Crawler name="intranet" nthreads="2" throttleTimeMS="1" deletionBrake="off">
		<Root url="%[1]s/" site="true"/><Push kind="file"/><Browser command="%[2]s" timeoutS="600" pages="1"/>
		<Fetch name="intranet" auth="form" loginURL="%[1]s/login" render="auto"><Host val="127.0.0.1"/>
			<Field name="user" value="robot"/><Field name="password" value="open sesame"/></Fetch>
		<Field name="heading" select="css:h1"/><MainContent><Path val="/news/"/></MainContent>
		<Converter mediaType="application/x-own" command="%[3]s {file}"/>
	</Crawler></CrawlConfig>`, site.URL, command, converter)
	testdir.Write(t, config, text)
	crawl := func(want map[string]string, headings map[string]string) {
		t.Helper()
		out, err := sextant(t, "run", "--once", "--listen=off", "--log-level=warn", "-c", config, "-d", data).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := testrun.Documents(t, filepath.Join(data, "out"))
		for path, text := range want {
			d := got[site.URL+path]
			if !strings.Contains(d.Text, text) || strings.Contains(d.Text, "Menu of all") || strings.Contains(d.Text, "log in") {
				t.Errorf("%s: %.200q, want %q\n%s", path, d.Text, text, out)
			}
			if h := headings[path]; h != "" && (len(d.Metas["heading"]) != 1 || d.Metas["heading"][0] != h) {
				t.Errorf("%s: the field is %q, want %q", path, d.Metas["heading"], h)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d documents: %v\n%s", len(got), got, out)
		}
	}
	again := func() {
		t.Helper()
		if out, err := sextant(t, "refresh", "--all", "-c", config, "-d", data).CombinedOutput(); err != nil {
			t.Fatalf("refresh: %v\n%s", err, out)
		}
	}
	want := map[string]string{
		"/": "home", "/plain": "a page that is whole", "/files/a": "A FILE OF OUR OWN", "/app/changes": "data of the application",
		"/app/plain": "made by scripts", "/news/1": "An article goes on with words.",
	}
	headings := map[string]string{"/plain": "Heading", "/app/changes": "Version 1", "/app/plain": "Heading", "/news/1": "A headline"}
	crawl(want, headings)

	// The session ends while a page is in the browser: its document stays, and it is fetched again.
	site.mu.Lock()
	site.version, site.ends = 2, "/api/app/changes"
	site.mu.Unlock()
	again()
	want["/app/plain"] = "what was a shell is whole now"
	crawl(want, headings)
	again()
	headings["/app/changes"] = "Version 2"
	crawl(want, headings)
	for _, a := range site.of("/app/", "/plain", "/news/") {
		if a.header.Get("If-None-Match") != "" {
			t.Errorf("%s is asked for with its ETag, though its scripts may make something else of it", a.path)
		}
	}
	out, err := sextant(t, "urls", "--json", "-c", config, "-d", data).CombinedOutput()
	for path, rendered := range map[string]bool{"/app/changes": true, "/news/1": true, "/app/plain": false, "/plain": false} {
		line := ""
		for l := range strings.Lines(string(out)) {
			if strings.Contains(l, `"`+site.URL+path+`"`) {
				line = l
			}
		}
		if strings.Contains(line, `"rendered":true`) != rendered || err != nil {
			t.Errorf("%s: %s %v", path, line, err)
		}
	}
}

// TestRenderingEnds: a service that is stopped, or killed, in the middle of a rendering loses nothing and leaves no
// browser.
func TestRenderingEnds(t *testing.T) {
	command := chromiumCommand(t)
	site, dir := newAppSite(t), t.TempDir()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	site.page("/robots.txt", "text/plain", "")
	site.page("/", "text/html", `<title>App</title><div id=app></div><script src=/app.js></script>`)
	site.page("/app.js", "text/javascript", `fetch('/slow').then((r) => r.text()).then((t) => { document.getElementById('app').textContent = t; })`)
	site.mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "what came at last")
	})
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	temporary, err := os.MkdirTemp("/tmp", "ends") // short: Chromium has sockets there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temporary) })
	text := fmt.Sprintf(`<CrawlConfig><Crawler name="app" throttleTimeMS="1" smartRefresh="true"><Root url="%s/"/><Push kind="file"/>
		<Browser command="%s" timeoutS="600"/><Fetch name="app" render="auto"><Host val="127.0.0.1"/></Fetch></Crawler></CrawlConfig>`, site.URL, command)
	testdir.Write(t, config, text)
	start := func() *exec.Cmd {
		t.Helper()
		run := sextant(t, "run", "--listen=off", "--log-level=warn", "-c", config, "-d", data)
		run.Env = append(run.Env, "TMPDIR="+temporary)
		run.Stderr = t.Output()
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-asked: // the page is in the browser
		case <-time.After(2 * time.Minute):
			t.Fatal("the page is not rendered")
		}
		return run
	}
	killed := start()
	if !browsersOf(temporary) {
		t.Error("no browser is seen: the test shows nothing")
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	awaitNoBrowser(t, temporary)
	stopped := start()
	if err := stopped.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(release) // what is in flight is finished
	if err := stopped.Wait(); err != nil {
		t.Error(err)
	}
	awaitNoBrowser(t, temporary)
	if out, err := sextant(t, "run", "--once", "--listen=off", "--log-level=warn", "-c", config, "-d", data).CombinedOutput(); err != nil { // pushes it
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(site.of("/slow")); n != 2 {
		t.Errorf("the page was rendered %d times: once by the process that was killed, and once to its end, was meant", n)
	}
	if d := testrun.Documents(t, filepath.Join(data, "out"))[site.URL+"/"]; !strings.Contains(d.Text, "what came at last") {
		t.Errorf("the document is %+v", d)
	}
	// That of the process that was killed lies there still.
	if left, _ := filepath.Glob(filepath.Join(temporary, "sextant-browser-*")); len(left) > 1 {
		t.Errorf("profiles are left: %q", left)
	}
}

// browsersOf reports whether a process runs whose profile lies below a folder.
func browsersOf(dir string) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte("--user-data-dir="+dir)) {
			return true
		}
	}
	return false
}

func awaitNoBrowser(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); browsersOf(dir); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a browser is left")
		}
	}
}
