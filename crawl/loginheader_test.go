package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestHeaderOfALogIn: the header of a Fetch goes to the hosts that its condition
// matches, also with the requests of a log-in, and to no other.
func TestHeaderOfALogIn(t *testing.T) {
	var mu sync.Mutex
	keys := map[string][]string{}
	note := func(name string, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys[name] = append(keys[name], r.Header.Get("X-Key"))
	}
	token := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"t","token_type":"Bearer","expires_in":3600}`)
	}
	sso := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { note("sso", r); token(w) }))
	defer sso.Close()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("site "+r.URL.Path, r)
		switch {
		case r.URL.Path == "/token":
			token(w)
		case r.URL.Path == "/" && r.Header.Get("Authorization") == "Bearer t":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>t</title>")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer site.Close()
	for _, tokenURL := range []string{sso.URL + "/token", site.URL + "/token"} {
		clear(keys)
		b := newBench(t, site.URL+"/")
		s := fetcher.DefaultSettings()
		s.Header, s.Exempt = http.Header{"X-Key": {"mine"}}, []string{strings.TrimPrefix(sso.URL, "http://")}
		b.settings.Fetches = []policy.Fetch{{
			Fetcher: s, Match: func(u weburl.URL) bool { return strings.HasPrefix(u.String(), site.URL) },
			Login: &policy.Login{Name: "api", Origins: []string{site.URL}, Kind: auth.OAuth2{TokenURL: tokenURL, ClientID: "c", ClientSecret: secret.New("s")}},
		}}
		b.once()
		if len(b.indexed()) != 1 || fmt.Sprint(keys["site /"]) != "[mine]" {
			t.Errorf("%s: documents %v, keys %v", tokenURL, b.indexed(), keys)
		}
		if tokenURL[:len(sso.URL)] == sso.URL && fmt.Sprint(keys["sso"]) != "[]" || strings.HasPrefix(tokenURL, site.URL) && fmt.Sprint(keys["site /token"]) != "[mine]" {
			t.Errorf("%s: keys %v, want none at the other host", tokenURL, keys)
		}
	}
}
