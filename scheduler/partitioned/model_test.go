package partitioned_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// The model lets two nodes crawl a tree of pages on many hosts, whose partitions they own by turns, while letters get
// lost, answers get lost, nodes are killed, and partitions are set back. Each page is linked once. Every other one is
// forgotten when it was visited, so that a letter that arrives twice has it visited twice. A world's mutex guards
// what the nodes' goroutines ask of it.

const (
	modelPartitions = 5
	modelDepth      = 4
	modelWidth      = 3
)

// page is the URL of a page, whose path says where it stands in the tree.
func page(path string) weburl.URL {
	h := fnv.New32a()
	_, _ = h.Write([]byte(path))
	u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/%s", h.Sum32()%11, path))
	if err != nil {
		panic(err)
	}
	return u
}

func children(path string) (all []scheduler.Link) {
	if len(path) < modelDepth {
		for i := range modelWidth {
			all = append(all, scheduler.Link{URL: page(path + string(rune('a'+i))), Fifo: scheduler.Follow})
		}
	}
	return all
}

func isForgotten(path string) bool { return len(path)%2 == 0 }

// world is the nodes, and what lies on their disks.
type world struct {
	*testing.T
	rand    *rand.Rand
	ctx     context.Context
	open    func(n int) scheduler.Partition
	nodes   [2]*partitioned.Store
	exactly bool   // no page may be visited twice
	atEnd   func() // before the last letters are waited for

	mu       sync.Mutex
	net      *rand.Rand
	broken   int // how many of 10 messages get lost
	messages []message
	owner    [modelPartitions]int
	visits   map[string]int
}

// carrier takes letters from one node to the other.
type carrier struct {
	w    *world
	from int
}

func (c carrier) Carry(ctx context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	c.w.mu.Lock()
	other := c.w.nodes[1-c.from]
	lost, answerLost := c.w.net.IntN(10) < c.w.broken, c.w.net.IntN(10) < c.w.broken
	c.w.mu.Unlock()
	if lost || other == nil {
		return scheduler.Receipt{}, errors.New("lost")
	}
	is, err := other.Receive(ctx, to, p)
	c.w.comeAgain(ctx, to, p)
	if answerLost {
		return scheduler.Receipt{}, errors.New("answer lost")
	}
	return is, err
}

// comeAgain has an older message arrive once more, wherever its receiver is now.
func (w *world) comeAgain(ctx context.Context, to int, p scheduler.Post) {
	w.mu.Lock()
	w.messages = append(w.messages, message{to, p})
	old, nodes := w.messages[w.net.IntN(len(w.messages))], w.nodes
	again := w.net.IntN(10) < w.broken
	w.mu.Unlock()
	for _, s := range nodes {
		if again && s != nil {
			_, _ = s.Receive(ctx, old.to, old.post) // one of them owns the partition
		}
	}
}

type message struct {
	to   int
	post scheduler.Post
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// start starts a node with the partitions that are its.
func (w *world) start(n int) {
	s, err := partitioned.New(partitioned.Options{Partitions: modelPartitions, Values: storetest.NewMemory(), Carrier: carrier{w, n}, Logger: slog.New(slog.DiscardHandler)})
	w.must(err)
	for i, owner := range w.owner {
		if owner == n {
			w.must(s.Adopt(i, w.open(i)))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[n] = s
}

// move moves a partition to the other node. For a while it is nowhere.
func (w *world) move(i int) {
	p, err := w.nodes[w.owner[i]].Release(i)
	w.must(err)
	w.must(p.Close())
	if _, err := w.nodes[w.owner[i]].Lookup(w.ctx, weburl.Key{1}); !errors.Is(err, scheduler.ErrElsewhere) {
		w.Errorf("Lookup at a node that has not all partitions: %v", err)
	}
	w.pause()
	w.owner[i] = 1 - w.owner[i]
	w.must(w.nodes[w.owner[i]].Adopt(i, w.open(i)))
}

func (w *world) pause() { time.Sleep(time.Duration(w.rand.IntN(1500)) * time.Millisecond) }

// waiting lists what waits at a node.
func (w *world) waiting(n int) (all []scheduler.WaitingURL) {
	s := w.nodes[n]
	w.must(s.Places(w.ctx, func(p scheduler.Place, _ uint64) error {
		q, err := s.Queue(w.ctx, p, 0, 100)
		all = append(all, q...)
		return err
	}))
	slices.SortFunc(all, func(a, b scheduler.WaitingURL) int { return a.Key.Compare(b.Key) })
	return all
}

// visit completes a page.
func (w *world) visit(n int, u scheduler.WaitingURL) {
	parsed, _ := weburl.FromCanonical(u.Record.URL)
	path := parsed.Path()[1:]
	c := scheduler.Completion{Key: u.Key, Seq: u.Seq, Taken: scheduler.Place{Source: u.Record.Source, Host: u.Record.Host}, Next: u.Record, Links: children(path)}
	c.Next.State, c.Forget = scheduler.AtRest, isForgotten(path)
	places, err := scheduler.CompleteAndWait(w.ctx, w.nodes[n], c)
	w.must(err)
	for _, l := range c.Links { // those that are here are told of
		if i := partitioned.Of(l.URL.Host(), modelPartitions); w.owner[i] == n {
			if w.exactly && !slices.Contains(places, scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}) {
				w.Errorf("%s is not told of with %s", l.URL, u.Record.URL)
			}
		}
	}
	w.visits[path]++
}

func (w *world) visitSome() {
	n := w.rand.IntN(2)
	all := w.waiting(n)
	for range min(len(all), 1+w.rand.IntN(4)) {
		i := w.rand.IntN(len(all))
		w.visit(n, all[i])
		all = slices.Delete(all, i, i+1)
	}
}

// finish crawls to the end, with everything in order again.
func (w *world) finish() {
	w.mu.Lock()
	w.broken = 0
	w.mu.Unlock()
	w.atEnd()
	for quiet, rounds := 0, 0; quiet < 3; rounds++ {
		if rounds > 200 {
			w.Fatal("the crawl does not end")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		quiet++
		for n := range w.nodes {
			for _, u := range w.waiting(n) {
				w.visit(n, u)
				quiet = 0
			}
			piles, err := w.nodes[n].Piles(w.ctx)
			w.must(err)
			if len(piles) > 0 {
				quiet = 0
			}
		}
	}
}

// check compares what is known with the tree, and with what was counted.
func (w *world) check() {
	want := map[string]bool{}
	var walk func(path string)
	walk = func(path string) {
		if v := w.visits[path]; v == 0 || v > 1 && w.exactly {
			w.Errorf("%q was visited %d times", path, v)
		}
		if !isForgotten(path) {
			want[page(path).String()] = true
		}
		for _, l := range children(path) {
			walk(l.URL.Path()[1:])
		}
	}
	walk("a")
	got := map[string]bool{}
	known := uint64(0)
	for _, s := range w.nodes {
		var last weburl.Key
		w.must(s.Inspect(w.ctx, scheduler.Filter{}, func(k weburl.Key, r scheduler.Record) error {
			if k.Compare(last) <= 0 {
				w.Errorf("%s comes behind %s", k, last)
			}
			last, got[r.URL] = k, true
			return nil
		}))
		c, err := s.Counts(w.ctx)
		w.must(err)
		known += c.Known
	}
	if !maps.Equal(got, want) || int(known) != len(want) {
		w.Errorf("%d URLs are stored, %d counted, want %d", len(got), known, len(want))
	}
}

// crawl runs the model; disturb does what else happens, and gives how many steps it takes.
func crawl(t *testing.T, seed uint64, open func(n int) scheduler.Partition, disturb func(w *world, draw int), exactly bool) {
	w := &world{
		T: t, ctx: t.Context(), rand: rand.New(rand.NewPCG(seed, 1)), net: rand.New(rand.NewPCG(seed, 2)), open: open,
		owner: [modelPartitions]int{0, 1, 0, 1, 0}, visits: map[string]int{}, exactly: exactly, atEnd: func() {},
	}
	w.start(0)
	w.start(1)
	root := scheduler.Link{URL: page("a"), Fifo: scheduler.User, Root: true}
	at := w.owner[partitioned.Of(root.URL.Host(), modelPartitions)]
	if _, _, err := w.nodes[1-at].Add(w.ctx, []scheduler.Link{root}, true); !errors.Is(err, scheduler.ErrElsewhere) {
		t.Errorf("Add at the wrong node: %v", err)
	}
	_, _, err := w.nodes[at].Add(w.ctx, []scheduler.Link{root}, false)
	w.must(err)
	for range 60 {
		switch draw := w.rand.IntN(20); {
		case draw < 10:
			w.visitSome()
		case draw < 13:
			w.pause()
		case draw < 15:
			w.mu.Lock()
			w.broken = w.rand.IntN(10)
			w.mu.Unlock()
		case draw < 17:
			w.move(w.rand.IntN(modelPartitions))
		default:
			disturb(w, w.rand.IntN(2))
		}
		if t.Failed() {
			break
		}
	}
	if !t.Failed() {
		w.finish()
		w.check()
	}
	for _, s := range w.nodes {
		w.must(s.Close())
	}
	if t.Failed() {
		t.Logf("again with SEXTANT_SEED=%d", seed)
	}
}

func seeds(t *testing.T, n int, run func(t *testing.T, seed uint64)) {
	first := seeded.Seed(t)
	if first != 1 { // the long form
		n *= 40
	}
	for i := range uint64(n) {
		t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(t, first+i) })
		})
	}
}

// TestKilledNodes: nodes die with all that is under way; nothing is lost, and nothing arrives twice.
func TestKilledNodes(t *testing.T) {
	seeds(t, 12, func(t *testing.T, seed uint64) {
		var disks [modelPartitions]*storetest.Memory
		open := func(n int) scheduler.Partition {
			if disks[n] == nil {
				disks[n] = storetest.NewMemory()
			} else {
				disks[n] = disks[n].Reopen() // what was opened before gives ErrClosed from now on
			}
			return disks[n]
		}
		crawl(t, seed, open, func(w *world, n int) {
			for i, owner := range w.owner {
				if owner == n {
					open(i)
				}
			}
			w.mu.Lock()
			dead := w.nodes[n]
			w.nodes[n] = nil
			w.mu.Unlock()
			if err := dead.Close(); err != nil && !errors.Is(err, scheduler.ErrClosed) {
				w.Error(err)
			}
			w.pause()
			w.start(n)
		}, true)
	})
}

// TestSetBack: partitions are set back to a backup, since which letters are kept; nothing is lost.
func TestSetBack(t *testing.T) {
	seeds(t, 12, func(t *testing.T, seed uint64) {
		var disks, backups [modelPartitions]*storetest.Memory
		var release []func()
		open := func(n int) scheduler.Partition {
			if disks[n] == nil {
				disks[n] = storetest.NewMemory()
			} else {
				disks[n] = disks[n].Reopen()
			}
			return disks[n]
		}
		releaseAll := func() {
			for _, r := range release {
				r()
			}
			release, backups = nil, [modelPartitions]*storetest.Memory{}
		}
		crawl(t, seed, open, func(w *world, what int) {
			w.atEnd = releaseAll
			if what == 0 && backups[0] == nil {
				for _, s := range w.nodes {
					release = append(release, s.Keep())
				}
				for i := range disks {
					backups[i] = disks[i].Copy()
				}
				return
			}
			i := w.rand.IntN(modelPartitions)
			if backups[i] == nil {
				return
			}
			p, err := w.nodes[w.owner[i]].Release(i)
			w.must(err)
			w.must(p.Close())
			backups[i] = backups[i].Copy()
			disks[i] = backups[i].Copy()
			w.must(w.nodes[w.owner[i]].Adopt(i, open(i)))
			if w.rand.IntN(3) == 0 { // the next one is another backup
				releaseAll()
			}
		}, false)
	})
}

// TestMovesOnDisk: stores on the disk are closed and opened elsewhere.
func TestMovesOnDisk(t *testing.T) {
	seeds(t, 2, func(t *testing.T, seed uint64) {
		dir := t.TempDir()
		crawl(t, seed, func(n int) scheduler.Partition {
			s, err := badgerstore.Open(filepath.Join(dir, fmt.Sprint(n)), badgerstore.Options{Durability: badgerstore.OS, MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true})
			if err != nil {
				t.Fatal(err)
			}
			if report, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Error(f) }); err != nil || report.Faults > 0 {
				t.Error(err, report)
			}
			return s
		}, func(w *world, n int) { w.move(n) }, true)
	})
}
