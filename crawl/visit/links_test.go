package visit

import (
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

func TestHostIn(t *testing.T) {
	for href, want := range map[string]string{
		"": "", "/a/b": "", "a?x=//h": "h", "http://A.Test/x": "A.Test", "//A.test:80/": "A.test", "HTTP://u:p@A.test:8080?x": "A.test",
		`http://A.test\b`: "A.test", "http://[2001:DB8::1]:80/": "2001:DB8::1", "http://[::1]/": "::1", "//": "", "http://A.test#f": "A.test",
	} {
		if got := HostIn(href); got != want {
			t.Errorf("hostIn(%q) = %q, want %q", href, got, want)
		}
	}
}

// TestSpellings: a link is judged once in each spelling, until one is accepted.
func TestSpellings(t *testing.T) {
	u := parse(t, "http://a.test/b")
	s := spellings[weburl.Key]{}
	for i, step := range []struct {
		fragment, host string
		want           bool
	}{{"", "", true}, {"", "a.test", false}, {"x", "", true}, {"x", "", false}, {"", "A.test", true}, {"", "", true}} {
		if got := s.open(u.Key(), u.WithFragment(step.fragment), step.host); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
	if !s.accept(u.Key()) || s.accept(u.Key()) || s.open(u.Key(), u, "A.Test") {
		t.Error("an accepted URL is judged again")
	}
}
