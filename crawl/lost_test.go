package crawl

import (
	"slices"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestPageComesBack: a page whose document has left the index after an error, while the
// pages that link to it stay as they are, comes back by itself when it is well again, also
// when the service was restarted meanwhile, and at once when a page that links to it changes.
func TestPageComesBack(t *testing.T) {
	skipShortDays(t)
	for _, tt := range []struct {
		policy scheduler.Policy
		status int
	}{{scheduler.CloudView, 500}, {scheduler.CloudView, 404}, {scheduler.Smartsite, 500}, {scheduler.Smartsite, 404}, {scheduler.Cautious, 404}} {
		for _, how := range []string{"by itself", "after a restart", "by a link"} {
			inWorld(t, func(t *testing.T, w *world) {
				urls := w.site(hostA, 20)
				page := urls[7]
				w.settings.Frontier.Policy, w.settings.Frontier.ErrorRefresh = tt.policy, 6*time.Hour
				w.begin()
				w.quiet()
				w.set(page, answered{status: tt.status})
				w.refresh(Selection{All: true})
				time.Sleep(map[int]time.Duration{404: 2 * time.Minute, 500: 25 * time.Hour}[tt.status]) // a 500 is not explicit
				if slices.Contains(w.index(), page) {
					t.Fatalf("%v, %d: the document has not left", tt.policy, tt.status)
				}
				w.page(page)
				switch how {
				case "after a restart":
					w.restart()
					time.Sleep(time.Hour)
					w.restart()
				case "by a link":
					w.page(urls[1], page)
					w.refresh(Selection{URLs: urls[1:2]})
					if !slices.Contains(w.index(), page) {
						t.Errorf("%v, %d: the link asks for nothing", tt.policy, tt.status)
					}
				}
				time.Sleep(6 * time.Hour)
				w.quiet()
				if !slices.Contains(w.index(), page) {
					t.Errorf("%v, %d, %s: the page does not come back: %+v", tt.policy, tt.status, how, w.record(page))
				}
				w.end()
			}, hostA+"/")
		}
	}
}
