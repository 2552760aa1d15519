package report

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Order is the order of a list: by a column, and rows with the same cell by URL. An empty By is the list's own order.
type Order struct {
	By   string // name of a column
	Desc bool
	// After is the end of the previous page: only later rows are returned.
	After Place
}

// Place is the place of a row in an Order; the zero Place is before all rows.
type Place struct{ Cell, URL string }

// ErrPlace is a cursor that no page gave.
var ErrPlace = errors.New("the cursor is not from a page of this list: begin without one")

// String is the place as a cursor.
func (p Place) String() string {
	b, err := json.Marshal([2]string{p.Cell, p.URL})
	if err != nil {
		return "" // strings can always be written
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParsePlace reads a cursor; without one it is the zero Place.
func ParsePlace(cursor string) (p Place, err error) {
	if cursor == "" {
		return p, nil
	}
	var both [2]string
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(b, &both) != nil || both[1] == "" {
		return p, ErrPlace
	}
	return Place{both[0], both[1]}, nil
}

// ParseOrder reads the name of a column, with - before it for the greatest first; without
// one it is the list's own order.
func ParseOrder(word string, columns []Column) (o Order, err error) {
	if word == "" {
		return o, nil
	}
	o.By, o.Desc = strings.CutPrefix(word, "-")
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, o.By) {
		return o, fmt.Errorf("sort %q: write one of %s; with - before it the greatest comes first", word, strings.Join(names, ", "))
	}
	return o, nil
}

// String is the order as ParseOrder reads it.
func (o Order) String() string {
	if o.Desc {
		return "-" + o.By
	}
	return o.By
}

// compare compares two places.
func (o *Order) compare(a, b Place) int {
	by := strings.Compare(a.Cell, b.Cell)
	if o.Desc || a.Cell == "" || b.Cell == "" {
		by = -by // an empty cell comes last, both ways
	}
	return cmp.Or(by, strings.Compare(a.URL, b.URL))
}

// sortable encodes a cell as a text that sorts like the values.
func sortable(v any) string {
	switch v := v.(type) {
	case int:
		return fmt.Sprintf("%020d", v)
	case bool:
		return fmt.Sprint(v)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format("2006-01-02T15:04:05.000000000")
	case string:
		return v
	}
	return ""
}

// sortMemory is how many bytes of rows a sorter keeps in memory; others go to files.
const sortMemory = 32 << 20

// sorter puts rows into an order within a bound of memory: rows beyond it go to
// temporary files without a name, sorted, which are merged. With a limit only the first
// rows are kept, so that a page needs no file.
type sorter[R any] struct {
	order  Order
	limit  int // rows that are wanted; 0: all
	memory int
	place  func(*R) Place

	rows []sortedRow
	held int   // bytes of rows
	last Place // with limit: rows behind it are not wanted, once cut
	cut  bool
	runs []*os.File
}

// sortedRow is a row, as JSON, with its place.
type sortedRow struct {
	Place Place
	JSON  []byte
}

func newSorter[R any](o Order, limit int, place func(*R) Place) *sorter[R] {
	return &sorter[R]{order: o, limit: limit, memory: sortMemory, place: place}
}

// add adds a row, unless it is before the page.
func (s *sorter[R]) add(row *R) error {
	p := s.place(row)
	if s.order.After != (Place{}) && s.order.compare(p, s.order.After) <= 0 || s.cut && s.order.compare(p, s.last) > 0 {
		return nil
	}
	b, err := json.Marshal(row)
	if err != nil {
		return err
	}
	s.rows = append(s.rows, sortedRow{p, b})
	if s.held += len(b) + len(p.Cell) + len(p.URL) + 80; s.held <= s.memory && (s.limit == 0 || len(s.rows) < 4*s.limit+1000) {
		return nil
	}
	s.sort()
	if s.held <= s.memory {
		return nil
	}
	return s.spill()
}

// sort sorts the rows in memory and drops those beyond the limit.
func (s *sorter[R]) sort() {
	slices.SortFunc(s.rows, func(a, b sortedRow) int { return s.order.compare(a.Place, b.Place) })
	if s.limit == 0 || len(s.rows) <= s.limit {
		return
	}
	clear(s.rows[s.limit:])
	s.rows = s.rows[:s.limit]
	s.cut, s.last, s.held = true, s.rows[s.limit-1].Place, 0
	for i := range s.rows {
		s.held += len(s.rows[i].JSON) + len(s.rows[i].Place.Cell) + len(s.rows[i].Place.URL) + 80
	}
}

// spill writes the sorted rows to a file.
func (s *sorter[R]) spill() error {
	f, err := os.CreateTemp("", "sextant-sort-")
	if err != nil {
		return fmt.Errorf("more rows than memory holds are sorted in a file: %w", err)
	}
	s.runs = append(s.runs, f)
	if err := os.Remove(f.Name()); err != nil { // it goes with the process
		return err
	}
	w := bufio.NewWriter(f)
	out := gob.NewEncoder(w)
	for i := range s.rows {
		if err := out.Encode(&s.rows[i]); err != nil {
			return err
		}
	}
	s.rows, s.held = nil, 0
	return w.Flush()
}

// each calls fn with the rows in their order.
func (s *sorter[R]) each(fn func(*R) error) error {
	s.sort()
	heads := []func() (*sortedRow, error){s.inMemory()}
	for _, f := range s.runs {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		heads = append(heads, inFile(f))
	}
	next := make([]*sortedRow, len(heads))
	var err error
	for i := range heads {
		if next[i], err = heads[i](); err != nil {
			return err
		}
	}
	for n := 0; s.limit == 0 || n < s.limit; n++ {
		least := -1
		for i, row := range next {
			if row != nil && (least < 0 || s.order.compare(row.Place, next[least].Place) < 0) {
				least = i
			}
		}
		if least < 0 {
			return nil
		}
		row := new(R)
		if err := json.Unmarshal(next[least].JSON, row); err != nil {
			return err
		}
		if err := fn(row); err != nil {
			return err
		}
		if next[least], err = heads[least](); err != nil {
			return err
		}
	}
	return nil
}

// inMemory returns the next row in memory, nil at the end.
func (s *sorter[R]) inMemory() func() (*sortedRow, error) {
	at := 0
	return func() (*sortedRow, error) {
		if at == len(s.rows) {
			return nil, nil //nolint:nilnil // the end
		}
		at++
		return &s.rows[at-1], nil
	}
}

// inFile returns the next row of a file, nil at the end.
func inFile(f *os.File) func() (*sortedRow, error) {
	in := gob.NewDecoder(bufio.NewReader(f))
	return func() (*sortedRow, error) {
		row := &sortedRow{}
		err := in.Decode(row)
		if errors.Is(err, io.EOF) {
			return nil, nil //nolint:nilnil // the end
		}
		return row, err
	}
}

// close removes the files.
func (s *sorter[R]) close() {
	for _, f := range s.runs {
		_ = f.Close() // nothing of it is kept
	}
}

// placer returns the function that gives the place of rows by a column.
func placer[R any](columns []column[R], by string, tie func(*R) string) func(*R) Place {
	i := slices.IndexFunc(columns, func(c column[R]) bool { return c.Name == by })
	if i < 0 {
		return func(r *R) Place { return Place{"", tie(r)} }
	}
	return func(r *R) Place { return Place{sortable(columns[i].cell(r)), tie(r)} }
}
