package crawlspace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/weburl"
)

// known is a HostURLs that a test fills.
type known map[weburl.HostKey]int

func (k known) HostURLs(h weburl.HostKey) int { return k[h] }

// hostURLs is what a caller of Explain counts.
func hostURLs(traps *Traps, u weburl.URL) int {
	if traps.hosts == nil {
		return 0
	}
	return traps.hosts.HostURLs(u.HostKey())
}

func admitted(t testing.TB, traps *Traps, raw string) string {
	t.Helper()
	u := mustURL(t, raw)
	explained := Reason{}
	for _, a := range traps.Explain(u, false, hostURLs(traps, u)) {
		if !a.Allowed {
			explained = a.Reason
			break
		}
	}
	reason, ok := traps.Admit(u)
	if ok != (explained == Reason{}) || reason != explained {
		t.Errorf("%s: Admit says %v for %q, Explain %q", raw, ok, reason, explained)
	}
	if ok {
		return "ok"
	}
	return string(reason.Gate) + " " + reason.Rule
}

func TestRepetition(t *testing.T) {
	traps := NewTraps(TrapSettings{At: at(5)}, nil)
	many := ""
	for i := range 40 {
		many += fmt.Sprintf("/d%c%c", 'a'+i/26, 'a'+i%26)
	}
	for raw, want := range map[string]string{
		"http://h/":                                       "ok",
		"http://h/a/a/a":                                  "ok",
		"http://h/a/a/a/":                                 "ok",
		"http://h/a/a/a/A":                                "ok",
		"http://h/a/b/a/b/a/b":                            "ok",
		"http://h/a/b/a/b/a/b/a":                          `repetition maxRepeats="3", passed by the segment "a"`,
		"http://h/a/a/a/a/x":                              `repetition maxRepeats="3", passed by the segment "a"`,
		"http://h//////x":                                 `repetition maxRepeats="3", passed by the segment ""`,
		"http://h///x//":                                  "ok",
		"http://a/a/a/a?a&a&a":                            "ok",
		"http://h/?a=1&a=2&a=3&a=4&b=1&b=1&b=1":           "ok",
		"http://h/?a=1&b=1&a=1&a=1&a=1":                   `repetition maxRepeats="3", passed by the query pair "a=1"`,
		"http://h" + many:                                 "ok",
		"http://h" + many + strings.Repeat("/dba", 3):     `repetition maxRepeats="3", passed by the segment "dba"`,
		"http://h" + many + strings.Repeat("/dba", 2):     "ok",
		"http://h/" + strings.Repeat("a%20/", 4) + "page": `repetition maxRepeats="3", passed by the segment "a%20"`,
	} {
		if got := admitted(t, traps, raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	if reason, _ := traps.Admit(mustURL(t, "http://h/a/a/a/a")); reason.String() != `repetition gate, CrawlConfig.xml:5: maxRepeats="3", passed by the segment "a"` {
		t.Error(reason)
	}
	if got := admitted(t, NewTraps(TrapSettings{MaxRepeats: 1}, nil), "http://h/a/b/a"); got != `repetition maxRepeats="1", passed by the segment "a"` {
		t.Error(got)
	}
}

// The short way and the long way count alike, and as the plain one.
func TestRepeatsAgree(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-e]{0,2}`), 1, quadratic).Draw(t, "parts")
		most := rapid.IntRange(1, 4).Draw(t, "most")
		s := strings.Join(parts, "/")
		part, many := repeats(s, '/', most)
		if other, ok := repeatsOfMany(s, '/', most); ok != many || other != part {
			t.Fatalf("%q: %q %v, with a map %q %v", s, part, many, other, ok)
		}
		want := false
		for _, p := range parts {
			n := 0
			for _, q := range parts {
				if p == q {
					n++
				}
			}
			want = want || n > most
		}
		if many != want {
			t.Fatalf("%q: %v, want %v", s, many, want)
		}
	})
}

func TestPatterns(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h1:81/cal/2024/05/12?d=2024-05-12&v=x": "http://h1:81/cal/#/#/#?d=#-#-#&v=x",
		"http://h/a":          "http://h/a",
		"http://h/%C3%A9/a12": "http://h/%C3%A9/a#",
		"http://h/%C3%A912":   "http://h/%C3%A9#",
		"http://h/%12":        "http://h/%12",
		"http://h/%1":         "http://h/%#",
	} {
		pattern, general := appendPattern(nil, mustURL(t, raw))
		if string(pattern) != want || general != strings.Contains(want, "#") {
			t.Errorf("%s: %s %v, want %s", raw, pattern, general, want)
		}
	}
}

func TestCalendar(t *testing.T) {
	traps := NewTraps(TrapSettings{MaxURLsPerPattern: 30, At: at(7)}, nil)
	const full = `url-pattern maxURLsPerPattern="30" of "http://h/cal/#/#"`
	for day := range 40 {
		want := "ok"
		if day >= 30 {
			want = full
		}
		if got := admitted(t, traps, fmt.Sprintf("http://h/cal/2024/%d", day)); got != want {
			t.Fatalf("day %d: %s, want %s", day, got, want)
		}
	}
	for _, raw := range []string{"http://h/cal/2024", "http://h/cal/x/y", "https://h/cal/1/1", "http://h:81/cal/1/1", "http://h/cal/1/1?a", "http://i/cal/1/1"} {
		if got := admitted(t, traps, raw); got != "ok" {
			t.Errorf("%s: %s", raw, got)
		}
	}
	for range 100 { // it has no digits, so it is all that has its pattern
		if got := admitted(t, traps, "http://h/cal/x/y"); got != "ok" {
			t.Fatal(got)
		}
	}
	if got := admitted(t, traps.With(TrapSettings{MaxURLsPerPattern: 31}), "http://h/cal/3/3"); got != "ok" {
		t.Errorf("with a larger budget: %s", got)
	}
	if got := admitted(t, traps.With(TrapSettings{MaxURLsPerPattern: 5, At: at(7)}), "http://h/cal/3/3"); got != strings.Replace(full, "30", "5", 1) {
		t.Errorf("with a smaller budget: %s", got)
	}
}

func TestMaxURLsPerHost(t *testing.T) {
	hosts := known{mustURL(t, "http://full/").HostKey(): 100, mustURL(t, "http://almost/").HostKey(): 99}
	traps := NewTraps(TrapSettings{MaxURLsPerHost: 100, MaxURLsPerPattern: 1}, hosts)
	for _, tt := range []struct{ raw, want string }{
		{"http://full/x", `host-urls maxURLsPerHost="100" of http://full`},
		{"http://full:81/x", "ok"},
		{"https://full/x", "ok"},
		{"http://almost/x", "ok"},
		{"http://other/x", "ok"},
		{"http://full/a/a/a/a", `repetition maxRepeats="3", passed by the segment "a"`},
		{"http://full/7", `host-urls maxURLsPerHost="100" of http://full`},
	} {
		if got := admitted(t, traps, tt.raw); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.raw, got, tt.want)
		}
	}
	clear(hosts)
	if got := admitted(t, traps, "http://full/7"); got != "ok" {
		t.Errorf("a link that the host's limit refused used up its pattern's budget: %s", got)
	}
	unlimited := NewTraps(TrapSettings{}, nil)
	if got := admitted(t, unlimited, "http://full/x"); got != "ok" {
		t.Error(got)
	}
}

func TestExplainNamesAllTraps(t *testing.T) {
	traps := NewTraps(TrapSettings{MaxURLsPerHost: 9, At: at(3)}, known{})
	want := []GateAnswer{
		{Reason: Reason{GateRepetition, "CrawlConfig.xml", 3, `maxRepeats="3"`}, Allowed: true},
		{Reason: Reason{GateHostURLs, "CrawlConfig.xml", 3, `maxURLsPerHost="9" of http://h`}, Allowed: true},
		{Reason: Reason{GateURLPattern, "CrawlConfig.xml", 3, `maxURLsPerPattern="10000" of "http://h/#"`}, Allowed: true},
	}
	if d := cmp.Diff(want, traps.Explain(mustURL(t, "http://h/5"), false, 0)); d != "" {
		t.Error(d)
	}
	if n := traps.counts.count(patternKey([]byte("http://h/#"))); n != 0 {
		t.Errorf("explaining counted %d", n)
	}
}

// TestExplainPassesKnown: no trap refuses what is known, and each says how it stands.
func TestExplainPassesKnown(t *testing.T) {
	hosts := known{mustURL(t, "http://full/").HostKey(): 17}
	traps := NewTraps(TrapSettings{MaxURLsPerHost: 9, MaxURLsPerPattern: 1}, hosts)
	admitted(t, traps, "http://h/1")
	for url, want := range map[string][]string{
		"http://h/2":         {"it would pass", "0 of 9", "full, 1 of 1"},
		"http://full/1":      {"it would pass", "full, 17 of 9", "0 of 1"},
		"http://h/x/x/x/x/x": {"it would be refused", "0 of 9", "it would pass"},
	} {
		for i, a := range traps.Explain(mustURL(t, url), true, hostURLs(traps, mustURL(t, url))) {
			if want := "counts new links only: " + want[i]; !a.Allowed || a.Answer() != want {
				t.Errorf("%s: the %s gate allows: %t, %q, want %q", url, a.Gate, a.Allowed, a.Answer(), want)
			}
		}
	}
}

// Whatever is asked, no pattern that has its place gets more than its budget, the
// table never grows, and a trap is not forgotten for patterns that come once.
func TestTrapMemoryIsBounded(t *testing.T) {
	traps := NewTraps(TrapSettings{Patterns: 64, MaxURLsPerPattern: 50}, nil)
	sets, refused := len(traps.counts.sets), 0
	for i := range 20_000 {
		if _, ok := traps.Admit(mustURL(t, fmt.Sprintf("http://h/once%s/%d", strings.Repeat("x", i%1000), i))); !ok {
			refused++
		}
		if _, ok := traps.Admit(mustURL(t, fmt.Sprintf("http://h/trap?page=%d", i))); ok != (i < 50) {
			t.Fatalf("page %d of the trap: %v", i, ok)
		}
	}
	if len(traps.counts.sets) != sets || sets*ways != 64 {
		t.Errorf("the table has %d sets, at first %d", len(traps.counts.sets), sets)
	}
	if len(traps.AppendState(nil)) > 1+64*slotBytes {
		t.Error("the state is larger than the table")
	}
	if refused > 0 {
		t.Errorf("%d URLs of patterns that have less than their budget were refused", refused)
	}
}

// Against a plain map, with a table that has room for all.
func TestAdmitAgreesWithMap(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		budget := rapid.IntRange(1, 4).Draw(t, "budget")
		traps := NewTraps(TrapSettings{MaxURLsPerPattern: budget, Patterns: 4096}, nil)
		counts := map[string]int{}
		for range rapid.IntRange(0, 60).Draw(t, "links") {
			u, err := weburl.Parse("http://h/" + rapid.StringMatching(`[ab]/[0-9]{0,2}(\?[ab]=[0-9]{1,2})?`).Draw(t, "link"))
			if err != nil {
				t.Fatal(err)
			}
			pattern, general := appendPattern(nil, u)
			want := !general || counts[string(pattern)] < budget
			explain := true
			for _, a := range traps.Explain(u, false, hostURLs(traps, u)) {
				explain = explain && a.Allowed
			}
			if _, ok := traps.Admit(u); ok != want || explain != want {
				t.Fatalf("%s: admitted %v, explained %v, want %v", u, ok, explain, want)
			}
			if want && general {
				counts[string(pattern)]++
			}
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				state := traps.AppendState(nil)
				traps = NewTraps(TrapSettings{MaxURLsPerPattern: budget, Patterns: rapid.SampledFrom([]int{4096, 8192}).Draw(t, "size")}, nil)
				if err := traps.RestoreState(state); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestAdmitConcurrently(t *testing.T) {
	traps := NewTraps(TrapSettings{MaxURLsPerPattern: 500}, nil)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 1000 {
				u, err := weburl.Parse(fmt.Sprintf("http://h/%d", i*1000+j))
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := traps.Admit(u); ok {
					admitted.Add(1)
				}
				if j%100 == 0 {
					traps.AppendState(nil)
				}
			}
		})
	}
	wg.Wait()
	if admitted.Load() != 500 {
		t.Errorf("%d were admitted, want 500", admitted.Load())
	}
}

func TestRestoreState(t *testing.T) {
	traps := NewTraps(TrapSettings{}, nil)
	if err := traps.RestoreState(nil); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{{0}, {2}, {1, 0}, make([]byte, 12), bytes.Repeat([]byte{1}, 14)} {
		if err := traps.RestoreState(b); !errors.Is(err, ErrTrapState) {
			t.Errorf("%v: %v", b, err)
		}
	}
	// Into a smaller table, the patterns with the most URLs go first.
	big := NewTraps(TrapSettings{Patterns: 1024, MaxURLsPerPattern: 1000}, nil)
	for i := range 100 {
		for range i {
			big.Admit(mustURL(t, fmt.Sprintf("http://h/%s/1", strings.Repeat("x", i))))
		}
	}
	small := NewTraps(TrapSettings{Patterns: ways, MaxURLsPerPattern: 1000}, nil)
	if err := small.RestoreState(big.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	if err := small.RestoreState([]byte("\x01seldom..\x00\x00\x00\x01")); err != nil {
		t.Fatal(err)
	}
	for i := 100 - ways; i < 100; i++ {
		if n := small.counts.count(patternKey([]byte(fmt.Sprintf("http://h/%s/#", strings.Repeat("x", i))))); n != uint32(i) {
			t.Errorf("pattern %d has %d URLs", i, n)
		}
	}
}

func FuzzTraps(f *testing.F) {
	f.Add("http://h/1/1/1/1?2&2&2&2", []byte{1})
	f.Add("http://h/%12%/%4?%1", []byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05"))
	f.Add("http://h//////a"+strings.Repeat("/b", 100), []byte{})
	f.Fuzz(func(t *testing.T, raw string, state []byte) {
		traps := NewTraps(TrapSettings{Patterns: 16, MaxURLsPerPattern: 2, MaxURLsPerHost: 5}, known{})
		if err := traps.RestoreState(state); err == nil && len(traps.AppendState(nil)) > max(len(state), 1) {
			t.Error("more came out than was put in")
		}
		u, err := weburl.Parse(raw)
		if err != nil {
			return
		}
		for range 4 {
			admitted(t, traps, u.String())
		}
	})
}

func TestAdmitAllocatesNothing(t *testing.T) {
	traps := NewTraps(TrapSettings{MaxURLsPerHost: 1000, MaxURLsPerPattern: 1 << 30}, known{})
	for _, l := range benchLinks(t)[:8] {
		if n := testing.AllocsPerRun(100, func() { traps.Admit(l.URL) }); n != 0 {
			t.Errorf("%s: %v allocations", l.URL, n)
		}
	}
}
