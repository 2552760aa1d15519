package wire

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/push"
)

// Spread starts a goroutine for each request, as many at once as the limits say, and waits
// for all of them. Its mutex guards the list of refusals.

// Item is an entry with its form on the wire.
type Item struct {
	push.Entry
	Wire []byte
}

// Limits define how a batch is divided into requests. Zeros mean the defaults in brackets.
type Limits struct {
	Count    int // maximum number of items in a request [no limit]
	Bytes    int // maximum bytes of their wire forms; a single item may have more [8 MiB]
	Requests int // at once [1]
}

// DefaultBytes is the default of Limits.Bytes.
const DefaultBytes = 8 << 20

// Spread sends entries in as few requests as the limits allow, several at once. Two
// entries of one URL are never in one request nor on their way at once, and the
// later leaves after the earlier was answered.
//
// encode gives an entry its form on the wire; one that it fails for is refused with
// its words. send makes one request and gives back what the indexer refused of it.
// Where it fails with an *Unfit the items are sent by halves, until what is unfit is
// one item, which is refused with the words of the error. Where it fails with an
// *Unanswered they are sent by halves, too; an item that is alone in a request and stays
// unanswered three times is refused if the target takes others. Any other error ends all.
//
// Refusals are in the order of their numbers.
func (e *Endpoint) Spread(ctx context.Context, entries []push.Entry, l Limits, encode func(push.Entry) ([]byte, error), send func(context.Context, []Item) ([]push.Refusal, error)) ([]push.Refusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var (
		mu      sync.Mutex
		refused []push.Refusal
	)
	s := sending{send: send, trust: e.trust}
	for _, round := range rounds(entries) {
		items := make([]Item, 0, len(round))
		for _, entry := range round {
			b, err := encode(entry)
			if err != nil {
				refused = append(refused, push.Refusal{Seq: entry.Seq, Words: err.Error()})
				continue
			}
			items = append(items, Item{entry, b})
		}
		group, together := errgroup.WithContext(ctx)
		group.SetLimit(max(l.Requests, 1))
		for _, request := range l.split(items) {
			group.Go(func() error {
				r, err := Halve(together, request, s.request)
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, r...)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		r, err := s.insist(ctx, e.Client.Pause)
		if err != nil {
			return nil, err
		}
		refused = append(refused, r...)
	}
	e.trust = s.trustLeft()
	slices.SortFunc(refused, func(a, b push.Refusal) int { return cmp.Compare(a.Seq, b.Seq) })
	return refused, nil
}

// rounds parts entries so that no URL is in a round twice: the n-th entry of a URL
// is in the n-th round.
func rounds(entries []push.Entry) [][]push.Entry {
	var out [][]push.Entry
	times := make(map[string]int, len(entries))
	for _, e := range entries {
		n := times[e.URL]
		times[e.URL]++
		if n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], e)
	}
	return out
}

// split cuts items into runs that fit into one request each.
func (l Limits) split(items []Item) [][]Item {
	most := l.Bytes
	if most <= 0 {
		most = DefaultBytes
	}
	var out [][]Item
	first, size := 0, 0
	for i := range items {
		n := len(items[i].Wire)
		if i > first && (size+n > most || i-first == l.Count) {
			out = append(out, items[first:i])
			first, size = i, 0
		}
		size += n
	}
	if first < len(items) {
		out = append(out, items[first:])
	}
	return out
}

// Halve sends items as one request, or by halves while send fails with an *Unfit.
// What remains unfit alone is refused.
func Halve(ctx context.Context, items []Item, send func(context.Context, []Item) ([]push.Refusal, error)) ([]push.Refusal, error) {
	refused, err := send(ctx, items)
	var unfit *Unfit
	if !errors.As(err, &unfit) {
		return refused, err
	}
	if len(items) == 1 {
		return []push.Refusal{{Seq: items[0].Seq, Words: unfit.Words}}, nil
	}
	middle := len(items) / 2
	refused, err = Halve(ctx, items[:middle], send)
	if err != nil {
		return nil, err
	}
	more, err := Halve(ctx, items[middle:], send)
	return append(refused, more...), err
}

// Join puts the wire forms of items together.
func Join(items []Item) []byte {
	size := 0
	for i := range items {
		size += len(items[i].Wire)
	}
	out := make([]byte, 0, size)
	for i := range items {
		out = append(out, items[i].Wire...)
	}
	return out
}
