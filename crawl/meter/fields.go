package meter

import (
	"maps"
	"slices"
	"sync"
)

// All workers count what they have looked for in pages; mu guards the counts.

// Fields count the pages in which fields were looked for, since the process started. The zero
// value counts none.
type Fields struct {
	mu     sync.Mutex
	pages  map[string]int64
	empty  map[string]int64
	failed map[string]int64
}

// FieldsStatus counts since the process started.
type FieldsStatus struct {
	Fields []FieldStatus `json:"fields"` // by name
	// Failed counts pages that could not be searched, by the reason.
	Failed map[string]int64 `json:"failed,omitempty"`
}

// FieldStatus counts the pages of one field.
type FieldStatus struct {
	Name  string `json:"name"`
	Pages int64  `json:"pages"` // that were searched
	Empty int64  `json:"empty"` // of these, without it
}

// Add counts a page that was searched for a field.
func (f *Fields) Add(name string, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages == nil {
		f.pages, f.empty = map[string]int64{}, map[string]int64{}
	}
	f.pages[name]++
	if !found {
		f.empty[name]++
	}
}

// Fail counts a page that could not be searched.
func (f *Fields) Fail(reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = map[string]int64{}
	}
	f.failed[reason]++
}

// Status is nil while nothing was looked for.
func (f *Fields) Status() *FieldsStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages == nil && f.failed == nil {
		return nil
	}
	s := &FieldsStatus{Fields: []FieldStatus{}, Failed: maps.Clone(f.failed)}
	for _, name := range slices.Sorted(maps.Keys(f.pages)) {
		s.Fields = append(s.Fields, FieldStatus{name, f.pages[name], f.empty[name]})
	}
	return s
}
