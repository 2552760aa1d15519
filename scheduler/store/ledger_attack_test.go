package store

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
)

// ledger is what a store may hold after a child's acts: acknowledged ones for sure, begun ones completely or not at
// all.
type ledger struct {
	web       [webURLs]page
	under     map[uint64]*act // begun and not acknowledged
	delivered map[order]bool  // those that the target saw
	buried    map[order]bool  // those that are dead letters for sure
	safe      uint64          // acknowledged cursor
	safing    uint64          // cursor of a Safe under way, or that one
	notes     [parts]uint64   // newest acknowledged act whose note was stored
	last      uint64          // highest number of an act
	bodies    int
	full      int // how often the disk was full
	going     int // how often it went on
}

// page is what may be stored of a URL. contents and orders are all possible ones, in any combination that acts give.
type page struct {
	presence            presence
	forgetting, touched bool
	epoch               int // counts beginnings and ends of forgetting
	linking             int // acts under way that make the URL known
	moves               int // how often its order may have been put again by a release
	possible
	before  possible        // as it was when the act under way began
	aliases map[string]bool // for sure
}

// possible is what may be stored of a URL: contents, newest waiting orders, and pending losses.
type possible struct{ contents, orders, losses []mark }

// mark is a possible content (the act that wrote the record, 0: none; the state,
// and whether the URL may have been queued since), order or loss.
type mark struct {
	act    uint64
	state  scheduler.State
	queued bool
	order  string // orderAdd, ...; "" no order
	edit   uint64 // of a loss
	well   bool   // its host answered well
}

// order is one that an act made: an act may make one for each of several URLs.
type order struct {
	act uint64
	url int
}

type presence uint8

const (
	absent presence = iota
	unsure
	present
)

func newLedger(bodies int) *ledger {
	l := &ledger{under: map[uint64]*act{}, delivered: map[order]bool{}, buried: map[order]bool{}, bodies: bodies}
	for i := range l.web {
		l.web[i] = page{possible: possible{[]mark{{}}, []mark{{}}, []mark{{}}}, aliases: map[string]bool{}}
	}
	return l
}

// take notes a line of a child.
func (l *ledger) take(t *testing.T, n line) {
	t.Helper()
	switch {
	case n.Begin != nil:
		l.begin(n.Begin)
	case n.Full:
		l.full++
	case n.Going:
		l.going++
	default:
		a := l.under[n.Done]
		if a == nil {
			t.Fatalf("act %d is acknowledged and never began", n.Done)
		}
		delete(l.under, n.Done)
		l.done(a, n.Hit, n.Refused)
	}
}

// changes returns the effect of an act on a content, an order and a loss of a URL.
func (a *act) changes(content, order, loss mark) (mark, mark, mark) {
	if loss.order == "" && (a.Kind == actMark || a.Kind == actRelease || a.Kind == actDrop) {
		return content, order, loss
	}
	switch a.Kind {
	case actPage, actRevise, actForget:
		content = mark{act: a.ID, state: a.State, queued: a.State == scheduler.Timed || a.Gone}
		order, loss = a.ordered(order, loss)
		if a.Forget {
			content, loss = mark{}, mark{}
		}
	case actRequeue:
		content.state = scheduler.Waiting
	case actMark:
		loss.well = true
	case actRelease:
		order, loss = mark{act: loss.act, order: carriedOut(loss.order)}, mark{}
	case actDrop:
		loss, content.state = mark{}, scheduler.Waiting
	}
	return content, order, loss
}

// ordered returns what the order of an act makes of those that there are.
func (a *act) ordered(order, loss mark) (mark, mark) {
	if a.Cancel {
		loss = mark{}
	}
	switch {
	case a.Order == "":
	case a.Order == orderAdd || a.Order == orderDelete:
		order, loss = mark{act: a.ID, order: a.Order}, mark{}
	case loss.order == a.Order && loss.edit == a.Edit:
		loss.act, loss.order = a.ID, a.Order
	default:
		loss = mark{act: a.ID, order: a.Order, edit: a.Edit}
	}
	return order, loss
}

// carriedOut returns what a pending order becomes.
func carriedOut(pending string) string {
	if pending == orderReplacing {
		return orderAdd
	}
	return orderDelete
}

// subjects returns the URLs that an act changes, except for making them known.
func (a *act) subjects() []int {
	switch a.Kind {
	case actPage, actForget:
		return []int{a.URL}
	case actRevise, actRequeue, actMark, actRelease, actDrop:
		return a.URLs
	}
	return nil
}

// linked returns the URLs that an act makes known.
func (a *act) linked() []int {
	switch a.Kind {
	case actPage, actAdd, actRequeue:
		is := slices.Clone(a.URLs)
		slices.Sort(is)
		return slices.Compact(is)
	}
	return nil
}

func (l *ledger) begin(a *act) {
	l.under[a.ID] = a
	l.last = max(l.last, a.ID)
	switch a.Kind {
	case actDeliver:
		l.delivered[order{a.Of, a.URL}] = true
		delete(l.under, a.ID)
	case actBury: // as good as delivered: a dead letter is the operator's
		l.delivered[order{a.Of, a.URL}] = true
		a.moves = l.web[a.URL].moves
	case actSafe:
		l.safing = max(l.safing, a.Seq)
	}
	for _, i := range a.subjects() {
		p := &l.web[i]
		p.before = p.possible
		p.possible = l.after(i, a, true)
		if a.Forget {
			p.forgetting, p.touched = true, false
			p.epoch++
			p.presence = min(p.presence, unsure)
			clear(p.aliases)
		}
		if a.Kind == actRelease {
			p.moves++
			for _, o := range p.before.orders {
				delete(l.buried, order{o.act, i})
			}
		}
	}
	a.epochs = map[int]int{}
	for _, i := range a.linked() {
		p := &l.web[i]
		a.epochs[i] = p.epoch
		p.linking++
		p.presence = max(p.presence, unsure)
	}
}

// after returns what may be stored after an act: with both, also if it did not happen.
func (l *ledger) after(i int, a *act, both bool) (n possible) {
	before := l.web[i].before
	if both {
		n = possible{slices.Clone(before.contents), slices.Clone(before.orders), slices.Clone(before.losses)}
	}
	for _, c := range before.contents {
		for _, o := range before.orders {
			for _, p := range before.losses {
				content, order, loss := a.changes(c, o, p)
				n.contents, n.orders, n.losses = append(n.contents, content), append(n.orders, order), append(n.losses, loss)
			}
		}
	}
	return possible{distinct(n.contents), distinct(n.orders), distinct(n.losses)}
}

func distinct(marks []mark) []mark {
	set := map[mark]bool{}
	for _, m := range marks {
		set[m] = true
	}
	return slices.Collect(maps.Keys(set))
}

func (l *ledger) done(a *act, hit []int, refused bool) {
	switch a.Kind {
	case actSafe:
		l.safe = max(l.safe, a.Seq)
	case actBury:
		l.buried[order{a.Of, a.URL}] = a.moves == l.web[a.URL].moves
	case actPage:
		if !refused {
			l.notes[a.URL%webHosts%parts] = a.ID
		}
	}
	for _, i := range a.subjects() {
		p := &l.web[i]
		if refused || a.Kind == actRevise && !slices.Contains(hit, i) {
			p.possible = p.before
			p.forgetting = false
			continue
		}
		p.possible = l.after(i, a, false)
		if a.Forget {
			p.forgetting = false
			p.epoch++
			if p.linking == 0 && !p.touched {
				p.presence = absent
			}
		}
	}
	for _, i := range a.linked() {
		p := &l.web[i]
		p.linking--
		switch {
		case refused:
		case p.forgetting:
			p.touched = true
		case p.epoch == a.epochs[i]:
			p.presence = present
			if a.Alias != "" {
				p.aliases[a.Alias] = true
			}
		}
	}
}

// settle ends a child's life: a running act has happened or not, as the store shows.
func (l *ledger) settle() {
	clear(l.under)
	l.safing = l.safe
	for i := range l.web {
		p := &l.web[i]
		p.forgetting, p.touched, p.linking = false, false, 0
	}
}

func (m mark) String() string {
	if m.order != "" {
		return fmt.Sprintf("%s of act %d", m.order, m.act)
	}
	return fmt.Sprintf("act %d, state %d, queued %v", m.act, m.state, m.queued)
}
