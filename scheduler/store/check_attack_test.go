package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// check compares a store with the ledger, and updates the ledger if the store may hold either of two states.
func (l *ledger) check(t *testing.T, s *Store) {
	t.Helper()
	records := recordsOf(t, s)
	checkPlaces(t, s, records)
	checkCounts(t, s, records)
	for i := range l.web {
		rec, known := records[webKey(i)]
		l.checkPage(t, i, rec, known)
	}
	l.checkOutbox(t, s, records)
	for part := range l.notes {
		v, err := s.Value(t.Context(), scheduler.CrawlValue(fmt.Sprint("part ", part)))
		if err != nil {
			t.Fatal(err)
		}
		var stored uint64
		_, _ = fmt.Sscan(string(v), &stored)
		if stored < l.notes[part] {
			t.Errorf("note of part %d is of act %d, act %d was acknowledged", part, stored, l.notes[part])
		}
	}
	mustVerify(t, s)
	l.settle()
}

func recordsOf(t *testing.T, s *Store) map[weburl.Key]scheduler.Record {
	t.Helper()
	records := map[weburl.Key]scheduler.Record{}
	err := s.Inspect(t.Context(), scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error {
		if _, twice := records[k]; twice {
			t.Errorf("%s is stored twice", r.URL)
		}
		records[k] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// checkPlaces checks that each queue holds exactly the waiting URLs whose records name it.
func checkPlaces(t *testing.T, s *Store, records map[weburl.Key]scheduler.Record) {
	t.Helper()
	ctx := t.Context()
	places := map[scheduler.Place]uint64{}
	err := s.Places(ctx, func(p scheduler.Place, n uint64) error {
		if _, twice := places[p]; twice {
			t.Errorf("place %v is named twice", p)
		}
		places[p] = n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	queued := map[weburl.Key]bool{}
	for p, n := range places {
		found := uint64(0)
		for after := uint64(0); ; {
			urls, err := s.Queue(ctx, p, after, 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(urls) == 0 {
				break
			}
			for _, w := range urls {
				r := records[w.Key]
				if r.State != scheduler.Waiting || r.Seq != w.Seq || placeOf(&r) != p || queued[w.Key] {
					t.Errorf("%s stands in %v as number %d (again: %v), its record says %+v", w.Record.URL, p, w.Seq, queued[w.Key], r)
				}
				queued[w.Key], after = true, w.Seq
				found++
			}
		}
		if found != n {
			t.Errorf("place %v says that %d wait, there are %d", p, n, found)
		}
	}
	for k, r := range records {
		if r.State == scheduler.Waiting && !queued[k] {
			t.Errorf("%s waits in no queue: %+v", r.URL, r)
		}
	}
}

func checkCounts(t *testing.T, s *Store, records map[weburl.Key]scheduler.Record) {
	t.Helper()
	want := scheduler.Counts{ByClass: map[scheduler.Class]uint64{}}
	hosts := map[weburl.HostKey]uint64{} // their documents
	for _, r := range records {
		want.Known++
		want.ByClass[r.Class]++
		hosts[r.Host] += 0
		switch r.State {
		case scheduler.Waiting:
			want.Pending[r.Source]++
		case scheduler.Timed:
			want.Timed++
		}
		if r.Indexed {
			want.Indexed++
			hosts[r.Host]++
		}
	}
	for _, n := range hosts {
		if n < scheduler.PoolBelow {
			want.Pooled += n
		}
	}
	got, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Hosts < uint64(len(hosts)) {
		t.Errorf("%d hosts are counted, records are of %d", got.Hosts, len(hosts))
	}
	want.Hosts, want.Outbox = got.Hosts, got.Outbox // the outbox is compared by Verify
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("counts (-records +kept):\n%s", diff)
	}
}

// checkPage compares a URL's record with what may be stored of it.
func (l *ledger) checkPage(t *testing.T, i int, rec scheduler.Record, known bool) {
	t.Helper()
	p := &l.web[i]
	if !known {
		if p.presence == present {
			t.Errorf("%s is missing; it may hold %v", webURL(i), p.contents)
		}
		p.presence, p.contents = absent, []mark{{}} // losses and orders are looked at below
		clear(p.aliases)
		return
	}
	if p.presence == absent {
		t.Errorf("%s is known and must not be: %+v", webURL(i), rec)
	}
	if rec.URL != webURL(i) || rec.Host != webLink(i).URL.HostKey() || rec.Fifo != scheduler.Source(i%5) {
		t.Errorf("%s: record of another URL: %+v", webURL(i), rec)
	}
	got := mark{state: rec.State}
	if rec.ETag != "" {
		if _, err := fmt.Sscan(rec.ETag, &got.act); err != nil {
			t.Errorf("%s: ETag %q", rec.URL, rec.ETag)
		}
		l.checkStamp(t, i, rec, got.act)
	}
	may := slices.ContainsFunc(p.contents, func(c mark) bool {
		return c.act == got.act && (c.state == got.state || c.queued && got.state == scheduler.Waiting)
	})
	if !may {
		t.Errorf("%s holds %v, it may hold %v", rec.URL, got, p.contents)
	}
	for a := range p.aliases {
		if !slices.Contains(rec.Aliases, a) {
			t.Errorf("%s: alias %s is missing in %v", rec.URL, a, rec.Aliases)
		}
	}
	got.queued = got.state == scheduler.Timed || rec.Gone
	p.presence, p.contents = present, []mark{got}
}

// checkStamp checks that all fields of a record are from one act, except for a hash that a release changed.
func (l *ledger) checkStamp(t *testing.T, i int, rec scheduler.Record, id uint64) {
	t.Helper()
	want := rec
	stamp(&want, id, i)
	want.Hash = rec.Hash
	released := func(m mark) bool { return m.order == orderAdd && rec.Hash == hashOf(m.act) }
	if rec.Hash != hashOf(id) && rec.Hash != [16]byte{} && !slices.ContainsFunc(l.web[i].orders, released) {
		t.Errorf("%s: hash %q of no document that it may have, after act %d", rec.URL, rec.Hash, id)
	}
	rec.FetchedAt = rec.FetchedAt.UTC()
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Errorf("%s: not all is of act %d (-act +record):\n%s", rec.URL, id, diff)
	}
}

// found is an order as the store holds it.
type found struct {
	mark
	seq uint64
}

// checkOutbox compares all orders with what may be stored.
func (l *ledger) checkOutbox(t *testing.T, s *Store, records map[weburl.Key]scheduler.Record) {
	t.Helper()
	ctx := t.Context()
	orders := map[int]found{}
	take := func(e push.Entry, kind string) {
		id, i, err := actOfBody(e.Body)
		switch {
		case err != nil:
			t.Errorf("order %d of %s: %v", e.Seq, e.URL, err)
		case i < 0 || i >= webURLs || webURL(i) != e.URL || string(e.Body) != string(bodyOf(id, i, l.bodies)) || e.Source != "src":
			t.Errorf("order %d of %s is not that of act %d for URL %d", e.Seq, e.URL, id, i)
		case orders[i].seq != 0:
			t.Errorf("%s has two orders, %+v and %d of act %d", e.URL, orders[i], e.Seq, id)
		default:
			orders[i] = found{mark{act: id, order: kind}, e.Seq}
		}
	}
	for after := uint64(0); ; {
		entries, err := s.Outbox().Entries(ctx, after, 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			kind := orderAdd
			if e.Op == push.Delete {
				kind = orderDelete
			}
			take(e, kind)
			if after = e.Seq; e.Seq <= l.safe {
				t.Errorf("order %d of %s is still there, the cursor was acknowledged at %d", e.Seq, e.URL, l.safe)
			}
		}
	}
	for i := range l.web {
		rec, known := records[webKey(i)]
		l.checkOrder(t, i, orders[i], rec, known)
	}
	l.checkLosses(t, s, records)
	l.checkDead(t, s)
	if l.last == 0 {
		return // the child may have died before it opened the outbox
	}
	switch c, err := s.Outbox().Cursor(ctx, "target"); {
	case err != nil:
		t.Error(err)
	case c < l.safe || c > l.safing:
		t.Errorf("cursor is %d, acknowledged %d, asked for %d", c, l.safe, l.safing)
	default:
		l.safe = c
	}
}

func (l *ledger) checkOrder(t *testing.T, i int, o found, rec scheduler.Record, known bool) {
	t.Helper()
	p := &l.web[i]
	may := slices.ContainsFunc(p.orders, func(m mark) bool {
		if o.seq == 0 {
			return m.order == "" || l.delivered[order{m.act, i}]
		}
		return m.act == o.act && m.order == o.order
	})
	switch {
	case !may && o.seq == 0:
		t.Errorf("%s: its order is lost, one of %v", webURL(i), p.orders)
	case !may:
		t.Errorf("%s: %v waits as number %d, it may have %v", webURL(i), o.mark, o.seq, p.orders)
	}
	if known && o.seq != 0 && rec.ETag == fmt.Sprint(o.act) && rec.Indexed != (o.order != orderDelete) {
		t.Errorf("%s: indexed %v with %v", rec.URL, rec.Indexed, o.mark)
	}
	if o.seq != 0 {
		p.orders = []mark{o.mark}
		return
	}
	p.orders = slices.DeleteFunc(slices.Clone(p.orders), func(m mark) bool { return m.order != "" && !l.delivered[order{m.act, i}] })
}

// checkLosses compares the pending losses with what there may be.
func (l *ledger) checkLosses(t *testing.T, s *Store, records map[weburl.Key]scheduler.Record) {
	t.Helper()
	losses := map[int]mark{}
	err := eachDeletion(t.Context(), s, func(e push.Entry, d scheduler.StoredDeletion) error {
		id, i, err := actOfBody(e.Body)
		if err != nil || i < 0 || i >= webURLs || webURL(i) != e.URL || string(e.Body) != string(bodyOf(id, i, l.bodies)) || d.Text != fmt.Sprint(id) {
			t.Errorf("loss %+v is not that of act %d for URL %d: %v", d, id, i, err)
			return nil
		}
		if losses[i].act != 0 {
			t.Errorf("%s has two losses, of acts %d and %d", e.URL, losses[i].act, id)
		}
		kind := orderLeaving
		if d.Replaces {
			kind = orderReplacing
		}
		if want := lossOf(id, d.Replaces); d.Hash != want.Hash || d.Sketch != want.Sketch || !d.Last.Equal(want.Last) {
			t.Errorf("%s: the loss of act %d is %+v, want %+v", e.URL, id, d.Loss, want)
		}
		losses[i] = mark{act: id, order: kind, edit: d.Edit, well: d.WellDay > 0}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.web {
		p, got := &l.web[i], losses[i]
		if !slices.Contains(p.losses, got) {
			t.Errorf("%s: %v of edit %d, it may have %v", webURL(i), got, got.edit, p.losses)
		}
		if rec := records[webKey(i)]; rec.LossPending != (got.order != "") {
			t.Errorf("%s: its record says %t of a loss that is pending, which is %q", webURL(i), rec.LossPending, got.order)
		}
		p.losses = []mark{got}
	}
}

func (l *ledger) checkDead(t *testing.T, s *Store) {
	t.Helper()
	dead := map[int]uint64{}
	err := s.Dead(t.Context(), func(d push.Dead) error {
		id, i, err := actOfBody(d.Body)
		if err != nil || i < 0 || i >= webURLs || string(d.Body) != string(bodyOf(id, i, l.bodies)) || d.Target != "target" || !strings.HasPrefix(d.Words, "refused") {
			t.Errorf("dead letter %+v: %v", d, err)
			return nil
		}
		if !slices.ContainsFunc(l.web[i].orders, func(m mark) bool { return m.act == id }) {
			t.Errorf("%s: dead letter of act %d beside newer orders %v", d.URL, id, l.web[i].orders)
		}
		dead[i] = id
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.web {
		o := l.web[i].orders
		if len(o) == 1 && o[0].order != "" && l.buried[order{o[0].act, i}] && dead[i] != o[0].act {
			t.Errorf("%s: the dead letter of %v is lost", webURL(i), o[0])
		}
	}
}

// adopt lets the ledger begin with what a store holds.
func (l *ledger) adopt(records map[weburl.Key]scheduler.Record) {
	for i := range l.web {
		if _, known := records[webKey(i)]; known {
			l.web[i].presence = present
		}
	}
}

func faultsIn(t *testing.T, s *Store) []Fault {
	t.Helper()
	var faults []Fault
	if _, err := s.Verify(t.Context(), func(f Fault) { faults = append(faults, f) }); err != nil {
		t.Fatal(err)
	}
	return faults
}
