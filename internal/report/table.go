package report

// The kinds of reports.
const (
	KindBroken    = "broken"
	KindErrors    = "errors"
	KindDocuments = "documents"
	KindChanges   = "changes"
	KindRounds    = "rounds"
	KindURLs      = "urls" // a list of stored URLs, which no report is made of
)

// Kinds are all of them.
func Kinds() []string {
	return []string{KindBroken, KindErrors, KindDocuments, KindChanges, KindRounds}
}

// Streamed reports whether a kind of report has many entries. The others have one.
func Streamed(kind string) bool { return kind != KindErrors && kind != KindDocuments }

// Entry is a part of a report: a Broken, a Change, a Round, a StoredURL, or the whole *Errors or *Documents.
type Entry interface {
	// Tables are the entry's rows.
	Tables() []Table
}

// Sink receives the entries of a report one by one.
type Sink interface {
	Put(Entry) error
	// End is called after the last entry.
	End() error
}

// Column is a column of a report.
type Column struct {
	Name  string // in CSV; the JSON has the same name, except for groups of documents
	Title string // above tables of the console, which leave out a column without one
	Shows Cell
	Key   bool   // the cell names its row
	Empty string // shown to people in place of an empty cell
}

// Cell is the type of a column's cells, which decides how they are displayed.
type Cell uint8

// The kinds of cells, with the type of the value.
const (
	Text   Cell = iota // string: words, maybe a stranger's
	Word               // string: one of a fixed list
	Link               // string: a URL
	Origin             // string: a host as in http://www.example.com
	Count              // int
	Code               // int: an HTTP status, 0 for none
	Flag               // bool
	Time               // time.Time, zero if it is not known
)

// Table is rows under columns.
type Table struct {
	// Of is the subject of the whole table: a host ("" for all) in the report of errors, the group in that of documents.
	Of      string
	Columns []Column
	Rows    [][]any // each has a cell for each column
}

// column is a Column with its cell in a row of type R.
type column[R any] struct {
	Column
	cell func(*R) any
}

func heads[R any](columns []column[R]) []Column {
	list := make([]Column, 0, len(columns))
	for i := range columns {
		list = append(list, columns[i].Column)
	}
	return list
}

func cells[R any](columns []column[R], row *R) []any {
	list := make([]any, 0, len(columns))
	for i := range columns {
		list = append(list, columns[i].cell(row))
	}
	return list
}

// tableOf returns a table of rows.
func tableOf[R any](of string, columns []column[R], rows []R) Table {
	t := Table{Of: of, Columns: heads(columns)}
	for i := range rows {
		t.Rows = append(t.Rows, cells(columns, &rows[i]))
	}
	return t
}

// Columns are all columns of a kind of report, in the order of its CSV. The first one of
// errors and documents is Table.Of.
func Columns(kind string) []Column {
	return map[string][]Column{
		KindBroken:    heads(brokenColumns),
		KindErrors:    append([]Column{{Name: "host", Shows: Origin}}, heads(errorColumns)...),
		KindDocuments: append([]Column{{Name: "by", Shows: Word}}, heads(countColumns)...),
		KindChanges:   heads(changeColumns),
		KindRounds:    heads(roundColumns),
		KindURLs:      heads(urlColumns),
	}[kind]
}
