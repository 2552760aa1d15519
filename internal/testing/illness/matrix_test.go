package illness

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
)

// What may leave of a host with so many documents.
func anHour(documents int) int { return max(2, documents/100) }
func aDay(documents int) int   { return max(2, documents/5) }

const (
	answerTime    = 20 * time.Millisecond // of the site
	beforeIllness = 2 * time.Hour         // it is well
	shortIllness  = time.Hour
	longIllness   = 24 * time.Hour
	longPause     = 6 * time.Hour // between two refreshes of it
	restartPause  = 10 * time.Minute
	flapTime      = 6 * time.Hour
	flapPause     = 5 * time.Minute
	recoveryStep  = 6 * time.Hour // between two looks at the index
)

// week is the age at which documents are asked for again at the latest, also those in
// error: a usual test run has no time for the seven days that are the default.
func week() time.Duration {
	if wantsAll() {
		return 7 * 24 * time.Hour
	}
	return 2 * 24 * time.Hour
}

// recovery is how long it takes at most to get over an illness.
func recovery() time.Duration { return week() + week()/7 }

func wantsAll() bool { return os.Getenv("SEXTANT_ILLNESS") == "all" }

// TestIllnessDeletesNothing is the matrix: a site that was crawled falls ill, is refreshed,
// and gets well. Hardly anything may leave the index meanwhile, and afterwards all of it is
// there with its own content and no deletion is held, without a word of the operator.
func TestIllnessDeletesNothing(t *testing.T) {
	all := cells(wantsAll())
	rows := make([]string, len(all))
	t.Run("cells", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				var r result
				defer func() { // also of one that fails, which ends here
					rows[i] = fmt.Sprintf("%-44s %s %6d ms\n", c, r, time.Since(began).Milliseconds())
				}()
				synctest.Test(t, func(t *testing.T) { c.try(t, &r) })
			})
		}
	})
	t.Logf("%-44s %s\n%s", "cell", resultHeader, strings.Join(rows, "")) // without those that -run leaves out
}

// result is what became of a cell.
type result struct {
	hour, day      int // most deletions of the site's documents within such a time
	overwritten    int // at the end of the illness
	held, resting  uint64
	missing        int // in the end
	changed        int
	strange        int
	recovered      time.Duration // after the end of the illness
	answersWhenIll int
}

const resultHeader = "hour  day  over  held  rest  lost  chgd strng   well  asked"

// String is a row under resultHeader.
func (r result) String() string {
	well := "never"
	if r.recovered > 0 {
		well = fmt.Sprintf("%d h", int(r.recovered.Hours()))
	}
	return fmt.Sprintf("%4d %4d  %4d  %4d  %4d  %4d  %4d  %4d  %5s %6d",
		r.hour, r.day, r.overwritten, r.held, r.resting, r.missing, r.changed, r.strange, well, r.answersWhenIll)
}

// try runs one cell, in a bubble.
func (c cell) try(t *testing.T, r *result) {
	w := newWorld(t, c.options(), c.change)
	want := w.healthy()
	time.Sleep(beforeIllness)
	c.fallIll(w, want, r)
	c.getWell(w, want, r)
	w.end()
}

// fallIll is the time of the illness.
func (c cell) fallIll(w *world, want documents, r *result) {
	from, asked := time.Now(), w.site.Answers()
	w.site.FallIll(c.illness)
	c.run(w, from)
	lost := w.index.lost(want, from, time.Now())
	r.hour, r.day, r.answersWhenIll = len(within(lost, from, time.Hour)), worst(lost, 24*time.Hour), w.site.Answers()-asked
	if !c.illness.Believed() { // else more may leave in the hours after the first
		r.hour = worst(lost, time.Hour)
	}
	if c.course == due && r.answersWhenIll == 0 && c.illness < sicksite.ExpiredCertificate {
		w.t.Error("the site was asked for nothing while it was ill")
	}
	_, changed, _ := w.index.at(time.Now()).state(want)
	r.overwritten = len(changed)
	if r.hour > anHour(c.pages) {
		w.t.Errorf("%d of %d documents left within an hour, want at most %d; the first: %s", r.hour, c.pages, anHour(c.pages), describe(lost))
	}
	if r.overwritten > anHour(c.pages) && !c.illness.Overwrites() {
		w.t.Errorf("%d of %d documents were overwritten with what is not the site's own, want at most %d: %s", r.overwritten, c.pages, anHour(c.pages), some(changed))
	}
	if r.day > aDay(c.pages) {
		w.t.Errorf("%d of %d documents left within 24 hours, want at most %d", r.day, c.pages, aDay(c.pages))
	}
}

// run lets the illness go by.
func (c cell) run(w *world, from time.Time) {
	switch c.course {
	case short:
		c.refresh(w)
		time.Sleep(shortIllness)
	case long:
		for time.Since(from) < longIllness {
			c.refresh(w)
			time.Sleep(longPause)
		}
	case due:
		time.Sleep(week() / 2)
	case restarts:
		c.refresh(w)
		for time.Since(from) < shortIllness {
			time.Sleep(restartPause)
			w.end()
			w.begin()
		}
	case deaf:
		w.index.turn(true)
		c.refresh(w)
		time.Sleep(shortIllness)
		w.site.Heal()
		time.Sleep(time.Hour)
		w.index.turn(false)
		time.Sleep(time.Hour) // in which it takes what has waited for it
	case flapping:
		for time.Since(from) < flapTime {
			w.site.FallIll(c.illness)
			c.refresh(w)
			time.Sleep(flapPause)
			w.site.Heal()
			time.Sleep(flapPause)
		}
	}
}

// refresh is the operator's, twice of the home page where that is what is ill.
func (c cell) refresh(w *world) {
	if c.illness == sicksite.HomeElsewhere {
		for range 2 {
			w.refresh(crawl.Selection{URLs: []string{w.site.URL(0)}})
			time.Sleep(time.Minute)
		}
	}
	w.refresh(crawl.Selection{All: true})
}

// getWell is the time after it.
func (c cell) getWell(w *world, want documents, r *result) {
	w.site.Heal()
	var missing, changed, strange []string
	for healed := time.Now(); time.Since(healed) < recovery(); {
		time.Sleep(recoveryStep)
		missing, changed, strange = w.index.at(time.Now()).state(want)
		r.held, r.resting = undone(w.status())
		if len(missing)+len(changed) == 0 && r.held+r.resting <= uint64(excused(len(strange), c.pages)) {
			r.recovered = time.Since(healed)
			break
		}
	}
	r.missing, r.changed, r.strange = len(missing), len(changed), len(strange)
	if r.missing+r.changed > 0 {
		w.t.Errorf("%s after the illness %d of %d documents are missing and %d are not the site's own: %s",
			recovery(), r.missing, c.pages, r.changed, some(append(missing, changed...)))
	}
	if r.held+r.resting > uint64(excused(r.strange, c.pages)) {
		w.t.Errorf("%s after the illness %d deletions are held and %d rest", recovery(), r.held, r.resting)
	}
}

// excused is how many deletions may still be held when the site is well: where an illness
// brought more than a fifth of a site's documents, their end needs the operator's word.
func excused(strange, documents int) int {
	if strange > aDay(documents) {
		return strange
	}
	return 0
}

// within are the orders up to so long after from.
func within(orders []order, from time.Time, span time.Duration) []order {
	var out []order
	for _, o := range orders {
		if o.at.Sub(from) <= span {
			out = append(out, o)
		}
	}
	return out
}

// describe names the first few orders.
func describe(orders []order) string {
	var words []string
	for _, o := range orders[:min(len(orders), 3)] {
		words = append(words, fmt.Sprintf("%s (%s)", o.url, o.reason))
	}
	return strings.Join(words, ", ")
}

// some are the first few.
func some(urls []string) string { return strings.Join(urls[:min(len(urls), 3)], ", ") }
