package visit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/botwall"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// All workers share walls; mu guards the hosts.

const (
	// wallWait is how long a URL waits behind a bot wall, and how long its host rests.
	wallWait = time.Hour
	// wallsInRow is after how many walls in a row a host rests: a firewall may refuse a single URL. After a rest, one
	// more wall begins the next.
	wallsInRow = 3
	// wallHosts bounds the hosts in memory.
	wallHosts = 10_000
)

// walls are the hosts where a product for bot management answers in place of the site.
type walls struct {
	mu    sync.Mutex
	hosts map[weburl.HostKey]wall
}

type wall struct {
	product string
	inRow   int
	until   time.Time // the end of the host's rest; zero: it does not rest
}

// met counts a wall of a host; whole means that it stands before all of the host. It reports whether the host rests now
// and did not before.
func (w *walls) met(host weburl.HostKey, product string, whole bool, now time.Time) (begins bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one, known := w.hosts[host]
	if w.hosts == nil || !known && len(w.hosts) >= wallHosts {
		w.hosts = map[weburl.HostKey]wall{}
	}
	one.product, one.inRow = product, one.inRow+1
	if whole || one.inRow >= wallsInRow {
		begins = one.until.IsZero()
		one.until = now.Add(wallWait)
	}
	w.hosts[host] = one
	return begins
}

// passed records that the host itself answered.
func (w *walls) passed(host weburl.HostKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.hosts, host)
}

// rests returns the wall of a host that rests.
func (w *walls) rests(host weburl.HostKey, now time.Time) (wall, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.hosts[host]
	return one, one.until.After(now)
}

// behindWall ends the lease while its host rests.
func (v *visit) behindWall(ctx context.Context) error {
	one, rests := v.visitor.walls.rests(v.lease.Place.Host, time.Now())
	if !rests {
		return nil
	}
	return v.wait(ctx, one.until, scheduler.ReasonBotWall, wallWords(one.product))
}

func wallWords(product string) string { return product + " answers in place of the site" }

// wallOf returns the product that answered in place of the host, "" for none.
func wallOf(r *fetcher.Response) string {
	if r == nil {
		return ""
	}
	return botwall.Of(r.Status, r.Header, r.Body)
}

// walled ends the lease if a bot wall answered it: the page is as it was, and is requested again later. whole is as for
// walls.met.
func (v *visit) walled(ctx context.Context, r *fetcher.Response, whole bool) error {
	product, host := wallOf(r), v.lease.Place.Host
	if product == "" {
		v.visitor.walls.passed(host)
		return nil
	}
	now := time.Now()
	if v.visitor.walls.met(host, product, whole, now) {
		v.log.Warn("a bot wall answers in place of a host, which rests: ask its owner to admit this crawler",
			"host", v.lease.Record.Origin, "product", product)
	}
	words := fmt.Sprintf("%s (status %d)", wallWords(product), r.Status)
	return v.wait(context.WithoutCancel(ctx), now.Add(wallWait), scheduler.ReasonBotWall, words)
}
