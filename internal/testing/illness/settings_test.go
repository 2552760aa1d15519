package illness

import (
	"reflect"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// settings returns the defaults of the configuration, for the sites of some roots: no pause between
// requests, since answers take their time, and nobody looks for duplicates, which costs time.
func settings(t *testing.T, n *Network, roots ...string) policy.Settings {
	t.Helper()
	s := policy.Settings{
		Name: "test", Workers: 2, RobotsAgent: "Sextant", MaxRedirects: 10,
		Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings(),
	}
	s.Frontier.Aggressive, s.Frontier.SmartRefresh = true, true
	s.Fetcher.Resolver, s.Fetcher.Connect, s.Fetcher.Roots = n.Resolver(), n.Connect, n.Roots()
	s.Rules.DefaultFollowRoots = true
	for _, root := range roots {
		s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: parse(t, root), Site: true, Group: "default"})
	}
	s.Space.MIME = &crawlspace.MIMETypes{Types: []crawlspace.Text{{Value: SickType}}}
	return s
}

func parse(t *testing.T, text string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// lookForCopies is the defaults about duplicates.
func lookForCopies(s *policy.Settings) { s.NearDuplicates, s.DetectPatterns = true, true }

// readRobotsHourly has a robots.txt that changes noticed within the time of a test.
func readRobotsHourly(s *policy.Settings) { s.Robots.MaxAge = time.Hour }

// deleteAtOnce is deletionBrake="off".
func deleteAtOnce(s *policy.Settings) {
	frontier := reflect.ValueOf(&s.Frontier).Elem()
	if f := frontier.FieldByName("Deletions"); f.IsValid() {
		f.FieldByName("Off").SetBool(true)
		return
	}
	frontier.FieldByName("Brake").FieldByName("On").SetBool(false)
}

// undone returns how many deletions and replacements are pending.
func undone(s crawl.Status) (n int) {
	for _, name := range []string{"Pending", "Held", "Resting"} {
		if f := reflect.ValueOf(s.Outbox).FieldByName(name); f.IsValid() {
			n += int(f.Uint()) //nolint:gosec // a count
		}
	}
	return n
}

// release lets all pending deletions go, as the operator does.
func (w *world) release() {
	w.t.Helper()
	if _, err := w.crawl.Release(w.t.Context(), scheduler.DeletionFilter{}); err != nil {
		w.t.Fatal(err)
	}
}
