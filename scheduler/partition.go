package scheduler

import (
	"context"
	"io"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Home says where a link or a named value of a change belongs: Here is the store that gets
// the change, HomeOf(n) partition n of a crawl that has several.
type Home uint16

// Here is the store itself.
const Here Home = 0

// HomeOf is the home in a partition, which is 0 or more.
func HomeOf(partition int) Home { return Home(partition + 1) } //nolint:gosec // partitions are few

// Partition is the number of the partition; it is not Here.
func (h Home) Partition() int { return int(h) - 1 }

// Letter is what a change in one partition means for another one: a link to a URL there, or,
// if Note is not nil, a named value that is kept there.
type Letter struct {
	// Seq rises with each letter that a partition writes, whoever it is for, also over a restore.
	Seq uint64
	// Link and Depths are as in Completion.
	Link   Link
	Depths bool
	Note   *Note
}

// Post is letters of one partition for another, in order of Seq.
type Post struct {
	From    int
	Letters []Letter
	// After is the Seq of the letter before the first. A receiver that has not had that one
	// stores nothing of them, since something may be missing between.
	After uint64
}

// Receipt says how far the letters of a sender have arrived: all up to this Seq, and which places got work.
type Receipt struct {
	Arrived uint64
	Places  []Place
}

// Pile is the letters that wait for one home.
type Pile struct {
	To           Home
	Count, Bytes uint64
	// Removed is the highest Seq that was removed after it had been delivered, or 0.
	Removed uint64
}

// Partition is a Store that holds some hosts of a crawl, all that is known of them. What its changes
// mean for other hosts it keeps, as letters, in the same step, until they are delivered.
type Partition interface {
	Store
	io.Closer
	// OutboxBytes are the bodies that no target has safely yet, in constant time.
	OutboxBytes() uint64
	// Origin is that of a host of which any URL was ever known, else "".
	Origin(ctx context.Context, h weburl.HostKey) (string, error)
	// Timed returns when up to n timed URLs are due, none later than until, earliest first.
	Timed(ctx context.Context, until time.Time, n int) ([]time.Time, error)
	// Letters reads letters for a home in order, those with a Seq above after, up to n and
	// to about so many bytes.
	Letters(ctx context.Context, to Home, after uint64, n, bytes int) ([]Letter, error)
	// Leave keeps links to other partitions as letters for their homes, which no completion brings. Those with an Item are
	// received as Add takes them.
	Leave(ctx context.Context, links []Link, homes []Home) error
	// Delivered removes the letters for a home up to a Seq.
	Delivered(ctx context.Context, to Home, upTo uint64) error
	// Piles are those that are not empty, or were once, in constant time.
	Piles(ctx context.Context) ([]Pile, error)
	// Receive stores each letter that has not arrived yet, once, in one step with the note that it has:
	// links as those of a page of its own, values as by SetValue. A post without letters asks how far it is.
	Receive(ctx context.Context, p Post) (Receipt, error)
}
