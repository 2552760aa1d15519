package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/review"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// Documents have the source old, and are in a target for it alone; rules give them the source new, which another
// target takes.

// moving is a world with documents of one kind beside a home page and four pages.
type moving struct {
	*world
	fresh *memoryTarget // has the source new
	paths string        // of the documents
	n     int           // how many there are
}

// kindsOfMoves are the kinds of documents that may leave a target.
var kindsOfMoves = []string{"pages", "XML", "feed"}

// inMoving runs fn in a world with n documents of a kind.
func inMoving(t *testing.T, kind string, n int, fn func(t *testing.T, m *moving)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		m := &moving{world: w, fresh: &memoryTarget{documents: map[string]push.Document{}}, n: n}
		w.openRules()
		w.settings.SitemapMaxBytes, w.settings.SitemapMaxLinks = 1<<20, 1000
		w.targets = func() []push.TargetSettings {
			before, after := "old", "new"
			return []push.TargetSettings{{Target: namedTarget{w.target, "old"}, Source: &before}, {Target: namedTarget{m.fresh, "new"}, Source: &after}}
		}
		w.settings.Frontier.LeavesTarget = func(from, to string) bool { return from != to && (from == "old" || from == "new") }
		m.rules("", 0)
		switch kind {
		case "pages":
			links := w.site(hostA, n)
			m.paths = "/p"
			w.page(hostA+"/", append(links[1:], "/x0", "/x1", "/x2", "/x3")...)
		default:
			m.paths = map[string]string{"XML": "/d/", "feed": "/f/"}[kind]
			w.page(hostA+"/", "/x0", "/x1", "/x2", "/x3")
			if w.people(n); kind == "feed" {
				var b strings.Builder
				for i := range n {
					fmt.Fprintf(&b, "<item><link>%s/f/%d</link><title>%s</title></item>", hostA, i, prose(uint64(i), 40, "news")) //nolint:gosec // small
				}
				w.set(hostA+"/feed.rss", answered{kind: "text/xml", body: "<rss><channel>" + b.String() + "</channel></rss>"})
				w.settings.Sources = []policy.Source{{URL: parse(t, hostA+"/feed.rss"), Kind: scheduler.KindFeed, IndexItems: true}}
			}
		}
		for i := range 4 {
			w.set(fmt.Sprintf("%s/x%d", hostA, i), answered{body: prose(uint64(1000+i), 40, "other")}) //nolint:gosec // small
		}
		w.begin()
		w.quiet()
		m.want("at first", n, 0, 0, 0)
		fn(t, m)
		w.end()
	}, hostA+"/")
}

// rules give the documents a source, "" for the old one, and the meta version, 0 for none.
func (m *moving) rules(source string, version int) {
	m.settings.Rules.Rules = []actionrules.Rule{{If: path("/"), Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: "old"}}}}
	if source != "" {
		m.settings.Rules.Rules = append(m.settings.Rules.Rules, actionrules.Rule{If: path(m.paths), Then: []actionrules.Action{{Verb: actionrules.SetSource, Name: source}}})
	}
	if version != 0 {
		m.settings.Rules.Rules = append(m.settings.Rules.Rules, actionrules.Rule{If: path(m.paths), Then: []actionrules.Action{{Verb: actionrules.AddMeta, Name: "version", Value: fmt.Sprint(version)}}})
	}
}

// take has the settings of now taken on, at once or by a restart, and waits until all is judged, fetched and pushed.
func (m *moving) take(restart bool) {
	m.t.Helper()
	m.takeOn(restart)
	m.settle()
}

func (m *moving) settle() {
	m.t.Helper()
	m.quiet()
	time.Sleep(2 * time.Minute)
	m.quiet()
}

// want wants so many of the documents in the targets, so many losses pending, and all with the meta version, 0: none.
func (m *moving) want(when string, before, after, pending, version int) {
	m.t.Helper()
	count := func(t *memoryTarget) (n int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for url, d := range t.documents {
			if !strings.HasPrefix(url, hostA+m.paths) {
				continue
			}
			n++
			var want []string
			if version > 0 {
				want = []string{fmt.Sprint(version)}
			}
			if !slices.Equal(d.Metas["version"], want) {
				m.t.Errorf("%s: %s has the version %q, want %q", when, url, d.Metas["version"], want)
			}
		}
		return n
	}
	if a, b := count(m.target), count(m.fresh); a != before || b != after {
		m.t.Errorf("%s: %d have the old source and %d the new one, want %d and %d", when, a, b, before, after)
	}
	if p := m.status().Outbox.Pending; p != uint64(pending) { //nolint:gosec // small
		m.t.Errorf("%s: %d are pending, want %d", when, p, pending)
	}
	if len(m.index()) != before+5 {
		m.t.Errorf("%s: %d documents in the old target, want %d and 5 others", when, len(m.index()), before)
	}
}

// last is the last edit.
func (m *moving) last() deletion.Edit {
	m.t.Helper()
	_, edits := m.crawl.Losses()
	return edits[len(edits)-1]
}

func (m *moving) release(f scheduler.DeletionFilter, want int) {
	m.t.Helper()
	if n, err := m.crawl.Release(m.t.Context(), f); n != want || err != nil {
		m.t.Errorf("%d released, %v; want %d", n, err, want)
	}
	m.settle()
}

// TestMoveOffTarget: documents leave a target at once if they are few, else all wait for the operator from the first.
// Until then they are kept current under their source; taking the edit back ends it, and a release moves what is new
// then.
func TestMoveOffTarget(t *testing.T) {
	for _, kind := range kindsOfMoves {
		for _, n := range []int{1, 16, 60} {
			for _, restart := range []bool{false, true} {
				if testing.Short() && n == 60 {
					continue
				}
				t.Run(fmt.Sprintf("%d %s restart %v", n, kind, restart), func(t *testing.T) {
					inMoving(t, kind, n, func(t *testing.T, m *moving) {
						m.rules("new", 0)
						m.take(restart)
						if n <= 2 {
							m.want("few", 0, n, 0, 0)
							m.rules("new", 1)
							m.take(restart)
							m.want("few, with metas", 0, n, 0, 1)
							return
						}
						edit := m.last()
						if edit.State != deletion.EditHeld || edit.Deletions != uint64(n) || edit.Sent != 0 { //nolint:gosec // small
							t.Errorf("%+v, want all %d held", edit, n)
						}
						m.want("moved", n, 0, n, 0)
						m.rules("new", 1)
						m.take(restart)
						m.want("metas while it is held", n, 0, n, 1)
						m.rules("", 1)
						m.take(restart)
						m.want("taken back", n, 0, 0, 1)
						m.release(scheduler.DeletionFilter{Edit: edit.Number}, 0)
						m.want("released after it was taken back", n, 0, 0, 1)
						m.rules("new", 2)
						m.take(restart)
						m.want("moved again", n, 0, n, 2)
						m.rules("new", 3)
						m.take(restart)
						m.release(scheduler.DeletionFilter{Reason: scheduler.ReasonTarget}, n)
						m.want("released", 0, n, 0, 3)
						visits := len(m.visits)
						m.take(true)
						m.want("after that", 0, n, 0, 3)
						if len(m.visits) != visits {
							t.Errorf("%d visits after all was moved", len(m.visits)-visits)
						}
					})
				})
			}
		}
	}
}

// TestMoveByWord: the word for the rules in force is the word for all that they take, whichever edit holds it.
func TestMoveByWord(t *testing.T) {
	for _, kind := range kindsOfMoves {
		inMoving(t, kind, 16, func(_ *testing.T, m *moving) {
			m.rules("new", 0)
			m.take(false)
			m.want(kind+" held", 16, 0, 16, 0)
			m.rules("new", 1)
			m.crawl.AllowNextEdit()
			m.take(false)
			m.want(kind+" by word", 0, 16, 0, 1)
		})
	}
}

// TestMoveElsewhere: rules that give yet another source, which no target takes, hold the documents by the newer edit.
func TestMoveElsewhere(t *testing.T) {
	for _, kind := range kindsOfMoves {
		inMoving(t, kind, 16, func(t *testing.T, m *moving) {
			m.rules("new", 0)
			m.take(false)
			first := m.last()
			m.rules("none", 0)
			m.take(false)
			m.want(kind+" to no target", 16, 0, 16, 0)
			if e := m.last(); e.Number == first.Number || e.State != deletion.EditHeld || e.Deletions != 16 {
				t.Errorf("%s: %+v, want it to hold all", kind, e)
			}
			m.release(scheduler.DeletionFilter{Edit: first.Number}, 0)
			m.want(kind+" the first one released", 16, 0, 16, 0)
			m.release(scheduler.DeletionFilter{Edit: m.last().Number}, 16)
			m.want(kind+" released", 0, 0, 0, 0)
		})
	}
}

// TestMoveWhileQueueIsFull: documents that wait in a queue when the edit comes count for it, so none leaves before the
// operator's word; nor do those that a visit finds then.
func TestMoveWhileQueueIsFull(t *testing.T) {
	inMoving(t, "pages", 40, func(t *testing.T, m *moving) {
		m.settings.Frontier.Throttle, m.settings.Frontier.Aggressive = 10*time.Second, false
		m.reload()
		if _, err := m.crawl.Refresh(t.Context(), Selection{All: true}); err != nil {
			t.Fatal(err)
		}
		m.rules("new", 0)
		m.reload()
		time.Sleep(time.Minute)
		if e := m.last(); e.State != deletion.EditHeld {
			t.Errorf("%+v, want it held at once", e)
		}
		m.settle()
		m.want("visited", 40, 0, 40, 0)
		if e := m.last(); e.Sent != 0 || e.Deletions != 40 {
			t.Errorf("%+v, want its 40 held", e)
		}
		m.release(scheduler.DeletionFilter{Edit: m.last().Number}, 40)
		m.want("released", 0, 40, 0, 0)
	})
}

// TestMoveWaitsForList: a list that waits to be read when its documents are released is read again after that.
func TestMoveWaitsForList(t *testing.T) {
	for _, kind := range []string{"XML", "feed"} {
		inMoving(t, kind, 16, func(t *testing.T, m *moving) {
			m.rules("new", 0)
			m.take(false)
			m.settings.Frontier.Throttle, m.settings.Frontier.Aggressive = 10*time.Second, false
			m.reload()
			if _, err := m.crawl.Refresh(t.Context(), Selection{All: true}); err != nil {
				t.Fatal(err)
			}
			m.release(scheduler.DeletionFilter{Reason: scheduler.ReasonTarget}, 16)
			m.want(kind, 0, 16, 0, 0)
		})
	}
}

// TestEditsHaveOneBudget: what the operator does not allow is not carried out a slice at a time, by unrelated edits or
// by removals.
func TestEditsHaveOneBudget(t *testing.T) {
	inMoving(t, "pages", 60, func(t *testing.T, m *moving) {
		m.settings.Frontier.MinimumAged = time.Hour
		m.settings.AddKilled = func([]string) error { return nil }
		m.settings.Space.KillExact = file("kill", hostA+"/nowhere")
		m.rules("new", 0)
		m.take(false)
		for i := range 24 {
			m.settings.Rules.Rules = append(m.settings.Rules.Rules, actionrules.Rule{If: path(fmt.Sprintf("/unrelated%d", i)), Then: []actionrules.Action{{Verb: actionrules.Ignore}}})
			m.takeOn(false)
			m.quiet()
			time.Sleep(10 * time.Minute)
		}
		m.want("24 edits", 60, 0, 60, 0)
		for i := range 24 {
			if _, err := m.crawl.Remove(t.Context(), Selection{URLs: []string{fmt.Sprintf("%s/p%03d.html", hostA, i)}, Forever: true}); err != nil {
				t.Fatal(err)
			}
			m.quiet()
			time.Sleep(10 * time.Minute)
		}
		m.want("24 removals", 36, 0, 36, 0)
	})
}

// TestDepthIsAnEdit: documents beyond a lower maxPathDepth are lost as by any other rule, and stay when it is raised.
func TestDepthIsAnEdit(t *testing.T) {
	for _, n := range []int{1, 16, 300} {
		if testing.Short() && n == 300 {
			continue
		}
		inMoving(t, "XML", n, func(_ *testing.T, m *moving) {
			m.settings.Space.MaxPathDepth = &crawlspace.Limit{Max: 0}
			m.take(false)
			if n <= 2 {
				m.want("few", 0, 0, 0, 0)
				return
			}
			m.want("lowered", n, 0, n, 0)
			m.settings.Space.MaxPathDepth = nil
			m.take(false)
			m.want("raised", n, 0, 0, 0)
		})
	}
}

// TestMoveOfItemInTwoLists: a document that two lists have, and that may not leave its target yet, stays held when one
// of the lists drops it. It counts once, and leaves once.
func TestMoveOfItemInTwoLists(t *testing.T) {
	for _, first := range []bool{true, false} {
		inMoving(t, "XML", 16, func(t *testing.T, m *moving) {
			m.people(16)
			one := m.settings.Sources[0]
			other := one
			other.URL = parse(t, hostA+"/others.xml")
			body := func(from int) answered {
				var b strings.Builder
				for i := from; i < 16; i++ {
					fmt.Fprintf(&b, `<p u="/d/%d"><t>%s</t></p>`, i, prose(uint64(i), 40, "person")) //nolint:gosec // small
				}
				return answered{kind: "text/xml", body: "<a>" + b.String() + "</a>"}
			}
			m.set(other.URL.String(), body(0))
			m.settings.Sources = append(slices.Clone(m.settings.Sources), other)
			m.take(false)
			m.rules("new", 0)
			m.take(false)
			m.want("held", 16, 0, 16, 0)
			shorter := other.URL.String()
			if first {
				shorter = one.URL.String()
			}
			m.set(shorter, body(8))
			if _, err := m.crawl.Refresh(t.Context(), Selection{URLs: []string{shorter}}); err != nil {
				t.Fatal(err)
			}
			m.quiet()
			m.want("one list is shorter", 16, 0, 16, 0)
			if e := m.last(); e.Deletions != 16 || e.State != deletion.EditHeld {
				t.Errorf("%s: %+v, want its 16 held", shorter, e)
			}
			m.release(scheduler.DeletionFilter{Edit: m.last().Number}, 16)
			m.want("released", 0, 16, 0, 0)
		})
	}
}

// TestFaultLeavesEditHeld: an outage, or one text for all pages, takes nothing from a held edit: when the host is well
// again, more than a day after another edit, what the first edit held is still its own, and waits for the word.
func TestFaultLeavesEditHeld(t *testing.T) {
	for _, c := range []struct {
		name     string
		noIndex  bool
		response answered
	}{
		{"move, 404", false, answered{status: 404}},
		{"move, apology", false, answered{body: prose(5000, 40, "sorry")}},
		{"NoIndex, 404", true, answered{status: 404}},
	} {
		inMoving(t, "pages", 16, func(t *testing.T, m *moving) {
			rules := func(version int) {
				m.rules(map[bool]string{false: "new"}[c.noIndex], version)
				if c.noIndex {
					m.settings.Rules.Rules = append(m.settings.Rules.Rules, actionrules.Rule{If: path(m.paths), Then: []actionrules.Action{{Verb: actionrules.NoIndex}}})
				}
			}
			rules(0)
			m.take(false)
			m.want(c.name+": held", 16, 0, 16, 0)
			first := m.last()
			well := m.respond(c.response)
			m.refreshAll()
			m.settings.Space.MaxPathDepth = &crawlspace.Limit{Max: 20} // concerns none of the pages
			m.take(false)
			time.Sleep(25 * time.Hour)
			m.quiet()
			well()
			m.refreshAll()
			time.Sleep(25 * time.Hour)
			m.quiet()
			m.want(c.name+": well again", 16, 0, 16, 0)
			_, edits := m.crawl.Losses()
			if e := edits[first.Number-1]; e.State != deletion.EditHeld || e.Deletions != 16 {
				t.Errorf("%s: %+v, want its 16 held", c.name, e)
			}
			m.settings.Rules.Rules = m.settings.Rules.Rules[:1]
			m.take(false)
			m.want(c.name+": taken back", 16, 0, 0, 0)
		})
	}
}

// respond has all pages but the home page give one response until the function that it returns is called.
func (m *moving) respond(a answered) (well func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.pages
	m.pages = map[string]answered{hostA + "/": before[hostA+"/"]}
	for url := range before {
		if url != hostA+"/" {
			m.pages[url] = a
		}
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.pages = before
	}
}

func (m *moving) refreshAll() {
	m.t.Helper()
	if _, err := m.crawl.Refresh(m.t.Context(), Selection{All: true}); err != nil {
		m.t.Fatal(err)
	}
	m.quiet()
}

// TestPreviewNamesHeld: a preview counts what an edit holds and the new rules take out, too, and says when so few are
// left that they leave.
func TestPreviewNamesHeld(t *testing.T) {
	inMoving(t, "pages", 16, func(t *testing.T, m *moving) {
		noIndex := func(prefix string) {
			m.rules("", 0)
			m.settings.Rules.Rules = append(m.settings.Rules.Rules, actionrules.Rule{If: path(prefix), Then: []actionrules.Action{{Verb: actionrules.NoIndex}}})
		}
		noIndex("/p")
		m.take(false)
		m.want("held", 16, 0, 16, 0)
		for _, c := range []struct {
			prefix   string
			pending  uint64
			narrowed bool
		}{{"/p", 16, false}, {"/p00", 10, false}, {"/p000", 1, true}, {"/none", 0, false}} {
			noIndex(c.prefix)
			p, err := review.NewPreview(t.Context(), m.settings, m.store, 1)
			if err != nil || p.Pending != c.pending || p.Narrowed != c.narrowed {
				t.Errorf("NoIndex of %s: %+v, %v", c.prefix, p, err)
			}
		}
		noIndex("/p000")
		m.take(false)
		m.want("narrowed", 15, 0, 0, 0)
	})
}
