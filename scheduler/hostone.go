package scheduler

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// Host tells of one host, without a walk over all.
func (f *Frontier) Host(ctx context.Context, k weburl.HostKey) (HostInfo, error) {
	info := &HostInfo{Host: k}
	err := f.fillIn(ctx, map[weburl.HostKey]*HostInfo{k: info})
	return *info, err
}

// Failing names the hosts that fail as a whole, the latest last: more than a Snapshot
// does, but not all where there are very many.
func (f *Frontier) Failing() []FailingHost {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.failing.named)
}
