package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

const tokens = "https://login.example.com/oauth2/token"

// tokenSite is a token endpoint and the pages that its tokens open.
type tokenSite struct {
	n        int
	valid    string
	life     int // seconds, 0: not said
	inBody   bool
	answer   string // instead of a token
	status   int
	location string
	asked    []string
	params   []string
}

func (s *tokenSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host == "login.example.com" {
		s.token(w, r)
		return
	}
	s.asked = append(s.asked, r.URL.Path)
	if r.Header.Get("Authorization") != "Bearer "+s.valid {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = io.WriteString(w, "content")
}

func (s *tokenSite) token(w http.ResponseWriter, r *http.Request) {
	s.asked = append(s.asked, "token")
	user, secret, _ := r.BasicAuth()
	if s.inBody {
		user, secret = r.PostFormValue("client_id"), url.QueryEscape(r.PostFormValue("client_secret"))
	}
	s.params = append(s.params, r.PostFormValue("grant_type")+" "+r.PostFormValue("scope")+" "+r.PostFormValue("audience"))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.location != "":
		http.Redirect(w, r, s.location, http.StatusTemporaryRedirect)
	case s.status != 0:
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.answer)
	case s.answer != "":
		_, _ = io.WriteString(w, s.answer)
	case user != "me" || secret != url.QueryEscape(password):
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is wrong"}`, password)
	default:
		s.n++
		s.valid = fmt.Sprint("access-", s.n)
		_, _ = fmt.Fprintf(w, `{"access_token":"%s","token_type":"bearer","expires_in":%d}`, s.valid, s.life)
	}
}

func (s *tokenSite) kind() auth.OAuth2 {
	return auth.OAuth2{
		TokenURL: tokens, ClientID: "me", ClientSecret: secret.New(password),
		Scopes: []string{"read", "list"}, Params: map[string]secret.Value{"audience": secret.New("pages")}, InBody: s.inBody,
	}
}

func (s *tokenSite) session(t *testing.T, l *logs) *auth.Session {
	return newSession(t, auth.Settings{Name: "api", Origins: []string{origin}, Do: inMemory(s), Logger: l.logger()}, s.kind())
}

func TestOAuth2KeepsAndRenewsItsToken(t *testing.T) {
	for _, inBody := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			site, l := &tokenSite{life: 600, inBody: inBody}, &logs{}
			s := site.session(t, l)
			c := newCrawl(s)
			c.run(t.Context(), 20, pages(t, origin, "/a", "/b")...)
			time.Sleep(530 * time.Second) // the token is renewed a minute before its end
			c.run(t.Context(), 20, pages(t, origin, "/c")...)
			time.Sleep(20 * time.Second)
			c.run(t.Context(), 20, pages(t, origin, "/d")...)
			site.valid = "another" // the server forgets the token: a 401 renews it once
			c.run(t.Context(), 20, pages(t, origin, "/e")...)
			want := []string{"token", "/a", "/b", "/c", "token", "/d", "/e", "token", "/e"}
			if d := cmp.Diff(want, site.asked); d != "" || len(c.result) != 5 || len(c.waits) > 0 {
				t.Errorf("%v, words %q (-want +got):\n%s", c.result, c.waits, d)
			}
			if site.params[0] != "client_credentials read list pages" {
				t.Errorf("parameters %q", site.params[0])
			}
			noSecret(t, l.String()+everything(s, s.Status()), password, "access-")
		})
	}
}

func TestOAuth2Failures(t *testing.T) {
	for name, c := range map[string]struct {
		site  tokenSite
		words string
	}{
		"refused":      {tokenSite{status: 401, answer: `{"error":"invalid_client","error_description":"` + password + `"}`}, "https://login.example.com/oauth2/token responds with 401 invalid_client"},
		"echo":         {tokenSite{status: 400, answer: `{"error":"` + password + `"}`}, "responds with 400 [redacted]"},
		"down":         {tokenSite{status: 503, answer: "Service Unavailable " + password}, "responds with 503"},
		"garbage":      {tokenSite{answer: "<html>" + password}, "responds without a valid token"},
		"no token":     {tokenSite{answer: `{"hello":"` + password + `"}`}, "responds without a valid token"},
		"mac":          {tokenSite{answer: `{"access_token":"x","token_type":"mac"}`}, "not a bearer token"},
		"split header": {tokenSite{answer: `{"access_token":"x\r\nSet-Cookie: a=b","token_type":"bearer"}`}, "not a bearer token"},
		"redirect":     {tokenSite{location: "https://evil.example.net/token"}, "responds with 307"},
		"huge":         {tokenSite{answer: `{"access_token":"` + strings.Repeat("x", 2<<20)}, "without a valid token"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logs{}
				crawl := newCrawl(c.site.session(t, l))
				crawl.run(t.Context(), 5, pages(t, origin, "/a")...)
				if len(crawl.result) > 0 || len(crawl.waits) == 0 || !strings.Contains(crawl.waits[0], c.words) {
					t.Errorf("%v, words %q, want %q", crawl.result, crawl.waits, c.words)
				}
				for _, asked := range c.site.asked {
					if asked != "token" {
						t.Errorf("asked for %s", asked)
					}
				}
				noSecret(t, l.String()+everything(crawl.waits), password)
			})
		})
	}
}

// A token that still holds is used while the endpoint is down.
func TestOAuth2RenewalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := &tokenSite{life: 6000}
		s := site.session(t, &logs{})
		c := newCrawl(s)
		c.run(t.Context(), 20, pages(t, origin, "/a")...)
		site.status, site.answer = 500, "{}"
		time.Sleep(5950 * time.Second)
		c.run(t.Context(), 3, pages(t, origin, "/b")...)
		if c.result[origin+"/b"] != 200 {
			t.Errorf("%v, words %q, asked %q", c.result, c.waits, site.asked)
		}
		time.Sleep(time.Minute)
		c.run(t.Context(), 3, pages(t, origin, "/c")...)
		if st := s.Status(); st.State != "failed" || len(c.result) != 2 {
			t.Errorf("after the token's end: %+v, %v", st, c.result)
		}
	})
}

// An error that names the URL, or repeats a secret, is cleaned of both.
func TestErrorsOfDoAreScrubbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		calls := 0
		form := auth.Form{URL: origin + "/login?sso=s3cret", Fields: []auth.Field{
			{Name: "user", Value: secret.New("robot")}, {Name: "pw", Value: secret.New(password)},
		}}
		do := func(ctx context.Context, req *http.Request) (*http.Response, error) {
			if calls++; calls%2 == 1 { // a form that writes the password into a URL
				return inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, `<form action="/do;jsessionid=s3ssion"><input name=user><input type=password name=pw><input type=hidden name=t value=t0ken></form>`)
				}))(ctx, req)
			}
			if calls%4 == 0 {
				return nil, errors.New("no way to " + req.URL.String() + " with " + req.URL.RawQuery)
			}
			return nil, fmt.Errorf("proxy says %s: %w", req.URL, &url.Error{Op: "Get", URL: req.URL.String(), Err: errors.New("refused by " + password)})
		}
		c := newCrawl(newSession(t, auth.Settings{Do: do, Logger: l.logger()}, form))
		c.run(t.Context(), 10, pages(t, origin, "/a")...)
		if calls < 4 || !strings.Contains(fmt.Sprint(c.waits), "https://intranet.example.com/do: refused by [redacted]") {
			t.Errorf("words %q", c.waits)
		}
		noSecret(t, l.String()+everything(c.waits), password, url.QueryEscape(password), "s3cret", "s3ssion", "t0ken")
	})
}
