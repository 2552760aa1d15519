package auth_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// proxied is a proxy that answers for all sites by site, and what it was asked.
type proxied struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newProxied(t *testing.T, site http.HandlerFunc) *proxied {
	p := &proxied{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r.Method+" "+r.RequestURI)
		p.mu.Unlock()
		if !r.URL.IsAbs() {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		site(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxied) fetcher(t *testing.T) *fetcher.Fetcher {
	s := fetcher.DefaultSettings()
	s.Proxy = &fetcher.Proxy{URL: p.URL}
	f := fetcher.New(s, slog.New(slog.DiscardHandler))
	t.Cleanup(f.Close)
	return f
}

// TestCookiesBehindAProxy: cookies of a path are stored and sent as without a proxy.
func TestCookiesBehindAProxy(t *testing.T) {
	for _, path := range []string{"; Path=/app", "; Path=/", ""} {
		p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("JSESSIONID"); err == nil {
				fmt.Fprint(w, "known")
				return
			}
			w.Header().Set("Set-Cookie", "JSESSIONID=1"+path)
		})
		f, jar := p.fetcher(t), auth.NewJar()
		for i, want := range []string{"", "known"} {
			u, err := weburl.Parse([]string{"http://site.test/app/a", "http://site.test/app/b%20c?x=%7B"}[i])
			if err != nil {
				t.Fatal(err)
			}
			resp, err := f.Fetch(t.Context(), fetcher.Request{URL: u, Do: jar.Do(f.Do)})
			if err != nil || string(resp.Body) != want {
				t.Errorf("cookie %q: %s: got %+v, %v, want %q", path, u, resp, err, want)
			}
		}
		want := []string{"GET http://site.test/app/a", "GET http://site.test/app/b%20c?x=%7B"}
		if !slices.Equal(p.asked, want) {
			t.Errorf("the proxy was asked for %q, want %q", p.asked, want)
		}
	}
}

// TestFormBehindAProxy: what the log-in's own requests store is sent with pages.
func TestFormBehindAProxy(t *testing.T) {
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("JSESSIONID"); err == nil {
			fmt.Fprint(w, "content")
		} else if r.URL.Path == "/app/login" && r.Method == http.MethodPost {
			w.Header().Set("Set-Cookie", "JSESSIONID=1; Path=/app")
		} else {
			fmt.Fprint(w, `<form method="post"><input type="password" name="p"></form>`)
		}
	})
	f := p.fetcher(t)
	s, err := auth.New(auth.Settings{Do: f.Do}, auth.Form{
		URL: "http://site.test/app/login", Fields: []auth.Field{{Name: "p", Value: secret.New("x")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("http://site.test/app/x")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		step := s.Step(u)
		if step.Action != auth.LogIn {
			t.Fatalf("%v %s, want a step of the log-in", step.Action, step.Words)
		}
		step.LogIn(t.Context())
		step.End()
	}
	step := s.Step(u)
	resp, err := f.Fetch(t.Context(), fetcher.Request{URL: u, Do: step.Do})
	if answer := step.Judge(resp, err); answer.Action != auth.Proceed || string(resp.Body) != "content" {
		t.Errorf("got %+v, %v, which means %v: %s", resp, err, answer.Action, answer.Words)
	}
}

// TestDigestBehindAProxy: what is signed is what the server sees behind the proxy.
func TestDigestBehindAProxy(t *testing.T) {
	var signed string
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		if signed = r.Header.Get("Authorization"); signed == "" {
			w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	f := p.fetcher(t)
	s, err := auth.New(auth.Settings{Do: f.Do, Origins: []string{"http://site.test"}}, auth.Digest{Username: "u", Password: secret.New("p")})
	if err != nil {
		t.Fatal(err)
	}
	u, err := weburl.Parse("http://site.test/a%20b?c=d")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		step := s.Step(u)
		step.Judge(f.Fetch(t.Context(), fetcher.Request{URL: u, Do: step.Do}))
	}
	if want := `uri="/a%20b?c=d"`; !strings.Contains(signed, want) {
		t.Errorf("signed %q, want %s in it", signed, want)
	}
}
