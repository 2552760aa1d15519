// load starts a goroutine for each worker, and waits for them. A worker's mutex guards its figures; its goroutine and
// watch take it.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testpostgres"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

const (
	nodes    = 3
	parts    = 64
	perPart  = 3000 // URLs
	hosts    = 48   // of a part: at 3,000 pages a second each gets one request a second
	perBatch = 100  // pages of a commit
	kept     = 50   // commits after which bodies and orders are removed
)

// worker is a node under load, with hashes of the values that were confirmed.
type worker struct {
	n       *pgkv.Node
	own     []int16
	rand    *rand.Rand
	seq     uint64
	commits int64
	due     map[string][]byte // the time key of a URL
	later   [][]pgkv.Change   // removals, a commit each
	queue   []pgkv.Change     // chunks of queues
	stored  map[name]uint64   // a hash of each key's value
	changes map[name]struct{} // keys of the batch
	pool    []byte            // values are cut from it
	batch   []pgkv.Change
	mu      sync.Mutex // guards what follows
	took    []time.Duration
	pages   int
}

func hash(value []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(value)
	return h.Sum64()
}

// words are the contents of values, which compress to a half or so.
var words = strings.Fields(`https://www. example intranet .com/ documents products index.html page Content-Type text/html
	charset=utf-8 Last-Modified Mon Tue GMT 2026 title the of and archive download release notes depth source refresh`)

func (w *worker) value(n int) []byte {
	for len(w.pool) < 1<<20 {
		w.pool = append(append(w.pool, words[w.rand.IntN(len(words))]...), ' ')
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, n), w.rand.Uint64())
	at := w.rand.IntN(len(w.pool) - n)
	return append(b, w.pool[at:at+n-len(b)]...)
}

// name is a part's key.
type name struct {
	part int16
	key  string
}

func urlKey(part int16, n uint64) []byte {
	var b [10]byte
	binary.BigEndian.PutUint16(b[:], uint16(part)) //nolint:gosec // below 64
	binary.BigEndian.PutUint64(b[2:], n)
	sum := sha256.Sum256(b[:])
	return sum[:16]
}

func key(kind byte, rest ...[]byte) []byte { return append([]byte{kind}, slices.Concat(rest...)...) }

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// set adds a change, once for each key.
func (w *worker) set(c pgkv.Change) {
	name := name{c.Part, string(c.Key)}
	if _, ok := w.changes[name]; !ok {
		w.changes[name] = struct{}{}
		w.batch = append(w.batch, c)
	}
}

// page changes eleven keys, as a page with two new links does.
func (w *worker) page(removed *[]pgkv.Change) {
	p := w.own[w.rand.IntN(len(w.own))]
	u := urlKey(p, w.rand.Uint64N(perPart))
	host := urlKey(p, 1<<40+w.rand.Uint64N(hosts))
	w.seq++
	w.set(pgkv.Change{Part: p, Key: key('u', u), Value: w.value(300)})
	if old, ok := w.due[string(u)]; ok {
		w.set(pgkv.Change{Part: p, Key: old})
	}
	w.due[string(u)] = key('t', number(w.seq), u)
	w.set(pgkv.Change{Part: p, Key: w.due[string(u)], Value: []byte{}})
	order, known := key('w', number(w.seq), u), key('b', number(w.seq))
	w.set(pgkv.Change{Part: p, Key: order, Value: w.value(136)})
	w.set(pgkv.Change{Part: p, Key: known, Value: w.value(24)})
	*removed = append(*removed, pgkv.Change{Part: p, Key: order}, pgkv.Change{Part: p, Key: known})
	for _, kind := range []byte{'p', 'h', 'k'} {
		w.set(pgkv.Change{Part: p, Key: key(kind, host), Value: w.value(96)})
	}
	for range 2 {
		w.set(pgkv.Change{Part: p, Key: key('u', urlKey(p, w.rand.Uint64N(perPart))), Value: w.value(200)})
	}
}

// prepare makes the batch of one commit.
func (w *worker) prepare() (bodies []pgkv.Body) {
	w.batch, w.changes = nil, map[name]struct{}{}
	var removed []pgkv.Change
	for i := range perBatch {
		w.page(&removed)
		bodies = append(bodies, pgkv.Body{Part: w.own[0], Segment: w.commits, At: int64(i) << 12, Value: w.value(4096)})
	}
	for range perBatch / 8 {
		p := w.own[w.rand.IntN(len(w.own))]
		w.seq++
		c := pgkv.Change{Part: p, Key: key('q', urlKey(p, 1<<40+w.rand.Uint64N(hosts)), number(w.seq)), Value: w.value(256)}
		w.set(c)
		w.queue = append(w.queue, pgkv.Change{Part: p, Key: c.Key})
	}
	for len(w.queue) > 1500 {
		w.set(w.queue[0])
		w.queue = w.queue[1:]
	}
	w.later = append(w.later, removed)
	if len(w.later) > kept {
		for _, c := range w.later[0] {
			w.set(c)
		}
		w.later = w.later[1:]
	}
	w.commits++
	w.set(pgkv.Change{Part: w.own[0], Key: []byte("m"), Value: number(uint64(w.commits))}) //nolint:gosec // a count
	return bodies
}

// read does the reads of a batch: a record of each of 300 keys, and the first chunks of queues.
func (w *worker) read() error {
	var keys [][]byte
	p := w.own[w.rand.IntN(len(w.own))]
	for range 300 {
		keys = append(keys, key('u', urlKey(p, w.rand.Uint64N(perPart))))
	}
	if _, err := w.n.GetMany(p, keys); err != nil {
		return err
	}
	for range 2 {
		rows := 0
		v := w.n.View(p)
		stop := errors.New("enough")
		err := v.Walk(key('q', urlKey(p, 1<<40+w.rand.Uint64N(hosts))), nil, true, func(_, _ []byte) error {
			if rows++; rows == 4 {
				return stop
			}
			return nil
		})
		v.Close()
		if err != nil && !errors.Is(err, stop) {
			return err
		}
	}
	return nil
}

// run commits batches at a rate until a time.
func (w *worker) run(end time.Time, every time.Duration) error {
	for next := time.Now(); next.Before(end); next = next.Add(every) {
		time.Sleep(time.Until(next))
		if err := w.read(); err != nil {
			return err
		}
		bodies := w.prepare()
		began := time.Now()
		if err := w.n.Commit(w.batch, bodies); err != nil {
			return err
		}
		took := time.Since(began)
		if err := w.n.Drop(w.own[0], uint64(max(w.commits-kept, 0))); err != nil { //nolint:gosec // not negative
			return err
		}
		for _, c := range w.batch {
			name := name{c.Part, string(c.Key)}
			if delete(w.stored, name); c.Value != nil {
				w.stored[name] = hash(c.Value)
			}
		}
		w.mu.Lock()
		w.took, w.pages = append(w.took, took), w.pages+perBatch
		w.mu.Unlock()
	}
	return nil
}

// verify compares the database with what the node was told is stored.
func (w *worker) verify() error {
	found := 0
	for _, p := range w.own {
		v := w.n.View(p)
		err := v.Walk(nil, nil, true, func(key, value []byte) error {
			found++
			if sum, ok := w.stored[name{p, string(key)}]; !ok || sum != hash(value) {
				return fmt.Errorf("part %d, key %x: stored %t, or another value", p, key, ok)
			}
			return nil
		})
		v.Close()
		if err != nil {
			return err
		}
	}
	if found != len(w.stored) {
		return fmt.Errorf("%d keys are stored, and %d were", found, len(w.stored))
	}
	return nil
}

// load commits pages on three nodes, and compares the database with them in the end.
func (g *gate) load(ctx context.Context) error {
	s, err := g.server(ctx, "autovacuum_naptime=10s", "shared_buffers=512MB", "max_wal_size=4GB")
	if err != nil {
		return err
	}
	defer s.Close()
	var all []*worker
	for i := range nodes {
		n, err := pgkv.Join(ctx, pgkv.Options{DSN: s.DSN(), Schema: schema, Node: fmt.Sprint("n", i)})
		if err != nil {
			return err
		}
		w := &worker{n: n, rand: rand.New(rand.NewPCG(1, uint64(i))), due: map[string][]byte{}, stored: map[name]uint64{}} //nolint:gosec // data
		var mine []int16
		for p := int16(i); p < parts; p += nodes { //nolint:gosec // below 64
			mine = append(mine, p)
		}
		if w.own, err = n.Claim(ctx, mine); err != nil || len(w.own) != len(mine) {
			return fmt.Errorf("claimed %v of %v: %w", w.own, mine, err)
		}
		all = append(all, w)
	}
	end := time.Now().Add(g.lasts)
	failed := make(chan error, nodes)
	var running sync.WaitGroup
	for _, w := range all {
		running.Go(func() { failed <- w.run(end, time.Second*perBatch*nodes/time.Duration(g.rate)) })
	}
	err = g.watch(ctx, s, all, end, failed)
	running.Wait()
	for _, w := range all {
		err = errors.Join(err, <-failed, w.verify(), w.n.Leave(ctx))
	}
	if err == nil {
		fmt.Println("  all keys are as confirmed")
	}
	return err
}

// watch prints figures, holds a snapshot in the middle, and fails if commits are slow.
func (g *gate) watch(
	ctx context.Context, s *testpostgres.Server, all []*worker, end time.Time, failed <-chan error,
) error {
	every := min(time.Minute, g.lasts/10)
	middle := end.Add(-(g.lasts + g.snapshot) / 2)
	var held *pgkv.View
	var took []time.Duration
	for time.Now().Before(end) {
		time.Sleep(every)
		switch now := time.Now(); {
		case held == nil && now.After(middle) && now.Before(middle.Add(g.snapshot)):
			held = all[0].n.View(0)
		case held != nil && now.After(middle.Add(g.snapshot)):
			held.Close()
			held = nil
		}
		recent, pages := []time.Duration(nil), 0
		for _, w := range all {
			w.mu.Lock()
			recent, pages = append(recent, w.took...), pages+w.pages
			w.took, w.pages = nil, 0
			w.mu.Unlock()
		}
		took = append(took, recent...)
		sizes, err := ask[string](ctx, s, `SELECT format('kv %s MB, index %s MB, body %s MB', pg_table_size('gate.kv') >> 20,
			pg_indexes_size('gate.kv') >> 20, pg_total_relation_size('gate.body') >> 20)`)
		if err != nil {
			return err
		}
		load, _ := os.ReadFile("/proc/loadavg")
		fmt.Printf("  %5.0f pages/s, commit p50 %s p95 %s, %s, snapshot %t, load %.5s\n", float64(pages)/every.Seconds(),
			share(recent, 50), share(recent, 95), sizes, held != nil, load)
		if len(failed) > 0 {
			break
		}
	}
	if held != nil {
		held.Close()
	}
	if p95 := share(took, 95); p95 > 100*time.Millisecond {
		return fmt.Errorf("p95 of all commits is %s", p95)
	}
	return nil
}

func share(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)*percent/100].Round(100 * time.Microsecond)
}
