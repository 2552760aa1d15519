package policy

import (
	"hash/fnv"

	"github.com/sextant-crawler/sextant/actionrules"
)

// MetasHash identifies the metas that rules and roots add to a document, as stored; 0 for none.
func MetasHash(metas []actionrules.Meta) uint32 {
	if len(metas) == 0 {
		return 0
	}
	h := fnv.New32a()
	for _, m := range metas {
		HashParts(h, m.Name, m.Value)
	}
	return max(h.Sum32(), 1)
}
