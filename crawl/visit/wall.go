package visit

import (
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/botwall"
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

// walls are the hosts where a product for bot management responds in place of the site.
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

// passed records that the host itself responded.
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

func wallWords(product string) string { return product + " responds in place of the site" }

// wallOf returns the product that responded in place of the host, "" for none.
func wallOf(r *fetcher.Response) string {
	if r == nil {
		return ""
	}
	return botwall.Of(r.Status, r.Header, r.Body)
}
