package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// illNamed is the most hosts that Ill returns.
const illNamed = 1000

// IllHost is a host whose documents turn bad: none of them is deleted or replaced.
type IllHost struct {
	Host   weburl.HostKey
	Origin string
	Since  time.Time

	share *share
}

// illHosts holds the ill hosts. The Frontier's mutex guards it.
type illHosts map[weburl.HostKey]IllHost

// latest returns the n hosts that became ill last, the latest last.
func (f illHosts) latest(n int) []IllHost {
	all := slices.SortedFunc(maps.Values(f), func(a, b IllHost) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Origin, b.Origin))
	})
	return all[max(0, len(all)-n):]
}

// Ill returns up to illNamed ill hosts, the latest last: more than a Snapshot names.
func (f *Frontier) Ill() []IllHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ill.latest(illNamed)
}
