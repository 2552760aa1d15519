package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Errors that a Store translates its backend's errors into; test with errors.Is.
var (
	ErrNotFound = errors.New("URL is not known")
	ErrLocked   = errors.New("the store is in use by another process")
	ErrDamaged  = errors.New("the store is damaged")
	ErrFormat   = errors.New("this version does not support the format of the store")
	ErrClosed   = errors.New("the store is closed")
	ErrFull     = errors.New("the disk is nearly full")
	// ErrChanged is returned for a completion whose URL was changed in the meantime, unknown to it: nothing is stored,
	// and the URL still waits.
	ErrChanged = errors.New("the URL was changed in the meantime")
)

// MaxAliases is the most aliases that a store keeps of a URL: the first ones.
const MaxAliases = 32

// MaxSignature is the longest Record.Signature, in bytes.
const MaxSignature = 125

// Place is where work waits: a host's queue in one source.
type Place struct {
	Source Source
	Host   weburl.HostKey
}

// WaitingURL is a URL in a queue.
type WaitingURL struct {
	Key    weburl.Key
	Seq    uint64
	Record Record
	// AsOf is the store's own version mark of Record, for Completion.AsOf.
	AsOf uint64
}

// Note is a named value, as for SetValue, that is stored in one step with a change.
type Note struct {
	Name  ValueName
	Value []byte
}

// Completion is everything that one page changes. It is atomic: after a crash either all of it is stored, or the URL
// still waits and nothing else has changed.
type Completion struct {
	Key weburl.Key
	// Taken is the place that the URL was taken from; the URL is removed from it. A completion of a URL that no longer
	// waits there (the operator removed it in the meantime) is refused with ErrNotFound and changes nothing.
	Taken Place
	Seq   uint64
	// Floor is the lowest Seq at which, once this is applied, a URL may wait in Taken, those in flight included; 0:
	// unknown. A store begins reading there.
	Floor uint64
	// Old and AsOf are the record and the mark that Queue returned. With them a store need not read the record again if
	// it knows that nothing has changed since. Old is nil and AsOf 0 if the caller does not have them.
	Old  *Record
	AsOf uint64
	// Forget removes the URL's record: it is unknown afterwards and is crawled again if a new link to it is found.
	// Otherwise Next is stored.
	Forget bool
	// Next is the new record. If its State is Waiting it is queued again in Next.Source with a new Seq; if Timed, it
	// becomes due at NextAt. Aliases and a shorter Depth that were stored while the URL was in flight are kept (see
	// Record.Nearer), since Next was made from an older record. At most MaxAliases of its aliases are kept.
	Next Record
	// Links are the links of the page. A link to an unknown URL stores and queues it (State Waiting, Source and Fifo of
	// the link, class Pending). A link to a URL with Record.Gone queues that and clears Gone and Settled. For other
	// known URLs only Alias (added if missing) and, with Levels, a shorter Depth are stored (see Record.Nearer). If two
	// links lead to one URL, the first counts as new, the second as known. A page may link to itself. Links with
	// Link.Known are passed over.
	Links []Link
	// Levels is the number of levels of links that are crawled, beginning with the roots' Depth of 0; 0: all. With a
	// limit, shorter depths of known links are stored, which costs a read for each.
	Levels uint16
	// Order, if not nil, enters the outbox in the same step. One that leaves replaces an older unsent or dead order of
	// the URL, and a pending loss, except that a document does not replace a loss of ReasonTarget. A pending order
	// stands beside an unsent document, so that cancelling it does not cost the document (see also Order.Loss).
	// CancelDeletion alone drops a pending loss of the URL. In each case the store sets Next.LossPending to the result.
	Order          *Order
	CancelDeletion bool
	// Host, if not nil, replaces the state of the URL's host.
	Host *HostState
	// Notes are stored in the same step.
	Notes []Note
	// Outlinks selects what happens to the stored links of the page. Gone, if not nil, is the trace of a forgotten URL
	// (joined with an earlier trace: Gone.After). Both are for reports: a Store may keep neither.
	Outlinks Outlinks
	Gone     *Gone
}

// Completed is the result of a Completion.
type Completed struct {
	Places []Place // places that received work
	// Err is set if the completion was refused (ErrNotFound, ErrChanged), or if the store failed: then either nothing
	// of it is stored, or all.
	Err error
}

// Completer is the part of a Store that completes pages.
type Completer interface {
	Complete(ctx context.Context, c Completion, settled func(Completed)) error
}

// CompleteAndWait is Complete for callers that wait until the outcome is settled. If ctx ends earlier, the store still
// owns c until then.
func CompleteAndWait(ctx context.Context, s Completer, c Completion) ([]Place, error) {
	done := make(chan Completed, 1)
	if err := s.Complete(ctx, c, func(is Completed) { done <- is }); err != nil {
		return nil, err
	}
	select {
	case is := <-done:
		return is.Places, is.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Revision is the new state of a stored URL outside of a lease. The change of one URL is atomic.
type Revision struct {
	// Next is the new record. If its State is Waiting it is queued in Next.Source with a new Seq; if Timed, it becomes
	// due at NextAt.
	Next Record
	// Forget, Order, CancelDeletion and Gone are as in Completion.
	Forget         bool
	Order          *Order
	CancelDeletion bool
	Gone           *Gone
	// Move, for ReviseDeletions alone, is what happens to the loss.
	Move DeletionMove
}

// DeletionMove describes what happens to a pending loss.
type DeletionMove uint8

// The moves.
const (
	KeepDeletion DeletionMove = iota
	SendDeletion              // it is carried out: a waiting order under a new number. Next describes the document then
	MarkWell                  // Loss.WellDay becomes Loss.Days
)

// Counts holds a Store's counters, which are maintained and never found by a scan.
type Counts struct {
	Known   uint64
	Pending [Sources]uint64 // waiting or in flight, by source
	Timed   uint64
	ByClass map[Class]uint64
	Indexed uint64
	Lost    uint64 // indexed URLs with Record.BodyLost
	Pooled  uint64 // indexed URLs of hosts with fewer than PoolBelow documents
	Hosts   uint64 // hosts ever seen
	Outbox  OutboxCounts
}

// OutboxCounts holds the number of orders in each state.
type OutboxCounts struct{ Waiting, Pending, Dead uint64 }

// Filter selects records for Inspect; zero fields select all.
type Filter struct {
	Host   *weburl.HostKey
	Source *Source
	Class  *Class
	Status int
	From   weburl.Key // only keys from this one on
}

// Reader is the read-only part of a Store, sufficient for reports and explanations.
type Reader interface {
	// Queue reads up to n URLs of a place in order of arrival, those with a Seq above after. A smaller after reads URLs
	// in flight again.
	Queue(ctx context.Context, p Place, after uint64, n int) ([]WaitingURL, error)
	// Host returns the stored state of a host; the zero HostState if there is none.
	Host(ctx context.Context, h weburl.HostKey) (HostState, error)
	// Lookup returns a URL's record, or ErrNotFound.
	Lookup(ctx context.Context, k weburl.Key) (Record, error)
	// Remembers reports whether memory alone shows that a URL is known and not Record.Gone. It returns false if a read
	// would be needed. It is for links: it returns true for an unknown URL as rarely as a Store passes over a link.
	Remembers(k weburl.Key) bool
	// Inspect calls fn for each stored record that f selects, in order of keys, over a consistent snapshot.
	Inspect(ctx context.Context, f Filter, fn func(weburl.Key, Record) error) error
	// PendingDeletions calls fn for the pending losses that f selects, oldest first. fn must not
	// call the store.
	PendingDeletions(ctx context.Context, f DeletionFilter, fn func(StoredDeletion) error) error
	// Counts returns the counters, in constant time.
	Counts(ctx context.Context) (Counts, error)
	// Value returns a small named value (options, robots.txt, schedules), nil if it was never set.
	Value(ctx context.Context, name ValueName) ([]byte, error)
}

// Store is the frontier's persistent state. All methods may be called concurrently. Nothing is acknowledged before it
// is as durable as the store was configured to be. If a context ends while a method waits, the method returns its
// error; the change is then stored either whole or not at all.
type Store interface {
	Reader
	// Add stores links that no page named: roots and submitted URLs. A known URL is left alone unless requeue is set,
	// which puts it into its link's fifo at once, wherever it is (one that already waits in a fifo stays there; the
	// refresh source is not a fifo). A KindItem is stored AtRest and is not work; its Item is stored as ReviseItem
	// describes, also for a known URL. A re-queued URL keeps its record except for State, Source, Fifo and Seq, and
	// becomes a root if its link is one. Add returns the places that received work, and how many URLs were new or
	// re-queued.
	Add(ctx context.Context, links []Link, requeue bool) ([]Place, int, error)
	// Complete applies one page's outcome. It returns when the store has accepted it, before it is stored: ctx bounds
	// only that wait, and an error means that nothing was accepted and nothing changes. settled is then called once for
	// each accepted completion: once the change is as durable as those of other methods, once it was refused, in which
	// case nothing changed, or once the store failed. Calls of settled never overlap; they may come before Complete
	// returns. Those for stored completions come in the order of storing; each finds its own completion and all settled
	// before it stored. settled must be quick, and must not wait for a change of the store, nor for another call of
	// settled. Until then c must not be changed. Closing a Store first settles everything that it accepted.
	Complete(ctx context.Context, c Completion, settled func(Completed)) error
	// Due moves up to n timed URLs whose NextAt is not after now to their queue (Record.DueSource), earliest first. It
	// returns the places, and the time of the next one that is still timed (zero if none).
	Due(ctx context.Context, now time.Time, refresh Source, n int) ([]Place, time.Time, error)
	// Places calls fn for each place with waiting URLs, those in flight included, and their number, without reading the
	// URLs.
	Places(ctx context.Context, fn func(p Place, waiting uint64) error) error
	// Waits returns how many URLs wait in one place, those in flight included, without a walk.
	Waits(ctx context.Context, p Place) (uint64, error)
	// Forget removes a URL on the operator's request, with the deletion if order is not nil. It returns ErrNotFound for
	// an unknown URL.
	Forget(ctx context.Context, k weburl.Key, order *Order) error
	// ReviseDeletions changes URLs with a pending loss in any state, those in flight included; it passes over others.
	// It calls fn as Revise does, also with the loss. If the URL is Waiting, Next must stay so: it keeps its place. A
	// completion of a lease that was taken before such a change of Indexed is refused with ErrChanged.
	ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(StoredDeletion, Record) *Revision) ([]Place, int, error)
	// Deletions calls fn for the pending losses of a group, oldest first. fn must not call the store.
	Deletions(ctx context.Context, g DeletionGroup, fn func(StoredDeletion) error) error
	// DeletionGroups calls fn for each group with pending losses, and their number.
	DeletionGroups(ctx context.Context, fn func(g DeletionGroup, pending uint64) error) error
	// Documents returns the counts and the sample of a host's documents.
	Documents(ctx context.Context, h weburl.HostKey) (HostDocuments, error)
	// Revise changes stored URLs that are not leased. For each key it calls fn with the newest record, and applies the
	// revision that fn returns; nil leaves the URL alone. URLs that are unknown or Waiting, in a fifo or in flight, are
	// passed over: they are judged when they are taken. Duplicate keys count as one. If the URL is changed before the
	// revision is applied, the revision is dropped and fn called again with the new record; calls never overlap. fn
	// must be quick, must not call the store, and must not change what the record's slices hold. Its result may be
	// dropped if the store then fails. A call with many keys may be stored in several steps, each URL in one. Revise
	// returns the places that received work and how many URLs were changed.
	Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, Record) *Revision) ([]Place, int, error)
	// SetValue stores a small named value; nil removes it.
	SetValue(ctx context.Context, name ValueName, value []byte) error
	// ClosedCleanly reports whether the last process that had the store open closed it. If not, requests may have gone
	// unrecorded.
	ClosedCleanly() bool
}
