package meter

import (
	"context"
	"sync"
	"time"
)

// Run marks the totals in a goroutine that the crawl starts; the status asks for the rates. mu
// guards the marks.

// Rates are means over the last minute.
type Rates struct {
	RequestsPerS float64 `json:"requests_per_s"`
	PagesPerS    float64 `json:"pages_per_s"`
	BytesPerS    float64 `json:"bytes_per_s"`
}

// pace holds the totals of the last minute, one mark every few seconds; mu guards them.
type pace struct {
	mu    sync.Mutex
	marks []paceMark
}

type paceMark struct {
	at time.Time
	Totals
}

const (
	paceStep   = 5 * time.Second
	paceWindow = time.Minute
)

// Run marks the totals until ctx ends, for Rates.
func (m *Meter) Run(ctx context.Context) error {
	tick := time.NewTicker(paceStep)
	defer tick.Stop()
	m.pace.mark(time.Now(), m.Totals())
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			m.pace.mark(now, m.Totals())
		}
	}
}

func (p *pace) mark(now time.Time, t Totals) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.marks) > 1 && now.Sub(p.marks[0].at) > paceWindow {
		p.marks = p.marks[1:]
	}
	p.marks = append(p.marks, paceMark{now, t})
}

// rates returns the means between the oldest mark and now.
func (p *pace) rates(now time.Time, t Totals) Rates {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.marks) == 0 {
		return Rates{}
	}
	from := p.marks[0]
	s := now.Sub(from.at).Seconds()
	if s <= 0 {
		return Rates{}
	}
	return Rates{
		RequestsPerS: float64(t.Requests-from.Requests) / s,
		PagesPerS:    float64(t.Pages-from.Pages) / s,
		BytesPerS:    float64(t.Bytes-from.Bytes) / s,
	}
}

// Rates returns the means over the last minute.
func (m *Meter) Rates() Rates { return m.pace.rates(time.Now(), m.Totals()) }
