package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestLogInKeepsThePauseOfItsHost: where the requests of a log-in go to a host that is
// crawled itself, that host sees one request at a time, with its pause in between.
func TestLogInKeepsThePauseOfItsHost(t *testing.T) {
	const pause, pages = 20 * time.Millisecond, 20
	var mu sync.Mutex
	var last time.Time
	busy, early, beside, tokens := 0, 0, 0, 0
	sso := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if busy++; busy > 1 {
			beside++
		}
		if time.Since(last) < pause {
			early++
		}
		if r.URL.Path == "/token" {
			tokens++
		}
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"t","token_type":"Bearer"}`)
		} else {
			fmt.Fprintf(w, `<title>%s</title>`, r.URL.Path)
			for i := range pages {
				fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		busy--
		last = time.Now()
	}))
	defer sso.Close()
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		forget := asked%4 == 0 // the token is no good any more
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		if forget || r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `<title>%s</title>`, r.URL.Path)
		for i := range pages {
			fmt.Fprintf(w, `<a href="/%d">x</a>`, i)
		}
	}))
	defer site.Close()
	b := newBench(t, sso.URL+"/", site.URL+"/")
	b.settings.Frontier.Aggressive, b.settings.Frontier.Throttle = false, pause
	b.settings.Fetches = []policy.Fetch{{
		Fetcher: fetcher.DefaultSettings(), Match: func(u weburl.URL) bool { return strings.HasPrefix(u.String(), site.URL) },
		Login: &policy.Login{Name: "api", Origins: []string{site.URL}, Kind: auth.OAuth2{TokenURL: sso.URL + "/token", ClientID: "c", ClientSecret: secret.New("s")}},
	}}
	b.once()
	if tokens < 2 || beside > 0 || early > 0 {
		t.Errorf("%d tokens; %d requests beside others, %d before the pause was over", tokens, beside, early)
	}
}
