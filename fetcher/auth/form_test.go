package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

const (
	password = "correct horse & battery=staple"
	origin   = "https://intranet.example.com"
)

// portal is a site behind a log-in form: a token against forged requests that
// must match the session's, sessions that end after a number of pages, and a
// log-out.
type portal struct {
	mu       sync.Mutex
	n        int
	tokens   map[string]string // by anonymous session
	sessions map[string]int    // pages left, by session
	life     int               // pages of a session, 0: endless
	requests []string
	password string
	redirect bool   // pages of a visitor lead to the log-in page, not 200 with the form
	wrong    int    // wrong passwords seen
	after    string // redirect after the log-in; "": a page
}

func newPortal() *portal {
	return &portal{tokens: map[string]string{}, sessions: map[string]int{}, password: password, redirect: true}
}

func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path)
	switch r.URL.Path {
	case "/login":
		if r.Method == http.MethodPost {
			p.post(w, r)
			return
		}
		p.form(w, "")
	case "/logout":
		if c, err := r.Cookie("sid"); err == nil {
			delete(p.sessions, c.Value)
		}
		_, _ = w.Write([]byte("good bye"))
	case "/forbidden":
		http.Error(w, "not for you", http.StatusForbidden)
	case "/admin":
		http.Redirect(w, r, "/login?next=/admin", http.StatusFound)
	default:
		p.page(w, r)
	}
}

func (p *portal) form(w http.ResponseWriter, note string) {
	p.n++
	anonymous, token := fmt.Sprint("anon-", p.n), fmt.Sprint("token-", p.n)
	p.tokens[anonymous] = token
	http.SetCookie(w, &http.Cookie{Name: "anon", Value: anonymous, HttpOnly: true, Secure: true})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<html><body>%s<form action=/search><input name=q></form><table><form method=POST action="?do=login" id=lf>
<tr><td><input type=hidden name=csrf value="%s"><input name=user><input type=password name=pw>
<input type=checkbox name=remember checked><input type=checkbox name=public>
<select name=realm><option>internal<option value=ext selected>external</select>
<input type=submit name=go value="Log in"><input type=submit name=cancel value=Cancel></form></table>`, note, token)
}

func (p *portal) post(w http.ResponseWriter, r *http.Request) {
	anonymous, err := r.Cookie("anon")
	switch {
	case err != nil || p.tokens[anonymous.Value] == "" || p.tokens[anonymous.Value] != r.PostFormValue("csrf"):
		http.Error(w, "forged", http.StatusBadRequest)
		return
	case r.Referer() != origin+"/login", r.Header.Get("Origin") != origin:
		http.Error(w, "no referer", http.StatusBadRequest)
		return
	case r.PostForm.Encode() != "csrf="+p.tokens[anonymous.Value]+"&go=Log+in&pw="+strings.NewReplacer(" ", "+", "&", "%26", "=", "%3D").Replace(p.password)+"&realm=ext&remember=on&user=robot":
		p.wrong++
		p.form(w, "<p>wrong password</p>")
		return
	}
	delete(p.tokens, anonymous.Value)
	p.n++
	sid := fmt.Sprint("sid-", p.n)
	p.sessions[sid] = p.life
	http.SetCookie(w, &http.Cookie{Name: "sid", Value: sid, HttpOnly: true, Secure: true})
	if p.after != "" {
		http.Redirect(w, r, p.after, http.StatusSeeOther)
		return
	}
	_, _ = w.Write([]byte("<p>Welcome, robot"))
}

func (p *portal) page(w http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie("sid")
	left, ok := 0, false
	if err == nil {
		left, ok = p.sessions[c.Value]
	}
	switch {
	case ok:
		if left == 1 {
			delete(p.sessions, c.Value)
		} else if left > 1 {
			p.sessions[c.Value]--
		}
		_, _ = w.Write([]byte("content of " + r.URL.Path))
	case p.redirect:
		http.Redirect(w, r, "/login?next="+r.URL.Path, http.StatusFound)
	default:
		p.form(w, "please log in")
	}
}

func (p *portal) kind() auth.Form {
	return auth.Form{URL: origin + "/login", Fields: []auth.Field{
		{Name: "user", Value: secret.New("robot")}, {Name: "pw", Value: secret.New(password)},
	}}
}

func TestFormLogsInOnceForAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := newPortal(), &logs{}
		s := newSession(t, auth.Settings{Name: "portal", Do: inMemory(p), Logger: l.logger()}, p.kind())
		c := newCrawl(s)
		c.run(t.Context(), 100, pages(t, origin, "/a", "/b", "/c")...)
		want := []string{"GET /login", "POST /login", "GET /a", "GET /b", "GET /c"}
		if d := cmp.Diff(want, p.requests); d != "" {
			t.Errorf("requests (-want +got):\n%s", d)
		}
		if st := s.Status(); st.State != "good" || st.LogIns != 1 {
			t.Errorf("status %+v", st)
		}
		noSecret(t, l.String()+everything(s, s.Status()), password, "sid-", "token-", "anon-", "robot")
	})
}

// TestFormSteps: Watch reports each request of a log-in, findings and the result, without secrets, tokens and cookie
// values.
func TestFormSteps(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*portal, *auth.Form)
		want   string
	}{
		"works":          {func(*portal, *auth.Form) {}, "the log-in portal worked: the response does not contain the log-in form"},
		"wrong password": {func(p *portal, _ *auth.Form) { p.password = "another" }, "the log-in portal failed: https://intranet.example.com/login shows the log-in form again: check user name and password"},
		"a field that the form lacks": {func(_ *portal, k *auth.Form) {
			k.Fields = append(k.Fields, auth.Field{Name: "otp", Value: secret.New("secret otp")})
		}, "is filled in: user, pw, otp (which the form does not have); its own fields are csrf, remember, public, realm, go, cancel; it is submitted with POST"},
		"a cookie": {func(_ *portal, k *auth.Form) { k.Success.Cookie = "sid" }, "the log-in portal worked: the cookie sid is set"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPortal()
				k := p.kind()
				c.change(p, &k)
				var said strings.Builder
				ctx := auth.Watch(t.Context(), func(e auth.Event) {
					fmt.Fprintf(&said, "%s %s %d %s\n", e.Method, e.URL, e.Status, strings.Join(e.Words, "; "))
				})
				newCrawl(newSession(t, auth.Settings{Name: "portal", Do: inMemory(p)}, k)).run(ctx, 3, pages(t, origin, "/a")...)
				for _, want := range []string{"GET " + origin + "/login 200 sets the cookie anon\n", `form 2 of 2 (name "", id "lf") is filled in: `, c.want} {
					if !strings.Contains(said.String(), want) {
						t.Errorf("%q is not in\n%s", want, &said)
					}
				}
				noSecret(t, said.String(), password, "sid-", "token-", "anon-", "robot", "secret otp", "do=login")
			})
		})
	}
}

func TestFormLogsInAgainWhenTheSessionIsOver(t *testing.T) {
	for _, redirect := range []bool{true, false} {
		t.Run(fmt.Sprint("redirect=", redirect), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPortal()
				p.life, p.redirect = 2, redirect
				s := newSession(t, auth.Settings{Do: inMemory(p)}, p.kind())
				c := newCrawl(s)
				c.run(t.Context(), 100, pages(t, origin, "/a", "/b", "/c", "/logout", "/d", "/e")...)
				want := map[string]int{}
				for _, path := range []string{"/a", "/b", "/c", "/logout", "/d", "/e"} {
					want[origin+path] = 200
				}
				if d := cmp.Diff(want, c.result); d != "" {
					t.Errorf("results (-want +got):\n%s", d)
				}
				if len(c.waits) > 0 || c.temps > 0 {
					t.Errorf("pages waited: %q", c.waits)
				}
				if st := s.Status(); st.LogIns != 3 {
					t.Errorf("%d log-ins, want 3: the first, one after two pages, one after the log-out", st.LogIns)
				}
			})
		})
	}
}

func TestFormWithAWrongPasswordWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := newPortal(), &logs{}
		p.password = "another one"
		s := newSession(t, auth.Settings{Name: "portal", Do: inMemory(p), Logger: l.logger()}, p.kind())
		c := newCrawl(s)
		began := time.Now()
		u := pages(t, origin, "/a", "/b")
		c.run(t.Context(), 10, u...)
		if len(c.result) > 0 {
			t.Errorf("pages got an answer: %v", c.result)
		}
		if len(c.waits) == 0 || !strings.Contains(c.waits[0], "portal: log-in failed: https://intranet.example.com/login shows the log-in form again: check user name and password") {
			t.Errorf("words %q", c.waits)
		}
		if p.wrong == 0 || time.Since(began) < time.Duration(p.wrong-1)*2*time.Minute {
			t.Errorf("%d wrong passwords in %v", p.wrong, time.Since(began))
		}
		noSecret(t, l.String()+everything(s, s.Status(), c.waits), password, "token-", "anon-", "robot")

		p.password = password
		c.run(t.Context(), 50, u...)
		if d := cmp.Diff(map[string]int{origin + "/a": 200, origin + "/b": 200}, c.result); d != "" {
			t.Errorf("after the password was put right (-want +got):\n%s", d)
		}
	})
}
