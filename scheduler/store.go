package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Errors that a Store translates its backend's into; test with errors.Is.
var (
	ErrNotFound = errors.New("URL is not known")
	ErrLocked   = errors.New("the store is in use by another process")
	ErrDamaged  = errors.New("the store is damaged")
	ErrFormat   = errors.New("the store has a format that this version does not know")
	ErrClosed   = errors.New("the store is closed")
	ErrFull     = errors.New("the disk is nearly full")
	// ErrChanged is what a completion gives whose URL was changed meanwhile in a way that
	// it does not know of: nothing is stored, and the URL still waits.
	ErrChanged = errors.New("the URL was changed meanwhile")
)

// MaxAliases is how many aliases a store keeps of a URL: the first ones.
const MaxAliases = 32

// MaxSignature is how long a Record.Signature may be.
const MaxSignature = 125

// Place is where work waits: a host's queue in one source.
type Place struct {
	Source Source
	Host   weburl.HostKey
}

// WaitingURL is a URL that stands in a queue.
type WaitingURL struct {
	Key    weburl.Key
	Seq    uint64
	Record Record
	// AsOf is the store's own mark of when Record was read, for Completion.AsOf.
	AsOf uint64
}

// Note is a named value, as of SetValue, that is stored in one step with a change.
type Note struct {
	Name  ValueName
	Value []byte
}

// Completion is everything that one page changes. It is applied whole or not at
// all: after a crash either the URL still waits and nothing else happened, or all
// of it did.
type Completion struct {
	Key weburl.Key
	// Taken is the queue place that the URL was taken from; it is removed. A
	// completion of a URL that does not stand there any more (it was removed by
	// the operator meanwhile) is refused with ErrNotFound and changes nothing.
	Taken Place
	Seq   uint64
	// Floor says that, once this is applied, no URL waits in Taken under a lower
	// Seq, in flight ones included; 0: not known. A store begins its reading there.
	Floor uint64
	// Old and AsOf are the record and the mark that Queue gave. With them a store
	// need not read the record again if it knows that nothing changed since. Old
	// is nil and AsOf 0 if they are not at hand.
	Old  *Record
	AsOf uint64
	// Forget removes the URL's status: it is unknown afterwards and will be
	// crawled again if a new link to it is found. Otherwise Next is stored.
	Forget bool
	// Next is the new record. If its State is Waiting it is queued again in
	// Next.Source with a new Seq, if Timed it becomes due at NextAt. Aliases and a
	// shorter Depth that were stored while the URL was in flight are kept (see Record.Nearer): Next was
	// made from an older record. Of its aliases MaxAliases are kept.
	Next Record
	// Links are stored and queued where they are not known yet (State Waiting, Source
	// and Fifo that of the link, class Pending), and queued where Record.Gone is set, which
	// ends it, as it does Settled; of another known one only Alias (added if
	// missing) and, with Levels, a shorter Depth are stored (see Record.Nearer). If two links lead to one URL, the first
	// counts as new, the second as known. A page may link to itself. Links with Link.Known are passed over.
	Links []Link
	// Levels is how many levels of links are crawled, beginning with the roots' Depth of 0; 0: all. With a limit,
	// shorter depths of known links are stored, which costs a read for each.
	Levels uint16
	// Order, if not nil, enters the outbox in the same step. One that leaves replaces an
	// unsent or dead older one of the URL, and a pending loss, except that a document does not
	// replace one of ReasonTarget. A pending one stands beside an
	// unsent document: cancelled, it must not have cost that (see also Order.Loss).
	// CancelDeletion alone drops a pending loss of the URL. Either way Next.LossPending is made
	// to say what then is.
	Order          *Order
	CancelDeletion bool
	// Host, if not nil, replaces the state of the URL's host.
	Host *HostState
	// Notes are stored in the same step.
	Notes []Note
	// Outlinks says what becomes of what is stored of the page's links, and Gone, if not
	// nil, is what is left of a URL that is forgotten (with what was left of it before:
	// Gone.After). They are for reports: a Store may keep neither.
	Outlinks Outlinks
	Gone     *Gone
}

// Completed is what became of a Completion.
type Completed struct {
	Places []Place // that got work
	// Err says that it was refused (ErrNotFound, ErrChanged), or that the store failed on it:
	// then nothing of it happened, or all.
	Err error
}

// Completer is the part of a Store that completes pages.
type Completer interface {
	Complete(ctx context.Context, c Completion, settled func(Completed)) error
}

// CompleteAndWait is Complete for callers that wait until the outcome is settled. If ctx
// ends before, c stays the store's until then.
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

// Revision is what becomes of a stored URL outside of a lease. The change of one
// URL is applied whole or not at all.
type Revision struct {
	// Next is the new record. If its State is Waiting it is queued in Next.Source
	// with a new Seq, if Timed it becomes due at NextAt.
	Next Record
	// Forget, Order, CancelDeletion and Gone are as in Completion.
	Forget         bool
	Order          *Order
	CancelDeletion bool
	Gone           *Gone
	// Move, of ReviseDeletions alone, is what becomes of the loss.
	Move DeletionMove
}

// DeletionMove is what becomes of a pending loss.
type DeletionMove uint8

// The moves.
const (
	KeepDeletion DeletionMove = iota
	SendDeletion              // it is carried out: a waiting order under a new number. Next says what the document is then
	MarkWell                  // Loss.WellDay becomes Loss.Days
)

// Counts are kept, never scanned for.
type Counts struct {
	Known   uint64
	Pending [Sources]uint64 // waiting or in flight, by source
	Timed   uint64
	ByClass map[Class]uint64
	Indexed uint64
	Lost    uint64 // of the indexed ones: Record.BodyLost
	Pooled  uint64 // of the indexed ones: those of hosts with fewer than PoolBelow
	Hosts   uint64 // hosts ever seen
	Outbox  OutboxCounts
}

// OutboxCounts are the orders by state.
type OutboxCounts struct{ Waiting, Pending, Dead uint64 }

// Filter selects records for Inspect; zero fields select all.
type Filter struct {
	Host   *weburl.HostKey
	Source *Source
	Class  *Class
	Status int
	From   weburl.Key // only keys from this one on
}

// Reader is the part of a Store that only reads. Reports and explanations need no more.
type Reader interface {
	// Queue reads up to n URLs of a place in order of arrival, those with a Seq
	// above after. URLs in flight are read again by a smaller after.
	Queue(ctx context.Context, p Place, after uint64, n int) ([]WaitingURL, error)
	// Host returns what is stored of a host; the zero HostState if nothing is.
	Host(ctx context.Context, h weburl.HostKey) (HostState, error)
	// Lookup returns a URL's record, or ErrNotFound.
	Lookup(ctx context.Context, k weburl.Key) (Record, error)
	// Remembers reports whether memory alone shows that a URL is known and not Record.Gone. It returns false if a read
	// would be needed. It is for links: as rarely as a Store passes over a link, it returns true for an unknown URL.
	Remembers(k weburl.Key) bool
	// Inspect calls fn for each stored record that f selects, in order of keys,
	// over a consistent snapshot.
	Inspect(ctx context.Context, f Filter, fn func(weburl.Key, Record) error) error
	// PendingDeletions calls fn for the pending losses that f selects, oldest first. fn must not
	// call the store.
	PendingDeletions(ctx context.Context, f DeletionFilter, fn func(StoredDeletion) error) error
	// Counts returns the kept counters, in constant time.
	Counts(ctx context.Context) (Counts, error)
	// Value returns a small named fact (options, robots.txt, schedules), nil if it was never
	// set.
	Value(ctx context.Context, name ValueName) ([]byte, error)
}

// Store is the frontier's memory. All methods may be called at once by any
// number of goroutines. Nothing is acknowledged before it is as durable as the
// store was configured to be. A context that ends while a method waits gives its
// error; the change may then be stored or not, whole in either case.
type Store interface {
	Reader
	// Add makes links known that no page found: roots and submitted URLs. A known
	// URL is left alone unless requeue is set, which puts it into its link's fifo
	// at once wherever it is (one that waits already in a fifo stays there; the
	// refresh source is none). A KindItem is stored AtRest and is not work; its Item is stored as ReviseItem says, also of a known one. A re-queued URL keeps its record except for State,
	// Source, Fifo and Seq, and becomes a root if its link is one. It returns the
	// places that got new work, and how many URLs were new or re-queued.
	Add(ctx context.Context, links []Link, requeue bool) ([]Place, int, error)
	// Complete applies one page's outcome. It returns when the store has taken it, before it
	// is stored: ctx bounds that wait alone, and an error says that it was not taken and
	// changes nothing. settled is then called once for each that was taken: when it
	// is as durable as what another method acknowledges, or was refused, which changed
	// nothing, or when the store failed on it. Calls of settled come one at a time, perhaps
	// before Complete returns, those of what was stored in the order in which it was; each
	// finds stored what it tells of, and what was settled before. settled must be quick,
	// and must not wait for a change of the store, nor for another call of it. Until
	// then c must not be changed. A Store that is closed settles first all that it took.
	Complete(ctx context.Context, c Completion, settled func(Completed)) error
	// Due moves up to n timed URLs whose NextAt is not after now to their queue
	// (Record.DueSource), earliest first, and returns the places, and the time of
	// the next one that is still timed (zero if none).
	Due(ctx context.Context, now time.Time, refresh Source, n int) ([]Place, time.Time, error)
	// Places calls fn for each place that holds waiting URLs, in flight ones
	// included, and with how many there are, without reading the URLs.
	Places(ctx context.Context, fn func(p Place, waiting uint64) error) error
	// Waits is how many URLs wait in one place, in flight ones included, without a walk.
	Waits(ctx context.Context, p Place) (uint64, error)
	// Forget removes a URL at the operator's word, with the deletion if order is
	// not nil; ErrNotFound if it is not known.
	Forget(ctx context.Context, k weburl.Key, order *Order) error
	// ReviseDeletions changes URLs that have a pending loss, wherever they
	// stand, in flight ones included; the others are passed over. It calls fn as Revise
	// does, with the loss too. If the URL is Waiting, Next must stay so: it keeps its
	// place. A completion of a lease that was taken before such a change of Indexed is
	// refused with ErrChanged.
	ReviseDeletions(ctx context.Context, keys []weburl.Key, fn func(StoredDeletion, Record) *Revision) ([]Place, int, error)
	// Deletions calls fn for the pending losses of a group, oldest first. fn must not
	// call the store.
	Deletions(ctx context.Context, g DeletionGroup, fn func(StoredDeletion) error) error
	// DeletionGroups calls fn for each group that has pending losses, and with how
	// many there are.
	DeletionGroups(ctx context.Context, fn func(g DeletionGroup, pending uint64) error) error
	// Documents is what is kept of a host's documents.
	Documents(ctx context.Context, h weburl.HostKey) (HostDocuments, error)
	// Revise changes stored URLs that nobody has taken. For each key it calls fn
	// with the newest record, and applies the revision that fn gives; nil leaves
	// the URL alone. URLs that are unknown or Waiting, in a fifo or in flight, are
	// passed over: they are judged when they are taken. A key that is named twice is
	// one. If the URL is changed before the revision is applied, the revision is
	// dropped and fn called again with what is stored now; calls never overlap. fn
	// must be quick, must not call the store, and may not change what the record's
	// slices hold. What it gives may be dropped if the store then fails. A call with
	// many keys may be stored in several steps, each URL in one. It returns the places
	// that got work and how many URLs were changed.
	Revise(ctx context.Context, keys []weburl.Key, fn func(weburl.Key, Record) *Revision) ([]Place, int, error)
	// SetValue keeps a small named fact; setting nil removes it.
	SetValue(ctx context.Context, name ValueName, value []byte) error
	// ClosedCleanly says whether the last process that had the store open closed
	// it. If not, requests may have been made that no host state tells of.
	ClosedCleanly() bool
}
