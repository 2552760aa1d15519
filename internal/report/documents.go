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
	BySource []GroupCount `json:"by_source"`
	ByStatus []GroupCount `json:"by_status"` // by scheduler.FateWords
	ByFifo   []GroupCount `json:"by_fifo"`   // that the rules choose
	ByType   []GroupCount `json:"by_type"`   // pages by media type, "" of those without one
	Hosts    int          `json:"hosts"`
	ByHost   []GroupCount `json:"by_host"` // hosts with the most URLs first
}

// GroupCount counts the URLs of one group.
type GroupCount struct {
	Name    string `json:"name"`
	URLs    int    `json:"urls,omitempty"`
	Indexed int    `json:"indexed,omitempty"`
	// Orders of the outbox, of a source: Waiting orders are unsent, Pending ones are deletions that are not confirmed,
	// Dead ones were refused by an indexer.
	Waiting int `json:"waiting,omitempty"`
	Pending int `json:"pending,omitempty"`
	Dead    int `json:"dead,omitempty"`
}

const (
	// typesMax and sourcesMax limit how many are counted separately: a hostile server can send any.
	typesMax   = 500
	sourcesMax = 10_000
	// othersWord is the label of the rest.
	othersWord = "(others)"
)

// countColumns are those of all groups. A group has the name, under its own title, and some of the others.
var countColumns = []column[GroupCount]{
	{Column{Name: "name"}, func(n *GroupCount) any { return n.Name }},
	{Column{Name: "urls", Title: "URLs", Shows: Count}, func(n *GroupCount) any { return n.URLs }},
	{Column{Name: "indexed", Title: "Documents", Shows: Count}, func(n *GroupCount) any { return n.Indexed }},
	{Column{Name: "waiting", Title: "Waiting", Shows: Count}, func(n *GroupCount) any { return n.Waiting }},
	{Column{Name: "pending", Title: "Pending", Shows: Count}, func(n *GroupCount) any { return n.Pending }},
	{Column{Name: "dead", Title: "Dead", Shows: Count}, func(n *GroupCount) any { return n.Dead }},
}

// groupTable returns the table of a group, with the columns of countColumns from one to another.
func groupTable(of string, name Column, rows []GroupCount, from, to int) Table {
	name.Name, name.Key = "name", true
	columns := append([]column[GroupCount]{{name, countColumns[0].cell}}, countColumns[from:to]...)
	return tableOf(of, columns, rows)
}

// Tables are the sums, then the groups.
func (d *Documents) Tables() []Table {
	all := []GroupCount{{URLs: d.URLs, Indexed: d.Indexed}}
	return append([]Table{groupTable("all", Column{}, all, 1, 3)}, d.Groups()...)
}

// Groups are the tables by which URLs are counted; Table.Of is the group's name.
func (d *Documents) Groups() []Table {
	return []Table{
		groupTable("source", Column{Title: "Push source", Empty: "no name"}, d.BySource, 2, 6),
		groupTable("status", Column{Title: "Outcome", Shows: Word}, d.ByStatus, 1, 2),
		groupTable("fifo", Column{Title: "Fifo", Shows: Word}, d.ByFifo, 1, 3),
		groupTable("type", Column{Title: "Media type", Empty: "not known"}, d.ByType, 1, 3),
		groupTable("host", Column{Title: "Host", Shows: Origin}, d.ByHost, 1, 3),
	}
}

// documentCount counts while the URLs pass by.
type documentCount struct {
	sources  map[string]*GroupCount
	statuses map[scheduler.Fate]int
	fifos    [scheduler.Sources]GroupCount
	types    map[string]*GroupCount
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
		sources: map[string]*GroupCount{}, statuses: map[scheduler.Fate]int{}, types: map[string]*GroupCount{}, hosts: map[weburl.HostKey]hostCount{},
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
		group(n.sources, r.PushedSource, sourcesMax).Indexed++
	}
	fate, _ := r.Fate()
	n.statuses[fate]++
	n.fifos[r.Fifo].URLs++
	n.fifos[r.Fifo].Indexed += indexed
	if r.Class == scheduler.OK {
		t := group(n.types, r.MediaType, typesMax)
		t.URLs++
		t.Indexed += indexed
	}
	h := n.hosts[r.Host]
	n.hosts[r.Host] = hostCount{h.urls + 1, h.indexed + uint32(indexed), k}
}

// group returns the count of a name, that of the others if there are most already.
func group(counts map[string]*GroupCount, name string, most int) *GroupCount {
	if counts[name] == nil && len(counts) >= most {
		name = othersWord
	}
	if counts[name] == nil {
		counts[name] = &GroupCount{Name: name}
	}
	return counts[name]
}

// outbox counts the orders.
func (n *documentCount) outbox(ctx context.Context, store Store) error {
	return store.Orders(ctx, push.Selection{}, func(o push.Listed) error {
		switch s := group(n.sources, o.Source, sourcesMax); o.State {
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
	d.BySource, d.ByStatus, d.ByFifo, d.ByType = []GroupCount{}, []GroupCount{}, []GroupCount{}, []GroupCount{}
	for _, name := range slices.Sorted(maps.Keys(n.sources)) {
		d.BySource = append(d.BySource, *n.sources[name])
	}
	for _, f := range scheduler.Fates() {
		if n.statuses[f] > 0 {
			d.ByStatus = append(d.ByStatus, GroupCount{Name: f.String(), URLs: n.statuses[f]})
		}
	}
	for i, f := range n.fifos {
		if f.URLs > 0 {
			f.Name = scheduler.Source(i).String()
			d.ByFifo = append(d.ByFifo, f)
		}
	}
	for _, t := range n.types {
		d.ByType = append(d.ByType, *t)
	}
	slices.SortFunc(d.ByType, func(a, b GroupCount) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Name, b.Name))
	})
	d.Hosts = len(n.hosts)
}

// named returns the hosts with the most URLs, or all if top is 0. It lists all hosts, 10 bytes each, to sort them, and
// reads one record of each host that it returns.
func (n *documentCount) named(ctx context.Context, store Store, top int) ([]GroupCount, error) {
	list := []GroupCount{}
	for _, h := range most(n.hosts, top, func(c hostCount) uint32 { return c.urls }) {
		c := n.hosts[h]
		r, err := store.Lookup(ctx, c.one)
		if errors.Is(err, scheduler.ErrNotFound) {
			continue // it was removed since
		}
		if err != nil {
			return nil, err
		}
		list = append(list, GroupCount{Name: r.Origin, URLs: int(c.urls), Indexed: int(c.indexed)})
	}
	return list, nil
}
