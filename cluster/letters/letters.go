// Package letters carries links between the partitions of a crawl from one node to another, over HTTPS: it is a
// partitioned.Carrier, and the handler at the other end. Both ends bound what they read, and letters for a
// partition whose owner is not known, or away, wait where they are.
//
// There is no goroutine; the places of a Handler bound how many questions are stored at once.
package letters

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

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
	// Owner is where the owner of a partition is reached; ok is false if that is not known.
	Owner func(partition int) (address string, ok bool)
}

// Carry implements partitioned.Carrier. ErrElsewhere says that nobody is known to own the partition, or that who was asked does
// not.
func (c *Carrier) Carry(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	address, ok := c.Owner(to)
	if !ok {
		return scheduler.Receipt{}, fmt.Errorf("no node is known to own it: %w", scheduler.ErrElsewhere)
	}
	question, err := encode(to, p)
	if err != nil {
		return scheduler.Receipt{}, err
	}
	answer, err := c.Lines.Ask(ctx, address, Path, question, answerMost)
	if errors.Is(err, peer.ErrMissing) {
		err = fmt.Errorf("node at %s does not own it: %w", address, scheduler.ErrElsewhere)
	}
	if err != nil {
		return scheduler.Receipt{}, err
	}
	arrived, err := decodeAnswer(answer)
	return scheduler.Receipt{Arrived: arrived}, err
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
