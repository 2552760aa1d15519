package auth_test

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

const sso = "https://sso.example.com"

// routes responds by host and path; other paths are pages for clients with the cookie in.
type routes map[string]http.HandlerFunc

func (s routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := s[r.Method+" https://"+r.Host+r.URL.Path]; ok {
		h(w, r)
		return
	}
	if _, err := r.Cookie("in"); err != nil {
		http.Redirect(w, r, "/login", http.StatusFound)
		return
	}
	_, _ = io.WriteString(w, "content")
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}

func redirect(to string, code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, code) }
}

// in sets the cookie if the password is right.
func in(then http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("pw") == password {
			http.SetCookie(w, &http.Cookie{Name: "in", Value: "1", Path: "/", Domain: "example.com"})
		}
		then(w, r)
	}
}

const plainForm = `<form method=post action=/do><input name=user><input name=pw type=password></form>`

func formFields() []auth.Field {
	return []auth.Field{{Name: "user", Value: secret.New("robot")}, {Name: "pw", Value: secret.New(password)}}
}

func TestFormKinds(t *testing.T) {
	post, get := "POST "+origin, "GET "+origin
	for name, c := range map[string]struct {
		site    routes
		form    auth.Form
		origins []string
		words   string // "" if it works
		asked   int    // requests of log-in and page
	}{
		"success by a text":  {site: routes{get + "/login": text(plainForm), post + "/do": in(text("hello robot"))}, form: auth.Form{Success: auth.Success{Text: "hello"}}, asked: 3},
		"no such text":       {site: routes{get + "/login": text(plainForm), post + "/do": in(text("sorry"))}, form: auth.Form{Success: auth.Success{Text: "hello"}}, words: "does not contain the text"},
		"success by cookie":  {site: routes{get + "/login": text(plainForm), post + "/do": in(redirect("/home", 302))}, form: auth.Form{Success: auth.Success{Cookie: "in"}}, asked: 3},
		"no such cookie":     {site: routes{get + "/login": text(plainForm), post + "/do": in(text("hello"))}, form: auth.Form{Success: auth.Success{Cookie: "out"}}, words: "no cookie out is set"},
		"success by going":   {site: routes{get + "/login": text(plainForm), post + "/do": in(redirect("/home", 302))}, form: auth.Form{Success: auth.Success{Redirect: true}}, asked: 3},
		"going nowhere":      {site: routes{get + "/login": text(plainForm), post + "/do": in(text("hello"))}, form: auth.Form{Success: auth.Success{Redirect: true}}, words: "does not redirect"},
		"back to the form":   {site: routes{get + "/login": text(plainForm), post + "/do": in(redirect("/login?error", 302))}, form: auth.Form{Success: auth.Success{Redirect: true, Cookie: "in"}}, words: "shows the log-in form again"},
		"redirect followed":  {site: routes{get + "/login": text(plainForm), post + "/do": in(redirect("/home", 302)), get + "/home": text("hello")}, form: auth.Form{Success: auth.Success{Text: "hello"}}, asked: 4},
		"307 posts again":    {site: routes{get + "/login": text(plainForm), post + "/do": redirect("/do2", 307), post + "/do2": in(text(""))}, asked: 4},
		"login page moves":   {site: routes{get + "/login": redirect("/sso/start", 302), get + "/sso/start": text(plainForm), post + "/do": in(text(""))}, asked: 4},
		"endless redirects":  {site: routes{get + "/login": redirect("/login?again", 302)}, words: "more than 10 redirects"},
		"missing page":       {site: routes{get + "/login": http.NotFound}, words: "the log-in page https://intranet.example.com/login responds with 404"},
		"page with a 401":    {site: routes{get + "/login": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); _, _ = io.WriteString(w, plainForm) }, post + "/do": in(text(""))}, asked: 3},
		"form by a script":   {site: routes{get + "/login": text("<div id=root></div>")}, words: "it has no form; a form that a script"},
		"search form only":   {site: routes{get + "/login": text("<form name=search><input name=q></form>")}, words: `it has form 1 (name "search", id "")`},
		"answer is an error": {site: routes{get + "/login": text(plainForm), post + "/do": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }}, words: "responds to the form with 500"},
		"by id":              {site: routes{get + "/login": text("<form id=a></form><form id=b action=/do method=POST></form>"), post + "/do": in(text(""))}, form: auth.Form{ID: "b"}, asked: 3},
		"by name":            {site: routes{get + "/login": text("<form name=b action=/do method=POST></form>"), post + "/do": in(text(""))}, form: auth.Form{Name: "b"}, asked: 3},
		"by index":           {site: routes{get + "/login": text("<form id=a></form><form action=/do method=POST></form>"), post + "/do": in(text(""))}, form: auth.Form{Index: 2}, asked: 3},
		"no such index":      {site: routes{get + "/login": text(plainForm)}, form: auth.Form{Index: 2}, words: "no form with that name, id or number"},
		"registering first":  {site: routes{get + "/login": text(`<form action=/new method=post><input type=password name=new></form>` + plainForm), post + "/do": in(text(""))}, asked: 3},
		"by get":             {site: routes{get + "/login": text(strings.Replace(plainForm, "post", "get", 1)), get + "/do": in(text(""))}, asked: 3},
		"multipart":          {site: routes{get + "/login": text(strings.Replace(plainForm, "<form", `<form enctype="multipart/form-data"`, 1)), post + "/do": in(text(""))}, asked: 3},
		"base element":       {site: routes{get + "/login": text(`<base href="/app/">` + strings.Replace(plainForm, "/do", "do", 1)), post + "/app/do": in(text(""))}, asked: 3},
		"action elsewhere":   {site: routes{get + "/login": text(strings.Replace(plainForm, "/do", sso+"/do", 1)), "POST " + sso + "/do": in(text(""))}, words: "its form submits to https://sso.example.com/do: the credentials are not for https://sso.example.com"},
		"action allowed":     {site: routes{get + "/login": text(strings.Replace(plainForm, "/do", sso+"/do", 1)), "POST " + sso + "/do": in(text(""))}, origins: []string{sso}, asked: 3},
		"action over http":   {site: routes{get + "/login": text(strings.Replace(plainForm, "/do", "http://intranet.example.com/do", 1))}, words: "the credentials are for https and would go to http://intranet.example.com unencrypted"},
		"page elsewhere":     {site: routes{get + "/login": redirect(sso+"/x", 302), "GET " + sso + "/x": text(plainForm)}, words: "https://sso.example.com/x is part of the log-in, but the credentials are not for https://sso.example.com"},
		"307 elsewhere":      {site: routes{get + "/login": text(plainForm), post + "/do": redirect("https://evil.example.net/", 307), "POST https://evil.example.net/": in(text(""))}, words: "not for https://evil.example.net"},
		"javascript action":  {site: routes{get + "/login": text(strings.Replace(plainForm, "/do", "javascript:go()", 1))}, words: "the form's action is not a URL"},
		"garbage location":   {site: routes{get + "/login": redirect("http://[", 302)}, words: "redirects to an invalid URL"},
		"10,000 fields":      {site: routes{get + "/login": text("<form method=post>" + strings.Repeat("<input name=a value=b>", 10_000) + plainForm)}, form: auth.Form{Index: 1}, words: "more than 1000 fields"},
		"huge page":          {site: routes{get + "/login": text(strings.Repeat("x", 3<<20) + plainForm)}, words: "(cut at 1 MiB): it has no form; a form that a script"},
		"outside fields":     {site: routes{get + "/login": text(`<form method=post action=/do id=f></form><input name=user form=f><input name=pw type=password form=f>`), post + "/do": in(text(""))}, asked: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.form.URL, c.form.Fields = origin+"/login", formFields()
				l := &logs{}
				var asked []string
				do := inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked = append(asked, r.Method+" "+r.Host+r.URL.Path)
					if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
						if _, params, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || params["boundary"] == "" {
							t.Errorf("content type: %v", err)
						}
					}
					c.site.ServeHTTP(w, r)
				}))
				crawl := newCrawl(newSession(t, auth.Settings{Origins: append(c.origins, origin), Do: do, Logger: l.logger()}, c.form))
				crawl.run(t.Context(), 14, pages(t, origin, "/a")...)
				if c.words == "" && (crawl.result[origin+"/a"] != 200 || len(asked) != c.asked) {
					t.Errorf("%v after %q, words %q", crawl.result, asked, crawl.waits)
				}
				if c.words != "" && (len(crawl.result) > 0 || !strings.Contains(fmt.Sprint(crawl.waits), c.words)) {
					t.Errorf("%v after %q, words %q, want %q", crawl.result, asked, crawl.waits, c.words)
				}
				noSecret(t, l.String()+everything(crawl.waits), password, "robot")
			})
		})
	}
}

// A cookie of the old log-in, with which the server shows no form, does not stand
// in the way of the next.
func TestFormForgetsOldCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		valid := 0
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := r.Cookie("in")
			switch {
			case r.URL.Path == "/login" && err == nil:
				http.Redirect(w, r, "/home", http.StatusFound)
			case r.URL.Path == "/login":
				_, _ = io.WriteString(w, plainForm)
			case r.URL.Path == "/do":
				valid++
				http.SetCookie(w, &http.Cookie{Name: "in", Value: fmt.Sprint(valid), Path: "/"})
			case err != nil || c.Value != fmt.Sprint(valid):
				w.WriteHeader(http.StatusUnauthorized)
			}
		})
		c := newCrawl(newSession(t, auth.Settings{Do: inMemory(site)}, auth.Form{URL: origin + "/login", Fields: formFields()}))
		c.run(t.Context(), 10, pages(t, origin, "/a")...)
		valid++ // the server forgets
		c.run(t.Context(), 10, pages(t, origin, "/b")...)
		if len(c.result) != 2 || len(c.waits) > 0 {
			t.Errorf("%v, words %q", c.result, c.waits)
		}
	})
}

// Fields are sent in the page's own encoding, as browsers do.
func TestFormInAnOldEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		site := routes{
			"GET " + origin + "/login": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
				_, _ = io.WriteString(w, "<form method=post action=/do><input type=hidden name=gr\xfc\xdfe value=\xe4><input type=password name=pw></form>")
			},
			"POST " + origin + "/do": func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = string(body)
			},
		}
		s := newSession(t, auth.Settings{Do: inMemory(site)}, auth.Form{URL: origin + "/login", Fields: []auth.Field{{Name: "pw", Value: secret.New("Zürich €☃")}}})
		newCrawl(s).run(t.Context(), 3, pages(t, origin, "/a")...)
		if want := "gr%FC%DFe=%E4&pw=Z%FCrich+%80%26%239731%3B"; got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// Forms of forbidden, really denied and always redirecting pages beside good ones.
func TestPagesThatAreNotForTheRobot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPortal()
		c := newCrawl(newSession(t, auth.Settings{Do: inMemory(p)}, p.kind()))
		c.run(t.Context(), 60, pages(t, origin, "/a", "/admin", "/b", "/forbidden", "/c", "/d", "/e")...)
		want := map[string]int{}
		for _, path := range []string{"/a", "/b", "/c", "/d", "/e"} {
			want[origin+path] = 200
		}
		want[origin+"/forbidden"] = 403
		if d := cmp.Diff(want, c.result); d != "" {
			t.Errorf("results; /admin must never have one (-want +got):\n%s", d)
		}
		if c.temps == 0 {
			t.Errorf("/admin is no temporary error; words %q", c.waits)
		}
	})
}

// Pages of which each would ask for a log-in of its own do not make a storm of them.
func TestNoStormOfLogIns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPortal()
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/admin") {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			p.ServeHTTP(w, r)
		})
		s := newSession(t, auth.Settings{Do: inMemory(site)}, p.kind())
		c := newCrawl(s)
		var urls []string
		for i := range 40 {
			urls = append(urls, fmt.Sprint("/admin/", i), fmt.Sprint("/a/", i), fmt.Sprint("/b/", i), fmt.Sprint("/c/", i))
		}
		c.run(t.Context(), 400, pages(t, origin, urls...)...)
		if got := len(c.result); got != 120 {
			t.Errorf("%d pages, want 120", got)
		}
		if n := s.Status().LogIns; n > 15 {
			t.Errorf("%d log-ins for 40 pages that are for nobody", n)
		}
	})
}
