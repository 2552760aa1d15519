package store

import (
	"fmt"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// TestShorterWayToHeavyPages: a page that leads in fewer steps to pages with many links writes all their records again,
// which are too much for one transaction.
func TestShorterWayToHeavyPages(t *testing.T) {
	for _, n := range []struct {
		pages, links int
		memtable     int64
	}{{60, scheduler.MaxOutlinks, 0}, {1000, 300, 0}, {1400, 100, 0}, {230, 230, 2 << 20}, {15, scheduler.MaxOutlinks, 2 << 20}} {
		t.Run(fmt.Sprintf("%d pages with %d links and a memtable of %d", n.pages, n.links, n.memtable), func(t *testing.T) {
			s := openStore(t, t.TempDir(), Options{Durability: OS, MemtableBytes: n.memtable})
			root := linkTo(t, "http://h.test/")
			outs := make([]scheduler.Link, n.links)
			for i := range outs {
				outs[i] = linkTo(t, fmt.Sprint("http://h.test/out/", i))
			}
			heavy := make([]scheduler.Link, n.pages)
			for i := range heavy {
				heavy[i] = linkTo(t, fmt.Sprint("http://h.test/page/", i))
				heavy[i].Depth = 9
			}
			if _, _, err := s.Add(t.Context(), append(heavy[:len(heavy):len(heavy)], root), false); err != nil {
				t.Fatal(err)
			}
			ws, err := s.Queue(t.Context(), scheduler.Place{Source: root.Fifo, Host: root.URL.HostKey()}, 0, n.pages)
			if err != nil {
				t.Fatal(err)
			}
			complete := func(w *scheduler.WaitingURL, links []scheduler.Link, levels uint16) {
				c := scheduler.Completion{Key: w.Key, Taken: placeOf(&w.Record), Seq: w.Seq, Next: w.Record, Old: &w.Record, AsOf: w.AsOf}
				c.Next.State, c.Next.Class = scheduler.AtRest, scheduler.OK
				c.Outlinks, c.Links, c.Next.Linked, c.Levels = scheduler.ReplaceOutlinks, links, true, levels
				if _, err := scheduler.CompleteAndWait(t.Context(), s, c); err != nil {
					t.Fatal(err)
				}
			}
			for _, w := range ws {
				complete(&w, outs, 0)
			}
			for i := range heavy {
				heavy[i].Depth = 1
			}
			ws, err = s.Queue(t.Context(), scheduler.Place{Source: root.Fifo, Host: root.URL.HostKey()}, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range ws {
				if w.Key == root.URL.Key() {
					complete(&w, heavy, 9)
				}
			}
			if _, _, err := s.Add(t.Context(), []scheduler.Link{linkTo(t, "http://other.test/")}, false); err != nil {
				t.Errorf("after that: %v", err)
			}
		})
	}
}
