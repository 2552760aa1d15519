package node

// bodies.go: how a node gives others the bodies of documents that it wrote. An answer has for each place that was asked for, in
// their order, 8 bytes with the length of the body and one more, 0 if it is not there, and the body. Elsewhere.mu guards since when
// nodes do not answer.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

const (
	bodiesPath = "/v1/bodies"
	// askedMost is how many bodies are asked for at once, and askedBytes how long they are together; one
	// alone may be longer.
	askedMost  = 100
	askedBytes = 16 << 20
	// patience is how long a node that does not answer is waited for: then its documents are fetched again.
	patience = 2 * time.Minute
)

// WithBodies answers for the bodies that the copy in dir wrote, or where there are several partitions the copies in it, whether they lead or
// follow, and all else by next: what Handler gives.
func WithBodies(dir string, next http.Handler, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET "+bodiesPath, func(w http.ResponseWriter, r *http.Request) {
		places, err := parsePlaces(r.URL.RawQuery)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p, ok := partitionOf(w, r)
		if !ok {
			return
		}
		from := dir
		if r.Form.Has(partitionField) {
			from = StoreDir(dir, cluster.MaxPartitions, p)
		}
		for _, place := range places {
			if err := sendBody(w, from, place); err != nil {
				log.Warn("another node did not get the body of a document", "address", r.RemoteAddr, "error", err)
				panic(http.ErrAbortHandler) // so that it sees that the answer was cut short
			}
		}
	})
	return mux
}

func sendBody(w io.Writer, dir string, p record.BodyPlace) error {
	b, err := badgerstore.ReadBody(dir, p)
	head := uint64(len(b)) + 1
	if errors.Is(err, segments.ErrDamaged) {
		head, err = 0, nil
	}
	if err == nil {
		_, err = w.Write(binary.BigEndian.AppendUint64(nil, head))
	}
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// placesQuery is the query that asks for places.
func placesQuery(places []record.BodyPlace) string {
	q := url.Values{}
	for _, p := range places {
		q.Add("at", fmt.Sprintf("%x-%x-%x-%x", p.Segment, p.Offset, p.Length, p.Sum))
	}
	return q.Encode()
}

// parsePlaces is its inverse.
func parsePlaces(query string) ([]record.BodyPlace, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	at := q["at"]
	if len(at) == 0 || len(at) > askedMost {
		return nil, fmt.Errorf("%d places: write at=SEGMENT-OFFSET-LENGTH-SUM, in hexadecimal, once to %d times", len(at), askedMost)
	}
	places, size := make([]record.BodyPlace, len(at)), uint64(0)
	for i, text := range at {
		p := &places[i]
		n, err := fmt.Sscanf(text, "%x-%x-%x-%x", &p.Segment, &p.Offset, &p.Length, &p.Sum)
		if err != nil || n != 4 || p.Segment == 0 || p.Length == 0 || p.Length > record.MaxBody || p.Offset > 1<<62 {
			return nil, fmt.Errorf("at=%.100q: write SEGMENT-OFFSET-LENGTH-SUM, in hexadecimal", text)
		}
		if size += p.Length; i > 0 && size > askedBytes {
			return nil, fmt.Errorf("more than %d bytes: ask for fewer at once", askedBytes)
		}
	}
	return places, nil
}

// Elsewhere asks the other nodes for bodies that they wrote. It is a badgerstore.Elsewhere.
type Elsewhere struct {
	Client *peer.Client
	// Addresses are those of all other nodes of the cluster, also of those that do not answer now. What none of them has
	// is fetched again. An error says that they are not known: then nothing is.
	Addresses func() ([]string, error)

	mu    sync.Mutex
	since map[string]time.Time // that an address does not answer
}

// Bodies implements badgerstore.Elsewhere, for the only partition. A node that has not answered for two minutes is taken for gone.
func (e *Elsewhere) Bodies(ctx context.Context, places []record.BodyPlace) ([][]byte, error) {
	return e.bodies(ctx, bodiesPath+"?", places)
}

// elsewhere is Elsewhere for one of several partitions.
type elsewhere struct {
	*Elsewhere
	partition cluster.Partition
}

// Bodies implements badgerstore.Elsewhere.
func (e elsewhere) Bodies(ctx context.Context, places []record.BodyPlace) ([][]byte, error) {
	return e.bodies(ctx, PathOf(bodiesPath, e.partition)+"&", places)
}

func (e *Elsewhere) of(p cluster.Partition) badgerstore.Elsewhere { return elsewhere{e, p} }

func (e *Elsewhere) bodies(ctx context.Context, path string, places []record.BodyPlace) ([][]byte, error) {
	addresses, err := e.Addresses()
	if err != nil {
		return nil, err
	}
	found := make([][]byte, len(places))
	var waits error
	for _, address := range addresses {
		err := e.askAll(ctx, address, path, places, found)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !e.isGone(address, err) {
			waits = errors.Join(waits, err)
		}
	}
	for _, b := range found {
		if b == nil && waits != nil {
			return nil, waits
		}
	}
	return found, nil
}

// isGone takes in how a node answered, and reports whether it is to be waited for no longer.
func (e *Elsewhere) isGone(address string, err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		delete(e.since, address)
		return false
	}
	if e.since == nil {
		e.since = map[string]time.Time{}
	}
	if e.since[address].IsZero() {
		e.since[address] = time.Now()
	}
	return time.Since(e.since[address]) >= patience
}

// askAll asks a node for what is not found yet, in requests of a bounded size.
func (e *Elsewhere) askAll(ctx context.Context, address, path string, places []record.BodyPlace, found [][]byte) error {
	for i := 0; i < len(places); {
		var ask []record.BodyPlace
		var which []int
		for size := uint64(0); i < len(places) && len(ask) < askedMost; i++ {
			if found[i] != nil {
				continue
			}
			if size += places[i].Length; len(ask) > 0 && size > askedBytes {
				break
			}
			ask, which = append(ask, places[i]), append(which, i)
		}
		if len(ask) == 0 {
			continue
		}
		answer, err := e.Client.Get(ctx, address, path+placesQuery(ask))
		if err != nil {
			return err
		}
		bodies, err := readBodies(answer, ask)
		if err = errors.Join(err, answer.Close()); err != nil {
			return fmt.Errorf("node at %s: %w", address, err)
		}
		for n, b := range bodies {
			found[which[n]] = b
		}
	}
	return nil
}

// readBodies reads an answer. Nothing longer than was asked for is read.
func readBodies(r io.Reader, asked []record.BodyPlace) ([][]byte, error) {
	bodies := make([][]byte, len(asked))
	for i, p := range asked {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, fmt.Errorf("the answer ends before body %d of %d: %w", i+1, len(asked), err)
		}
		n := binary.BigEndian.Uint64(head[:])
		if n == 0 {
			continue
		}
		if n-1 != p.Length || p.Length > record.MaxBody {
			return nil, fmt.Errorf("body %d has %d bytes, %d were asked for", i+1, n-1, p.Length)
		}
		b := make([]byte, p.Length)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, fmt.Errorf("the answer ends within body %d: %w", i+1, err)
		}
		bodies[i] = b
	}
	return bodies, nil
}
