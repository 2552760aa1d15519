package scheduler

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// badLast is how many bad answers in a row make a host fail as a whole.
	badLast = 20
	// failingNamed is how many failing hosts are remembered by name.
	failingNamed = 1000
	// failingUnnamed is how many more are remembered at all.
	failingUnnamed = 100_000
)

// badRun counts a host's last answers in a row that were errors, log-in pages, or
// redirects to one place.
type badRun struct {
	answers int
	place   string // "" if none was a redirect
}

// next is the run after another answer. What is no answer of the host's pages
// (rules, robots.txt, refused addresses) changes nothing.
func (b badRun) next(r *Result, p Policy) badRun {
	switch kind := classify(r, p); {
	case kind == answerExcluded || kind == answerGuarded:
		return b
	case r.LoginPage || kind == answerPermanent || kind == answerTemporary:
		return badRun{min(b.answers+1, badLast), b.place}
	case kind != answerRedirect:
		return badRun{}
	}
	place := placeOfRedirect(r.Location)
	if b.place != "" && b.place != place {
		return badRun{1, place}
	}
	return badRun{min(b.answers+1, badLast), place}
}

// placeOfRedirect leaves the query out: a log-in page is often told there where
// the user came from.
func placeOfRedirect(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return location
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// fails says that the host fails as a whole.
func (l *live) fails() bool { return l.bad.answers >= badLast }

// toHold says that the host's unsent deletions are to be held.
func (l *live) toHold() bool { return l.holdsDone < l.holdsDue }

// judgeWhole notes whether the host begins or ceases to fail as a whole.
func (f *Frontier) judgeWhole(l *Lease, r *Result, set *Settings) {
	h := l.queue.host
	if !set.Brake.Host {
		h.live.bad, h.live.holdsDone = badRun{}, h.live.holdsDue
		f.failing.remove(h.key)
		return
	}
	failed := h.live.fails()
	h.live.bad = h.live.bad.next(r, set.Policy)
	switch fails := h.live.fails(); {
	case fails && !failed:
		h.live.holdsDue++
		f.failing.add(h.key, l.Record.Origin)
		f.log.Warn("a host fails as a whole: its deletions are held", "host", l.Record.Origin, "answers", badLast)
	case failed && !fails:
		h.live.holdsDone = h.live.holdsDue
		f.failing.remove(h.key)
		f.log.Info("a host that failed as a whole answers again", "host", l.Record.Origin)
	}
}

// holds says whether the deletions of the lease's host are held. The mutex is held.
func (l *Lease) holds(set *Settings) bool {
	return set.Brake.Host && l.queue.host.live != nil && l.queue.host.live.fails()
}

// holdUnsent has the store hold the unsent deletions of a host that fails.
func (f *Frontier) holdUnsent(ctx context.Context, l *Lease) error {
	f.mu.Lock()
	h := l.queue.host
	hold, due := l.holds(f.set) && h.live.toHold(), 0
	if hold {
		due = h.live.holdsDue
	}
	f.mu.Unlock()
	if !hold {
		return nil
	}
	n, err := f.store.HoldHost(ctx, h.key)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && h.live != nil { // it may answer again since
		h.live.holdsDone = max(h.live.holdsDone, due)
		f.place(h, false)
	}
	if err != nil { // the host's next completion tries again
		return fmt.Errorf("holding the deletions of %s: %w", l.Record.Origin, err)
	}
	if n > 0 {
		f.log.Warn("unsent deletions of a failing host are held", "host", l.Record.Origin, "deletions", n)
	}
	return nil
}

// FailingHost is a host that fails as a whole.
type FailingHost struct {
	Host   weburl.HostKey
	Origin string
	Since  time.Time // when this process noticed
}

// failingHosts are those that fail as a whole, in order of time.
type failingHosts struct {
	named   []FailingHost           // the latest failingNamed
	unnamed map[weburl.HostKey]bool // those before them, of which failingUnnamed are remembered
}

// add says whether the host is new.
func (f *failingHosts) add(k weburl.HostKey, origin string) bool {
	if f.unnamed[k] || f.index(k) >= 0 {
		return false
	}
	if len(f.named) == failingNamed {
		f.unname()
	}
	f.named = append(f.named, FailingHost{k, origin, time.Now()})
	return true
}

// unname makes room for a name. One that is forgotten counts as new when it fails
// again, which does no harm.
func (f *failingHosts) unname() {
	if f.unnamed == nil {
		f.unnamed = map[weburl.HostKey]bool{}
	}
	if len(f.unnamed) == failingUnnamed {
		for k := range f.unnamed {
			delete(f.unnamed, k)
			break
		}
	}
	f.unnamed[f.named[0].Host] = true
	f.named = slices.Delete(f.named, 0, 1)
}

func (f *failingHosts) remove(k weburl.HostKey) {
	delete(f.unnamed, k)
	if i := f.index(k); i >= 0 {
		f.named = slices.Delete(f.named, i, i+1)
	}
}

func (f *failingHosts) index(k weburl.HostKey) int {
	return slices.IndexFunc(f.named, func(h FailingHost) bool { return h.Host == k })
}
