package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// options are for stores under virtual time.
func options() badgerstore.Options {
	return badgerstore.Options{MemtableBytes: badgerstore.MinMemtableBytes, MinFree: -1, NoCompaction: true}
}

// pair are two nodes around one engine, in a bubble.
type pair struct {
	*testing.T
	engine *clustertest.Memory
	meta   cluster.Meta
	dirs   [2]string
	nodes  [2]*process // nil: it does not run

	mu     sync.Mutex
	id     int
	acked  []string
	leads  []lead
	faults []string
	quiet  bool // nothing is stored any more
}

// lead is a time for which a node led.
type lead struct {
	node  string
	clean bool // the one before gave up in order
	began time.Time
}

// process is a node that runs.
type process struct {
	line   *clustertest.Line
	member *cluster.Member
	stop   context.CancelFunc
	ended  chan error
	may    func() bool // nil: it does not lead
	active *node.Active
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t, engine: clustertest.NewMemory(), dirs: [2]string{filepath.Join(t.TempDir(), "n0"), filepath.Join(t.TempDir(), "n1")}}
	var err error
	if p.meta, err = node.Found(t.Context(), p.engine, "n0", p.dirs[0], options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after a failure
		for n, r := range p.nodes {
			if r != nil {
				_ = p.stopOne(n, true)
			}
		}
	})
	p.start(0)
	p.until("the founder leads", p.leading(0))
	p.until("something is stored", func() bool { return len(p.stored()) > 5 })
	p.join()
	return p
}

// join makes n1's copy from n0's, and ends with both in the set and n0 leading. n1 leads first, alone: a copy
// that joins while another node leads may find the log trimmed.
func (p *pair) join() {
	p.Helper()
	p.must(p.stopOne(0, false))
	r, err := badgerstore.OpenReplica(p.dirs[0], options())
	p.must(err)
	var sent bytes.Buffer
	p.must(errors.Join(r.Snapshot(p.Context(), &sent), r.Close()))
	p.must(node.Join(p.Context(), p.meta, p.dirs[1], &sent, options()))
	p.start(1)
	p.until("the new copy leads", p.leading(1))
	p.start(0)
	p.until("both are in the set", func() bool { return len(p.standing(0).InSync) == 2 && p.standing(0).Role == cluster.Standby })
	p.must(p.stopOne(1, false))
	p.until("the founder leads again", p.leading(0))
	p.start(1)
	p.until("the new copy follows", func() bool { return p.standing(1).Role == cluster.Standby && len(p.standing(1).InSync) == 2 })
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *pair) start(n int) {
	ctx, stop := context.WithCancel(context.Background())
	r := &process{line: clustertest.NewLine(p.engine, uint64(n)), stop: stop, ended: make(chan error, 1)}
	p.set(n, r)
	go func() {
		r.ended <- node.Run(ctx, node.Settings{
			Name: fmt.Sprint("n", n), Engine: r.line, Dir: p.dirs[n], Store: options(), Log: slog.New(slog.DiscardHandler),
			Clock: clustertest.NewClock(1), Times: cluster.DefaultTimes(),
			Lead:  func(ctx context.Context, a *node.Active) error { return p.crawl(ctx, n, r, a) },
			Watch: func(m *cluster.Member) { p.locked(func() { r.member = m }) },
		})
	}()
}

// stopOne ends a node, in order or as kill -9 does: nothing that it wants to say is heard.
func (p *pair) stopOne(n int, kill bool) error {
	r := p.nodes[n]
	if kill {
		r.line.Set(clustertest.Faults{Dead: true})
	}
	r.stop()
	defer p.set(n, nil) // until then it counts as one that may act
	select {
	case err := <-r.ended:
		return err
	case <-time.After(5 * time.Minute):
		return fmt.Errorf("n%d does not end", n)
	}
}

// crawl stores URLs one after the other while the node leads, and notes what was acknowledged.
func (p *pair) crawl(ctx context.Context, n int, r *process, a *node.Active) error {
	p.locked(func() {
		p.leads = append(p.leads, lead{fmt.Sprint("n", n), a.Store.ClosedCleanly(), time.Now()})
		r.may, r.active = a.May, a
	})
	defer p.locked(func() { r.may = nil })
	for ctx.Err() == nil {
		acting, done, err := a.Acting(ctx)
		if err != nil {
			return err
		}
		url, quiet := "", false
		p.locked(func() {
			quiet = p.quiet
			p.id++
			url = fmt.Sprintf("http://h%d.test/%d", p.id%7, p.id)
			for _, other := range p.nodes {
				if other != nil && other != r && other.may != nil && other.may() && a.May() {
					p.faults = append(p.faults, "two nodes may act at once")
				}
			}
		})
		if !quiet {
			if _, _, err = a.Store.Add(context.WithoutCancel(ctx), []scheduler.Link{storetest.Link(url, scheduler.Index)}, false); err == nil {
				p.locked(func() { p.acked = append(p.acked, url) })
			}
		}
		select {
		case <-acting.Done():
		case <-time.After(50 * time.Millisecond):
		}
		done()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (p *pair) set(n int, r *process) { p.locked(func() { p.nodes[n] = r }) }

func (p *pair) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *pair) stored() (urls []string) {
	p.locked(func() { urls = append(urls, p.acked...) })
	return urls
}

func (p *pair) led() (all []lead) {
	p.locked(func() { all = append(all, p.leads...) })
	return all
}

func (p *pair) standing(n int) (s cluster.Standing) {
	p.locked(func() {
		if r := p.nodes[n]; r != nil && r.member != nil {
			s = r.member.Standing()
		}
	})
	return s
}

func (p *pair) leading(n int) func() bool {
	return func() (is bool) {
		p.locked(func() { r := p.nodes[n]; is = r != nil && r.may != nil && r.may() })
		return is
	}
}

// until waits, in the bubble's time.
func (p *pair) until(what string, is func() bool) {
	p.Helper()
	for began := time.Now(); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			for n, r := range p.nodes {
				if r == nil {
					continue
				}
				select {
				case err := <-r.ended:
					p.Logf("n%d has ended: %v", n, err)
					p.set(n, nil)
				default:
				}
			}
			p.Fatalf("%s: not after two minutes: %+v and %+v", what, p.standing(0), p.standing(1))
		}
	}
}

// settle ends both nodes at one place in the log, and compares their copies with each other and with
// what was acknowledged.
func (p *pair) settle() {
	p.Helper()
	p.locked(func() { p.quiet = true })
	follows := -1
	p.until("one leads and the other has all", func() bool {
		for n := range p.nodes {
			if p.leading(1-n)() && p.standing(n).Role == cluster.Standby && p.standing(n).Behind == 0 && len(p.standing(n).InSync) == 2 {
				follows = n
			}
		}
		return follows >= 0
	})
	time.Sleep(10 * time.Second) // what was on its way has arrived
	if err := p.stopOne(follows, false); err != nil {
		p.Error(err)
	}
	_ = p.stopOne(1-follows, true) // it would append that it ends in order
	var sent [2]bytes.Buffer
	for n, dir := range p.dirs {
		r, err := badgerstore.OpenReplica(dir, options())
		if err != nil {
			p.Fatal(err)
		}
		p.Logf("n%d is at %d", n, r.Applied().Seq)
		if err := errors.Join(r.Snapshot(p.Context(), &sent[n]), r.Close()); err != nil {
			p.Error(err)
		}
		sound(p.T, dir, p.stored())
	}
	if !bytes.Equal(sent[0].Bytes(), sent[1].Bytes()) {
		p.Errorf("the copies differ: %d and %d bytes", sent[0].Len(), sent[1].Len())
	}
	if len(p.faults) > 0 {
		p.Error(p.faults[0])
	}
}

// sound wants a store to be sound, and to have all these URLs, which were acknowledged.
func sound(t *testing.T, dir string, urls []string) {
	t.Helper()
	s, err := badgerstore.Open(dir, badgerstore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Errorf("%s: %s %s", dir, f.URL, f.Words) }); err != nil {
		t.Error(err)
	}
	for _, u := range urls {
		if _, err := s.Lookup(t.Context(), storetest.Link(u, scheduler.Index).URL.Key()); err != nil {
			t.Errorf("%s: %s was acknowledged: %v", dir, u, err)
		}
	}
}

// TestOtherNodeTakesOver: whatever ends the node that leads, the other one goes on with all that was
// acknowledged, and the first comes back as a standby.
func TestOtherNodeTakesOver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func(*pair)
		limit time.Duration
		clean bool
	}{
		{"stopped", func(p *pair) {
			if err := p.stopOne(0, false); err != nil {
				p.Error(err)
			}
		}, 2 * time.Second, true},
		{"killed", func(p *pair) { p.nodes[0].line.Set(clustertest.Faults{Dead: true}) }, 6 * time.Second, false},
		{"cut off", func(p *pair) { p.nodes[0].line.Set(clustertest.Faults{Cut: true}) }, 7 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t)
				before, began := len(p.led()), time.Now()
				tt.end(p)
				p.until("the other leads", p.leading(1))
				if took := time.Since(began); took > tt.limit {
					t.Errorf("it took %v, want at most %v", took, tt.limit)
				}
				now := p.led()[before:]
				if len(now) != 1 || now[0].node != "n1" || now[0].clean != tt.clean {
					t.Errorf("then led %+v, want n1 alone, clean %t", now, tt.clean)
				}
				stored := len(p.stored())
				p.until("the crawl goes on", func() bool { return len(p.stored()) > stored+10 })
				if r := p.nodes[0]; r != nil && tt.name == "killed" {
					_ = p.stopOne(0, true)
				} else if r != nil {
					r.line.Set(clustertest.Faults{})
				}
				if p.nodes[0] == nil {
					p.start(0)
				}
				p.settle()
			})
		})
	}
}

// TestCopyIsMadeWhileOtherLeads: what is kept of the log is enough for a copy that is made while the crawl
// goes on, and takes its time. Without that it would come too late.
func TestCopyIsMadeWhileOtherLeads(t *testing.T) {
	for _, kept := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(t)
			p.must(p.stopOne(1, false))
			// Its seat goes when its disk is another one.
			p.dirs[1] = filepath.Join(t.TempDir(), "other disk")
			var sent bytes.Buffer
			active := p.nodes[0].active
			release := active.Keep()
			if !kept {
				release()
			}
			p.must(active.Snapshot(t.Context(), &sent))
			p.must(node.Join(t.Context(), p.meta, p.dirs[1], &sent, options()))
			time.Sleep(10 * time.Second)
			p.locked(func() { p.quiet = true })
			time.Sleep(11 * time.Minute) // the old seat leaves the set, which no longer needs the log
			p.locked(func() { p.quiet = false })
			p.start(1)
			if !kept {
				if err := <-p.nodes[1].ended; !errors.Is(err, cluster.ErrRebuild) {
					t.Errorf("it comes too late, and ends with %v, want ErrRebuild", err)
				}
				p.set(1, nil)
				return
			}
			p.until("it is in the set", func() bool { return len(p.standing(0).InSync) == 2 })
			release()
			p.settle()
		})
	}
}

// TestCampaign ends and cuts off nodes at random moments, one after the other and both at once.
func TestCampaign(t *testing.T) {
	seed := seeded.Seed(t)
	rounds := 12
	if seeded.Long() {
		rounds = 60
	}
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(seed, 42))
		p := newPair(t)
		for range rounds {
			n := r.IntN(2)
			time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond)
			switch r.IntN(4) {
			case 0:
				if err := p.stopOne(n, false); err != nil {
					p.Fatal(err)
				}
			case 1:
				_ = p.stopOne(n, true)
			case 2:
				p.nodes[n].line.Set(clustertest.Faults{Cut: r.IntN(2) == 0, OneWay: true, Delay: time.Second})
			default:
				_ = p.stopOne(0, true)
				_ = p.stopOne(1, true)
			}
			time.Sleep(time.Duration(r.IntN(9000)) * time.Millisecond)
			for i := range p.nodes {
				if p.nodes[i] == nil {
					p.start(i)
				}
				p.nodes[i].line.Set(clustertest.Faults{})
			}
			p.until("one leads", func() bool { return p.leading(0)() || p.leading(1)() })
		}
		p.settle()
		t.Logf("%d URLs, %d times led", len(p.stored()), len(p.led()))
	})
}

// TestFoundTwice: neither a store nor an engine is founded a second time.
func TestFoundTwice(t *testing.T) {
	e, dir := clustertest.NewMemory(), filepath.Join(t.TempDir(), "n0")
	if _, err := node.Found(t.Context(), e, "n0", dir, options()); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Found(t.Context(), e, "n0", filepath.Join(t.TempDir(), "other"), options()); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("the engine again: %v, want ErrFounded", err)
	}
	if _, err := node.Found(t.Context(), clustertest.NewMemory(), "n0", dir, options()); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("the store again: %v, want ErrFounded", err)
	}
}

// TestWrongEngine: a copy is not started on an engine that is empty, or holds another cluster.
func TestWrongEngine(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "n0"), clustertest.NewMemory()
	if _, err := node.Found(t.Context(), clustertest.NewMemory(), "n0", dir, options()); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Found(t.Context(), other, "n0", filepath.Join(t.TempDir(), "other"), options()); err != nil {
		t.Fatal(err)
	}
	for e, want := range map[*clustertest.Memory]error{clustertest.NewMemory(): cluster.ErrSetBack, other: cluster.ErrStranger} {
		err := node.Run(t.Context(), node.Settings{
			Name: "n0", Engine: e, Dir: dir, Store: options(), Log: slog.New(slog.DiscardHandler), Clock: cluster.SystemClock{}, Times: cluster.DefaultTimes(),
			Lead: func(context.Context, *node.Active) error { t.Error("it leads"); return nil },
		})
		if !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
	}
}

// TestEngineFromBackup: an engine that was restored from a backup is noticed by a node that starts, though it has every step of the log;
// a recovery ends that, and the other node gets to know that its copy is void.
func TestEngineFromBackup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.locked(func() { p.quiet = true })
		time.Sleep(time.Minute)
		backup := p.engine.Snapshot()
		time.Sleep(10 * time.Minute)
		v, err := p.engine.Read(t.Context(), "x")
		p.must(err)
		for _, dir := range p.dirs { // kill -9 would leave what is there now
			if self, _, err := badgerstore.MembershipOf(dir); err != nil || self.Seen < int64(v.Revision)-200 {
				t.Errorf("%d is remembered of %d, %v", self.Seen, v.Revision, err)
			}
		}
		p.must(p.stopOne(1, false))
		_ = p.stopOne(0, true)
		p.engine.SetTo(backup)
		for n := range p.nodes {
			p.start(n)
			select {
			case err := <-p.nodes[n].ended:
				if !errors.Is(err, cluster.ErrSetBack) || !strings.Contains(err.Error(), "sextant cluster recover") {
					t.Errorf("n%d: %v, want ErrSetBack and the way out", n, err)
				}
				p.set(n, nil)
			case <-time.After(time.Minute):
				t.Fatalf("n%d runs on an engine that was set back", n)
			}
		}
		_, err = node.Recover(t.Context(), p.engine, "n0", p.dirs[0], options())
		p.must(err)
		p.start(0)
		p.until("it leads", p.leading(0))
		p.start(1)
		if err := <-p.nodes[1].ended; !errors.Is(err, cluster.ErrStranger) {
			t.Errorf("the other copy: %v, want ErrStranger", err)
		}
		p.set(1, nil)
		p.must(p.stopOne(0, false))
	})
}

// TestRecover: when the engine has lost everything, a cluster begins anew from one copy, with all that it has, and
// other copies are void.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		p.locked(func() { p.quiet = true })
		time.Sleep(10 * time.Second)
		for n := range p.nodes {
			p.must(p.stopOne(n, false))
		}
		p.engine = clustertest.NewMemory()
		p.start(0)
		if err := <-p.nodes[0].ended; !errors.Is(err, cluster.ErrSetBack) {
			t.Errorf("an engine that has lost everything: %v, want ErrSetBack", err)
		}
		p.set(0, nil)
		meta, err := node.Recover(t.Context(), p.engine, "n0", p.dirs[0], options())
		p.must(err)
		if meta.Cluster != p.meta.Cluster || meta.Incarnation == p.meta.Incarnation {
			t.Errorf("recovered to %+v from %+v", meta, p.meta)
		}
		p.start(0)
		p.until("it leads", p.leading(0))
		p.start(1)
		if err := <-p.nodes[1].ended; !errors.Is(err, cluster.ErrStranger) {
			t.Errorf("the other copy: %v, want ErrStranger", err)
		}
		p.set(1, nil)
		before := len(p.stored())
		p.locked(func() { p.quiet = false })
		p.until("the crawl goes on", func() bool { return len(p.stored()) > before+5 })
		p.must(p.stopOne(0, false))
		sound(p.T, p.dirs[0], p.stored())
	})
}
