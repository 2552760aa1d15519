package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// illNamed is how many hosts Ill names.
const illNamed = 1000

// IllHost is a host whose documents turn bad: none of them is deleted or replaced.
type IllHost struct {
	Host   weburl.HostKey `json:"-"`
	Origin string         `json:"host"`
	Since  time.Time      `json:"since"` // in UTC

	share *share
}

// illHosts are those. The Frontier's mutex guards it.
type illHosts map[weburl.HostKey]IllHost

// latest are the hosts that became ill last, the latest last.
func (f illHosts) latest(n int) []IllHost {
	all := slices.SortedFunc(maps.Values(f), func(a, b IllHost) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Origin, b.Origin))
	})
	return all[max(0, len(all)-n):]
}

// Ill names the ill hosts, the latest last: more than a Snapshot does, but not all where there are very many.
func (f *Frontier) Ill() []IllHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ill.latest(illNamed)
}
