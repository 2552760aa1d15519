package deletion

import (
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

func doc(i int) weburl.Key { return weburl.Key{byte(i), byte(i >> 8), 1} }

func asking(n int) *control {
	c := &control{at: 1}
	for i := range n {
		c.left = append(c.left, doc(i))
	}
	return c
}

// TestControl: which answers make a round good.
func TestControl(t *testing.T) {
	word := map[byte]scheduler.Tells{'b': scheduler.TellsBad, 'g': scheduler.TellsGood, '.': scheduler.TellsNothing, 'a': scheduler.TellsBadAgain, 'm': scheduler.TellsMoved}
	for _, c := range []struct {
		answers string // of four
		over    int    // after how many the round has ended
		good    bool
	}{
		{"gggg", 4, true},
		{"ggg", 0, false},
		{"ggg.", 4, true},
		{"gg..", 4, false},
		{"....", 4, false},
		{"gggb", 4, false},
		{"b", 1, false},
		{"bggg", 1, false},
		{"gggm", 4, false},
		{"ggga", 4, false},
	} {
		round, over := asking(4), 0
		for i := range len(c.answers) {
			belongs, ended := round.answered(doc(i), word[c.answers[i]])
			if !belongs {
				t.Errorf("%s: document %d does not belong to the round", c.answers, i)
			}
			if ended && over == 0 {
				over = i + 1
			}
		}
		if over != c.over || round.allGood() != c.good || round.passed(1) != c.good || round.passed(2) {
			t.Errorf("%s: over after %d, good %t, passed %t", c.answers, over, round.allGood(), round.passed(1))
		}
		if belongs, ended := round.answered(doc(0), scheduler.TellsGood); belongs || ended {
			t.Errorf("%s: an answer counts twice", c.answers)
		}
	}
	unsure := asking(0)
	if unsure.good, unsure.unsure = 4, true; unsure.passed(0) || !unsure.allGood() {
		t.Error("a round after a bad one is enough")
	}
	var none *control
	if belongs, over := none.answered(doc(0), scheduler.TellsGood); belongs || over || none.passed(0) {
		t.Error("no round passes")
	}
}

// TestNextRound: when a control round begins.
func TestNextRound(t *testing.T) {
	const start, minute = int64(time.Hour), int64(time.Minute)
	passed := func() *control { c := asking(0); c.at, c.good = start, 4; return c }
	for name, c := range map[string]struct {
		control *control
		tries   int
		since   int64 // after start
		ill     bool
		after   int64 // it begins so long after start; -1: not within two hours
	}{
		"none so far":            {nil, 0, 0, false, 0},
		"answers are missing":    {func() *control { c := asking(2); c.at = start; return c }(), 1, 0, false, 60 * minute},
		"bad":                    {&control{at: start, bad: true}, 1, 0, false, 2 * minute},
		"bad again":              {&control{at: start, bad: true}, 3, 0, false, 8 * minute},
		"bad again and again":    {&control{at: start, bad: true}, 99, 0, false, 60 * minute},
		"bad, of an ill host":    {&control{at: start, bad: true}, 6, 0, true, 64 * minute},
		"nothing was told":       {&control{at: start}, 2, 0, false, 4 * minute},
		"good":                   {passed(), 1, 0, false, -1},
		"good, but earlier":      {passed(), 1, 5 * minute, false, 5 * minute},
		"good, after a bad one":  {func() *control { c := passed(); c.unsure = true; return c }(), 5, 0, false, minute},
		"nobody could be asked":  {&control{at: start, alone: true}, 1, 0, false, -1},
		"nobody, but for before": {&control{at: start, alone: true}, 1, minute, false, minute},
	} {
		h := &restingHost{control: c.control, tries: c.tries}
		after := int64(-1)
		for now := start; now <= start+120*minute; now += minute {
			since := start
			if now >= start+c.since { // nothing asks for what lies in the future
				since += c.since
			}
			begins, at := h.round(now, since, c.ill)
			if begins {
				after = now - start
				break
			}
			if at <= now {
				t.Errorf("%s: looks again at %v, which is past", name, time.Duration(at-now))
			}
		}
		if after != c.after {
			t.Errorf("%s: begins after %v, want %v", name, time.Duration(after), time.Duration(c.after))
		}
	}
}

// TestConfirmed: an answer counts if it was given since the deletion rests, or since its URL
// was asked for, to the second.
func TestConfirmed(t *testing.T) {
	now, wall := int64(10*time.Hour), start
	b := &bench{now: now, wall: wall}
	for name, c := range map[string]struct {
		again, asked time.Duration // ago; 0: never
		since        time.Duration // ago
		want         bool
	}{
		"never":                    {0, 0, time.Hour, false},
		"since":                    {time.Minute, 0, time.Hour, true},
		"at the time":              {time.Hour, 0, time.Hour, true},
		"before":                   {2 * time.Hour, 0, time.Hour, false},
		"before, since it rests":   {2 * time.Hour, 3 * time.Hour, time.Hour, true},
		"before it was asked for":  {4 * time.Hour, 3 * time.Hour, time.Hour, false},
		"asked for, and not since": {2 * time.Minute, time.Minute, time.Hour, true},
	} {
		one, a := &restingOne{}, &arrival{}
		if c.again > 0 {
			one.again = wall.Add(-c.again)
		}
		if c.asked > 0 {
			a.asked = wall.Add(-c.asked)
		}
		if got := b.confirmed(one, a, now-int64(c.since)); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
