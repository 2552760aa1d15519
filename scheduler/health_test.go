package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

func doc(i int) weburl.Key { return weburl.Key{byte(i), byte(i >> 8), 1} }

// observeAll tells of responses of documents of their own, a second apart: "b" bad, "g" good, "." not
// counted; "-" is a pause of ten minutes. It returns after how many responses the host was ill first.
func observeAll(h *health, responses string, documents uint64) (illAfter int) {
	word := map[byte]Response{'b': BadResponse, 'g': GoodResponse, '.': NotCounted}
	now := start()
	for i := range len(responses) {
		if responses[i] == '-' {
			now = now.Add(wellAfter)
			continue
		}
		before := h.ill
		if changed := h.observe(doc(i), word[responses[i]], documents, 0, now); changed != (before != h.ill) {
			panic("observe does not tell what it changed")
		}
		if h.ill && illAfter == 0 {
			illAfter = i + 1
		}
		now = now.Add(time.Second)
	}
	return illAfter
}

func TestIll(t *testing.T) {
	bad := func(n int) string { return strings.Repeat("b", n) }
	for _, c := range []struct {
		responses string
		documents uint64
		want      int // ill after so many responses, 0: not
	}{
		{bad(7), 100, 0},
		{bad(8), 100, 8},
		{bad(8), 10, 8},
		{bad(3) + "g" + bad(3) + "g" + bad(2), 100, 10},
		{bad(4) + "ggg" + bad(7), 100, 0},
		{"ggg" + bad(8), 100, 11},
		{bad(2) + "gg" + bad(6), 100, 10},
		{bad(7) + "ggg" + "b", 100, 0}, // the first one is forgotten
		{bad(7) + "........." + "b", 100, 17},
		{bad(7) + strings.Repeat(".", 20), 100, 0},
		{strings.Repeat("bg", 50), 100, 0},
		{strings.Repeat(".", 50), 100, 0},
		// All of fewer than ten documents, but three at least.
		{bad(8), 9, 0},
		{bad(9), 9, 9},
		{bad(4) + "g" + bad(4), 9, 0},
		{bad(2), 3, 0},
		{bad(3), 3, 3},
		{"g" + bad(3), 3, 4},
		{"bbg", 3, 0},
		{bad(50), 2, 0},
		{bad(50), 1, 0},
		{bad(50), 0, 0},
	} {
		h := new(health)
		if got := observeAll(h, c.responses, c.documents); got != c.want {
			t.Errorf("%s of %d documents: ill after %d responses, want %d", c.responses, c.documents, got, c.want)
		}
		if h.ill && !h.since.Equal(start().Add(time.Duration(c.want-1)*time.Second)) {
			t.Errorf("%s: ill since %v", c.responses, h.since)
		}
	}
}

// TestWell: ten minutes after the last bad response, and with good ones of five documents since then.
func TestWell(t *testing.T) {
	for _, c := range []struct {
		responses string
		documents uint64
		ill       bool
	}{
		{"-gggg", 100, true},
		{"-ggggg", 100, false},
		{"gggg-g", 100, false},
		{"ggggg", 100, true},
		{"ggggggggg", 100, true},
		{"ggggg-", 100, true}, // it is the next response that finds it well
		{"ggggg-g", 100, false},
		{"ggggg-.", 100, true},
		{"-ggggb-g", 100, true},
		{"-ggggb-gggg", 100, true},
		{"-ggggb-ggggg", 100, false},
		{"-ggggbggggg", 100, true}, // the bad one was just now
		{"-ggggbggggg-g", 100, false},
		{"-gg...ggg", 100, false},
		{"-ggg", 4, true},
		{"-gggg", 4, false},
		{"-g", 1, false},
		{"-", 0, true},
		{"-g", 0, false},
	} {
		h := &health{ill: true, responses: healthMask, since: start(), badAt: start()}
		observeAll(h, c.responses, c.documents)
		if h.ill != c.ill {
			t.Errorf("%q of %d documents: ill %t, want %t", c.responses, c.documents, h.ill, c.ill)
		}
		if !h.ill && (h.responses != 0 || !h.since.IsZero() || !h.badAt.IsZero() || h.well() > 0) {
			t.Errorf("%q: %+v, want all of it forgotten", c.responses, h)
		}
	}
	h := &health{ill: true, badAt: start()}
	for i := range 1000 { // of four documents only
		h.observe(doc(i%4), GoodResponse, 100, 0, start().Add(time.Duration(i)*time.Minute))
	}
	if !h.ill || h.well() != 4 {
		t.Errorf("%+v, want it ill: four documents are few", h)
	}
	for i := range 1000 { // of many, but too soon
		h.observe(doc(i), GoodResponse, 100, 0, start().Add(wellAfter-time.Second))
	}
	if !h.ill || h.well() != WellResponses {
		t.Errorf("%+v, want it ill, and %d documents remembered", h, WellResponses)
	}
}

func TestLatestIllHosts(t *testing.T) {
	ill := illHosts{}
	for i := range 50 {
		key := weburl.HostKey{byte(i)}
		ill[key] = IllHost{key, "http://h.test", start().Add(time.Duration(i) * time.Second), nil}
	}
	if last := ill.latest(3); len(last) != 3 || last[2].Host != (weburl.HostKey{49}) || last[0].Host != (weburl.HostKey{47}) {
		t.Errorf("the latest are %+v", last)
	}
}
