package scheduler

import (
	"context"

	"github.com/sextant-crawler/sextant/weburl"
)

// Host tells of one host, without a walk over all.
func (f *Frontier) Host(ctx context.Context, k weburl.HostKey) (HostInfo, error) {
	info := &HostInfo{Host: k}
	err := f.fillIn(ctx, map[weburl.HostKey]*HostInfo{k: info})
	return *info, err
}
