package scheduler

import (
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/scheduler/sketch"
	"github.com/sextant-crawler/sextant/weburl"
)

// LossClass says how large a part of its group a loss belongs to. Numbers are stored.
type LossClass uint8

// The classes (docs/deletions.md, "When a document leaves").
const (
	LossFew  LossClass = iota // at most two documents, or one in a hundred
	LossSome                  // at most one in five
	LossMost                  // more
)

// String is the class's word in all output, a contract.
func (c LossClass) String() string {
	return [...]string{"few", "some", "most", "unknown"}[min(c, LossMost+1)]
}

// Loss is what is remembered of a loss that is pending: a document that would leave the index,
// or whose text would be replaced by one of a different content. Times are in whole seconds.
type Loss struct {
	// Explicit says that the page or its site itself says so: a 404, a noindex and the like.
	// False are failures, and texts that look like those of other pages.
	Explicit bool
	// Least is the class of a document out of an XML list: the worst that the list had since it is missing.
	Least LossClass
	// First and Last are when it was seen first and last, Visits how often.
	First, Last time.Time
	Visits      uint8
	// Days are the visits that count, each at least deletionConfirmS after the one before, and
	// Counted is the time of the newest of them. WellDay is the number of the first of them after
	// which another document of the host gave a good response, 0 if none did.
	Days    uint8
	Counted time.Time
	WellDay uint8
	// Hash and Sketch are of the new text; zero of a document that would leave.
	Hash   [16]byte
	Sketch sketch.Sketch
}

// Seen joins a loss with what the next visit, which has the Loss next, saw. day is the time between
// two visits that count. After a clock that was set back it begins anew.
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

// NewLoss is a loss that is seen for the first time.
func NewLoss(explicit bool, now time.Time) Loss {
	now = now.Truncate(time.Second)
	return Loss{Explicit: explicit, First: now, Last: now, Counted: now, Visits: 1, Days: 1}
}

// StoredDeletion is a pending loss, as a Store lists it.
type StoredDeletion struct {
	Key    weburl.Key
	Seq    uint64 // rises with each loss that is stored
	URL    string
	Source string // under which the document was pushed, or its new text is to be
	Reason Reason
	Edit   uint64 // of the rules, that made it; 0: none did
	// Replaces says that the document stays and another text replaces it.
	Replaces bool
	// Text is for people.
	Text string
	Loss
}

// Deletions says how losses are confirmed before they are carried out (docs/deletions.md).
type Deletions struct {
	// Off carries out each loss at once, as the Exalead manual has it.
	Off bool
	// Rest is how long after it was first seen a loss must be seen again, if there are few of
	// them; Confirm is the same for some, and Hold for most of a host's documents.
	Rest, Confirm, Hold time.Duration
	// Gone is how long a host must not have given a good response before its losses are
	// carried out whatever they are, and what Hold is for a loss that is not explicit.
	Gone time.Duration
}

// DeletionGroup selects pending losses: those of a host, or those of an edit.
type DeletionGroup struct {
	Host weburl.HostKey
	Edit uint64 // if not 0, Host is not asked
}

// DeletionFilter selects pending losses; zero fields select all.
type DeletionFilter struct {
	URLs   []string
	Host   string // an origin, as in Record.Origin
	Reason Reason
	Edit   uint64
	// UpTo, if not 0, leaves out what was stored later than the loss of this Seq.
	UpTo uint64
}

// HostDocuments is what a Store keeps of a host's documents: how many are in the index, and some of them, chosen
// evenly. Lost are those that were carried out as losses and have not been had back (Record.LostAt).
type HostDocuments struct {
	Count, Lost uint64
	Sample      []weburl.Key // at most DocumentSample
}

// DocumentSample is how many of a host's documents a Store keeps to choose from: those
// with the lowest keys, which are hashes.
const DocumentSample = 16

// PoolBelow is how many documents a host has at least that does not belong to the pool of small hosts (Counts.Pooled).
const PoolBelow = 50

// Selects reports whether a loss is selected. Stores that list losses use it.
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
