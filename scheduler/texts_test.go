package scheduler

import (
	"testing"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// text returns the sketch of the ith of some texts that have nothing in common; mixed has n of 32 parts of the
// minima of one and the others of another.
func text(i int) (s sketch.Sketch) {
	for bin := range s.Minima {
		s.Minima[bin] = uint8(1 + (i*7+bin)%255)
	}
	s.Title = uint32(i)
	return s
}

func mixed(a, b sketch.Sketch, n int) sketch.Sketch {
	n = n * sketch.Bins / 32
	copy(b.Minima[:n], a.Minima[:n])
	return b
}

// TestLookAlikes: a text that two other documents of the host have now as well is a bad response and no
// explicit loss.
func TestLookAlikes(t *testing.T) {
	w := newWeigher(t)
	for i, want := range []Response{NotCounted, NotCounted, BadResponse} {
		notice := mixed(text(50), text(60+i), 25)
		response, c := w.visit(i, stored(text(i)), page(notice))
		if response != want || c.Order.Loss == nil || c.Order.Loss.Explicit != (want == NotCounted) || c.Next.Reason != ReasonNewText {
			t.Errorf("document %d: says %d, want %d; %+v", i, response, want, c.Order)
		}
	}
	// That one document has it again and again tells nothing.
	w = newWeigher(t)
	for range 5 {
		if response, c := w.visit(1, stored(text(1)), page(text(50))); response != NotCounted || !c.Order.Loss.Explicit {
			t.Errorf("says %d, %+v", response, c.Order.Loss)
		}
	}
}

// TestSteadyText: of a pending loss of text, a text nearly the same as at the last visit is a good response.
func TestSteadyText(t *testing.T) {
	old := stored(text(1))
	old.LossPending = true
	for n, want := range map[int]Response{32: GoodResponse, 16: GoodResponse, 15: NotCounted} {
		w := newWeigher(t)
		w.store.loss = &StoredDeletion{Replaces: true, Loss: Loss{Sketch: text(2)}}
		if response, c := w.visit(1, old, page(mixed(text(2), text(3), n))); response != want || c.Order.Loss == nil {
			t.Errorf("%d of 32 parts as before: says %d, want %d", n, response, want)
		}
		w.store.loss.Replaces = false
		if response, _ := w.visit(1, old, page(mixed(text(2), text(3), n))); response != NotCounted {
			t.Errorf("after the loss of a document: says %d", response)
		}
	}
}

// TestSharedTarget: one place for three documents is the place of none; that one document
// leads there again and again tells nothing.
func TestSharedTarget(t *testing.T) {
	all, h := texts{}, weburl.HostKey{1}
	for i, c := range []struct {
		document int
		location string
		shared   bool
	}{
		{1, "http://a.test/login?back=1", false},
		{1, "http://a.test/login?back=1", false},
		{1, "http://a.test/login?back=1", false},
		{2, "http://a.test/login?back=2", false},
		{3, "http://a.test/other", false},
		{3, "http://a.test/login?back=3", true},
		{4, "http://a.test/login#top", true},
		{4, "http://b.test/login", false},
		{5, "%zz", false}, {6, "%zz", false}, {7, "%zz", true},
		{8, "http://a.test/8", false}, {9, "http://a.test/9", false}, {10, "http://a.test/10", false}, {11, "http://a.test/11", false},
		{12, "http://a.test/12", false}, {13, "http://a.test/13", false}, {14, "http://a.test/14", false}, {15, "http://a.test/15", false},
		{16, "http://a.test/16", false}, {17, "http://a.test/login", false}, // the others are long ago
	} {
		if got := all.redirected(h, doc(c.document), c.location); got != c.shared {
			t.Errorf("%d, %d to %s: shared %t, want %t", i, c.document, c.location, got, c.shared)
		}
		if len(all[h].targets) > healthResponses {
			t.Fatalf("%d targets are remembered", len(all[h].targets))
		}
	}
}

// TestTextsAreBounded: in hosts and in responses.
func TestTextsAreBounded(t *testing.T) {
	all := texts{}
	for i := range textHosts + 50 {
		old := Record{Host: weburl.HostKey{byte(i), byte(i >> 8), 1}, Sketch: text(1)}
		all.responded(&old, doc(1), text(2), true, nil)
	}
	if len(all) != textHosts {
		t.Errorf("texts of %d hosts are kept", len(all))
	}
	old := Record{Host: weburl.HostKey{9, 9, 9}, Sketch: text(1)}
	for i := range 100 {
		all.responded(&old, doc(i), text(2), i%2 == 0, nil)
	}
	if n := len(all[old.Host].responses); n != textsKept {
		t.Errorf("%d responses are kept", n)
	}
}
