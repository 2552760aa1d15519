package copies

import (
	"fmt"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

func parsed(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestPatternsAreLearnt counts copies of one parameter and of digits, and takes no
// others for a pattern.
func TestPatternsAreLearnt(t *testing.T) {
	of := func(n int, u, original string, documents int) *Patterns {
		p := NewPatterns(nil)
		for i := range documents {
			p.Observe(parsed(t, fmt.Sprintf(u, 10_000+i)), weburl.URL{})
		}
		for i := range n {
			o := weburl.URL{}
			if original != "" {
				o = parsed(t, original)
			}
			p.Observe(parsed(t, fmt.Sprintf(u, i)), o)
		}
		return p
	}
	const session, calendar = "http://h/p?a=1&sid=%d", "http://h/cal/%d/day"
	for _, tt := range []struct {
		name        string
		p           *Patterns
		learnt, cut string // what a new link is matched by
	}{
		{"few", of(19, session, "http://h/p?a=1", 1), "", ""},
		{"session", of(20, session, "http://h/p?a=1", 1), "sid", ""},
		{"session, budget used", of(100, session, "http://h/p?a=1&sid=x", 1), "sid", "sid"},
		{"mostly documents", of(100, session, "http://h/p?a=1", 50), "", ""},
		{"another parameter, too", of(100, session, "http://h/p?a=2", 1), "", ""},
		{"another path", of(100, session, "http://h/q?a=1", 1), "", ""},
		{"another host", of(100, session, "http://i/p?a=1", 1), "", ""},
		{"calendar", of(100, calendar, "http://h/cal/2001/day", 2), "/cal/#/day", "/cal/#/day"},
		{"other form", of(100, calendar, "http://h/cal/2001/night", 2), "", ""},
		{"documents alone", of(100, calendar, "", 0), "", ""},
	} {
		var learnt, cut string
		if l := tt.p.Learnt(false); len(l) > 0 {
			learnt = l[0].Parameter + l[0].Path
		}
		for _, u := range []string{"http://h/new?sid=7", "http://h/cal/999/day"} {
			if m := tt.p.Match(parsed(t, u)); m != nil {
				cut = m.Parameter + m.Path
			}
		}
		if learnt != tt.learnt || cut != tt.cut {
			t.Errorf("%s: learnt %q, cut %q; want %q, %q", tt.name, learnt, cut, tt.learnt, tt.cut)
		}
	}
}
