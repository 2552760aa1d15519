package visit

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestLoginPages: pages in place of others are log-in pages, pages with a log-in
// box are not.
func TestLoginPages(t *testing.T) {
	var l logins
	at := func(host, path string) *scheduler.Lease {
		u := parse(t, "http://"+host+path)
		return &scheduler.Lease{Key: u.Key(), Place: scheduler.Place{Host: u.HostKey()}}
	}
	wall := extract.Page{Title: "Log in", Text: "User Password", Password: true}
	box := func(s string) extract.Page { return extract.Page{Title: s, Text: s + " User Password", Password: true} }
	for i, tt := range []struct {
		host, path string
		page       extract.Page
		want       bool
	}{
		{"a.test", "/login", wall, false},
		{"a.test", "/login", wall, false}, // it is refreshed
		{"a.test", "/1", wall, true},
		{"b.test", "/2", wall, false}, // another host
		{"a.test", "/2", extract.Page{Title: "Log in", Text: "User Password"}, false},
		{"a.test", "/3", wall, true},
		{"a.test", "/login", wall, true},
		{"a.test", "/4", box("four"), false},
		{"a.test", "/5", box("five"), false},
		{"a.test", "/6", wall, false},
		{"a.test", "/7", wall, true},
	} {
		if got := l.is(at(tt.host, tt.path), &tt.page); got != tt.want {
			t.Errorf("%d: %s%s: %v, want %v", i, tt.host, tt.path, got, tt.want)
		}
	}
	for i := range 3 * loginHosts {
		l.last[weburl.HostKey{byte(i), byte(i >> 8), byte(i >> 16), 1}] = passwordPage{}
		if i%1000 == 0 {
			page := box("x")
			l.is(at("c"+strings.Repeat("x", i/1000)+".test", "/"), &page)
		}
	}
	if len(l.last) > loginHosts+1000 {
		t.Errorf("%d hosts are kept", len(l.last))
	}
}
