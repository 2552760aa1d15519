package report

import (
	"net/url"
	"strings"
	"testing"
)

// TestFilterOfHost: a host is found however it is written.
func TestFilterOfHost(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "WWW.a.Test": "www.a.test", "a.test:8443": "a.test:8443", "a.test:80": "a.test", "bücher.example": "xn--bcher-kva.example", "[::1]:8080": "[::1]:8080",
		"https://a.test": "https://a.test", "HTTP://a.test:80/": "http://a.test", "https://a.test/page?x": "https://a.test",
	} {
		if f, err := ParseFilter(url.Values{"host": {text}}); err != nil || f.Host != want {
			t.Errorf("%q: %q, %v; want %q", text, f.Host, err, want)
		}
	}
	for _, text := range []string{"a.test/page", ":::", "two words", "ftp://"} {
		if f, err := ParseFilter(url.Values{"host": {text}}); err == nil {
			t.Errorf("%q is taken for %q", text, f.Host)
		}
	}
}

func TestParseFilterErrors(t *testing.T) {
	for name, bad := range map[string]string{"status": "many", "class": "good", "fifo": "seven", "host": "a.test/page"} {
		_, err := ParseFilter(url.Values{name: {bad}})
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s=%s: %v", name, bad, err)
		}
	}
}
