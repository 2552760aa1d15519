package illness

import (
	"reflect"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/testing/sicksite"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// settings are the defaults of the configuration, for the sites of some roots: no pause between
// requests, since answers take their time, and nobody looks for duplicates, which costs time.
func settings(t *testing.T, n *sicksite.Network, roots ...string) policy.Settings {
	t.Helper()
	s := policy.Settings{Name: "test", Workers: 2, RobotsAgent: "Sextant", MaxRedirects: 10, Frontier: scheduler.DefaultSettings(), Fetcher: fetcher.DefaultSettings()}
	s.Frontier.Aggressive, s.Frontier.SmartRefresh = true, true
	s.Frontier.ErrorRefresh, s.Frontier.MaxAge, s.Frontier.MinAge = week(), week(), week()/7
	s.Fetcher.Resolver, s.Fetcher.Connect, s.Fetcher.Roots = n.Resolver(), n.Connect, n.Roots()
	s.Rules.DefaultFollowRoots = true
	for _, root := range roots {
		u, err := weburl.Parse(root)
		if err != nil {
			t.Fatal(err)
		}
		s.Rules.Roots = append(s.Rules.Roots, actionrules.Root{URL: u, Site: true, Group: "default"})
	}
	s.Space.MIME = &crawlspace.MIMETypes{Types: []crawlspace.Text{{Value: sicksite.SickType}}}
	set(&s.Frontier.Brake, "Host", true)
	return s
}

// lookForCopies are the defaults about duplicates.
func lookForCopies(s *policy.Settings) { s.NearDuplicates, s.DetectPatterns = true, true }

// set sets a field, if there is one of this name.
func set(of any, name string, value any) {
	if f := reflect.ValueOf(of).Elem().FieldByName(name); f.IsValid() {
		f.Set(reflect.ValueOf(value))
	}
}

// undone is how many deletions are held, and how many rest before they are decided about.
func undone(s crawl.Status) (held, resting uint64) {
	if f := reflect.ValueOf(s.Outbox).FieldByName("Resting"); f.IsValid() {
		resting = f.Uint()
	}
	return s.Outbox.Held, resting
}

// release lets all held deletions go, as the operator does.
func (w *world) release() {
	w.t.Helper()
	release := reflect.ValueOf(w.crawl).MethodByName("Release")
	arguments := []reflect.Value{reflect.ValueOf(w.t.Context())}
	if !release.Type().IsVariadic() { // it asks which: the zero value is all
		arguments = append(arguments, reflect.Zero(release.Type().In(1)))
	}
	if err, failed := release.Call(arguments)[1].Interface().(error); failed {
		w.t.Fatal(err)
	}
}
