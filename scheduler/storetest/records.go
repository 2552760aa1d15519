package storetest

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// placeOf returns the place of a waiting record.
func placeOf(r scheduler.Record) scheduler.Place {
	return scheduler.Place{Source: r.Source, Host: r.Host}
}

// normal returns r without properties that the contract leaves open: its Seq, the order of its aliases, the zone of its
// times, and a time that has no meaning in its state.
func normal(r scheduler.Record) scheduler.Record {
	if r.State != scheduler.Timed {
		r.NextAt = time.Time{}
	}
	r.Seq = 0
	r.Aliases = append([]string{}, r.Aliases...)
	slices.Sort(r.Aliases)
	for _, at := range []*time.Time{&r.NextAt, &r.FirstErrorAt, &r.FetchedAt, &r.CheckedAt, &r.UnavailableAt, &r.FoundAt, &r.ClassAt, &r.ChangedAt, &r.LostAt} {
		*at = at.UTC()
	}
	return r
}

// union adds alias to a list that does not hold it yet and is not full.
func union(aliases []string, alias string) []string {
	if alias == "" || len(aliases) >= scheduler.MaxAliases || slices.Contains(aliases, alias) {
		return aliases
	}
	return append(slices.Clone(aliases), alias)
}

// selects reports whether the filter selects a record.
func selects(f scheduler.Filter, r scheduler.Record) bool {
	return (f.Host == nil || *f.Host == r.Host) &&
		(f.Source == nil || *f.Source == r.Source) &&
		(f.Class == nil || *f.Class == r.Class) &&
		(f.Status == 0 || f.Status == r.Status)
}

// tally counts one record.
func tally(c *scheduler.Counts, r scheduler.Record) {
	c.Known++
	c.ByClass[r.Class]++
	if r.Indexed {
		c.Indexed++
	}
	switch r.State {
	case scheduler.Waiting:
		c.Pending[r.Source]++
	case scheduler.Timed:
		c.Timed++
	case scheduler.AtRest:
	}
}

// pooled counts the documents of hosts that belong to the pool.
func pooled(documents map[weburl.HostKey]uint64) (sum uint64) {
	for _, n := range documents {
		if n < scheduler.PoolBelow {
			sum += n
		}
	}
	return sum
}
