package scheduler

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// illNamed is how many ill hosts are remembered by name.
	illNamed = 1000
	// illUnnamed is how many more are remembered at all.
	illUnnamed = 100_000
)

// IllHost is a host whose documents turn bad: none of them is deleted or replaced.
type IllHost struct {
	Host   weburl.HostKey
	Origin string
	Since  time.Time

	share *share
}

// illHosts are those, in order of time. The Frontier's mutex guards it.
type illHosts struct {
	named   []IllHost                 // the latest illNamed
	unnamed map[weburl.HostKey]*share // those before them, the last illUnnamed of them
}

func (f *illHosts) add(k weburl.HostKey, origin string, since time.Time, of *share) {
	if f.unnamed[k] != nil || f.index(k) >= 0 {
		return
	}
	if len(f.named) == illNamed {
		f.unname()
	}
	f.named = append(f.named, IllHost{k, origin, since, of})
}

// unname makes room for a name. One that is forgotten counts as new when it is seen again,
// which does no harm.
func (f *illHosts) unname() {
	if f.unnamed == nil {
		f.unnamed = map[weburl.HostKey]*share{}
	}
	if len(f.unnamed) == illUnnamed {
		for k := range f.unnamed {
			delete(f.unnamed, k)
			break
		}
	}
	f.unnamed[f.named[0].Host] = f.named[0].share
	f.named = slices.Delete(f.named, 0, 1)
}

func (f *illHosts) remove(k weburl.HostKey) {
	delete(f.unnamed, k)
	if i := f.index(k); i >= 0 {
		f.named = slices.Delete(f.named, i, i+1)
	}
}

// removeOf forgets the hosts of a share.
func (f *illHosts) removeOf(s *share) {
	f.named = slices.DeleteFunc(f.named, func(h IllHost) bool { return h.share == s })
	for k, of := range f.unnamed {
		if of == s {
			delete(f.unnamed, k)
		}
	}
}

func (f *illHosts) index(k weburl.HostKey) int {
	return slices.IndexFunc(f.named, func(h IllHost) bool { return h.Host == k })
}

// Ill names the ill hosts, the latest last: more than a Snapshot does, but not all where
// there are very many.
func (f *Frontier) Ill() []IllHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ill.named)
}
