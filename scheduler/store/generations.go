package store

import (
	"cmp"
	"fmt"
)

// generations is a map of bounded size that drops about half of its entries, those not used for longest.
type generations[K comparable, V any] struct {
	young, old map[K]V
	size       int // entries of a generation; 0: generationSize
}

// The number of entries in a generation. A host's documents take up to 300 bytes.
const (
	generationSize = 1 << 15
	docsGeneration = 1 << 12
)

func (m *generations[K, V]) find(k K) (V, bool) {
	if v, ok := m.young[k]; ok {
		return v, true
	}
	v, ok := m.old[k]
	if ok {
		m.put(k, v)
	}
	return v, ok
}

func (m *generations[K, V]) put(k K, v V) {
	if len(m.young) >= cmp.Or(m.size, generationSize) {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = make(map[K]V)
	}
	m.young[k] = v
}

// remembered returns what is stored under key as seen by this write: the write's own change, else m's value of k, else
// the stored one.
func remembered[K comparable, V any](g *group, m *generations[K, V], k K, key []byte, what string, decode func([]byte) (V, error)) (V, error) {
	written, ok := g.changed(key)
	if !ok {
		if v, ok := m.find(k); ok {
			return v, nil
		}
		var err error
		if written, err = g.get(key); err != nil {
			var none V
			return none, err
		}
	}
	v, err := decode(written)
	if err != nil {
		return v, g.s.damaged(fmt.Sprintf("%s %x", what, key), err)
	}
	if !ok {
		m.put(k, v) // get returned a copy
	}
	return v, nil
}
