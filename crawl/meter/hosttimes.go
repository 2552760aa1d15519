package meter

import (
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// All workers add to the times by host; mu guards the map.

// maxMeteredHosts are remembered: with more than that, one that is new takes the place of any
// other.
const maxMeteredHosts = 50_000

// byHost holds a value for each host since the process started. The zero value is empty.
type byHost[T any] struct {
	mu    sync.Mutex
	hosts map[weburl.HostKey]T
}

// put changes the times of a host. The caller holds mu.
func (b *byHost[T]) put(host weburl.HostKey, h T) {
	if b.hosts == nil {
		b.hosts = map[weburl.HostKey]T{}
	}
	if _, known := b.hosts[host]; !known && len(b.hosts) >= maxMeteredHosts {
		for other := range b.hosts {
			delete(b.hosts, other)
			break
		}
	}
	b.hosts[host] = h
}

// of returns the times of a host.
func (b *byHost[T]) of(host weburl.HostKey) (h T, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, known = b.hosts[host]
	return h, known
}

// HostTimes are the response times of hosts since the process started. The zero value is empty.
type HostTimes struct{ byHost[hostTime] }

type hostTime struct {
	sum time.Duration
	n   int64
}

// Add counts a request.
func (t *HostTimes) Add(host weburl.HostKey, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[host]
	t.put(host, hostTime{h.sum + d, h.n + 1})
}

// Mean returns the mean duration of a host's requests, or 0 if unknown.
func (t *HostTimes) Mean(host weburl.HostKey) time.Duration {
	if h, _ := t.of(host); h.n > 0 {
		return h.sum / time.Duration(h.n)
	}
	return 0
}

// HostPages count, by host, the pages that a browser made, and those in which fields or the main
// content were looked for, since the process started. The zero value counts none.
type HostPages struct{ byHost[HostPagesStatus] }

// HostPagesStatus counts the pages of one host since the process started.
type HostPagesStatus struct {
	Rendered     int64 `json:"rendered"`      // pages that a browser made
	RenderFailed int64 `json:"render_failed"` // pages that could not be rendered
	Searched     int64 `json:"searched"`      // pages in which fields were looked for
	NoField      int64 `json:"no_field"`      // those that lack a field
	Main         int64 `json:"main_content"`  // pages whose main content was looked for
	NoMain       int64 `json:"no_main"`       // of these, without any
	// LogIns are the names of the log-ins of its requests, in order of first use.
	LogIns []string `json:"log_ins,omitempty"`
}

// maxHostLogIns of a host are named.
const maxHostLogIns = 10

// AddRendered counts a page that was rendered, or could not be.
func (p *HostPages) AddRendered(host weburl.HostKey, ok bool) {
	p.add(host, HostPagesStatus{Rendered: one(ok), RenderFailed: one(!ok)})
}

// AddSearched counts a page in which fields were looked for.
func (p *HostPages) AddSearched(host weburl.HostKey, all bool) {
	p.add(host, HostPagesStatus{Searched: 1, NoField: one(!all)})
}

// AddMain counts a page whose main content was looked for.
func (p *HostPages) AddMain(host weburl.HostKey, found bool) {
	p.add(host, HostPagesStatus{Main: 1, NoMain: one(!found)})
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// add adds the counts of d.
func (p *HostPages) add(host weburl.HostKey, d HostPagesStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	h.Rendered, h.RenderFailed = h.Rendered+d.Rendered, h.RenderFailed+d.RenderFailed
	h.Searched, h.NoField = h.Searched+d.Searched, h.NoField+d.NoField
	h.Main, h.NoMain = h.Main+d.Main, h.NoMain+d.NoMain
	p.put(host, h)
}

// AddLogIn records the log-in that a page is requested with.
func (p *HostPages) AddLogIn(host weburl.HostKey, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	if len(h.LogIns) < maxHostLogIns && !slices.Contains(h.LogIns, name) {
		h.LogIns = append(slices.Clip(h.LogIns), name) // callers may hold the old slice
		p.put(host, h)
	}
}

// Status is nil if nothing is known of the host.
func (p *HostPages) Status(host weburl.HostKey) *HostPagesStatus {
	if h, known := p.of(host); known {
		return &h
	}
	return nil
}
