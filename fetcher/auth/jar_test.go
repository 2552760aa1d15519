package auth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/auth"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// sent returns the Cookie header for a URL.
func sent(t *testing.T, j *auth.Jar, to string) string {
	t.Helper()
	var all []string
	for _, c := range j.Cookies(mustURL(t, to)) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

func set(t *testing.T, j *auth.Jar, from string, headers ...string) {
	t.Helper()
	j.SetCookies(mustURL(t, from), (&http.Response{Header: http.Header{"Set-Cookie": headers}}).Cookies())
}

var jarCases = []struct{ from, header, to, want string }{
	{"https://a.example.com/x/y", "n=1", "https://a.example.com/x/z", "n=1"},
	{"https://a.example.com/x/y", "n=1", "https://a.example.com/", ""}, // default path
	{"https://a.example.com/x/y", "n=1; Path=/", "https://a.example.com/", "n=1"},
	{"https://a.example.com/", "n=1", "https://b.example.com/", ""}, // for this host only
	{"https://a.example.com/", "n=1; Domain=example.com", "https://b.example.com/", "n=1"},
	{"https://a.example.com/", "n=1; Domain=.Example.com", "https://b.example.com/", "n=1"},
	{"https://a.example.com/", "n=1; Domain=evil.example", "https://evil.example/", ""},
	{"https://a.co.uk/", "n=1; Domain=co.uk", "https://b.co.uk/", ""}, // a public suffix
	{"https://a.example.com/", "n=1; Secure", "http://a.example.com/", ""},
	{"https://a.example.com/", "n=1; Secure; HttpOnly", "https://a.example.com/", "n=1"},
	{"https://a.example.com/", "n=1; Max-Age=60", "https://a.example.com/", "n=1"},
	{"https://a.example.com/", "n=1; Max-Age=-1", "https://a.example.com/", ""},
	{"https://a.example.com/", "n=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "https://a.example.com/", ""},
	{"http://10.0.0.1:8080/", "n=1", "http://10.0.0.1/", "n=1"}, // ports are one, RFC 6265 section 8.5
	{"http://localhost/", "n=1", "http://localhost/", "n=1"},
	{"https://a.example.com/", `n="a b"`, "https://a.example.com/", "n=a b"},
}

func TestJarRules(t *testing.T) {
	for _, c := range jarCases {
		j := auth.NewJar()
		set(t, j, c.from, c.header)
		if got := sent(t, j, c.to); got != c.want {
			t.Errorf("%s from %s to %s: %q, want %q", c.header, c.from, c.to, got, c.want)
		}
	}
}

func TestJarBounds(t *testing.T) {
	j := auth.NewJar()
	for i := range 500 {
		set(t, j, origin+"/", fmt.Sprintf("c%d=%d", i, i))
	}
	if n := len(j.Cookies(mustURL(t, origin+"/"))); n != 100 {
		t.Errorf("%d cookies of a site, want 100", n)
	}
	set(t, j, origin+"/", "c1=new") // one that is there may change
	if got := sent(t, j, origin+"/"); !strings.Contains(got, "c1=new") {
		t.Errorf("a known cookie does not change: %q", got)
	}
	set(t, j, origin+"/", "c1=; Max-Age=0", "after=1") // and what goes makes room
	if got := sent(t, j, origin+"/"); !strings.Contains(got, "after=1") {
		t.Errorf("no room after one went: %q", got)
	}

	same := auth.NewJar()
	for range 50 {
		set(t, same, origin+"/", "c="+strings.Repeat("x", 3000))
	}
	set(t, same, origin+"/", "after=1")
	if got := sent(t, same, origin+"/"); !strings.Contains(got, "after=1") {
		t.Error("a cookie that is set again and again fills the site")
	}

	big := auth.NewJar()
	for i := range 50 {
		set(t, big, origin+"/", fmt.Sprintf("c%d=%s", i, strings.Repeat("x", 3000)))
	}
	set(t, big, origin+"/", "huge="+strings.Repeat("x", 5000))
	if n := len(sent(t, big, origin+"/")); n > 17<<10 || n < 12<<10 {
		t.Errorf("%d bytes of cookies of a site, want up to 16 KiB", n)
	}

	many := auth.NewJar()
	for i := range 3000 {
		set(t, many, fmt.Sprintf("https://site%d.example/", i), "n=1")
	}
	if got := sent(t, many, "https://site0.example/"); got != "" {
		t.Errorf("the site not used for longest is still there: %q", got)
	}
	if got := sent(t, many, "https://site2999.example/"); got != "n=1" {
		t.Errorf("the newest site is gone: %q", got)
	}
}

// enableCookies: one jar for all sites.
func TestJarForAllSites(t *testing.T) {
	var got []string
	do := auth.NewJar().Do(inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Host+" "+r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "at", Value: r.Host})
	})))
	for _, host := range []string{"a.example", "b.example", "a.example", "b.example"} {
		if _, err := fetch(t.Context(), parse(t, "https://"+host+"/"), do); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"a.example ", "b.example ", "a.example at=a.example", "b.example at=b.example"}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestJarConcurrently(t *testing.T) {
	j := auth.NewJar()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				u := mustURL(t, fmt.Sprintf("https://h%d.example.com/", n%7))
				j.SetCookies(u, []*http.Cookie{{Name: fmt.Sprint("c", i), Value: "1"}})
				j.Cookies(u)
			}
		})
	}
	wg.Wait()
}
