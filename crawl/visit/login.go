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

// logins tells log-in pages from pages that have a log-in box: a page in place of
// others is the same at one URL after the other. So one is a log-in page if it
// asks for a password and has title and text of the page before it, at another URL
// of the host, that asked for one. The first of a row is not known yet.
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
