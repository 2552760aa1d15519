package crawl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// TestRemoveForever: what is removed forever is in the kill list first. A link does not bring it back, and
// a reload of the longer list finds nothing to delete.
func TestRemoveForever(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.settings.Frontier.Deletions = scheduler.DefaultSettings().Deletions
		w.settings.Rules.DefaultFollow, w.settings.Rules.DefaultIndex, w.settings.Rules.DefaultAccept = true, true, true
		pages := w.site(hostA, 12)
		w.settings.Space.KillExact = file("kill.cfg", "http://elsewhere.test/")
		list := w.settings.Space.KillExact.Content
		w.settings.AddKilled = func(urls []string) error {
			for _, u := range urls {
				if w.record(u) == nil {
					t.Errorf("%s was removed before the kill list had it", u)
				}
			}
			list = slices.Concat(list, w.settings.Space.KillExact.Lacking(urls))
			return nil
		}
		w.begin()
		w.quiet()

		done, err := w.crawl.Remove(t.Context(), Selection{If: path("/p00"), Forever: true})
		if diff := cmp.Diff(Removed{URLs: 10, Deletions: 10}, done); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
		w.quiet()
		left := []string{hostA + "/", hostA + "/p010.html", hostA + "/p011.html"}
		w.wantDocuments("documents", left)
		if want := "http://elsewhere.test/\n" + strings.Join(pages[1:11], "\n") + "\n"; string(list) != want {
			t.Errorf("the kill list is %q, want %q", list, want)
		}

		w.page(hostA+"/p010.html", "/p003.html")
		w.refresh(Selection{URLs: []string{hostA + "/p010.html"}})
		w.quiet()
		w.settings.Space.KillExact = file("kill.cfg", strings.Split(string(list), "\n")...)
		w.reload()
		time.Sleep(time.Minute)
		w.quiet()
		if r := w.record(pages[4]); r == nil || r.Indexed || w.hits(pages[4]) != 2 {
			t.Errorf("%s was linked to again: %+v after %d requests, want it visited for its links only", pages[4], r, w.hits(pages[4]))
		}
		w.wantDocuments("documents after a link", left)
		edits, err := deletion.StoredEdits(t.Context(), w.store)
		if err != nil || slices.ContainsFunc(edits, func(e deletion.Edit) bool { return e.Deletions > 0 || e.State == deletion.EditHeld }) {
			t.Errorf("edits %+v, %v; want none that deletes anything", edits, err)
		}
	}, hostA+"/")
}

// TestRemoveForeverRefused: without a kill list nothing is removed, and what no filter selects is not killed.
func TestRemoveForeverRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		pages := w.site(hostA, 2)
		w.begin()
		w.quiet()
		forever := Selection{URLs: pages[1:], Forever: true}
		if _, err := w.crawl.Remove(t.Context(), forever); err == nil || !strings.Contains(err.Error(), `write <Kill exact="kill_exact.cfg"/>`) {
			t.Errorf("without a kill list: %v, want what to write", err)
		}
		w.settings.Space.KillExact = file("kill.cfg")
		w.settings.AddKilled = func(urls []string) error {
			t.Errorf("%v are killed", urls)
			return nil
		}
		w.reload()
		forever.Source = "nobody's"
		if done, err := w.crawl.Remove(t.Context(), forever); err != nil || done.URLs != 0 {
			t.Errorf("%+v, %v; want none removed", done, err)
		}
		w.quiet()
		if len(w.index()) != 3 {
			t.Errorf("documents %v, want all", w.index())
		}
	}, hostA+"/")
}
