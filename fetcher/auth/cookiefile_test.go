package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestKeptSites: cookies of all sites come back to the same URLs, with the same limits, and no others.
func TestKeptSites(t *testing.T) {
	path, quiet := filepath.Join(t.TempDir(), "cookies"), slog.New(slog.DiscardHandler)
	before, after := NewJar(), NewJar()
	for from, cookies := range map[string][]*http.Cookie{
		"https://www.example.com/a/b": {{Name: "host", Value: "1"}, {Name: "domain", Value: "2", Domain: "example.com", Path: "/"}, {Name: "secure", Value: "3", Path: "/", Secure: true}},
		"http://127.0.0.1:8080/":      {{Name: "ip", Value: "4 5", Quoted: true}},
		"http://[::1]:8080/":          {{Name: "ip6", Value: "6"}},
		"http://other.test/":          {{Name: "short", Value: "7", MaxAge: 1000}, {Name: "gone", Value: "8", Expires: time.Unix(1, 0)}},
	} {
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		before.SetCookies(u, cookies)
	}
	f := OpenCookieFile(path, quiet)
	if err := f.Save(nil, before); err != nil {
		t.Fatal(err)
	}
	written, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Save(nil, before); err != nil {
		t.Fatal(err)
	}
	if again, err := os.Stat(path); err != nil || !os.SameFile(written, again) {
		t.Errorf("written again though nothing has changed, %v", err)
	}
	OpenCookieFile(path, quiet).ResumeSites(after)
	for _, to := range []string{
		"https://www.example.com/a/c", "http://www.example.com/a/c", "https://www.example.com/", "https://ftp.example.com/", "https://example.com/",
		"http://127.0.0.1:9090/", "http://[::1]:9090/", "http://other.test/", "http://www.other.test/",
	} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if want, got := shown(before.Cookies(u)), shown(after.Cookies(u)); !slices.Equal(want, got) {
			t.Errorf("%s: %v, want %v", to, got, want)
		}
	}
}

func shown(cookies []*http.Cookie) []string {
	var all []string
	for _, c := range cookies {
		all = append(all, c.String())
	}
	slices.Sort(all)
	return all
}

// FuzzCookieFile: whatever stands in the file, nothing panics, and what is taken stays within a jar's limits.
func FuzzCookieFile(f *testing.F) {
	f.Add([]byte(`{"salt":"AAAA","sessions":[{"identity":"a","cookies":[{"host":"a.test","path":"/","name":"n","value":"v"}]}]}`))
	f.Add([]byte(`{"salt":"AAAA","sites":[{"host":"::1","domain":true,"path":"","name":"n","value":"v","expires":"2100-01-01T00:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := parseCookieFile(body); err == nil {
			t.Error("a file without its sum is read")
		}
		sum := sha256.Sum256(body)
		content, err := parseCookieFile(fmt.Appendf(nil, "%s%s\n%s", cookieFileHead, hex.EncodeToString(sum[:]), body))
		if err != nil {
			return
		}
		j, now := NewJar(), time.Now()
		j.resume(content.Sites, now)
		for _, s := range content.Sessions {
			j.resume(s.Cookies, now)
		}
		again := NewJar()
		again.resume(j.kept(now), now)
		if j.used.Len() > maxSites {
			t.Errorf("%d sites", j.used.Len())
		}
	})
}
