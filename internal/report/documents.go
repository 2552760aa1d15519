package report

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Documents counts the stored URLs by outcome. The names of the JSON are a contract.
type Documents struct {
	URLs    int `json:"urls"`
	Indexed int `json:"indexed"`
	// BySource counts documents by the source that they are pushed under: a URL that has
	// none belongs to no source.
	BySource []SourceCount `json:"by_source"`
	ByStatus []StatusCount `json:"by_status"`
	ByFifo   []FifoCount   `json:"by_fifo"`
	ByType   []TypeCount   `json:"by_type"`
	Hosts    int           `json:"hosts"`
	ByHost   []HostCount   `json:"by_host"` // hosts with the most URLs first
}

// SourceCount counts the documents pushed under one source.
type SourceCount struct {
	Source  string `json:"source"`
	Indexed int    `json:"indexed"`
	// Orders of the outbox: Waiting orders are unsent, Pending ones are deletions that are not confirmed, Dead ones were
	// refused by an indexer.
	Waiting int `json:"waiting"`
	Pending int `json:"pending"`
	Dead    int `json:"dead"`
}

// StatusCount counts URLs by outcome.
type StatusCount struct {
	Status string `json:"status"` // one of scheduler.FateWords
	URLs   int    `json:"urls"`
}

// FifoCount counts URLs by the fifo that the rules choose.
type FifoCount struct {
	Fifo    string `json:"fifo"`
	URLs    int    `json:"urls"`
	Indexed int    `json:"indexed"`
}

// TypeCount counts pages by media type; "" of those without one.
type TypeCount struct {
	Type    string `json:"type"`
	URLs    int    `json:"urls"`
	Indexed int    `json:"indexed"`
}

// HostCount counts URLs of a host.
type HostCount struct {
	Host    string `json:"host"`
	URLs    int    `json:"urls"`
	Indexed int    `json:"indexed"`
}

const (
	// typesMax and sourcesMax limit how many are counted separately: a hostile server can send any.
	typesMax   = 500
	sourcesMax = 10_000
	// othersWord is the label of the rest.
	othersWord = "(others)"
)

// The columns of each table.
var (
	urlsColumn    = Column{Name: "urls", Title: "URLs", Shows: Count}
	indexedColumn = Column{Name: "indexed", Title: "Documents", Shows: Count}
	waitingColumn = Column{Name: "waiting", Title: "Waiting", Shows: Count}
	pendingColumn = Column{Name: "pending", Title: "Pending", Shows: Count}
	deadColumn    = Column{Name: "dead", Title: "Dead", Shows: Count}

	sumColumns = []column[Documents]{
		{Column{Name: "name"}, func(*Documents) any { return "" }},
		{urlsColumn, func(n *Documents) any { return n.URLs }},
		{indexedColumn, func(n *Documents) any { return n.Indexed }},
	}
	sourceColumns = []column[SourceCount]{
		{Column{Name: "name", Title: "Push source", Key: true, Empty: "no name"}, func(n *SourceCount) any { return n.Source }},
		{indexedColumn, func(n *SourceCount) any { return n.Indexed }},
		{waitingColumn, func(n *SourceCount) any { return n.Waiting }},
		{pendingColumn, func(n *SourceCount) any { return n.Pending }},
		{deadColumn, func(n *SourceCount) any { return n.Dead }},
	}
	statusColumns = []column[StatusCount]{
		{Column{Name: "name", Title: "Outcome", Shows: Word, Key: true}, func(n *StatusCount) any { return n.Status }},
		{urlsColumn, func(n *StatusCount) any { return n.URLs }},
	}
	fifoColumns = []column[FifoCount]{
		{Column{Name: "name", Title: "Fifo", Shows: Word, Key: true}, func(n *FifoCount) any { return n.Fifo }},
		{urlsColumn, func(n *FifoCount) any { return n.URLs }},
		{indexedColumn, func(n *FifoCount) any { return n.Indexed }},
	}
	typeColumns = []column[TypeCount]{
		{Column{Name: "name", Title: "Media type", Key: true, Empty: "not known"}, func(n *TypeCount) any { return n.Type }},
		{urlsColumn, func(n *TypeCount) any { return n.URLs }},
		{indexedColumn, func(n *TypeCount) any { return n.Indexed }},
	}
	hostColumns = []column[HostCount]{
		{Column{Name: "name", Title: "Host", Shows: Origin, Key: true}, func(n *HostCount) any { return n.Host }},
		{urlsColumn, func(n *HostCount) any { return n.URLs }},
		{indexedColumn, func(n *HostCount) any { return n.Indexed }},
	}

	// documentColumns are the columns of the CSV, which has all tables in one.
	documentColumns = []Column{
		{Name: "by", Shows: Word}, {Name: "name"}, urlsColumn, indexedColumn, waitingColumn, pendingColumn, deadColumn,
	}
)

// Tables are the sums, then the groups.
func (d *Documents) Tables() []Table {
	return append([]Table{tableOf("all", sumColumns, []Documents{*d})}, d.Groups()...)
}

// Groups are the tables by which URLs are counted; Table.Of is the group's name.
func (d *Documents) Groups() []Table {
	return []Table{
		tableOf("source", sourceColumns, d.BySource), tableOf("status", statusColumns, d.ByStatus), tableOf("fifo", fifoColumns, d.ByFifo),
		tableOf("type", typeColumns, d.ByType), tableOf("host", hostColumns, d.ByHost),
	}
}

// documentCount counts while the URLs pass by.
type documentCount struct {
	sources  map[string]*SourceCount
	statuses map[scheduler.Fate]int
	fifos    [scheduler.Sources]FifoCount
	types    map[string]*TypeCount
	hosts    map[weburl.HostKey]hostCount
}

// hostCount also holds one of the host's URLs, to find its name.
type hostCount struct {
	urls, indexed uint32
	one           weburl.Key
}

// CountDocuments counts the stored URLs by outcome, and lists the top hosts, or all if top is 0. It holds 60 to 90
// bytes for each host.
func CountDocuments(ctx context.Context, store Store, o Options) (*Documents, error) {
	n := documentCount{
		sources: map[string]*SourceCount{}, statuses: map[scheduler.Fate]int{}, types: map[string]*TypeCount{}, hosts: map[weburl.HostKey]hostCount{},
	}
	f := Filter{Host: o.Host}
	d := &Documents{}
	err := eachRecord(ctx, store, f.Selects, func(k weburl.Key, r *scheduler.Record) error {
		d.URLs++
		if r.Indexed {
			d.Indexed++
		}
		n.add(k, r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Host == "" {
		if err := n.outbox(ctx, store); err != nil {
			return nil, err
		}
	}
	n.list(d)
	d.ByHost, err = n.named(ctx, store, o.Top)
	return d, err
}

func (n *documentCount) add(k weburl.Key, r *scheduler.Record) {
	indexed := 0
	if r.Indexed {
		indexed = 1
		n.source(r.PushedSource).Indexed++
	}
	fate, _ := r.Fate()
	n.statuses[fate]++
	n.fifos[r.Fifo].URLs++
	n.fifos[r.Fifo].Indexed += indexed
	if r.Class == scheduler.OK {
		name := r.MediaType
		if n.types[name] == nil {
			if len(n.types) >= typesMax {
				name = othersWord
			}
			if n.types[name] == nil {
				n.types[name] = &TypeCount{Type: name}
			}
		}
		n.types[name].URLs++
		n.types[name].Indexed += indexed
	}
	h := n.hosts[r.Host]
	n.hosts[r.Host] = hostCount{h.urls + 1, h.indexed + uint32(indexed), k}
}

func (n *documentCount) source(name string) *SourceCount {
	if n.sources[name] == nil && len(n.sources) >= sourcesMax {
		name = othersWord
	}
	if n.sources[name] == nil {
		n.sources[name] = &SourceCount{Source: name}
	}
	return n.sources[name]
}

// outbox counts the orders.
func (n *documentCount) outbox(ctx context.Context, store Store) error {
	return store.Orders(ctx, push.Selection{}, func(o push.Listed) error {
		switch s := n.source(o.Source); o.State {
		case push.Pending:
			s.Pending++
		case push.DeadLetter:
			s.Dead++
		case push.Waiting:
			s.Waiting++
		}
		return nil
	})
}

// list puts the counts in order.
func (n *documentCount) list(d *Documents) {
	d.BySource, d.ByStatus, d.ByFifo, d.ByType = []SourceCount{}, []StatusCount{}, []FifoCount{}, []TypeCount{}
	for _, name := range slices.Sorted(maps.Keys(n.sources)) {
		d.BySource = append(d.BySource, *n.sources[name])
	}
	for _, f := range scheduler.Fates() {
		if n.statuses[f] > 0 {
			d.ByStatus = append(d.ByStatus, StatusCount{f.String(), n.statuses[f]})
		}
	}
	for i, f := range n.fifos {
		if f.URLs > 0 {
			f.Fifo = scheduler.Source(i).String()
			d.ByFifo = append(d.ByFifo, f)
		}
	}
	for _, t := range n.types {
		d.ByType = append(d.ByType, *t)
	}
	slices.SortFunc(d.ByType, func(a, b TypeCount) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Type, b.Type))
	})
	d.Hosts = len(n.hosts)
}

// named returns the hosts with the most URLs, or all if top is 0. It lists all hosts, 10 bytes each, to sort them, and
// reads one record of each host that it returns.
func (n *documentCount) named(ctx context.Context, store Store, top int) ([]HostCount, error) {
	list := []HostCount{}
	for _, h := range most(n.hosts, top, func(c hostCount) uint32 { return c.urls }) {
		c := n.hosts[h]
		r, err := store.Lookup(ctx, c.one)
		if errors.Is(err, scheduler.ErrNotFound) {
			continue // it was removed since
		}
		if err != nil {
			return nil, err
		}
		list = append(list, HostCount{r.Origin, int(c.urls), int(c.indexed)})
	}
	return list, nil
}
