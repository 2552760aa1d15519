package store

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

// outboxModel is an outbox in the simplest form, and the store that must equal it.
type outboxModel struct {
	t   *testing.T
	ctx context.Context
	r   *rand.Rand
	dir string
	s   *Store
	id  uint64 // of orders
	seq uint64 // of the model; the store's differ, their order does not

	orders  map[int]modelOrder // waiting, by URL
	pending map[int]modelOrder
	dead    map[string]map[int]modelOrder
	cursors map[string]uint64
	// safe are the orders that a target has had and whose cursor has passed them.
	safe map[string]map[uint64]bool
}

type modelOrder struct {
	id, seq uint64
	url     int
	delete  bool
	pending bool
	well    bool
	edit    uint64
}

const modelURLs = 10

// TestOutboxModel makes random changes of orders, with killed stores in between, and compares the store with the
// simplest outbox after each.
func TestOutboxModel(t *testing.T) {
	seed := seeded.Seed(t)
	for run := range max(2, attackRounds(t, 3)/4) {
		m := &outboxModel{
			t: t, ctx: t.Context(), r: rand.New(rand.NewPCG(seed, uint64(run))), dir: t.TempDir(),
			orders: map[int]modelOrder{}, pending: map[int]modelOrder{}, dead: map[string]map[int]modelOrder{}, cursors: map[string]uint64{}, safe: map[string]map[uint64]bool{},
		}
		m.s = openStore(t, m.dir, attackOptions())
		m.targets()
		for step := range 400 {
			word := m.step()
			if m.compare(); t.Failed() {
				t.Fatalf("run %d, step %d: %s", run, step, word)
			}
		}
		mustVerify(t, m.s)
		closeStore(t, m.s)
	}
}

func (m *outboxModel) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *outboxModel) step() string {
	steps := []struct {
		word string
		of   int
		do   func()
	}{
		{"complete", 40, m.complete}, {"safe", 15, m.passCursor}, {"bury", 8, m.addDead}, {"mark", 5, m.mark},
		{"release", 6, m.release}, {"drop", 6, m.drop}, {"retry", 5, m.retry}, {"targets", 4, m.targets},
		{"forget", 8, m.forget}, {"kill", 3, m.kill},
	}
	n := m.r.IntN(100)
	for _, s := range steps {
		if n -= s.of; n < 0 {
			s.do()
			return s.word
		}
	}
	panic("the shares are not 100")
}

// put is what every new order of a URL does.
func (m *outboxModel) put(o modelOrder) {
	before, had := m.pending[o.url]
	if o.pending {
		if had && before.edit == o.edit && before.delete == o.delete {
			o.well, o.seq = before.well, before.seq
		} else {
			m.seq++
			o.seq = m.seq
		}
		m.pending[o.url] = o
		return
	}
	delete(m.pending, o.url)
	m.send(o)
}

// send is what an order does that waits, whether it is new or was a dead letter.
func (m *outboxModel) send(o modelOrder) {
	m.seq++
	o.seq = m.seq
	for _, dead := range m.dead {
		delete(dead, o.url)
	}
	m.orders[o.url] = o
}

func (m *outboxModel) newOrder(u int, forget bool) (modelOrder, *scheduler.Order) {
	m.id++
	o := modelOrder{id: m.id, url: u, delete: m.r.IntN(2) == 0}
	order := &scheduler.Order{Source: "src", Body: bodyOf(o.id, u, 200)}
	if o.delete {
		order.Op = scheduler.OrderDelete
	}
	if !forget && m.r.IntN(2) == 0 {
		o.pending, o.edit = true, m.r.Uint64N(3)
		loss := scheduler.NewLoss(m.r.IntN(2) == 0, time.Unix(int64(m.id), 0))
		order.Loss, order.Day, order.Edit = &loss, time.Hour, o.edit
	}
	return o, order
}

// waiting returns a URL as it stands in its queue, known again if it was not.
func (m *outboxModel) waiting(u int) (scheduler.Place, scheduler.WaitingURL) {
	_, _, err := m.s.Add(m.ctx, webLinks([]int{u}, ""), true)
	m.must(err)
	rec, err := m.s.Lookup(m.ctx, webKey(u))
	m.must(err)
	return placeOf(&rec), scheduler.WaitingURL{Key: webKey(u), Seq: rec.Seq, Record: rec}
}

func (m *outboxModel) complete() {
	u := m.r.IntN(modelURLs)
	place, w := m.waiting(u)
	c := scheduler.Completion{Key: w.Key, Taken: place, Seq: w.Seq, Next: w.Record, CancelDeletion: m.r.IntN(3) == 0}
	c.Next.State = scheduler.AtRest
	if c.CancelDeletion {
		delete(m.pending, u)
	}
	if m.r.IntN(4) > 0 {
		var o modelOrder
		o, c.Order = m.newOrder(u, false)
		c.Next.Indexed = !o.delete || o.pending
		m.put(o)
	}
	_, err := scheduler.CompleteAndWait(m.ctx, m.s, c)
	m.must(err)
}

func (m *outboxModel) forget() {
	u := m.r.IntN(modelURLs)
	if _, err := m.s.Lookup(m.ctx, webKey(u)); err != nil {
		return
	}
	var order *scheduler.Order
	if m.r.IntN(2) == 0 {
		var o modelOrder
		o, order = m.newOrder(u, true)
		m.put(o)
	}
	delete(m.pending, u)
	m.must(m.s.Forget(m.ctx, webKey(u), order))
}

func (m *outboxModel) waitingAfter(seq uint64) []modelOrder {
	return sorted(m.orders, func(o modelOrder) bool { return o.seq > seq })
}

func sorted(orders map[int]modelOrder, which func(modelOrder) bool) []modelOrder {
	return slices.SortedFunc(func(yield func(modelOrder) bool) {
		for _, o := range orders {
			if which(o) && !yield(o) {
				return
			}
		}
	}, func(a, b modelOrder) int { return cmp.Compare(a.seq, b.seq) })
}

func (m *outboxModel) target() string {
	names := slices.Sorted(maps.Keys(m.cursors))
	return names[m.r.IntN(len(names))]
}

// next returns the entries that a target has to get, of the store and of the model.
func (m *outboxModel) next(target string) ([]push.Entry, []modelOrder) {
	at, err := m.s.Outbox().Cursor(m.ctx, target)
	m.must(err)
	entries, err := m.s.Outbox().Entries(m.ctx, at, 1000, 1<<30)
	m.must(err)
	want := m.waitingAfter(m.cursors[target])
	if len(entries) != len(want) {
		m.t.Fatalf("target %s has to get %d orders, the store gives %d", target, len(want), len(entries))
	}
	return entries, want
}

// passCursor delivers some entries to a target: none that was safe before.
func (m *outboxModel) passCursor() {
	target := m.target()
	entries, orders := m.next(target)
	if len(entries) == 0 {
		return
	}
	n := m.r.IntN(len(entries))
	m.must(m.s.Outbox().Safe(m.ctx, target, entries[n].Seq))
	m.cursors[target] = orders[n].seq
	for i := range n + 1 {
		id, _, err := actOfBody(entries[i].Body)
		m.must(err)
		if m.safe[target][id] {
			m.t.Errorf("target %s gets order %d again, which was safe", target, id)
		}
		m.safe[target][id] = true
	}
	low := slices.Min(slices.Collect(maps.Values(m.cursors)))
	maps.DeleteFunc(m.orders, func(_ int, o modelOrder) bool { return o.seq <= low })
}

// addDead makes a dead letter, now and then of an order that is not the newest any more.
func (m *outboxModel) addDead() {
	target := m.target()
	entries, orders := m.next(target)
	if len(entries) == 0 {
		return
	}
	n := m.r.IntN(len(entries))
	if m.r.IntN(3) == 0 {
		o, order := m.newOrder(orders[n].url, false)
		place, w := m.waiting(o.url)
		c := scheduler.Completion{Key: w.Key, Taken: place, Seq: w.Seq, Next: w.Record, Order: order}
		c.Next.State = scheduler.AtRest
		_, err := scheduler.CompleteAndWait(m.ctx, m.s, c)
		m.must(err)
		m.put(o)
	}
	m.must(m.s.Outbox().AddDead(m.ctx, target, entries[n], "refused", time.Unix(1, 0)))
	if m.orders[orders[n].url].id == orders[n].id {
		m.dead[target][orders[n].url] = orders[n]
	}
}

// again reports whether an order may come again to those that had it.
func (m *outboxModel) again(o modelOrder) {
	for _, had := range m.safe {
		delete(had, o.id)
	}
}

// retry sends the dead letters of a URL again, or drops them.
func (m *outboxModel) retry() {
	u := m.r.IntN(modelURLs)
	var letters []modelOrder
	for _, dead := range m.dead {
		if o, ok := dead[u]; ok {
			letters = append(letters, o)
			delete(dead, u)
		}
	}
	var n int
	var err error
	if m.r.IntN(2) == 0 {
		n, err = m.s.DropDead(m.ctx, push.Selection{URLs: []string{webURL(u)}})
	} else {
		n, err = m.s.RetryDead(m.ctx, push.Selection{URLs: []string{webURL(u)}})
		for _, o := range letters[:min(1, len(letters))] { // all are the same order: it was the newest
			m.send(o) // a pending loss is newer, and stays
			m.again(o)
		}
	}
	m.must(err)
	if n != len(letters) {
		m.t.Errorf("%d dead letters of %s, want %d", n, webURL(u), len(letters))
	}
}

// targets names the targets again, at least one.
func (m *outboxModel) targets() {
	names := []string{"a", "b", "c"}[:1+m.r.IntN(3)]
	m.must(m.s.Outbox().Open(m.ctx, names))
	first := m.seq + 1
	for _, o := range m.waitingAfter(0) {
		first = min(first, o.seq)
	}
	for _, t := range names {
		if _, known := m.cursors[t]; !known {
			m.cursors[t], m.dead[t], m.safe[t] = first-1, map[int]modelOrder{}, map[uint64]bool{}
		}
	}
	for t := range m.cursors {
		if !slices.Contains(names, t) {
			delete(m.cursors, t)
			delete(m.dead, t)
			delete(m.safe, t)
		}
	}
	low := slices.Min(slices.Collect(maps.Values(m.cursors)))
	maps.DeleteFunc(m.orders, func(_ int, o modelOrder) bool { return o.seq <= low })
}

func (m *outboxModel) kill() {
	image := copied(m.t, m.dir)
	closeStore(m.t, m.s)
	m.dir = image
	m.s = openStore(m.t, m.dir, attackOptions())
}

// compare compares the store's waiting, pending and dead orders with those of the model, in order.
func (m *outboxModel) compare() {
	m.t.Helper()
	ids := func(orders []modelOrder) []uint64 {
		all := []uint64{}
		for _, o := range orders {
			all = append(all, o.id)
		}
		return all
	}
	pending := sorted(m.pending, func(modelOrder) bool { return true })
	want := map[string][]uint64{"waiting": ids(m.waitingAfter(0)), "pending": ids(pending)}
	got := map[string][]uint64{"waiting": {}, "pending": {}}
	take := func(name string, e push.Entry) error {
		id, _, err := actOfBody(e.Body)
		got[name] = append(got[name], id)
		return err
	}
	entries, err := m.s.Outbox().Entries(m.ctx, 0, 1000, 1<<30)
	m.must(err)
	for _, e := range entries {
		m.must(take("waiting", e))
	}
	m.must(eachDeletion(m.ctx, m.s, func(e push.Entry, d scheduler.StoredDeletion) error {
		if want := m.pending[webIndex(e.URL)]; d.Edit != want.edit || d.Replaces == want.delete || (d.WellDay > 0) != want.well {
			m.t.Errorf("the loss of %s is %+v, want %+v", e.URL, d, want)
		}
		return take("pending", e)
	}))
	for t, dead := range m.dead {
		name := "dead of " + t
		want[name], got[name] = []uint64{}, []uint64{}
		for _, o := range dead {
			want[name] = append(want[name], o.id)
		}
		slices.Sort(want[name])
	}
	m.must(m.s.Dead(m.ctx, func(d push.Dead) error { return take("dead of "+d.Target, d.Entry) }))
	for name := range got {
		if strings.HasPrefix(name, "dead") {
			slices.Sort(got[name])
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		m.t.Errorf("orders (-model +store):\n%s", diff)
	}
	c, err := m.s.Counts(m.ctx)
	m.must(err)
	dead := 0
	for _, d := range m.dead {
		dead += len(d)
	}
	count := func(name string) uint64 { return uint64(len(want[name])) }
	if o := (scheduler.OutboxCounts{Waiting: count("waiting"), Pending: count("pending"), Dead: uint64(dead)}); c.Outbox != o {
		m.t.Errorf("outbox counts %+v, want %+v", c.Outbox, o)
	}
}
