package badgerstore

import "cmp"

// generations is a map of bounded size: of what was not asked for in a long time it
// forgets about half.
type generations[K comparable, V any] struct {
	young, old map[K]V
	size       int // entries of a generation; 0: generationSize
}

// How many entries a generation has. Documents of a host take up to 300 bytes.
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
