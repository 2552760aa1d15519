package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Deletion is where the deletion of a URL's document is, while the document is still in
// the index. Numbers are stored.
type Deletion uint8

// The deletions. Only one that was sent, or is on its way, takes the document out of the
// index (Record.Indexed); of one that rests or is held no target knows.
const (
	NoDeletion      Deletion = iota
	DeletionResting          // a good answer cancels it; else Deletions lets it leave, or holds it
	DeletionHeld             // until the operator releases or drops it, or a good answer cancels it
)

// String is the word for it in all output, "" for none.
func (d Deletion) String() string {
	words := [...]string{"", "resting", "held"}
	if int(d) >= len(words) {
		return "unknown"
	}
	return words[d]
}

// Hold is why a deletion is held. Numbers are stored.
type Hold uint8

// The holds.
const (
	NotHeld     Hold = iota
	HeldForHost      // more than a fifth of its host's documents are to go
	HeldForAll       // too many documents of the whole index are to go
	HeldIll          // its host is ill; rests again when the host is well
	HeldUnsure       // nothing told within a day whether the host is well
	HeldForEdit      // an edit of the rules deletes too many
	holdsEnd
)

// String is the word for it in all output.
func (h Hold) String() string {
	words := [...]string{"", "host", "index", "host_ill", "no_answer", "edit"}
	if int(h) >= len(words) {
		return "unknown"
	}
	return words[h]
}

// KnownHold reports whether there is a hold of the number.
func KnownHold(n byte) bool { return n < byte(holdsEnd) }

// StoredDeletion is a deletion that rests or is held, as a Store lists it.
type StoredDeletion struct {
	Key    weburl.Key
	Seq    uint64 // rises with each deletion that is stored
	URL    string
	Source string // under which the document was pushed
	State  Deletion
	Hold   Hold
	Reason Reason
	Edit   uint64 // of the rules, that made it; 0: none did
	// At is when it was ordered, Again when its own URL was last asked again and its
	// document was to go again; zero if it was not.
	At, Again time.Time
	// Text is for people.
	Text string
}

// DeletionGroup selects deletions that rest: those of a host, or those of an edit.
type DeletionGroup struct {
	Host weburl.HostKey
	Edit uint64 // if not 0, Host is not asked
}

// DeletionFilter selects deletions that rest or are held; zero fields select all.
type DeletionFilter struct {
	State  Deletion
	URLs   []string
	Host   string // an origin, as in Record.Origin
	Reason Reason
	Edit   uint64
}

// HostDocuments is what a Store keeps of a host's documents: how many are in the index,
// and some of them, chosen evenly.
type HostDocuments struct {
	Count  uint64
	Sample []weburl.Key // at most DocumentSample
}

// DocumentSample is how many of a host's documents a Store keeps to choose from: those
// with the lowest keys, which are hashes.
const DocumentSample = 16

// deletionSelector is a DeletionFilter with what it needs at hand.
type deletionSelector struct {
	DeletionFilter
	keys map[weburl.Key]bool // nil: all
}

func newDeletionSelector(f DeletionFilter) (deletionSelector, error) {
	s := deletionSelector{DeletionFilter: f}
	for _, raw := range f.URLs {
		u, err := weburl.Parse(raw)
		if err != nil {
			return s, err
		}
		if s.keys == nil {
			s.keys = map[weburl.Key]bool{}
		}
		s.keys[u.Key()] = true
	}
	return s, nil
}

func (s *deletionSelector) takes(d *StoredDeletion) bool {
	if s.keys != nil && !s.keys[d.Key] || s.Reason != NoReason && s.Reason != d.Reason || s.Edit != 0 && s.Edit != d.Edit {
		return false
	}
	if s.State != NoDeletion && s.State != d.State {
		return false
	}
	u, ok := weburl.FromCanonical(d.URL)
	return s.Host == "" || ok && u.Origin() == s.Host
}

// Selects reports whether a deletion is selected. Stores that list deletions use it.
func (f DeletionFilter) Selects(d *StoredDeletion) bool {
	s, err := newDeletionSelector(f)
	return err == nil && s.takes(d)
}
