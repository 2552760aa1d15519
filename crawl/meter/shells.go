package meter

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// All workers count the shells that they have read; mu guards the counts.

// maxShellHosts limits the hosts counted separately, shownShellHosts those shown, which have the most pages.
const (
	maxShellHosts   = 10_000
	shownShellHosts = 10
)

// Shells count pages that only scripts fill, by host, since the process started. The zero
// value counts none.
type Shells struct {
	mu    sync.Mutex
	pages int64
	hosts map[string]int64
}

// ShellsStatus describes the pages that only scripts fill.
type ShellsStatus struct {
	Pages  int64       `json:"pages"`
	Hosts  int         `json:"hosts"`
	ByHost []HostCount `json:"by_host"` // the ten with the most pages
}

// HostCount counts pages of a host.
type HostCount struct {
	Host  string `json:"host"`
	Pages int64  `json:"pages"`
}

// Add counts a page, and reports whether it is the first of its host.
func (s *Shells) Add(host string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	if s.hosts == nil {
		s.hosts = map[string]int64{}
	}
	n, known := s.hosts[host]
	if !known && len(s.hosts) >= maxShellHosts {
		return false
	}
	s.hosts[host] = n + 1
	return !known
}

// Status returns nil if there was none.
func (s *Shells) Status() *ShellsStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == 0 {
		return nil
	}
	out := &ShellsStatus{Pages: s.pages, Hosts: len(s.hosts), ByHost: []HostCount{}}
	most := slices.SortedFunc(maps.Keys(s.hosts), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.hosts[b], s.hosts[a]), cmp.Compare(a, b))
	})
	for _, host := range most[:min(len(most), shownShellHosts)] {
		out.ByHost = append(out.ByHost, HostCount{host, s.hosts[host]})
	}
	return out
}
