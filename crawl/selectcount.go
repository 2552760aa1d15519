package crawl

import (
	"context"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// SelectedCount says how many stored URLs a Selection selects. The names are a contract.
type SelectedCount struct {
	URLs      int `json:"urls"`
	Documents int `json:"documents"` // those of them that have a document in the index
}

// CountSelected counts what Remove would remove with the same selection: roots of the
// configuration are left out.
func CountSelected(ctx context.Context, settings policy.Settings, store scheduler.Reader, s Selection) (n SelectedCount, err error) {
	p, err := policy.Stored(ctx, settings, store)
	if err != nil {
		return n, err
	}
	selector, err := selects(ctx, p, store, s)
	if err != nil {
		return n, err
	}
	roots := p.RootKeys()
	err = selector.each(ctx, store, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			if _, is := roots[batch[i].Key]; is {
				continue
			}
			n.URLs++
			if batch[i].Record.Indexed {
				n.Documents++
			}
		}
		return nil
	})
	return n, err
}
