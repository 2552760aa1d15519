package storetest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

var _ scheduler.Partition = (*Memory)(nil)

// mail is the letters of a Memory, and how far those of others have arrived.
type mail struct {
	last    uint64
	letters map[scheduler.Home][]scheduler.Letter
	removed map[scheduler.Home]uint64
	arrived map[int]uint64
}

func newMail() mail {
	return mail{letters: map[scheduler.Home][]scheduler.Letter{}, removed: map[scheduler.Home]uint64{}, arrived: map[int]uint64{}}
}

func (m *mail) write(to scheduler.Home, n scheduler.Letter) {
	m.last++
	n.Seq = m.last
	m.letters[to] = append(m.letters[to], n)
}

// Numbered has deletions numbered by what next gives, which rises; before the first is made.
func (m *Memory) Numbered(next func() uint64) *Memory {
	m.d.numbers = next
	return m
}

// OutboxBytes implements scheduler.Partition.
func (m *Memory) OutboxBytes() (n uint64) {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	for _, o := range m.d.outbox {
		n += uint64(len(o.Body))
	}
	return n
}

// Origin implements scheduler.Partition.
func (m *Memory) Origin(ctx context.Context, h weburl.HostKey) (string, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return "", err
	}
	defer d.mu.Unlock()
	return d.origins[h], nil
}

// Timed implements scheduler.Partition.
func (m *Memory) Timed(ctx context.Context, until time.Time, n int) ([]time.Time, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var list []time.Time
	for _, r := range d.records {
		if r.State == scheduler.Timed && !r.NextAt.After(until) {
			list = append(list, r.NextAt)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return list[:min(n, len(list))], nil
}

// Leave implements scheduler.Partition.
func (m *Memory) Leave(ctx context.Context, links []scheduler.Link, homes []scheduler.Home) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	for i, l := range links {
		d.mail.write(homes[i], scheduler.Letter{Link: l})
	}
	return nil
}

// Letters implements scheduler.Partition. It takes each letter for a hundred bytes.
func (m *Memory) Letters(ctx context.Context, to scheduler.Home, after uint64, n, bytes int) ([]scheduler.Letter, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var list []scheduler.Letter
	for _, l := range d.mail.letters[to] {
		if l.Seq > after && len(list) < min(n, max(bytes/100, 1)) {
			list = append(list, l)
		}
	}
	return list, nil
}

// Delivered implements scheduler.Partition.
func (m *Memory) Delivered(ctx context.Context, to scheduler.Home, upTo uint64) error {
	d, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer d.mu.Unlock()
	for l := d.mail.letters[to]; len(l) > 0 && l[0].Seq <= upTo; l = d.mail.letters[to] {
		d.mail.removed[to], d.mail.letters[to] = l[0].Seq, l[1:]
	}
	return nil
}

// Piles implements scheduler.Partition.
func (m *Memory) Piles(ctx context.Context) ([]scheduler.Pile, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer d.mu.Unlock()
	var list []scheduler.Pile
	for to, l := range d.mail.letters {
		list = append(list, scheduler.Pile{To: to, Count: uint64(len(l)), Bytes: 100 * uint64(len(l)), Removed: d.mail.removed[to]})
	}
	slices.SortFunc(list, func(a, b scheduler.Pile) int { return int(a.To) - int(b.To) })
	return list, nil
}

// Receive implements scheduler.Partition.
func (m *Memory) Receive(ctx context.Context, p scheduler.Post) (scheduler.Receipt, error) {
	d, err := m.lock(ctx)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	defer d.mu.Unlock()
	places, arrived := newPlaceSet(), d.mail.arrived[p.From]
	if p.After > arrived {
		return scheduler.Receipt{Arrived: arrived}, nil
	}
	for _, n := range p.Letters {
		switch {
		case n.Seq <= arrived:
			continue
		case n.Note != nil:
			d.setValue(n.Note.Name, n.Note.Value)
		case n.Link.Item != nil:
			d.addLink(n.Link, false, places)
			if err := d.item(n.Link, true, places); err != nil {
				return scheduler.Receipt{}, err
			}
		default:
			d.link(n.Link, n.Depths, places)
		}
		arrived = n.Seq
	}
	d.mail.arrived[p.From] = arrived
	return scheduler.Receipt{Arrived: arrived, Places: places.list}, nil
}

// Copy is a closed store with what m holds now, as a backup of it: see Reopen. Its letters are numbered above
// those that m will write, as those of a store that is restored are by the clock.
func (m *Memory) Copy() *Memory {
	m.d.mu.Lock()
	defer m.d.mu.Unlock()
	d := &contents{
		clean: true, seq: m.d.seq, orders: m.d.orders, numbers: m.d.numbers,
		records: maps.Clone(m.d.records), queues: map[scheduler.Place][]waiting{}, hosts: maps.Clone(m.d.hosts),
		outbox: maps.Clone(m.d.outbox), deleted: maps.Clone(m.d.deleted), values: maps.Clone(m.d.values), origins: maps.Clone(m.d.origins),
		mail: mail{last: m.d.mail.last + 1<<20, letters: map[scheduler.Home][]scheduler.Letter{}, removed: maps.Clone(m.d.mail.removed), arrived: maps.Clone(m.d.mail.arrived)},
	}
	for p, q := range m.d.queues {
		d.queues[p] = slices.Clone(q)
	}
	for to, l := range m.d.mail.letters {
		d.mail.letters[to] = slices.Clone(l)
	}
	return &Memory{d: d, closed: true}
}
