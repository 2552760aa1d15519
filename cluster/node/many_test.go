package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

const parts = 4

// several are nodes of a cluster of several partitions, each with stores on the disk and HTTPS between them, in a bubble.
type several struct {
	*testing.T
	engine *clustertest.Memory
	token  peer.Token
	folder string
	times  cluster.Times
	copies int // of each partition

	mu    sync.Mutex
	ears  map[string]*ear
	nodes map[string]*one
	acked [parts][]string
	id    int
	free  map[string]int64 // room on the disks; not there: enough
}

// one is a node that runs.
type one struct {
	*several
	name   string
	line   *clustertest.Line
	stop   context.CancelFunc
	ended  chan error
	active map[cluster.Partition]*node.Active
	led    map[int]int
}

// ear is a listener whose connections never leave the process.
type ear struct {
	calls chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (e *ear) Accept() (net.Conn, error) {
	select {
	case c := <-e.calls:
		return c, nil
	case <-e.done:
		return nil, net.ErrClosed
	}
}

func (e *ear) Close() error {
	e.once.Do(func() { close(e.done) })
	return nil
}

func (e *ear) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)} }

func (s *several) dial(ctx context.Context, _, address string) (net.Conn, error) {
	s.mu.Lock()
	e := s.ears[address]
	s.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("%s does not listen", address)
	}
	near, far := net.Pipe()
	select {
	case e.calls <- far:
		return near, nil
	case <-e.done:
		return nil, fmt.Errorf("%s does not listen any more", address)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newSeveral(t *testing.T, copies int) *several {
	t.Helper()
	s := &several{T: t, copies: copies, engine: clustertest.NewMemory(), folder: t.TempDir(), times: cluster.DefaultTimes(), ears: map[string]*ear{}, nodes: map[string]*one{}, free: map[string]int64{}}
	var err error
	if s.token, err = peer.ParseToken(peer.NewToken()); err != nil {
		t.Fatal(err)
	}
	if _, err := node.FoundDivided(t.Context(), s.engine, "n1", s.dir("n1"), parts, copies, options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after a failure
		for name := range s.nodes {
			s.end(name, true)
		}
	})
	return s
}

// minFree is what a node must have to write at all.
const minFree = 4 << 20

// options are those of a node's stores: what is free is what the test says.
func (n *one) options() badgerstore.Options {
	o := options()
	o.MinFree = minFree
	o.Space = func(string) (free, size int64, err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if free, set := n.free[n.name]; set {
			return free, 1 << 40, nil
		}
		return 1 << 39, 1 << 40, nil
	}
	return o
}

func (s *several) dir(name string) string { return filepath.Join(s.folder, name) }

func (s *several) run(name string) {
	s.Helper()
	ctx, stop := context.WithCancel(context.Background())
	n := &one{several: s, name: name, line: clustertest.NewLine(s.engine, 1), stop: stop, ended: make(chan error, 1), active: map[cluster.Partition]*node.Active{}, led: map[int]int{}}
	e := &ear{calls: make(chan net.Conn), done: make(chan struct{})}
	s.mu.Lock()
	s.nodes[name], s.ears[name+":1"] = n, e
	s.mu.Unlock()
	config, err := peer.ServerConfig()
	if err != nil {
		s.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	answers := node.WithBodies(s.dir(name), node.Handler(n.leading, log), log)
	server := &http.Server{TLSConfig: config, Handler: peer.Guard(s.token, answers), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	var served sync.WaitGroup
	served.Go(func() { _ = server.ServeTLS(e, "", "") })
	go func() {
		err := node.Run(ctx, node.Settings{
			Name: name, Engine: n.line, Dir: s.dir(name), Store: n.options(), Log: log, Clock: clustertest.NewClock(1), Times: s.times,
			Addresses: cluster.Addresses{Peer: name + ":1"}, Lead: n.crawl,
			Others: &node.Elsewhere{Client: &peer.Client{Token: s.token, Dial: s.dial}, Addresses: func() ([]string, error) { return nil, nil }},
		})
		err = errors.Join(err, server.Close())
		served.Wait()
		n.ended <- err
	}()
}

func (n *one) leading(p cluster.Partition) *node.Active {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.active[p]
}

// crawl adds a URL now and then, until another node is to go on.
func (n *one) crawl(ctx context.Context, a *node.Active) error {
	n.mu.Lock()
	n.active[cluster.Partition(a.Partition)] = a
	n.led[a.Partition]++
	n.mu.Unlock()
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.active, cluster.Partition(a.Partition))
	}()
	for {
		n.mu.Lock()
		n.id++
		url := fmt.Sprintf("http://h%d.test/%d", a.Partition, n.id)
		n.mu.Unlock()
		if _, _, err := a.Store.Add(ctx, []scheduler.Link{storetest.Link(url, scheduler.Index)}, false); err != nil {
			return err
		}
		n.mu.Lock()
		n.acked[a.Partition] = append(n.acked[a.Partition], url)
		n.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.Leaving():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (s *several) end(name string, kill bool) {
	s.Helper()
	n := s.nodes[name]
	if kill {
		n.line.Set(clustertest.Faults{Dead: true})
	}
	n.stop()
	if err := <-n.ended; err != nil && !kill {
		s.Errorf("%s: %v", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.ears[name+":1"].Close()
	delete(s.nodes, name)
	delete(s.ears, name+":1")
}

// until waits until each node leads so many partitions at least, and each partition has its copies in sync.
func (s *several) until(want map[string]int) {
	s.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) {
		state, err := cluster.Glance(s.Context(), s.engine, nil)
		if err != nil {
			s.Fatal(err)
		}
		ok := true
		s.mu.Lock()
		for name, n := range want {
			ok = ok && s.nodes[name] != nil && len(s.nodes[name].active) >= n
		}
		s.mu.Unlock()
		for _, p := range state.States {
			n := min(s.copies, len(s.nodes))
			ok = ok && len(p.InSync) == n && len(p.Members) == n
		}
		if ok {
			return
		}
		if time.Since(began) > 30*time.Minute {
			for _, p := range state.States {
				s.Logf("%s: %s, in sync %v, map %v", p.Partition, p.Owner.Node, p.InSync, p.Members)
			}
			s.Fatalf("not %v", want)
		}
	}
}

// compare ends all, and wants each copy that counts to be sound, equal to the others, and to have what was acknowledged.
func (s *several) compare() {
	s.Helper()
	for name := range s.nodes {
		s.end(name, false)
	}
	state, err := cluster.Glance(s.Context(), s.engine, nil) // those that ran last may have moved something
	if err != nil {
		s.Fatal(err)
	}
	for i, p := range state.States {
		var sent []*bytes.Buffer
		var ends []uint64
		furthest, to := "", uint64(0)
		for _, seat := range p.InSync {
			dir := node.StoreDir(s.dir(seat.Node), parts, p.Partition)
			r, err := badgerstore.OpenReplica(dir, options())
			if err != nil {
				s.Fatal(err)
			}
			b := &bytes.Buffer{}
			if err := errors.Join(r.Snapshot(s.Context(), b), r.Close()); err != nil {
				s.Error(err)
			}
			sent, ends = append(sent, b), append(ends, r.Applied().Seq)
			if at := r.Applied().Seq; at > to {
				furthest, to = dir, at
			}
		}
		sound(s.T, furthest, s.acked[i])
		for i := range ends {
			if ends[i] == ends[0] && !bytes.Equal(sent[i].Bytes(), sent[0].Bytes()) {
				s.Errorf("%s: the copies differ", p.Partition)
			}
		}
	}
}

// three runs three nodes, which share the partitions.
func (s *several) three() {
	s.run("n1")
	s.run("n2")
	s.until(map[string]int{"n1": 2, "n2": 2})
	s.run("n3")
	s.until(map[string]int{"n1": 1, "n2": 1, "n3": 1})
}

// TestSeveralPartitions: nodes get copies of partitions over HTTPS while these are written to, take some over, and hand over again; one that
// was killed comes back, one whose copies are gone gets them again.
func TestSeveralPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, 2)
		s.three()
		s.backups()
		s.end("n3", true)
		time.Sleep(10 * time.Second)
		s.run("n3")
		s.until(map[string]int{"n3": 1})
		s.compare()
	})
}

// TestOwnerFull: what a node has whose disk is full goes to others, and comes back when there is room, not before, however often the node is started, and
// also where there is room to follow, and not to lead.
func TestOwnerFull(t *testing.T) {
	for _, copies := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d copies", copies), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { ownerFull(t, copies) })
		})
	}
}

func ownerFull(t *testing.T, copies int) {
	s := newSeveral(t, copies)
	s.three()
	set := func(free int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free["n1"] = free
	}
	others := func(words string, long time.Duration) {
		t.Helper()
		for began := time.Now(); time.Since(began) < long; time.Sleep(100 * time.Millisecond) {
			s.mu.Lock()
			led := 0
			for _, n := range []string{"n2", "n3"} {
				led += len(s.nodes[n].active)
			}
			s.mu.Unlock()
			if time.Since(began) > 5*time.Second && led != parts {
				t.Fatalf("%s, after %v: the others lead %d of %d", words, time.Since(began), led, parts)
			}
		}
	}
	set(minFree - 1)
	for range 5 {
		if err := <-s.nodes["n1"].ended; !errors.Is(err, scheduler.ErrFull) {
			t.Fatalf("it ended: %v", err)
		}
		others("full", 30*time.Second) // as systemd waits
		s.run("n1")
	}
	if err := <-s.nodes["n1"].ended; !errors.Is(err, scheduler.ErrFull) {
		t.Fatalf("it ended: %v", err)
	}
	set(2 * minFree)
	s.run("n1")
	others("room to follow", 3*time.Minute)
	s.until(map[string]int{"n2": 1, "n3": 1})
	if n := len(s.nodes["n1"].led); n > 0 {
		t.Errorf("it has led %d partitions without room", n)
	}
	set(1 << 39)
	s.until(map[string]int{"n1": 1, "n2": 1, "n3": 1})
	s.compare()
}

// TestCopyIsRead: a node that starts while a command reads one of its copies waits for that, and leads what else it has.
func TestCopyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, 2)
		read := options()
		read.ReadOnly = true
		command, err := badgerstore.Open(node.StoreDir(s.dir("n1"), parts, 1), read)
		if err != nil {
			t.Fatal(err)
		}
		s.run("n1")
		time.Sleep(time.Minute)
		if n := s.nodes["n1"]; n.leading(0) == nil || n.leading(1) != nil {
			t.Error("it does not lead what it has, or leads what is read")
		}
		if err := command.Close(); err != nil {
			t.Fatal(err)
		}
		s.run("n2")
		s.until(map[string]int{"n1": 2, "n2": 2})
		s.compare()
	})
}

// backups wants the backup of each partition, which the node that leads it writes, to have what is in it.
func (s *several) backups() {
	s.Helper()
	c, dir := &peer.Client{Token: s.token, Dial: s.dial}, s.TempDir()
	found := 0
	for name, n := range s.nodes {
		for p := range cluster.Partition(parts) {
			var b bytes.Buffer
			_, _, err := node.Backup(s.Context(), c, name+":1", p, &b)
			if n.leading(p) == nil {
				if !errors.Is(err, peer.ErrMissing) {
					s.Errorf("%s of %s, which another node leads: %v", p, name, err)
				}
				continue
			}
			if err != nil {
				s.Fatal(err)
			}
			found++
			to := filepath.Join(dir, p.String())
			if _, err := badgerstore.Restore(s.Context(), to, &b, options()); err != nil {
				s.Fatal(err)
			}
			s.mu.Lock()
			first := s.acked[p][:1]
			s.mu.Unlock()
			sound(s.T, to, first)
		}
		if _, err := c.Get(s.Context(), name+":1", node.PathOf("/v1/copy", 24)); err == nil || !strings.Contains(err.Error(), "Bad Request") {
			s.Errorf("partition 24: %v", err)
		}
	}
	if found != parts {
		s.Errorf("%d backups, want %d", found, parts)
	}
}

// TestRecoverSeveral: a node that has all copies begins the cluster anew; one that has not says which are missing. The copies of others are
// void, and made anew.
func TestRecoverSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, 2)
		s.run("n1")
		s.run("n2")
		s.until(map[string]int{"n1": 2, "n2": 2})
		s.end("n2", false)
		time.Sleep(10 * time.Second)
		s.end("n1", false)
		if err := (&one{several: s}).gone("n2", 2); err != nil {
			t.Fatal(err)
		}
		if _, err := node.Recover(t.Context(), s.engine, "n2", s.dir("n2"), options()); err == nil || !strings.Contains(err.Error(), "p02") {
			t.Errorf("with p02 missing: %v, want that in words", err)
		}
		meta, err := node.Recover(t.Context(), s.engine, "n1", s.dir("n1"), options())
		if err != nil || meta.Partitions != parts {
			t.Fatal(meta, err)
		}
		s.run("n1")
		s.run("n2")
		s.until(map[string]int{"n1": 2, "n2": 2})
		s.compare()
	})
}

// gone takes a copy away.
func (n *one) gone(name string, p cluster.Partition) error {
	return os.RemoveAll(node.StoreDir(n.dir(name), parts, p))
}

// TestFoundDivided: a store that is there is not divided, and a founding of other numbers goes on as it was begun.
func TestFoundDivided(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := badgerstore.Open(dir, options())
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := node.FoundDivided(t.Context(), clustertest.NewMemory(), "n1", dir, 4, 2, options()); err == nil || !badgerstore.Exists(dir) {
		t.Errorf("a store that is there: %v", err)
	}
	for _, wrong := range [][2]int{{0, 0}, {25, 2}, {4, 1}, {4, 4}, {1, 2}} {
		if _, err := node.FoundDivided(t.Context(), clustertest.NewMemory(), "n1", dir+"2", wrong[0], wrong[1], options()); err == nil {
			t.Errorf("%v: no error", wrong)
		}
	}
	lost := clustertest.NewLine(clustertest.NewMemory(), 1)
	lost.Set(clustertest.Faults{Dead: true})
	if _, err := node.FoundDivided(t.Context(), lost, "n1", dir+"3", 2, 2, options()); err == nil {
		t.Error("without an engine")
	}
	e := clustertest.NewMemory()
	if _, err := node.FoundDivided(t.Context(), e, "n1", dir+"3", 2, 2, options()); err != nil {
		t.Error(err)
	}
	if _, err := node.FoundDivided(t.Context(), e, "n1", dir+"3", 2, 2, options()); !errors.Is(err, cluster.ErrFounded) {
		t.Errorf("again: %v, want ErrFounded", err)
	}
}
