// Package union makes one store for a service out of those of the partitions that are here: beside what partitioned.Store is to a crawl,
// all that operators read and change. Lists are merged in their order, figures are added.
//
// There is no goroutine and no lock here.
package union

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// Part is the store of a partition. *badgerstore.Store is one.
type Part interface {
	scheduler.Partition
	Outbox() push.Outbox
	Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error
	Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error
	Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error
	OutboxFigures(ctx context.Context) (badgerstore.OutboxFigures, error)
	RetryDead(ctx context.Context, sel push.Selection) (int, error)
	DropDead(ctx context.Context, sel push.Selection) (int, error)
	Stats() (badgerstore.Stats, error)
	Verify(ctx context.Context, fn func(badgerstore.Fault)) (badgerstore.Report, error)
}

var _ Part = (*badgerstore.Store)(nil)

// Store is all partitions that are here, each of which is a Part.
type Store struct{ *partitioned.Store }

// each calls fn for each partition.
func (s Store) each(fn func(Part) error) error {
	return s.Each(func(_ int, p scheduler.Partition) error { return fn(p.(Part)) })
}

// here takes what is elsewhere for unknown: who reads here is told of what is here.
func here[T any](v T, err error) (T, error) {
	if errors.Is(err, scheduler.ErrElsewhere) {
		err = nil
	}
	return v, err
}

// Lookup implements scheduler.Reader.
func (s Store) Lookup(ctx context.Context, k weburl.Key) (scheduler.Record, error) {
	r, err := s.Store.Lookup(ctx, k)
	if errors.Is(err, scheduler.ErrElsewhere) {
		err = scheduler.ErrNotFound
	}
	return r, err
}

// Queue implements scheduler.Reader.
func (s Store) Queue(ctx context.Context, p scheduler.Place, after uint64, n int) ([]scheduler.WaitingURL, error) {
	return here(s.Store.Queue(ctx, p, after, n))
}

// Host implements scheduler.Reader.
func (s Store) Host(ctx context.Context, h weburl.HostKey) (scheduler.HostState, error) {
	return here(s.Store.Host(ctx, h))
}

// Value implements scheduler.Reader.
func (s Store) Value(ctx context.Context, name string) ([]byte, error) {
	return here(s.Store.Value(ctx, name))
}

// keyed is what walks in order of keys give.
type keyed[T any] struct {
	key   weburl.Key
	value T
}

func byKey[T any](a, b keyed[T]) int { return a.key.Compare(b.key) }

// Outlinks implements report.Store.
func (s Store) Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error {
	walk := func(p scheduler.Partition, yield func(keyed[scheduler.LinkPrints]) error) error {
		return p.(Part).Outlinks(ctx, from, func(k weburl.Key, l scheduler.LinkPrints) error { return yield(keyed[scheduler.LinkPrints]{k, l}) })
	}
	return partitioned.Merged(ctx, s.Store, walk, byKey, func(n keyed[scheduler.LinkPrints]) error { return fn(n.key, n.value) })
}

// Gone implements report.Store.
func (s Store) Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error {
	walk := func(p scheduler.Partition, yield func(keyed[scheduler.Gone]) error) error {
		return p.(Part).Gone(ctx, from, func(k weburl.Key, g scheduler.Gone) error { return yield(keyed[scheduler.Gone]{k, g}) })
	}
	return partitioned.Merged(ctx, s.Store, walk, byKey, func(n keyed[scheduler.Gone]) error { return fn(n.key, n.value) })
}

// Orders implements report.Store. Of dead letters those of a lower partition come first, target by target.
func (s Store) Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error {
	walk := func(p scheduler.Partition, yield func(push.Listed) error) error {
		return p.(Part).Orders(ctx, sel, yield)
	}
	return partitioned.Merged(ctx, s.Store, walk, inOrder, fn)
}

// inOrder is the order of a list of orders, whose numbers come from one source.
func inOrder(a, b push.Listed) int {
	states := push.States()
	if by := cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State)); by != 0 || a.State == push.DeadLetter {
		return cmp.Or(by, cmp.Compare(a.Target, b.Target))
	}
	return cmp.Compare(a.Seq, b.Seq)
}

// OutboxOf is the outbox of a URL's partition.
func (s Store) OutboxOf(u weburl.URL) (outbox push.Outbox, err error) {
	number := s.PartitionFor(u)
	err = s.Each(func(n int, p scheduler.Partition) error {
		if n == number {
			outbox = p.(Part).Outbox()
		}
		return nil
	})
	if err == nil && outbox == nil {
		err = scheduler.ErrElsewhere
	}
	return outbox, err
}

// OutboxFigures tell how far the outboxes are behind.
func (s Store) OutboxFigures(ctx context.Context) (badgerstore.OutboxFigures, error) {
	sum := badgerstore.OutboxFigures{Behind: map[string]time.Time{}}
	err := s.each(func(p Part) error {
		f, err := p.OutboxFigures(ctx)
		sum.Bytes += f.Bytes
		sum.Oldest = earlier(sum.Oldest, f.Oldest)
		for target, at := range f.Behind {
			sum.Behind[target] = earlier(sum.Behind[target], at)
		}
		return err
	})
	return sum, err
}

// earlier is the earlier of two times; a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// RetryDead sends the orders of the selected dead letters again.
func (s Store) RetryDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.sum(func(p Part) (int, error) { return p.RetryDead(ctx, sel) })
}

// DropDead forgets the selected dead letters.
func (s Store) DropDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.sum(func(p Part) (int, error) { return p.DropDead(ctx, sel) })
}

func (s Store) sum(change func(Part) (int, error)) (n int, err error) {
	err = s.each(func(p Part) error {
		changed, err := change(p)
		n += changed
		return err
	})
	return n, err
}

// Stats adds what the stores measure. They lie on one disk.
func (s Store) Stats() (sum badgerstore.Stats, err error) {
	err = s.each(func(p Part) error {
		st, err := p.Stats()
		sum.Batches += st.Batches
		sum.Writes += st.Writes
		sum.Keys += st.Keys
		sum.Waiting += st.Waiting
		sum.LastCommit, sum.LongestCommit = max(sum.LastCommit, st.LastCommit), max(sum.LongestCommit, st.LongestCommit)
		sum.CommitTimes.Add(st.CommitTimes)
		sum.DiskFree, sum.DiskSize, sum.MinFree = st.DiskFree, st.DiskSize, max(sum.MinFree, st.MinFree)
		sum.TableBytes += st.TableBytes
		sum.LogBytes += st.LogBytes
		sum.ValueBytes += st.ValueBytes
		sum.BodyBytes += st.BodyBytes
		sum.Fingerprints += st.Fingerprints
		sum.FingerprintBytes += st.FingerprintBytes
		sum.Loading = sum.Loading || st.Loading
		sum.Entered += st.Entered
		sum.Changed += st.Changed
		sum.Left += st.Left
		return err
	})
	return sum, err
}

// Verify proves the invariants of each store.
func (s Store) Verify(ctx context.Context, fn func(badgerstore.Fault)) (sum badgerstore.Report, err error) {
	err = s.each(func(p Part) error {
		r, err := p.Verify(ctx, fn)
		sum.URLs += r.URLs
		sum.Queued += r.Queued
		sum.Timed += r.Timed
		sum.Hosts += r.Hosts
		sum.Orders += r.Orders
		sum.Dead += r.Dead
		sum.Faults += r.Faults
		return err
	})
	return sum, err
}

// ErrBackup says that several partitions are no one backup.
var ErrBackup = errors.New("this node has some partitions of a crawl, which are no backup of it: sextant cluster backup writes one of all")

// Backup is refused: the other partitions would be missing.
func (s Store) Backup(context.Context, io.Writer) (badgerstore.BackupReport, error) {
	return badgerstore.BackupReport{}, ErrBackup
}
