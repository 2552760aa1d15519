package illness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestRemovedLeaveAtOnce: what the operator removes rests for no time.
func TestRemovedLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Documents: 60, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		var pages []int
		var urls []string
		for i := 30; i < 60; i++ {
			pages, urls = append(pages, i), append(urls, w.site.URL(i))
		}
		from := time.Now()
		done, err := w.crawl.Remove(t.Context(), crawl.Selection{URLs: urls})
		if err != nil || done.Deletions != len(urls) {
			t.Fatalf("%+v, %v", done, err)
		}
		time.Sleep(10 * time.Second)
		w.wantGone(want, from, pages...)
		w.wantNothingUndone()
		w.end()
	})
}

// kill has a kill list with these patterns put in force.
func (w *world) kill(patterns ...string) {
	w.t.Helper()
	w.settings.Space.KillPatterns = nil
	if len(patterns) > 0 {
		content := []byte(strings.Join(patterns, "\n") + "\n")
		w.settings.Space.KillPatterns = &crawlspace.File{Name: "kill.patterns", Content: content}
	}
	if err := w.crawl.Reload(w.t.Context(), w.settings); err != nil {
		w.t.Fatal(err)
	}
}

// TestLongKillListIsHeld: what a kill list takes off the index is held until the operator
// says a word, also over edits that do not touch it.
func TestLongKillListIsHeld(t *testing.T) {
	pages := 1001
	if wantsAll() {
		pages = 12_001
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Documents: pages}, nil)
		want := w.healthy()
		killed := len(want.below(w.site.URL(0) + "doc/"))
		time.Sleep(beforeIllness)
		from := time.Now()
		w.kill("/doc/")
		for i := range 4 {
			time.Sleep(90 * time.Minute)
			if lost := w.index.lost(want, from, time.Now()); len(lost) > 0 {
				t.Fatalf("%d of %d documents left after %s: %s", len(lost), killed, time.Since(from), describe(lost))
			}
			if n := undone(w.status()); n != killed {
				t.Errorf("%d deletions are pending, want all %d", n, killed)
			}
			w.kill(append(unrelated(i+1), "/doc/")...)
		}
		from = time.Now()
		w.release()
		time.Sleep(10 * time.Minute)
		if lost := w.index.lost(want, from, time.Now()); len(lost) != killed {
			t.Errorf("%d of %d documents left after the operator's word", len(lost), killed)
		}
		w.wantNothingUndone()
		w.end()
	})
}

// unrelated are patterns of nothing.
func unrelated(n int) []string {
	var patterns []string
	for i := range n {
		patterns = append(patterns, fmt.Sprintf("/nothing-%d/", i))
	}
	return patterns
}

// TestKillListTakenBack: what it would have taken off the index stays.
func TestKillListTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Documents: 300, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		w.kill("/doc/")
		time.Sleep(time.Hour)
		w.kill()
		w.wantBack(want)
		w.wantNothingUndone()
		w.end()
	})
}

// TestShortKillListLeaves: an edit that takes few documents off the index needs no word.
func TestShortKillListLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{Documents: 60, Answer: answerTime}, nil)
		want := w.healthy()
		time.Sleep(beforeIllness)
		from := time.Now()
		w.kill(w.site.Path(50), w.site.Path(59))
		time.Sleep(10 * time.Minute)
		w.wantGone(want, from, 50, 59)
		w.wantNothingUndone()
		w.end()
	})
}

// TestRenamedBySettings: where settings give pages other names, these take the places of the
// old ones, however many they are, and no page is in the index under neither.
func TestRenamedBySettings(t *testing.T) {
	for name, change := range map[string]func(*crawlspace.Settings){
		"canonical": func(s *crawlspace.Settings) {
			s.Canonical = &crawlspace.Canonical{Options: weburl.Options{SortQuery: true}}
		},
		"query filter": func(s *crawlspace.Settings) { s.QueryFilter = &crawlspace.Text{Value: "a"} },
	} {
		for _, pages := range sizes(2, 60) {
			t.Run(fmt.Sprintf("%s/%d", name, pages), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, Options{Documents: pages, Answer: answerTime, Query: true}, nil)
					old := w.healthy()
					time.Sleep(beforeIllness)
					from := time.Now()
					change(&w.settings.Space)
					if err := w.crawl.Reload(w.t.Context(), w.settings); err != nil {
						t.Fatal(err)
					}
					time.Sleep(24 * time.Hour)
					missing, changed, strange := w.index.at(time.Now()).state(renamed(old, name))
					if len(missing)+len(changed)+len(strange) > 0 {
						t.Errorf("of %d new names %d are missing (%s), %d changed; %d others are in the index (%s)",
							pages, len(missing), some(missing), len(changed), len(strange), some(strange))
					}
					came := w.index.came()
					for _, o := range w.index.lost(old, from, time.Now()) {
						if at, ok := came[newName(o.url, name)]; !ok || at.After(o.at) {
							t.Errorf("%s left before its new name came", o.url)
						}
					}
					w.wantNothingUndone()
					w.end()
				})
			})
		}
	}
}

// newName returns what the settings of TestRenamedBySettings make of a page's URL.
func newName(url, settings string) string {
	path, query, asked := strings.Cut(url, "?")
	b, a, _ := strings.Cut(query, "&")
	switch {
	case !asked:
		return url
	case settings == "query filter":
		return path + "?" + a
	}
	return path + "?" + a + "&" + b
}

func renamed(old documents, settings string) documents {
	docs := documents{}
	for url, content := range old {
		docs[newName(url, settings)] = content
	}
	return docs
}
