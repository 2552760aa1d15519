package illness

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

// What may be lost of a group of so many documents within a day: the first day of an
// illness, and each day after it.
func firstDay(documents int) int { return max(2, documents/100) }
func aDay(documents int) int     { return max(2, documents/5) }

const (
	answerTime    = 20 * time.Millisecond // of the site
	beforeIllness = 2 * time.Hour         // it is well
	shortIllness  = time.Hour
	partIllness   = 3 * time.Hour
	longIllness   = 48 * time.Hour
	dueIllness    = 84 * time.Hour
	longPause     = 6 * time.Hour // between two refreshes of a long one
	restartPause  = 10 * time.Minute
	flapTime      = 6 * time.Hour
	flapPause     = 5 * time.Minute
	recovery      = 25 * time.Hour // after which all must be back
	recoveryStep  = time.Hour      // between two looks at the index
)

func wantsAll() bool { return os.Getenv("SEXTANT_ILLNESS") == "all" }

// sizes are some numbers of pages, or those of the whole matrix.
func sizes(usual ...int) []int {
	if wantsAll() {
		return []int{1, 2, 5, 16, 49, 50, 60, 300, 5000}
	}
	return usual
}

// TestIllness is the matrix: a site that was crawled falls ill, is refreshed, and gets
// well. Hardly anything may leave the index or be overwritten meanwhile, and a day and an
// hour later all of it is there with its own content, without a word of the operator.
func TestIllness(t *testing.T) {
	all := cells(wantsAll())
	rows := make([]string, len(all))
	t.Run("cells", func(t *testing.T) {
		for i, c := range all {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				var r result
				defer func() { // also of one that fails, which ends here
					rows[i] = fmt.Sprintf("%-48s %s %6d ms\n", c, r, time.Since(began).Milliseconds())
				}()
				synctest.Test(t, func(t *testing.T) { c.try(t, &r) })
			})
		}
	})
	t.Logf("%-48s %s\n%s", "cell", resultHeader, strings.Join(rows, "")) // without those that -run leaves out
}

// result is what became of a cell.
type result struct {
	lost           []int // documents that left or were overwritten, by the day
	missing        int   // at the end of the illness
	changed        int
	pending        int
	strange        int           // pages of the illness in the index
	recovered      time.Duration // after the end of the illness
	answersWhenIll int
}

const resultHeader = "gone  over  pend strng   well  asked  lost by the day"

// String returns a row under resultHeader.
func (r result) String() string {
	well := "never"
	if r.recovered > 0 {
		well = fmt.Sprintf("%d h", int(r.recovered.Hours()))
	}
	return fmt.Sprintf("%4d  %4d  %4d  %4d  %5s %6d  %v",
		r.missing, r.changed, r.pending, r.strange, well, r.answersWhenIll, r.lost)
}

// try runs one cell, in a bubble.
func (c cell) try(t *testing.T, r *result) {
	w := newWorld(t, c.options(), c.change)
	want := w.healthy()
	time.Sleep(beforeIllness)
	from, asked := time.Now(), w.site.Answers()
	w.site.FallIll(c.illness)
	c.run(w, from)
	r.answersWhenIll, r.pending = w.site.Answers()-asked, undone(w.status())
	if c.course == due && r.answersWhenIll == 0 && c.illness < ExpiredCertificate {
		t.Error("the site was asked for nothing while it was ill")
	}
	missing, changed, strange := w.index.at(time.Now()).state(want)
	r.missing, r.changed, r.strange = len(missing), len(changed), len(strange)
	r.lost = w.wantSpared(want, from)
	w.site.Heal()
	r.recovered = w.wantBack(want)
	w.end()
}

// run lets the illness go by.
func (c cell) run(w *world, from time.Time) {
	switch c.course {
	case short:
		c.refresh(w)
		time.Sleep(shortIllness)
	case part:
		for time.Since(from) < partIllness {
			c.refresh(w)
			time.Sleep(shortIllness)
		}
	case long:
		for time.Since(from) < longIllness {
			c.refresh(w)
			time.Sleep(longPause)
		}
	case due:
		time.Sleep(dueIllness)
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
	if c.illness == HomeElsewhere {
		for range 2 {
			w.refresh(crawl.Selection{URLs: []string{w.site.URL(0)}})
			time.Sleep(time.Minute)
		}
	}
	w.refresh(crawl.Selection{All: true})
}

// describe names the first few orders.
func describe(orders []order) string {
	var words []string
	for _, o := range orders[:min(len(orders), 3)] {
		reason := o.reason
		if !o.deletes {
			reason = fmt.Sprintf("overwritten by %q", o.title)
		}
		words = append(words, fmt.Sprintf("%s (%s)", o.url, reason))
	}
	return strings.Join(words, ", ")
}

// some returns the first few.
func some(urls []string) string { return strings.Join(urls[:min(len(urls), 3)], ", ") }
