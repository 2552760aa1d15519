package visit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// A site can name any number of sitemaps, and one index 50,000 of them. So new ones count
// in the budget of their host, and only so many of one host are known at a time. All workers
// share the counts, which a mutex guards; it is held while the store is counted, so that this
// is done once.

// recountAfter is the interval at which the sitemaps of a host at its limit are recounted, because some may be gone.
const recountAfter = time.Hour

// sitemapCounts counts the sources of each host. The store is counted only once a host
// reaches a tenth of the limit, since few ever do. It is safe for concurrent use.
type sitemapCounts struct {
	mu      sync.Mutex
	counts  map[weburl.HostKey]int // up to trapHosts
	counted time.Time              // when the store was counted; zero if only new ones since the start are included
	warned  map[weburl.HostKey]int // number of calls of logRefused for each host, up to trapHosts hosts
}

// logRefused logs the number of refused sitemaps that the lease names. It warns once per host, because a hostile host
// may have thousands of such indexes.
func (v *visit) logRefused(words string, n int) {
	if n == 0 {
		return
	}
	s, host, level := &v.visitor.sitemaps, v.lease.URL.HostKey(), slog.LevelDebug
	s.mu.Lock()
	if s.warned == nil {
		s.warned = map[weburl.HostKey]int{}
	}
	if addHost(s.warned, host); s.warned[host] <= 1 {
		level = slog.LevelWarn
	}
	s.mu.Unlock()
	v.log.Log(context.Background(), level, words, "url", v.lease.URL.String(), "refused", n, "sitemapMaxPerHost", v.policy.Settings.SitemapMaxPerHost)
}

// prepare counts the store if that is needed to decide about n more sources of a host.
func (s *sitemapCounts) prepare(ctx context.Context, store scheduler.Inspector, host weburl.HostKey, n, most int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	will, now := s.counts[host]+n, time.Now()
	if s.counted.IsZero() && will <= most/10 || !s.counted.IsZero() && (will <= most || now.Sub(s.counted) < recountAfter) {
		return nil
	}
	counts := map[weburl.HostKey]int{}
	err := store.Inspect(ctx, scheduler.Filter{}, func(_ weburl.Key, r scheduler.Record) error {
		if r.Kind.IsSource() && r.Class != scheduler.Permanent && !unnamed(&r) {
			addHost(counts, r.Host)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("counting the sitemaps of hosts: %w", err)
	}
	s.counts, s.counted = counts, now
	return nil
}

// take counts one more source of a host, unless the host is at its limit.
func (s *sitemapCounts) take(host weburl.HostKey, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[host] >= most {
		return false
	}
	if s.counts == nil {
		s.counts = map[weburl.HostKey]int{}
	}
	addHost(s.counts, host)
	return true
}

// giveBack undoes take.
func (s *sitemapCounts) giveBack(host weburl.HostKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[host] > 0 {
		s.counts[host]--
	}
}

// newSource is a link to an unknown source.
type newSource struct {
	at    int  // in the links
	known bool // as a page
}

// roomForSources drops new sources beyond their host's limit, and returns their number. Free ones, which robots.txt
// names or another source redirects to, are counted but not subject to traps.
func (v *visit) roomForSources(ctx context.Context, links []scheduler.Link, free bool) (kept []scheduler.Link, refused int, err error) {
	fresh, err := v.newSources(ctx, links)
	if err != nil || len(fresh) == 0 {
		return links, 0, err
	}
	if most := v.policy.Settings.SitemapMaxPerHost; most > 0 {
		perHost := map[weburl.HostKey]int{}
		for _, n := range fresh {
			perHost[links[n.at].URL.HostKey()]++
		}
		for host, n := range perHost {
			if err := v.visitor.sitemaps.prepare(ctx, v.store, host, n, most); err != nil {
				return nil, 0, err
			}
		}
	}
	kept = links[:0]
	for i, l := range links {
		if len(fresh) > 0 && fresh[0].at == i {
			known := fresh[0].known
			fresh = fresh[1:]
			if !v.hasRoom(l.URL, known, free) {
				refused++
				continue
			}
		}
		kept = append(kept, l)
	}
	return kept, refused, nil
}

// nameChildren stores the sitemaps gathered so far, up to the limit.
func (r *reading) nameChildren() error {
	children, full, err := r.v.roomForSources(r.ctx, r.children, false)
	if err != nil {
		return err
	}
	r.full += full
	r.children = r.children[:0]
	return NameSources(r.ctx, r.v.frontier, children, func(weburl.Key, *scheduler.Record) bool { return false })
}

// newSources finds the links that are not known as sources yet.
func (v *visit) newSources(ctx context.Context, links []scheduler.Link) ([]newSource, error) {
	var fresh []newSource
	for i := range links {
		r, err := v.store.Lookup(ctx, links[i].URL.Key())
		switch {
		case errors.Is(err, scheduler.ErrNotFound):
			fresh = append(fresh, newSource{at: i})
		case err != nil:
			return nil, err
		case !r.Kind.IsSource() || unnamed(&r):
			fresh = append(fresh, newSource{at: i, known: true})
		}
	}
	return fresh, nil
}

// hasRoom reports whether a new source may be taken, and if so counts it.
func (v *visit) hasRoom(u weburl.URL, known, free bool) bool {
	host, most := u.HostKey(), v.policy.Settings.SitemapMaxPerHost
	if most > 0 && !v.visitor.sitemaps.take(host, most) {
		v.meter.Trapped.Add(1)
		return false
	}
	switch {
	case known || v.fetchState.Traps == nil:
		return true
	case free:
		v.countURL(v.policy, u)
		return true
	}
	_, ok := v.admitNew(v.rules(), u)
	if !ok {
		v.visitor.sitemaps.giveBack(host)
	}
	return ok
}
