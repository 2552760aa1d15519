package crawl

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
)

const fleetItems = 24

// feed has the first host serve a feed with an item of each of some hosts, large ones where large says so.
func (f *fleet) feed(title string, large func(int) bool) {
	var b strings.Builder
	for h := range fleetItems {
		text := "short"
		if large(h) {
			text = strings.Repeat("long ", scheduler.ItemMost/4)
		}
		fmt.Fprintf(&b, "<item><link>http://%s/item</link><title>%s %d</title><description>%s</description></item>", fleetHost(h), title, h, text)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = map[string]string{"/feed": "<rss><channel>" + b.String() + "</channel></rss>", "/item": "<title>the page</title><p>its text"}
}

// readFeed has the feed read again, as the configuration names it.
func (f *fleet) readFeed() {
	f.t.Helper()
	_, err := f.owner[partitioned.Of(fleetHost(0), fleetParts)].Refresh(f.t.Context(), Selection{URLs: []string{"http://" + fleetHost(0) + "/feed"}, Full: true})
	f.must(err)
}

// titles are those of the items' documents.
func (f *fleet) titles() (titles []string) {
	f.target.mu.Lock()
	defer f.target.mu.Unlock()
	for h := range fleetItems {
		titles = append(titles, f.target.documents["http://"+fleetHost(h)+"/item"].Title)
	}
	return titles
}

// awaitTitles waits until the items' documents have titles, and then for a while, and wants each to have been pushed so often.
func (f *fleet) awaitTitles(of func(int) string, pushes int) {
	f.t.Helper()
	var want []string
	for h := range fleetItems {
		want = append(want, of(h))
	}
	for begun := time.Now(); !slices.Equal(f.titles(), want); time.Sleep(time.Second) {
		if time.Since(begun) > 20*time.Minute {
			f.t.Fatalf("after a while the items are %q, want %q", f.titles(), want)
		}
	}
	time.Sleep(time.Minute)
	counts := map[string]int{}
	f.target.mu.Lock()
	for _, order := range f.target.orders {
		if strings.HasSuffix(order, "/item") {
			counts[order]++
		}
	}
	f.target.mu.Unlock()
	for order, n := range counts {
		if n != pushes {
			f.t.Errorf("%s: %d times, want %d", order, n, pushes)
		}
	}
	if !slices.Equal(f.titles(), want) || len(counts) != fleetItems {
		f.t.Errorf("later the items are %q, of %d orders; want %q", f.titles(), len(counts), want)
	}
}

// itemsAsked is how many items were asked for as pages.
func (f *fleet) itemsAsked() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, times := range f.visits {
		if strings.HasSuffix(at, "/item") {
			n += times
		}
	}
	return n
}

// withFeed has all nodes go by a configuration that names the feed.
func (f *fleet) withFeed() {
	f.t.Helper()
	f.settings.Sources = []policy.Source{{URL: parse(f.t, "http://"+fleetHost(0)+"/feed"), Kind: scheduler.KindFeed, IndexItems: true}}
	for _, n := range f.nodes {
		f.must(n.Reload(f.t.Context(), f.settings))
	}
}

func always(title string) func(int) string {
	return func(h int) string { return fmt.Sprint(title, " ", h) }
}

func none(int) bool { return false }

// TestFleetItems: the items of a feed are documents whichever partition, and node, their URLs belong to; each once, and no page is fetched for them. What
// the feed has of them later comes after, though partitions move.
func TestFleetItems(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		inFleet(t, nodes, func(f *fleet) {
			f.feed("first", none)
			for _, n := range f.nodes {
				n.partitions.Store.LettersHaveItems()
			}
			f.withFeed()
			f.awaitTitles(always("first"), 1)
			f.readFeed()
			time.Sleep(time.Minute)
			f.awaitTitles(always("first"), 1)
			f.feed("second", none)
			f.readFeed()
			for i := range fleetParts {
				f.move(i, f.nodes[(i+1)%nodes])
			}
			f.awaitTitles(always("second"), 2)
			if n := f.itemsAsked(); n > 0 {
				t.Errorf("%d items were asked for as pages", n)
			}
		})
	}
}

// TestFleetItemsKilled: a node that dies with letters on their way costs no item.
func TestFleetItemsKilled(t *testing.T) {
	inFleet(t, 3, func(f *fleet) {
		for _, n := range f.nodes {
			n.partitions.Store.LettersHaveItems()
		}
		f.feed("first", none)
		f.withFeed()
		for len(slices.DeleteFunc(f.titles(), func(title string) bool { return title == "" })) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		f.kill(f.nodes[1], []*crewNode{f.nodes[0], f.nodes[2]})
		f.awaitTitles(always("first"), 1)
		if n := f.itemsAsked(); n > 0 {
			t.Errorf("%d items were asked for as pages", n)
		}
	})
}

// TestFleetItemsAsPages: an item of another node is fetched as a page if it is too large to travel, or becomes so, and all are while a node could not read
// it in a letter.
func TestFleetItemsAsPages(t *testing.T) {
	large := func(h int) bool { return h%3 == 0 }
	for _, tt := range []struct{ all, grow bool }{{all: true}, {all: true, grow: true}, {}} {
		inFleet(t, 2, func(f *fleet) {
			for _, n := range f.nodes {
				if tt.all {
					n.partitions.Store.LettersHaveItems()
				}
			}
			pages, pushes := 0, 1
			if tt.grow {
				f.feed("small", none)
				f.withFeed()
				f.awaitTitles(always("small"), 1)
				pushes = 2
			}
			f.feed("item", large)
			if f.withFeed(); tt.grow {
				f.readFeed()
			}
			f.awaitTitles(func(h int) string {
				away := f.owner[partitioned.Of(fleetHost(h), fleetParts)] != f.owner[partitioned.Of(fleetHost(0), fleetParts)]
				if away && (large(h) || !tt.all) {
					pages++
					return "the page"
				}
				return always("item")(h)
			}, pushes)
			if n := f.itemsAsked(); n != pages || pages == 0 {
				t.Errorf("%d items were asked for as pages, want %d", n, pages)
			}
		})
	}
}
