package shared_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster of nodes that beat, in a bubble.
type world struct {
	*testing.T
	engine *clustertest.Memory

	mu      sync.Mutex
	active  map[int64]string // by number, as nodes and Apply have seen it
	running map[string]shared.Version
	unfit   map[string]error
	bad     func(node, content string) error
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, engine: clustertest.NewMemory(), active: map[int64]string{}, running: map[string]shared.Version{}, unfit: map[string]error{}}
	w.bad = func(node, content string) error {
		if strings.Contains(content, "bad for "+node) || strings.Contains(content, "bad for all") {
			return fmt.Errorf("CrawlConfig.xml:3:1: %s cannot use it", node)
		}
		return nil
	}
	if _, err := cluster.Found(t.Context(), w.engine, cluster.Founding{Seat: cluster.Seat{Node: "n0", Store: "s"}, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return w
}

// process is a node that runs.
type process struct {
	line *clustertest.Line
	stop func()
}

// start lets a node beat and take part; talks: it does take part.
func (w *world) start(name string, seed uint64, talks bool) *process {
	p := &process{line: clustertest.NewLine(w.engine, seed)}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, _ = p.line.Commit(ctx, cluster.Step{Then: []cluster.Write{{Key: fmt.Sprintf("beat/%s/%d", name, seed), Value: fmt.Append(nil, n)}}})
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	if talks {
		all.Go(func() {
			n := shared.Node{Name: name, Engine: p.line, Clock: clustertest.NewClock(1), Times: cluster.DefaultTimes(), Prepare: w.prepare(name, p)}
			n.Unfit = func(_ shared.Version, err error) { w.locked(func() { w.unfit[name] = err }) }
			if err := n.Run(ctx); err != nil {
				w.Errorf("%s: %v", name, err)
			}
		})
	}
	p.stop = func() { cancel(); all.Wait(); w.locked(func() { delete(w.running, name) }) }
	return p
}

// prepare compiles for a node. What it puts in force must be in force in the cluster.
func (w *world) prepare(name string, _ *process) func(context.Context, shared.Version, []byte) (func() error, error) {
	return func(_ context.Context, v shared.Version, content []byte) (func() error, error) {
		if err := w.bad(name, string(content)); err != nil {
			return nil, err
		}
		return func() error {
			now, _, err := shared.Active(context.Background(), w.engine)
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil || now.Number < v.Number {
				w.Errorf("%s runs configuration %d, and %d is in force, %v", name, v.Number, now.Number, err)
			}
			if old := w.running[name]; v.Number <= old.Number {
				w.Errorf("%s goes from configuration %d to %d", name, old.Number, v.Number)
			}
			w.running[name] = v
			w.is(v.Number, string(content))
			return nil
		}, nil
	}
}

// is notes which configuration has a number: none ever has two. w.mu is held.
func (w *world) is(number int64, content string) {
	if old, known := w.active[number]; known && old != content {
		w.Errorf("configuration %d is %.40q and %.40q", number, old, content)
	}
	w.active[number] = content
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

func (w *world) apply(e cluster.Engine, base int64, content string) error {
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	return shared.Apply(ctx, e, clustertest.NewClock(1), cluster.DefaultTimes(), shared.Proposal{Base: base, Content: []byte(content), By: "a test"})
}

// all waits until all nodes named run a configuration.
func (w *world) all(number int64, names ...string) {
	w.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		n := 0
		w.locked(func() {
			for _, name := range names {
				if w.running[name].Number == number {
					n++
				}
			}
		})
		if n == len(names) {
			return
		}
		if time.Since(began) > 3*time.Minute {
			w.Fatalf("not all of %v run configuration %d: %v", names, number, w.running)
		}
	}
}

// TestSwitch: all that live swap, or nothing changes and the words say whose fault it is.
func TestSwitch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 3 {
			defer w.start(fmt.Sprint("n", i), uint64(i), true).stop()
		}
		noise := make([]byte, 3<<20) // several parts
		for i, r := 0, rand.New(rand.NewPCG(1, 1)); i < len(noise); i++ {
			noise[i] = byte(r.Uint32())
		}
		if err := w.apply(w.engine, 0, string(noise)); err != nil {
			t.Fatal(err)
		}
		w.all(1, "n0", "n1", "n2")
		err := w.apply(w.engine, 1, "bad for n2")
		if !errors.Is(err, shared.ErrRefused) || !strings.Contains(err.Error(), "node n2: CrawlConfig.xml:3:1") {
			t.Errorf("one that n2 cannot use: %v", err)
		}
		if err := w.apply(w.engine, 0, "from an old one"); !errors.Is(err, shared.ErrChanged) || !strings.Contains(err.Error(), "a test") {
			t.Errorf("one made from an old one: %v", err)
		}
		time.Sleep(10 * time.Second)
		w.all(1, "n0", "n1", "n2")
		v, content, err := shared.Active(t.Context(), w.engine)
		if err != nil || v.Number != 1 || string(content) != string(noise) {
			t.Errorf("in force is %d, %d bytes, %v", v.Number, len(content), err)
		}
		if err := w.apply(w.engine, 1, "good"); err != nil {
			t.Error(err)
		}
		w.all(2, "n0", "n1", "n2")
		if parts, err := w.engine.List(t.Context(), "shared/part/", "shared/part0", 100); err != nil || len(parts.Keys) > 10 {
			t.Errorf("%d parts are left, %v", len(parts.Keys), err)
		}
		if err := w.apply(w.engine, 2, "better"); err != nil {
			t.Error(err)
		}
		if parts, err := w.engine.List(t.Context(), "shared/part/", "shared/part0", 100); err != nil || len(parts.Keys) != 2 {
			t.Errorf("%d parts are left, %v, want those of two configurations", len(parts.Keys), err)
		}
	})
}

// TestWhoIsWaitedFor: a node that lives and says nothing, for a minute; a dead one, until it is silent; nobody where
// none runs.
func TestWhoIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		took := func(base int64) (time.Duration, error) {
			began := time.Now()
			err := w.apply(w.engine, base, fmt.Sprint("made from ", base))
			return time.Since(began), err
		}
		if d, err := took(0); err != nil || d > 5*time.Second {
			t.Errorf("without nodes: %v after %v", err, d)
		}
		n0, n1 := w.start("n0", 0, true), w.start("n1", 1, true)
		defer n0.stop()
		w.all(1, "n0", "n1")
		n1.stop()
		if d, err := took(1); err != nil || d > 6*time.Second {
			t.Errorf("with a dead node: %v after %v", err, d)
		}
		silent := w.start("n1", 2, false)
		d, err := took(2)
		if !errors.Is(err, shared.ErrRefused) || !strings.Contains(err.Error(), "node n1 did not say") || d < 60*time.Second || d > 70*time.Second {
			t.Errorf("with a node that says nothing: %v after %v", err, d)
		}
		silent.stop()
		if _, err := took(2); err != nil {
			t.Error(err)
		}
		w.all(3, "n0")
	})
}

// TestUnfitNode: a node that starts and cannot use what is in force says so, until it can.
func TestUnfitNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if err := w.apply(w.engine, 0, "bad for n1"); err != nil {
			t.Fatal(err)
		}
		defer w.start("n0", 0, true).stop()
		defer w.start("n1", 1, true).stop()
		w.all(1, "n0")
		unfit := func() (err error) { w.locked(func() { err = w.unfit["n1"] }); return err }
		time.Sleep(30 * time.Second)
		if err := unfit(); err == nil || !strings.Contains(err.Error(), "n1 cannot use it") {
			t.Errorf("n1 is unfit because of %v", err)
		}
		if err := w.apply(w.engine, 1, "the remedy"); err != nil {
			t.Fatal(err)
		}
		w.all(2, "n0", "n1")
		if err := unfit(); err != nil {
			t.Errorf("n1 is still unfit: %v", err)
		}
	})
}

// TestDeadBetweenReadyAndActive: a node that has said that it is ready, and dies before the others have, goes by the version when it is back.
func TestDeadBetweenReadyAndActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start("n0", 0, true).stop()
		n1, slow := w.start("n1", 1, true), w.start("n2", 2, false)
		ended := make(chan error, 1)
		time.Sleep(2 * time.Second) // all have beaten
		go func() { ended <- w.apply(w.engine, 0, "one") }()
		time.Sleep(5 * time.Second) // n2 has said nothing yet
		if v, err := w.engine.Read(t.Context(), "shared/ready/n1"); err != nil || v.Keys[0].Revision == 0 {
			t.Fatalf("n1 has not said that it is ready: %v", err)
		}
		n1.stop()
		slow.stop()
		defer w.start("n2", 3, true).stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		w.all(1, "n0", "n2")
		defer w.start("n1", 4, true).stop()
		w.all(1, "n1")
	})
}

// TestTrial: all nodes are asked, and nothing comes into force.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.start("n0", 0, true).stop()
		time.Sleep(2 * time.Second) // it has beaten
		if err := w.apply(w.engine, 0, "one"); err != nil {
			t.Fatal(err)
		}
		w.all(1, "n0")
		try := func(content string) error {
			return shared.Apply(t.Context(), w.engine, clustertest.NewClock(1), cluster.DefaultTimes(), shared.Proposal{Base: 1, Content: []byte(content), Trial: true})
		}
		if err := try("two"); err != nil {
			t.Error(err)
		}
		if err := try("bad for n0"); !errors.Is(err, shared.ErrRefused) || !strings.Contains(err.Error(), "n0 cannot use it") {
			t.Errorf("what n0 cannot use: %v", err)
		}
		if v, content, err := shared.Active(t.Context(), w.engine); err != nil || v.Number != 1 || string(content) != "one" {
			t.Errorf("in force is %d, %s, %v", v.Number, content, err)
		}
		if err := w.apply(w.engine, 1, "two"); err != nil {
			t.Error(err)
		}
		w.all(2, "n0")
	})
}

// TestBegin: the first of two that begin wins; what is begun over another one ends what was proposed, and needs no node.
func TestBegin(t *testing.T) {
	w := newWorld(t)
	begin := func(over shared.Version, content string, base int64) error {
		return shared.Begin(t.Context(), w.engine, cluster.SystemClock{}, over, shared.Proposal{Base: base, Content: []byte(content), By: "n0"})
	}
	if err := begin(shared.Version{}, "one", 0); err != nil {
		t.Fatal(err)
	}
	if err := begin(shared.Version{}, "late", 0); !errors.Is(err, shared.ErrChanged) {
		t.Errorf("a second one: %v", err)
	}
	v, content, err := shared.Active(t.Context(), w.engine)
	if err != nil || v.Number != 1 || string(content) != "one" {
		t.Fatalf("in force is %d, %s, %v", v.Number, content, err)
	}
	if err := begin(v, "recovered", 7); err != nil {
		t.Fatal(err)
	}
	if v, content, err = shared.Active(t.Context(), w.engine); err != nil || v.Number != 8 || string(content) != "recovered" {
		t.Errorf("in force is %d, %s, %v", v.Number, content, err)
	}
}

// TestForgedNumber: a version with a number that nobody reaches blocks later ones, with words that say how to get out.
func TestForgedNumber(t *testing.T) {
	w := newWorld(t)
	forged := shared.Proposal{Base: 1<<62 - 1, Content: []byte("forged"), By: "somebody"}
	if err := shared.Begin(t.Context(), w.engine, cluster.SystemClock{}, shared.Version{}, forged); err != nil {
		t.Fatal(err)
	}
	v, _, err := shared.Active(t.Context(), w.engine)
	if err != nil {
		t.Fatal(err)
	}
	err = shared.Apply(t.Context(), w.engine, cluster.SystemClock{}, cluster.DefaultTimes(), shared.Proposal{Base: v.Number, Content: []byte("next")})
	if !errors.Is(err, shared.ErrForged) || !strings.Contains(err.Error(), "cluster recover") {
		t.Errorf("a version after %d: %v", v.Number, err)
	}
	// What recover does.
	if err := shared.Begin(t.Context(), w.engine, cluster.SystemClock{}, v, shared.Proposal{Base: 6, Content: []byte("the last true one")}); err != nil {
		t.Fatal(err)
	}
	if v, _, err = shared.Active(t.Context(), w.engine); err != nil || v.Number != 7 {
		t.Errorf("in force is %d, %v, want 7", v.Number, err)
	}
}

// TestSay: what nodes say of themselves is seen by all, and written when it is news.
func TestSay(t *testing.T) {
	e := clustertest.NewMemory()
	said := shared.Said{Node: "n1", Version: 3, File: shared.FileDiffers, FileSum: "abc", Files: map[string]string{"crawl.rules": "1", "kill.txt": ""}}
	for range 2 {
		if err := shared.Say(t.Context(), e, said); err != nil {
			t.Fatal(err)
		}
	}
	before, err := e.Read(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Say(t.Context(), e, said); err != nil {
		t.Fatal(err)
	}
	if now, err := e.Read(t.Context(), "x"); err != nil || now.Revision != before.Revision {
		t.Errorf("what is no news is written: %d, %d, %v", now.Revision, before.Revision, err)
	}
	o, err := shared.Look(t.Context(), e)
	if err != nil || o.Of("n1") == nil || !reflect.DeepEqual(*o.Of("n1"), said) || o.Of("n2") != nil {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestOtherFiles: files are compared that two nodes have for the same version, as far as both know them.
func TestOtherFiles(t *testing.T) {
	files := func(version int64, files map[string]string) *shared.Said {
		return &shared.Said{Version: version, Files: files}
	}
	mine := files(3, map[string]string{"crawl.rules": "1", "kill.txt": "2", "roots.txt": "", "same.txt": "5", "mine.txt": "6"})
	for name, c := range map[string]struct {
		of   *shared.Said
		want []string
	}{
		"all":             {files(3, map[string]string{"crawl.rules": "7", "kill.txt": "", "roots.txt": "8", "same.txt": "5", "its.txt": "9"}), []string{"crawl.rules", "kill.txt", "roots.txt"}},
		"another version": {files(4, map[string]string{"crawl.rules": "7"}), nil},
		"an older node":   {files(3, nil), nil},
		"nobody":          {nil, nil},
	} {
		if got := mine.Others(c.of); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestValues: two that change one value at a time lose nothing, and what is to be done once is done by one.
func TestValues(t *testing.T) {
	e := clustertest.NewMemory()
	var paused bool
	at, err := shared.Value(t.Context(), e, "paused", &paused)
	if err != nil || at != 0 || paused {
		t.Fatalf("before: %v at %d, %v", paused, at, err)
	}
	if err := shared.SetValue(t.Context(), e, "paused", at, true); err != nil {
		t.Fatal(err)
	}
	if err := shared.SetValue(t.Context(), e, "paused", at, false); !errors.Is(err, shared.ErrChanged) || !strings.Contains(err.Error(), "paused") {
		t.Errorf("over an old one: %v", err)
	}
	if at, err = shared.Value(t.Context(), e, "paused", &paused); err != nil || !paused {
		t.Errorf("then: %v, %v", paused, err)
	}
	if err := shared.SetValue(t.Context(), e, "paused", at, false); err != nil {
		t.Error(err)
	}
	for i, want := range []bool{true, false, true} {
		by := []string{"n1", "n2", "n1"}[i]
		if mine, err := shared.Once(t.Context(), e, "unprotected since noon", by); err != nil || mine != want {
			t.Errorf("%s: %v, %v, want %v", by, mine, err, want)
		}
	}
}

// TestModel: nodes live, die, are cut off and hear late; several change the configuration at once. No number has two
// configurations, no node runs one that is not in force or goes back, what was made from one is put in force once at most, what
// no node can use never is, and in the end all run the same.
func TestModel(t *testing.T) {
	seed, schedules := seeded.Seed(t), 8
	if seeded.Long() {
		schedules = 100
	}
	total := int64(0)
	for i := range uint64(schedules) {
		synctest.Test(t, func(t *testing.T) { total += model(t, seed+i) })
	}
	if total < 3*int64(schedules) {
		t.Errorf("%d configurations came into force in %d schedules: they show little", total, schedules)
	}
}

func model(t *testing.T, seed uint64) int64 {
	r := rand.New(rand.NewPCG(seed, 52))
	w := newWorld(t)
	names := []string{"n0", "n1", "n2"}
	var nodes [3]*process
	for i := range nodes {
		nodes[i] = w.start(names[i], r.Uint64(), true)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	won, refused := map[int64]string{}, map[string]bool{}
	for n := range 2 {
		line, seed := clustertest.NewLine(w.engine, r.Uint64()), r.Uint64()
		line.Set(clustertest.Faults{Delay: time.Second, Lost: 0.1, Late: 0.05, Repeat: 0.5})
		writers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for i := 0; ctx.Err() == nil; i++ {
				content := fmt.Sprintf("%d of writer %d", i, n)
				if r.IntN(3) == 0 {
					content += ", bad for all"
				}
				v, _, err := shared.Active(ctx, line)
				if err == nil {
					err = w.apply(line, v.Number, content)
				}
				switch {
				case errors.Is(err, shared.ErrRefused) || errors.Is(err, shared.ErrChanged):
					w.locked(func() { refused[content] = true })
				case err == nil:
					w.locked(func() {
						if first, twice := won[v.Number+1]; twice {
							t.Errorf("seed %d: %q and %q are both in force as %d", seed, first, content, v.Number+1)
						}
						won[v.Number+1] = content
						w.is(v.Number+1, content)
					})
				}
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			}
		})
	}
	for range 100 {
		time.Sleep(time.Duration(r.IntN(15_000)) * time.Millisecond)
		i := 1 + r.IntN(2) // n0 always lives, or what is bad for all might be put in force for nobody
		switch r.IntN(4) {
		case 0:
			nodes[i].stop()
			nodes[i] = w.start(names[i], r.Uint64(), true)
		case 1:
			nodes[i].line.Set(clustertest.Faults{Cut: r.IntN(2) == 0, OneWay: true})
		case 2:
			nodes[r.IntN(3)].line.Set(clustertest.Faults{Delay: 500 * time.Millisecond, Lost: 0.2, Late: 0.1, Repeat: 0.3})
		default:
			nodes[i].line.Set(clustertest.Faults{})
		}
	}
	cancel()
	writers.Wait()
	for i := range nodes {
		nodes[i].line.Set(clustertest.Faults{})
	}
	time.Sleep(3 * time.Minute) // what was proposed has come to its end
	v, _, err := shared.Active(t.Context(), w.engine)
	if err != nil {
		t.Error(err)
	}
	w.all(v.Number, names...)
	w.locked(func() {
		for n, content := range w.active {
			if strings.Contains(content, "bad") || refused[content] {
				t.Errorf("seed %d: configuration %d is %q", seed, n, content)
			}
		}
	})
	for i := range nodes {
		nodes[i].stop()
	}
	return v.Number
}
