package meter

import (
	"maps"
	"slices"
	"sync"
)

// All workers count what they have looked for in pages; mu guards the counts.

// Fields counts the pages searched for fields since the process started. The zero value counts none.
type Fields struct {
	mu     sync.Mutex
	fields map[string]*fieldCount
	failed map[string]int64
	main   MainStatus
}

// FieldsStatus contains counts since the process started.
type FieldsStatus struct {
	Fields []FieldStatus `json:"fields"` // by name
	// Main counts the pages whose main content was searched for; nil if there was none.
	Main *MainStatus `json:"main_content,omitempty"`
	// Failed counts pages that could not be searched, by the reason.
	Failed map[string]int64 `json:"failed,omitempty"`
}

// MainStatus counts the pages whose main content was searched for.
type MainStatus struct {
	Pages int64 `json:"pages"`
	Empty int64 `json:"empty"` // of these, without main content: they keep their whole text
}

// AddMain counts a page that was searched for its main content.
func (f *Fields) AddMain(found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.main.Pages++
	f.main.Empty += one(!found)
}

// FieldStatus counts the pages of one field.
type FieldStatus struct {
	Name  string `json:"name"`
	Pages int64  `json:"pages"` // that were searched
	Empty int64  `json:"empty"` // those without main content
	Cut   int64  `json:"cut"`   // of these, with a part of their content
}

type fieldCount struct {
	FieldStatus
	missed int64 // pages without it since the last one with it
}

// lostAfter is the number of pages in a row that must lack a field that most pages had.
const lostAfter = 10

// Add counts a page that was searched for a field. It reports once that most pages had the field and the last ones lack
// it.
func (f *Fields) Add(name string, found, cut bool) (lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fields == nil {
		f.fields = map[string]*fieldCount{}
	}
	if f.fields[name] == nil {
		f.fields[name] = &fieldCount{FieldStatus: FieldStatus{Name: name}}
	}
	s := f.fields[name]
	s.Pages, s.Empty, s.Cut = s.Pages+1, s.Empty+one(!found), s.Cut+one(cut)
	if s.missed++; found {
		s.missed = 0
	}
	before := s.Pages - lostAfter
	return s.missed == lostAfter && before > 0 && 2*(s.Pages-s.Empty) >= before
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

// Status returns nil if no page was searched.
func (f *Fields) Status() *FieldsStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fields == nil && f.failed == nil && f.main.Pages == 0 {
		return nil
	}
	s := &FieldsStatus{Fields: []FieldStatus{}, Failed: maps.Clone(f.failed)}
	if main := f.main; main.Pages > 0 {
		s.Main = &main
	}
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		s.Fields = append(s.Fields, f.fields[name].FieldStatus)
	}
	return s
}
