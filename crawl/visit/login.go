package visit

import (
	"crypto/sha256"
	"sync"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// All workers share logins, the last page of each host that asked for a password; mu guards
// them.

// loginHosts is for how many hosts the last page that asked for a password is kept.
const loginHosts = 10_000

// logins distinguishes log-in pages from pages with a log-in box: a log-in page that replaces others is the same at
// every URL. So a page is a log-in page if it has a password field, and title and text of the previous such page at
// another URL of the host. The first of a series is not recognised.
type logins struct {
	mu   sync.Mutex
	last map[weburl.HostKey]passwordPage
}

type passwordPage struct {
	content [16]byte // of title and text
	url     weburl.Key
	several bool // other URLs had it too
}

// is reports whether a page that was answered for a lease is a log-in page.
func (l *logins) is(lease *scheduler.Lease, p *extract.Page) bool {
	if !p.Password {
		return false
	}
	h := sha256.New()
	policy.HashParts(h, p.Title, p.Text)
	content := [16]byte(h.Sum(nil))

	l.mu.Lock()
	defer l.mu.Unlock()
	host := lease.Place.Host
	last, known := l.last[host]
	if !known || last.content != content {
		if l.last == nil || !known && len(l.last) >= loginHosts {
			l.last = map[weburl.HostKey]passwordPage{}
		}
		l.last[host] = passwordPage{content: content, url: lease.Key}
		return false
	}
	last.several = last.several || last.url != lease.Key
	l.last[host] = last
	return last.several
}
