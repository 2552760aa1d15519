package notices

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A postman's fields belong to the goroutine of its run, except those that its mutex guards, which Status reads.

// postman sends notices to one receiver, one after the other.
type postman struct {
	n        *Notifier
	receiver Receiver
	name     string // without secrets
	id       string // of the receiver in the memory
	send     func(context.Context, Notice) error
	close    func()

	// Owned by run's goroutine, and afterwards by Notifier.last.
	seen  map[string]time.Time // first observation of conditions without a Since
	gone  map[string]time.Time // when reported conditions were first absent
	tried map[string]time.Time // last notice of it, or attempt
	begun []time.Time          // notices within an hour

	mu           sync.Mutex
	told         map[string]Condition
	news         []Notice // of rounds, to be sent
	sent, failed uint64
	lastError    string
}

func newPostman(n *Notifier, r Receiver) (*postman, error) {
	p := &postman{
		n: n, receiver: r, name: r.name(), id: r.id(), close: func() {},
		seen: map[string]time.Time{}, gone: map[string]time.Time{}, tried: map[string]time.Time{},
	}
	p.told = n.memory.of(p.id)
	var err error
	if len(r.Command) > 0 {
		p.send = r.run(n.set.Log)
	} else {
		p.send, p.close, err = r.post(postRetries)
	}
	return p, err
}

// inherit copies the state of the same receiver from before a reload. Neither may be running.
func (p *postman) inherit(before []*postman) {
	i := slices.IndexFunc(before, func(b *postman) bool { return b.id == p.id })
	if i < 0 {
		return
	}
	b := before[i]
	p.seen, p.gone, p.tried, p.begun = maps.Clone(b.seen), maps.Clone(b.gone), maps.Clone(b.tried), slices.Clone(b.begun)
	p.sent, p.failed, p.lastError, p.news = b.sent, b.failed, b.lastError, b.news
}

func (p *postman) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.tellNews(ctx)
			p.look(ctx, p.n.set.Observe(ctx))
		}
	}
}

// tellNews sends the notices of rounds, once each.
func (p *postman) tellNews(ctx context.Context) {
	p.mu.Lock()
	news := p.news
	p.news = nil
	p.mu.Unlock()
	for i, n := range news {
		if p.deliver(ctx, n) != nil && ctx.Err() != nil { // they are sent at the end
			p.mu.Lock()
			p.news = append(news[i:], p.news...)
			p.mu.Unlock()
			return
		}
	}
}

// wants reports whether the receiver must be notified of a condition now.
func (p *postman) wants(c *Condition) bool {
	return p.receiver.hears(c.Event) && (c.Event != Indexer || time.Since(c.Since) >= p.receiver.IndexerDown)
}

// look sends notices about new conditions and those that ended. It ignores an incomplete observation.
func (p *postman) look(ctx context.Context, o Observation) {
	if ctx.Err() != nil {
		return
	}
	holds := map[string]bool{}
	for i := range o.Conditions {
		c := o.Conditions[i]
		holds[c.key()] = true
		c.Since = p.since(&c)
		if _, told := p.told[c.key()]; !told && p.wants(&c) && p.mayTell(&c) {
			p.begin(ctx, c)
		}
	}
	for k := range p.seen {
		if !holds[k] {
			delete(p.seen, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.told)) {
		c := p.told[k]
		if holds[k] || o.unsure(&c) {
			delete(p.gone, k)
			continue
		}
		p.over(ctx, c)
	}
	maps.DeleteFunc(p.tried, func(_ string, at time.Time) bool { return time.Since(at) >= again })
}

// since returns when a condition began, as far as known.
func (p *postman) since(c *Condition) time.Time {
	if !c.Since.IsZero() {
		return c.Since
	}
	k := c.key()
	if p.seen[k].IsZero() {
		p.seen[k] = time.Now()
	}
	return p.seen[k]
}

// mayTell limits the notices about conditions that come and go, and their number.
func (p *postman) mayTell(c *Condition) bool {
	if at, ok := p.tried[c.key()]; ok && time.Since(at) < again {
		return false
	}
	p.begun = slices.DeleteFunc(p.begun, func(at time.Time) bool { return time.Since(at) >= time.Hour })
	return len(p.begun) < perHour
}

// begin sends a notice about a condition. If that fails, it is retried later, as long as the condition lasts.
func (p *postman) begin(ctx context.Context, c Condition) {
	k := c.key()
	err := p.deliver(ctx, p.n.notice(&c, Problem, time.Time{}))
	if ctx.Err() != nil && err != nil {
		return // the next process sends it
	}
	p.tried[k] = time.Now()
	p.begun = append(p.begun, time.Now())
	if err == nil {
		p.remember(func() { p.told[k] = c })
	}
}

// over reports the end of a condition, once it has been absent for a while.
func (p *postman) over(ctx context.Context, c Condition) {
	k := c.key()
	if p.gone[k].IsZero() {
		p.gone[k] = time.Now()
	}
	if c.Event != Stop && time.Since(p.gone[k]) < settle {
		return
	}
	if p.receiver.hears(c.Event) {
		if err := p.deliver(ctx, p.n.notice(&c, Resolved, p.gone[k])); err != nil && ctx.Err() != nil {
			return
		}
	}
	delete(p.gone, k)
	p.remember(func() { delete(p.told, k) })
}

// deliver sends a notice, and records the result.
func (p *postman) deliver(ctx context.Context, notice Notice) error {
	err := p.send(ctx, notice)
	if err != nil && ctx.Err() != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed++
		p.lastError = err.Error()
		p.n.set.Log.Error("cannot send a notice", "receiver", p.name, "event", string(notice.Event), "state", string(notice.State), "text", notice.Text, "error", err)
		return err
	}
	p.sent++
	p.lastError = ""
	p.n.set.Log.Info("notice sent", "receiver", p.name, "event", string(notice.Event), "state", string(notice.State), "text", notice.Text)
	return nil
}

// remember changes the conditions reported to the receiver, and stores them.
func (p *postman) remember(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	if err := p.n.memory.keep(p.id, p.list()); err != nil {
		p.n.set.Log.Error("cannot store which notices were sent; they are sent again after a restart", "error", err)
	}
}

// list returns the conditions reported to the receiver, in order. p.mu is held.
func (p *postman) list() []Condition {
	out := slices.Collect(maps.Values(p.told))
	slices.SortFunc(out, func(a, b Condition) int { return strings.Compare(a.key(), b.key()) })
	return out
}

func (p *postman) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Status{Receiver: p.name, Told: p.list(), Sent: p.sent, Failed: p.failed, LastError: p.lastError}
}
