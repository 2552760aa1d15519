package scheduler

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// LossClass is the share of a group that a loss belongs to. Numbers are stored.
type LossClass uint8

// The classes (docs/deletions.md, "When a document leaves").
const (
	LossFew  LossClass = iota // at most two documents, or one in a hundred
	LossSome                  // at most one in five
	LossMost                  // more
)

// String returns the class's word in all output, a contract.
func (c LossClass) String() string {
	return [...]string{"few", "some", "most", "unknown"}[min(c, LossMost+1)]
}

// Loss is the state of a pending loss: a document that would leave the index, or whose text would be replaced by a
// different one. Times are in whole seconds.
type Loss struct {
	// Explicit is set if the page or its site requests the loss: a 404, a noindex and the like. Failures, and
	// texts that resemble those of other pages, are not explicit.
	Explicit bool
	// Least is the lowest class for a document of an XML list: the worst class that the list reached while the document
	// was missing.
	Least LossClass
	// First and Last are when the loss was first and last seen, Visits how often.
	First, Last time.Time
	Visits      uint8
	// Days counts the visits that count, each at least deletionConfirmS after the one before; Counted is the time of
	// the newest. WellDay is the number of the first of them after which another document of the host gave a good
	// response, 0 if none did.
	Days    uint8
	Counted time.Time
	WellDay uint8
	// Hash and Sketch are of the new text; zero for a document that would leave.
	Hash   [16]byte
	Sketch sketch.Sketch
}

// Seen joins a loss with the loss that the next visit saw. day is the time between two visits that count. It begins
// again if the clock was set back.
func (l Loss) Seen(next Loss, day time.Duration) Loss {
	if next.Last.Before(l.Last) {
		return next
	}
	next.First, next.Visits, next.Least = l.First, l.Visits+min(1, 255-l.Visits), max(l.Least, next.Least)
	next.Days, next.Counted, next.WellDay = l.Days, l.Counted, l.WellDay
	if next.Last.Sub(l.Counted) >= day {
		next.Days, next.Counted = l.Days+min(1, 255-l.Days), next.Last
	}
	return next
}

// NewLoss returns a loss that is seen for the first time.
func NewLoss(explicit bool, now time.Time) Loss {
	now = now.Truncate(time.Second)
	return Loss{Explicit: explicit, First: now, Last: now, Counted: now, Visits: 1, Days: 1}
}

// StoredDeletion is a pending loss, as a Store lists it.
type StoredDeletion struct {
	Key    weburl.Key
	Seq    uint64 // rises with each stored loss
	URL    string
	Source string // of the pushed document, or of the new text
	Reason Reason
	Edit   uint64 // of the rules that caused it; 0: no edit did
	// Replaces is set if the document stays and another text replaces it.
	Replaces bool
	// Text is for people.
	Text string
	Loss
}

// Deletions sets how losses are confirmed before they are carried out (docs/deletions.md).
type Deletions struct {
	// Off carries out each loss at once, as the Exalead manual describes.
	Off bool
	// Rest is the time after the first observation at which a loss must be seen again if few of the host's documents are
	// lost. Confirm is the same for some of them, Hold for most.
	Rest, Confirm, Hold time.Duration
	// Gone is the time for which a host must have given no good response before all its losses are carried out. It
	// replaces Hold for a loss that is not explicit.
	Gone time.Duration
}

// DeletionGroup selects pending losses: those of a host, or those of an edit.
type DeletionGroup struct {
	Host weburl.HostKey
	Edit uint64 // if not 0, Host is ignored
}

// DeletionFilter selects pending losses; zero fields select all.
type DeletionFilter struct {
	URLs   []string
	Host   string // an origin, as in Record.Origin
	Reason Reason
	Edit   uint64
	// UpTo, if not 0, leaves out losses with a higher Seq.
	UpTo uint64
}

// HostDocuments holds a Store's figures for a host's documents: how many are in the index, and an even sample of them.
// Lost counts those that were carried out as losses and have not come back (Record.LostAt).
type HostDocuments struct {
	Count, Lost uint64
	Sample      []weburl.Key // at most DocumentSample
}

// DocumentSample is the size of the sample that a Store keeps of a host's documents: those with the lowest keys, which
// are hashes.
const DocumentSample = 16

// PoolBelow is the number of documents below which a host belongs to the pool of small hosts (Counts.Pooled).
const PoolBelow = 50

// Selects reports whether the filter selects a loss. Stores use it to list losses.
func (f *DeletionFilter) Selects(d *StoredDeletion) bool {
	named := func(raw string) bool {
		u, err := weburl.Parse(raw)
		return err == nil && u.Key() == d.Key
	}
	if len(f.URLs) > 0 && !slices.ContainsFunc(f.URLs, named) || f.UpTo != 0 && d.Seq > f.UpTo ||
		f.Reason != NoReason && f.Reason != d.Reason || f.Edit != 0 && f.Edit != d.Edit {
		return false
	}
	u, ok := weburl.FromCanonical(d.URL)
	return f.Host == "" || ok && u.Origin() == f.Host
}
