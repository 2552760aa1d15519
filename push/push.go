// Package push carries documents and deletion orders from the durable outbox to indexers.
//
// A Relay owns the targets, and a goroutine for each of them while Run runs; the state of a delivery belongs to its
// goroutine, except the fields that Status reads under a lock.
package push

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Document is a page as sent to an indexer. The JSON names are a contract.
type Document struct {
	URL          string              `json:"url"`
	Source       string              `json:"source,omitempty"`
	Title        string              `json:"title,omitempty"`
	Text         string              `json:"text,omitempty"`
	Content      []byte              `json:"content,omitempty"` // page bytes, if required; base64 in JSON
	ContentType  string              `json:"content_type,omitempty"`
	Charset      string              `json:"charset,omitempty"`
	Language     string              `json:"language,omitempty"`
	LastModified string              `json:"last_modified,omitempty"` // RFC 3339, UTC
	FetchedAt    time.Time           `json:"fetched_at"`
	Depth        int                 `json:"depth"`
	Referrer     string              `json:"referrer,omitempty"`
	Hash         string              `json:"hash,omitempty"` // hex
	Metas        map[string][]string `json:"metas,omitempty"`
	Chunks       []Chunk             `json:"chunks,omitempty"` // if required
}

// Chunk is a part of a document's content.
type Chunk struct {
	Headings []string `json:"headings,omitempty"` // above it, from the outermost
	Anchor   string   `json:"anchor,omitempty"`   // id of the place in the page where its section begins
	Text     string   `json:"text"`               // a line for each block
}

// Names of the metas with the users and groups that may find a document, and of those that may not.
const (
	MetaAllow = "acl_allow"
	MetaDeny  = "acl_deny"
)

// Deletion orders the indexer to forget a document.
type Deletion struct {
	URL    string    `json:"url"`
	Reason string    `json:"reason"` // status or rule
	At     time.Time `json:"at"`
}

// Op is the operation of an entry.
type Op uint8

// The operations. Their strings are "add" and "delete".
const (
	Add Op = iota
	Delete
)

// String returns "add" or "delete".
func (o Op) String() string {
	if o == Delete {
		return "delete"
	}
	return "add"
}

// MarshalText implements encoding.TextMarshaler.
func (o Op) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Op) UnmarshalText(word []byte) error {
	if *o = Add; string(word) == Delete.String() {
		*o = Delete
	}
	return nil
}

// Entry is an order in the outbox. Body is the JSON of a Document or a Deletion, and must not be changed: other
// targets get the same bytes.
// Sequence numbers grow in the order in which entries become readable.
type Entry struct {
	Seq    uint64          `json:"seq"`
	Op     Op              `json:"op"`
	URL    string          `json:"url"`
	Source string          `json:"source,omitempty"`
	Body   json.RawMessage `json:"-"`
	// Moved is set on an Add whose URL may be in an index under another source: targets restricted to a source other than
	// Source delete it. An entry that replaces a waiting one with Moved, or an unsent deletion, also has it.
	Moved bool `json:"moved,omitempty"`
	// At is the time when the entry was created, in whole seconds of UTC; zero if unknown.
	At time.Time `json:"at,omitzero"`
	// Damage is the reason why the body can no longer be read, or "". A damaged entry must not be sent to any indexer.
	Damage string `json:"-"`
}

// Dead is an entry that a target refused permanently, with the indexer's message.
type Dead struct {
	Entry
	Target string
	Words  string
	At     time.Time
}

// Outbox is the durable queue of orders that the relay empties. Entries are added elsewhere, together with the outcome
// of their page. Methods are safe for concurrent use.
//
// Each target has its own cursor: the highest Seq up to which the target has stored all entries safely. An entry is
// removed when no target needs it.
type Outbox interface {
	// Open registers the targets whose cursors count. A new target begins at the oldest entry; a target that is no longer
	// named is forgotten with its cursor and its dead letters.
	Open(ctx context.Context, targets []string) error
	// Entries reads waiting entries with a Seq above after, in order of Seq: at
	// most n, and not beyond maxBytes of bodies unless the first alone exceeds it.
	Entries(ctx context.Context, after uint64, n, maxBytes int) ([]Entry, error)
	// Cursor returns the target's stored cursor.
	Cursor(ctx context.Context, target string) (uint64, error)
	// Safe moves a target's cursor up to seq, durably. A lower seq changes nothing.
	Safe(ctx context.Context, target string, seq uint64) error
	// AddDead stores e as a dead letter of target. It does not move the cursor.
	AddDead(ctx context.Context, target string, e Entry, words string, at time.Time) error
	// Changed is signalled (capacity 1) after entries were added.
	Changed() <-chan struct{}
}

// ErrRewind means that the indexer lost orders that were not confirmed yet (it restarted): the relay restarts after the
// target's cursor.
var ErrRewind = errors.New("the indexer lost unconfirmed orders; pushing them again")

// Refusal is an entry that the indexer refused permanently.
type Refusal struct {
	Seq   uint64
	Words string // the indexer's
}

// Target implements the protocol of one indexer. Its methods are called by one goroutine at a time, in order.
type Target interface {
	// Name is unique among the targets of a Crawler and stable across restarts.
	Name() string
	// Push sends entries in order. It returns those refused permanently; the indexer accepted all others, though not
	// necessarily safely. After an error the state of this call's entries is unknown and they are pushed again; after
	// ErrRewind, earlier ones too. Push retries single requests itself.
	Push(ctx context.Context, entries []Entry) ([]Refusal, error)
	// Checkpoint returns nil once all pushed entries up to seq are safe.
	Checkpoint(ctx context.Context, seq uint64) error
	// Close releases the target's connections and files. Unsafe entries are pushed again next time.
	Close() error
}
