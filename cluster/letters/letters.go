// Package letters carries links between the partitions of a crawl from one node to another, over HTTPS: it is a
// partitioned.Carrier, and the handler at the other end. Both ends bound what they read, and letters for a
// partition whose owner is not known, or away, wait where they are.
//
// Carrier.Carry has a goroutine that watches whether the owner changes; the places of a Handler bound how many questions are stored at once.
package letters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Path is where a node takes letters.
const Path = "/v1/letters"

// atOnce is how many posts a node stores at once; the others wait.
const atOnce = 8

// Carrier takes posts to the nodes that own their partitions now. It is a partitioned.Carrier.
type Carrier struct {
	Lines *peer.Lines
	// Owner is where the owner of a partition is reached, "" if that is not known. moved is closed once it is elsewhere: an owner that is cut off or frozen
	// keeps its connections, and would be waited for although another node has taken over; nil: it stays.
	Owner func(partition int) (address string, moved <-chan struct{})
}

// Carry implements partitioned.Carrier. ErrElsewhere says that nobody is known to own the partition, or that who was asked does
// not.
func (c *Carrier) Carry(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	address, moved := c.Owner(to)
	if address == "" {
		return scheduler.Receipt{}, fmt.Errorf("no node is known to own it: %w", scheduler.ErrElsewhere)
	}
	question, err := encode(to, p)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	answer, err := c.ask(ctx, address, moved, question)
	if errors.Is(err, peer.ErrMissing) {
		err = fmt.Errorf("node at %s does not own it: %w", address, scheduler.ErrElsewhere)
	}
	if err != nil {
		return scheduler.Receipt{}, err
	}
	arrived, err := decodeAnswer(answer)
	return scheduler.Receipt{Arrived: arrived}, err
}

// errMoved says that a partition has another owner than was asked.
var errMoved = fmt.Errorf("another node owns it now: %w", scheduler.ErrElsewhere)

// ask asks a node until it answers, or the partition is elsewhere.
func (c *Carrier) ask(ctx context.Context, address string, moved <-chan struct{}, question []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-moved:
			cancel(errMoved)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	answer, err := c.Lines.Ask(ctx, address, Path, question, answerMost)
	if err != nil && errors.Is(context.Cause(ctx), errMoved) {
		err = errMoved
	}
	return answer, err
}

// Receiver takes in letters for the partitions that are here. *partitioned.Store is one.
type Receiver interface {
	Receive(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error)
}

// Handler answers Carriers, behind peer.Guard. receiver is what takes letters here now, nil if nothing does.
func Handler(receiver func() Receiver, log *slog.Logger) http.Handler {
	places := make(chan struct{}, atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		question, err := peer.Question(w, r, packedMost)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-r.Context().Done():
			return
		}
		to, post, err := decode(question)
		if err != nil {
			log.Warn("a node sends letters that cannot be read: all nodes must run the same version", "address", r.RemoteAddr, "error", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		in := receiver()
		if in == nil {
			http.NotFound(w, r)
			return
		}
		is, err := in.Receive(r.Context(), to, post)
		switch {
		case errors.Is(err, scheduler.ErrElsewhere):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			_, _ = w.Write(encodeAnswer(is.Arrived))
		}
	})
}
