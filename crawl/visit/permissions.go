package visit

import (
	"maps"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/push"
)

// allowNone removes everything that allows someone to find a document.
func allowNone(metas map[string][]string) {
	maps.DeleteFunc(metas, func(name string, _ []string) bool {
		return name != push.MetaDeny && policy.IsPermission(name)
	})
}

// compared returns a document as it is compared with others. One with permissions is compared by its hash, and so only
// with documents with the same permissions: by its text, another one could replace it.
func compared(d *push.Document) *push.Document {
	for name := range d.Metas {
		if policy.IsPermission(name) {
			other := *d
			other.Text = ""
			return &other
		}
	}
	return d
}
