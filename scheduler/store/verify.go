package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/fingerprints"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
	"github.com/sextant-crawler/sextant/weburl"
)

// Fault is a contradiction in the store.
type Fault struct {
	URL   string // empty if the fault concerns no URL, or an unknown one
	Words string
}

// Report counts what Verify has read.
type Report struct {
	URLs   uint64
	Queued uint64
	Timed  uint64
	Hosts  uint64
	Orders uint64 // waiting and pending
	Dead   uint64
	Faults uint64
}

// Verify reads the whole store, on one snapshot, and calls fn for each fault. It checks that each URL stands in exactly
// one place, as its record states, and under its own key; that nothing is queued, timed, pending or has links stored
// without a record; that records agree with the pending losses; that no order is below the lowest cursor; that bodies
// of orders are as stored, and their files' states correct; that queue states, counters and hosts' documents are
// correct; that the file of fingerprints holds no unknown or gone URL; and that all checksums match. It needs the
// memory of the fingerprints and of a number for each host, and the time of a read for each key. It returns an error if
// the walk cannot continue; faults are not errors.
func (s *Store) Verify(ctx context.Context, fn func(Fault)) (Report, error) {
	v := verification{s: s, ctx: ctx, fn: fn, documents: map[weburl.HostKey][2]uint64{}, kept: map[uint64]record.Segment{}, segments: map[uint64]record.Segment{}}
	err := s.viewBodies(ctx, func(view kv.View, bodies *segments.Reader) error {
		v.view, v.bodies = view, bodies
		if err := s.kv.Check(); err != nil {
			v.fault("", "checksums of tables: %v; the other checks are skipped; %s", err, kv.AdviceDamaged)
			return nil // reading such a table may end the process
		}
		if err := v.openSet(); err != nil {
			return err
		}
		for _, part := range []struct {
			kind  byte
			check func(key, value []byte) error
		}{
			{record.KindOrigin, v.origin}, {record.KindHost, v.host}, {record.KindURL, v.url}, {record.KindQueue, v.queued},
			{record.KindPlace, v.place}, {record.KindRemoval, v.removal}, {record.KindTimed, v.timed},
			{record.KindSegment, v.segment}, {record.KindCursor, v.cursor}, {record.KindOrder, v.order}, {record.KindHostLoss, v.order}, {record.KindEditLoss, v.order},
			{record.KindWaiting, v.byURL}, {record.KindDeletion, v.byURL}, {record.KindDead, v.dead},
			{record.KindDocs, v.docs}, {record.KindGone, v.left},
		} {
			prefix := []byte{part.kind}
			err := s.walk(ctx, view, prefix, prefix, false, func(key, _ []byte) error {
				value, err := view.Get(key) // one that cannot be read must not end the walk
				if err == nil {
					err = part.check(key, value)
				}
				if err != nil {
					v.fault("", "key %q: %v", key, err)
				}
				return nil
			})
			switch {
			case err != nil:
			case part.kind == record.KindQueue:
				v.endQueue()
			case part.kind == record.KindPlace:
				err = v.endPlaces()
			}
			if err != nil {
				return err
			}
		}
		v.endDocs()
		v.endSegments()
		v.fingerprints()
		return v.counters()
	})
	return v.report, err
}

// verification is a running Verify. Its methods, one for each kind of key, report the faults that they understand and
// return any other error of the key.
type verification struct {
	s      *Store
	ctx    context.Context
	view   kv.View
	fn     func(Fault)
	report Report
	count  record.Counters // counted again
	// low is the lowest cursor, valid if there are targets.
	low     uint64
	targets map[string]bool

	bodies *segments.Reader
	// kept holds the segments' states as stored, segments as found, except for their lengths.
	kept, segments map[uint64]record.Segment

	queue queueWalk
	// documents holds the number of documents of hosts as found, less the stored number.
	documents map[weburl.HostKey][2]uint64 // second: documents that were lost
	// states counts queues' states, statesMet those of queues that are not empty.
	states, statesMet uint64
	// set holds the fingerprints, nil if there are none; hits counts the known URLs in it.
	set  *fingerprints.Set
	hits int
}

func (v *verification) fault(url, format string, args ...any) {
	v.report.Faults++
	v.fn(Fault{URL: url, Words: fmt.Sprintf(format, args...)})
}

func (v *verification) origin(key, value []byte) error {
	v.report.Hosts++
	v.count.Hosts++
	if len(key) != record.HostKeyLen {
		return record.ErrLength
	}
	u, err := weburl.Parse(string(value))
	if err != nil {
		return fmt.Errorf("origin of a host: %w", err)
	}
	if h := u.HostKey(); h != weburl.HostKey(key[1:]) {
		v.fault("", "origin %s is stored under the key of another host", value)
	}
	return nil
}

func (v *verification) host(key, value []byte) error {
	if len(key) != record.HostKeyLen {
		return record.ErrLength
	}
	_, err := record.DecodeHost(value)
	return err
}

func (v *verification) url(key, value []byte) error {
	v.report.URLs++
	rec, err := v.s.recordOf(key, value)
	if err != nil {
		return err
	}
	v.count.Add(&rec)
	k := weburl.Key(key[1:])
	v.fingerprint(k, &rec)
	v.identity(k, &rec)
	if d := v.documents[rec.Host]; rec.Indexed || !rec.LostAt.IsZero() {
		if rec.Indexed {
			d[0]++
		}
		if !rec.LostAt.IsZero() {
			d[1]++
		}
		v.documents[rec.Host] = d
	}
	if err := v.deletes(k, &rec); err != nil {
		return err
	}
	switch rec.State {
	case scheduler.Waiting:
		return v.waits(k, &rec)
	case scheduler.Timed:
		at, err := v.view.Get(record.TimedKey(rec.NextAt, k))
		if err != nil {
			return err
		}
		if at == nil {
			v.fault(rec.URL, "is due at %s, but is not in the list of due times", clock.Stamp(rec.NextAt))
		}
	case scheduler.AtRest:
	}
	return nil
}

// identity checks that a record belongs to its key.
func (v *verification) identity(k weburl.Key, rec *scheduler.Record) {
	u, err := weburl.Parse(rec.URL)
	switch {
	case err != nil:
		v.fault(rec.URL, "the URL cannot be parsed: %v", err)
		return
	case u.Key() != k:
		v.fault(rec.URL, "the record is stored under another URL's key %s", k)
	case u.HostKey() != rec.Host || u.Origin() != rec.Origin:
		v.fault(rec.URL, "the record names another host: %q", rec.Origin)
	}
	if origin, err := v.view.Get(record.OriginKey(rec.Host)); err != nil || origin == nil {
		v.fault(rec.URL, "host %s is not in the list of hosts", rec.Origin)
	}
}

// known returns the record that a key of another kind belongs to.
func (v *verification) known(k weburl.Key, what string) (scheduler.Record, bool) {
	rec, err := v.s.lookup(v.view, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		v.fault("", "%s belongs to an unknown URL with key %s", what, k)
	}
	return rec, err == nil // an unreadable record was reported
}

func (v *verification) timed(key, value []byte) error {
	v.report.Timed++
	if len(key) != record.TimedKeyLen {
		return record.ErrLength
	}
	at, k := record.SplitTimedKey(key)
	rec, ok := v.known(k, "an entry of the list of due times")
	if ok && (rec.State != scheduler.Timed || record.SortableTime(rec.NextAt) != at) {
		v.fault(rec.URL, "is in the list of due times at %s, but not according to its record (state %d)",
			clock.Stamp(time.Unix(0, int64(at))), rec.State)
	}
	return nil
}

// now returns the counters as stored; they were readable when the store was opened.
func (v *verification) now() *record.Counters { return v.s.committed.Load() }

func (v *verification) counters() error {
	b, err := v.view.Get(record.CountersKey())
	if err != nil || b == nil && v.s.kv.Version() == 0 { // its maker died before the first commit
		return err
	}
	want, err := record.DecodeCounters(b)
	if err != nil {
		v.fault("", "counters: %v", err)
		return nil
	}
	v.count.Seq, v.count.Order, v.count.Removals = want.Seq, want.Order, want.Removals
	v.count.Segment, v.count.SegmentEnd = want.Segment, want.SegmentEnd
	names := [...]string{"queue number", "order number", "known", "timed", "indexed", "hosts", "waiting orders", "pending losses", "dead letters", "bytes of bodies"}
	found := v.count.Fields()
	for i, kept := range want.Fields() {
		if *kept == *found[i] {
			continue
		}
		name := ""
		switch n := i - len(names); {
		case n < 0:
			name = names[i]
		case kept == &want.Lost:
			name = "lost documents"
		case kept == &want.Pooled:
			name = "documents of small hosts"
		case n < scheduler.Sources:
			name = fmt.Sprintf("waiting in source %d", n)
		default:
			name = fmt.Sprintf("of class %d", n-scheduler.Sources)
		}
		v.fault("", "counter %q is %d, but there are %d", name, *kept, *found[i])
	}
	return nil
}
