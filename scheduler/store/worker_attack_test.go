package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// worker is one goroutine of an attacker. What it does to URLs, except for making
// them known, it does to those of its own hosts alone, one act after the other, so
// that what must be stored of each is not a matter of chance.
type worker struct {
	*attacker
	ctx  context.Context
	part int
	r    *rand.Rand
}

// own draws a URL of one of the worker's hosts.
func (p *worker) own() int {
	i := p.r.IntN(webURLs)
	return i - i%webHosts + p.ownHost()
}

func (p *worker) ownHost() int { return p.part + parts*p.r.IntN(webHosts/parts) }

func (p *worker) any(n int) []int {
	is := make([]int, n)
	for k := range is {
		is[k] = p.r.IntN(webURLs)
	}
	return is
}

func (p *worker) owns(n int) []int {
	is := make([]int, n)
	for k := range is {
		is[k] = p.own()
	}
	slices.Sort(is)
	return slices.Compact(is)
}

func (p *worker) alias() string {
	if p.r.IntN(4) == 0 {
		return fmt.Sprint("http://alias.test/", p.r.IntN(3))
	}
	return ""
}

func (p *worker) run() error {
	for {
		if err := p.step(); err != nil {
			return err
		}
	}
}

// step makes an act, or some.
func (p *worker) step() error {
	switch n := p.r.IntN(100); {
	case n < 60:
		return p.pages()
	case n < 68:
		return p.revise()
	case n < 79:
		return p.forget()
	case n < 84:
		return p.add(actAdd, p.any(1+p.r.IntN(30)), false)
	case n < 88:
		return p.add(actRequeue, p.owns(1+p.r.IntN(5)), true)
	case n < 95:
		return p.deletions()
	}
	return p.due()
}

// pages completes some of a place's URLs.
func (p *worker) pages() error {
	host := webLink(p.ownHost()).URL.HostKey()
	for _, source := range p.r.Perm(scheduler.Sources) {
		at := scheduler.Place{Source: scheduler.Source(source), Host: host}
		urls, err := p.s.Queue(p.ctx, at, 0, 8)
		if err != nil {
			return err
		}
		for n := range urls {
			floor := urls[n].Seq + 1
			if p.r.IntN(4) == 0 { // not from the front: those before it stay
				urls, floor = urls[n+p.r.IntN(len(urls)-n):], 0
				n = 0
			}
			if err := p.page(at, urls[n], floor); err != nil {
				return err
			}
			if floor == 0 {
				break
			}
		}
		if len(urls) > 0 {
			return nil
		}
	}
	return nil
}

func (p *worker) page(at scheduler.Place, w scheduler.WaitingURL, floor uint64) error {
	i := webIndex(w.Record.URL)
	a := act{Kind: actPage, URL: i, Alias: p.alias(), Forget: p.r.IntN(8) == 0}
	a.URLs = p.any(p.r.IntN(12))
	if p.r.IntN(200) == 0 {
		a.URLs = p.any(2000) // more than one transaction
	}
	if a.Forget {
		a.URLs = slices.DeleteFunc(a.URLs, func(l int) bool { return l == i })
	}
	c := scheduler.Completion{Key: w.Key, Taken: at, Seq: w.Seq, Floor: floor, Next: w.Record, Forget: a.Forget}
	if p.r.IntN(4) > 0 {
		old := w.Record
		c.Old, c.AsOf = &old, w.AsOf
	}
	a.State = scheduler.State(p.r.IntN(3))
	c.Next.State, c.Next.Source = a.State, scheduler.Source(p.r.IntN(scheduler.Sources))
	c.Next.NextAt = time.Now().Add(time.Duration(p.r.IntN(100)) * time.Millisecond)
	a.Order, a.Cancel = p.order(&c.Next, a.Forget)
	a.Edit, a.Gone, a.back = p.r.Uint64N(3), p.r.IntN(6) == 0, w.Record.Gone
	c.CancelDeletion, c.Next.Gone = a.Cancel, a.Gone
	a, err := p.begin(a)
	if err != nil {
		return err
	}
	stamp(&c.Next, a.ID, i)
	c.Links = webLinks(a.URLs, a.Alias)
	c.Order = p.orderOf(a, i)
	c.Notes = []scheduler.Note{{Name: scheduler.CrawlValue(fmt.Sprint("part ", p.part)), Value: fmt.Append(nil, a.ID)}}
	c.Host = &scheduler.HostState{Origin: fmt.Sprintf("http://h%d.test:80", i%webHosts), NextAt: time.Unix(int64(a.ID), 0), Responses: uint16(a.ID % 1024)}
	return p.do(a, func() error {
		_, err := scheduler.CompleteAndWait(p.ctx, p.s, c)
		return err
	})
}

// order draws what a change of a record orders, and sets Indexed as it must be then.
func (p *worker) order(r *scheduler.Record, forget bool) (order string, cancel bool) {
	draw := p.r.IntN(6)
	switch {
	case r.Indexed && (forget || draw == 0):
		order, r.Indexed = orderDelete, false
	case r.Indexed && draw < 3 && !forget:
		order = []string{orderLeaving, orderReplacing}[draw-1]
	case draw < 5 && !forget:
		order, r.Indexed = orderAdd, true
	default:
		cancel = draw == 5
	}
	return order, cancel
}

func (p *worker) orderOf(a act, i int) *scheduler.Order {
	if a.Order == "" {
		return nil
	}
	o := &scheduler.Order{Source: "src", Body: bodyOf(a.ID, i, p.Bodies)}
	if a.Order == orderDelete || a.Order == orderLeaving {
		o.Op = scheduler.OrderDelete
	}
	if a.Order == orderLeaving || a.Order == orderReplacing {
		loss := lossOf(a.ID, a.Order == orderReplacing)
		o.Loss, o.Day, o.Edit, o.Text = &loss, time.Hour, a.Edit, fmt.Sprint(a.ID)
	}
	return o
}

func (p *worker) revise() error {
	a := act{Kind: actRevise, URLs: p.owns(1 + p.r.IntN(6)), State: scheduler.State(p.r.IntN(3))}
	a.Gone, a.Edit = p.r.IntN(6) == 0, p.r.Uint64N(2)
	switch p.r.IntN(6) {
	case 0, 1:
		a.Order = orderDelete
	case 2:
		a.Order = orderLeaving
	case 3:
		a.Order = orderReplacing
	}
	a, err := p.begin(a)
	if err != nil {
		return err
	}
	keys := make([]weburl.Key, len(a.URLs))
	for n, i := range a.URLs {
		keys[n] = webKey(i)
	}
	source, at := scheduler.Source(p.r.IntN(scheduler.Sources)), time.Now().Add(time.Duration(p.r.IntN(50))*time.Millisecond)
	n := 0
	return p.do(a, func() (err error) {
		_, n, err = p.s.Revise(p.ctx, keys, func(_ weburl.Key, r scheduler.Record) *scheduler.Revision {
			i := webIndex(r.URL)
			v := &scheduler.Revision{Next: r, Order: p.orderOf(a, i)}
			stamp(&v.Next, a.ID, i)
			v.Next.State, v.Next.Source, v.Next.NextAt = a.State, source, at
			if v.Next.Gone = a.Gone; a.Order != "" {
				v.Next.Indexed = a.Order != orderDelete
			}
			return v
		})
		return err
	}, func() ([]int, error) { return p.revised(a, n) })
}

// revised is which URLs a revision met.
func (p *worker) revised(a act, n int) (hit []int, err error) {
	for _, i := range a.URLs {
		r, err := p.s.Lookup(p.ctx, webKey(i))
		if err == nil && r.ETag == fmt.Sprint(a.ID) {
			hit = append(hit, i)
		} else if err != nil && !errors.Is(err, scheduler.ErrNotFound) {
			return nil, err
		}
	}
	if n != len(hit) {
		return nil, fmt.Errorf("%+v: says that %d are revised, %d are", a, n, len(hit))
	}
	return hit, nil
}

func (p *worker) forget() error {
	i := p.own()
	rec, err := p.s.Lookup(p.ctx, webKey(i))
	if errors.Is(err, scheduler.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	a := act{Kind: actForget, URL: i, Forget: true}
	if rec.Indexed {
		a.Order = orderDelete
	}
	if a, err = p.begin(a); err != nil {
		return err
	}
	return p.do(a, func() error { return p.s.Forget(p.ctx, webKey(i), p.orderOf(a, i)) })
}

func (p *worker) add(kind string, is []int, requeue bool) error {
	a, err := p.begin(act{Kind: kind, URLs: is})
	if err != nil {
		return err
	}
	return p.do(a, func() error {
		_, _, err := p.s.Add(p.ctx, webLinks(is, ""), requeue)
		return err
	})
}

// deletions marks, releases or drops some of the pending losses of the worker's hosts.
func (p *worker) deletions() error {
	a := act{Kind: []string{actMark, actRelease, actDrop}[p.r.IntN(3)]}
	var urls []string
	err := p.s.PendingDeletions(p.ctx, scheduler.DeletionFilter{}, func(d scheduler.StoredDeletion) error {
		if i := webIndex(d.URL); i%webHosts%parts == p.part && p.r.IntN(3) == 0 {
			a.URLs, urls = append(a.URLs, i), append(urls, d.URL)
		}
		return nil
	})
	if err != nil || len(urls) == 0 {
		return err
	}
	if a, err = p.begin(a); err != nil {
		return err
	}
	return p.do(a, func() (err error) {
		n, f := 0, scheduler.DeletionFilter{URLs: urls}
		switch a.Kind {
		case actMark:
			n, err = markDeletions(p.ctx, p.s, f)
		case actRelease:
			n, err = release(p.ctx, p.s, f)
		case actDrop:
			_, n, err = dropDeletions(p.ctx, p.s, f)
		}
		if err == nil && n != len(urls) {
			err = fmt.Errorf("%d of %d losses are changed", n, len(urls))
		}
		return err
	})
}

func (p *worker) due() error {
	_, _, err := p.s.Due(p.ctx, time.Now(), scheduler.Refresh, 1+p.r.IntN(50))
	if p.again(err) {
		return nil
	}
	return err
}

// relay delivers orders, buries some, and moves the cursor.
func (p *worker) relay() error {
	for {
		cursor, err := p.s.Outbox().Cursor(p.ctx, "target")
		if err != nil {
			return err
		}
		entries, err := p.s.Outbox().Entries(p.ctx, cursor, 1+p.r.IntN(100), 1<<20)
		if err != nil {
			return err
		}
		for _, e := range entries {
			id, i, err := actOfBody(e.Body)
			if err != nil {
				return fmt.Errorf("order %d: %w", e.Seq, err)
			}
			if err := p.deliver(e, act{Kind: actDeliver, URL: i, Of: id, Seq: e.Seq}); err != nil {
				return err
			}
			cursor = e.Seq
		}
		if len(entries) == 0 {
			if p.Acts > 0 && p.next.Load() >= p.First+p.Acts {
				return errEnd
			}
			time.Sleep(time.Millisecond)
			continue
		}
		a, err := p.begin(act{Kind: actSafe, Seq: cursor})
		if err != nil {
			return err
		}
		if err := p.do(a, func() error { return p.s.Outbox().Safe(p.ctx, "target", cursor) }); err != nil {
			return err
		}
	}
}

func (p *worker) deliver(e push.Entry, a act) error {
	if p.r.IntN(10) == 0 {
		a.Kind = actBury
	}
	a, err := p.begin(a)
	if err != nil || a.Kind == actDeliver {
		return err
	}
	return p.do(a, func() error { return p.s.Outbox().AddDead(p.ctx, "target", e, "refused", time.Unix(int64(a.ID), 0)) })
}
