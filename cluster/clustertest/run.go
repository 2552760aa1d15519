package clustertest

// run.go: the suite. Some of its tests start goroutines, and wait for them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/cluster"
)

// patience is how long the suite waits for what must come: long enough for a busy machine.
const patience = 2 * time.Minute

// Open gives two engines that reach the same empty store, as two nodes do. The suite closes them.
type Open func(t *testing.T) (a, b cluster.Engine)

// Run tries the contract of cluster.Engine.
func Run(t *testing.T, open Open) {
	tests := map[string]func(*suite){
		"Absent": absent, "Conditions": conditions, "Whole": whole, "Revisions": revisions, "Remove": remove,
		"List": list, "OneMoment": oneMoment, "Counter": counter, "Wait": wait, "Compact": compact, "Sizes": sizes,
		"Usage": usage, "Ended": ended, "Close": closing,
	}
	for name, try := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			a, b := open(t)
			s := &suite{TB: t, ctx: ctx, a: a, b: b}
			defer s.close()
			try(s)
		})
	}
}

type suite struct {
	testing.TB
	ctx  context.Context
	a, b cluster.Engine
}

func (s *suite) close() {
	for _, e := range []cluster.Engine{s.a, s.b} {
		if err := e.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	}
}

// commit sends a step until it is decided. Steps of the suite may be sent twice.
func (s *suite) commit(e cluster.Engine, step cluster.Step) cluster.Outcome {
	s.Helper()
	for {
		out, err := e.Commit(s.ctx, step)
		if err == nil {
			return out
		}
		if s.ctx.Err() != nil || errors.Is(err, cluster.ErrRefused) && !errors.Is(err, cluster.ErrBusy) {
			s.Fatalf("Commit: %v", err)
		}
	}
}

func (s *suite) put(e cluster.Engine, pairs ...string) cluster.Revision {
	s.Helper()
	var step cluster.Step
	for i := 0; i < len(pairs); i += 2 {
		step.Then = append(step.Then, cluster.Write{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	out := s.commit(e, step)
	if !out.Taken {
		s.Fatal("a step without conditions was not taken")
	}
	return out.Revision
}

func (s *suite) read(e cluster.Engine, keys ...string) cluster.View {
	s.Helper()
	for {
		v, err := e.Read(s.ctx, keys...)
		if err == nil {
			return v
		}
		if s.ctx.Err() != nil || !errors.Is(err, cluster.ErrUnavailable) {
			s.Fatalf("Read: %v", err)
		}
	}
}

func (s *suite) list(e cluster.Engine, from, to string, limit int) cluster.View {
	s.Helper()
	for {
		v, err := e.List(s.ctx, from, to, limit)
		if err == nil {
			return v
		}
		if s.ctx.Err() != nil || !errors.Is(err, cluster.ErrUnavailable) {
			s.Fatalf("List: %v", err)
		}
	}
}

// all lists in as many calls as it takes.
func (s *suite) all(e cluster.Engine, from, to string) (keys []cluster.KeyValue) {
	s.Helper()
	for {
		v := s.list(e, from, to, 1000)
		keys = append(keys, v.Keys...)
		if !v.More {
			return keys
		}
		from = keys[len(keys)-1].Key + "\x00"
	}
}

func (s *suite) equal(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func texts(kvs []cluster.KeyValue) (all []string) {
	for _, kv := range kvs {
		all = append(all, kv.Key+"="+string(kv.Value))
	}
	return all
}

func absent(s *suite) {
	v := s.read(s.a, "x", "y")
	s.equal("keys", []cluster.KeyValue{{Key: "x"}, {Key: "y"}}, v.Keys)
	at := s.put(s.a, "x", "")
	if v := s.read(s.b, "x"); v.Keys[0].Revision != at || len(v.Keys[0].Value) != 0 {
		s.Errorf("an empty value is no absent key: %+v, want revision %d", v.Keys[0], at)
	}
	binary := string([]byte{0, 255, 10, 0, 200})
	s.put(s.a, "x", binary)
	s.equal("a binary value", []string{"x=" + binary}, texts(s.read(s.b, "x").Keys))
}

func conditions(s *suite) {
	x := s.put(s.a, "x", "1")
	y := s.put(s.a, "y", "1")
	for _, c := range []struct {
		x, y, z cluster.Revision
		want    bool
	}{{x, y, 0, true}, {x, y, 1, false}, {0, y, 0, false}, {x, x, 0, false}, {x + 1, y, 0, false}, {x, y, y, false}} {
		out := s.commit(s.b, cluster.Step{
			If:   []cluster.Condition{{Key: "x", Revision: c.x}, {Key: "z", Revision: c.z}, {Key: "y", Revision: c.y}},
			Then: []cluster.Write{{Key: "done", Value: []byte("by it")}},
		})
		if out.Taken != c.want {
			s.Errorf("%+v: taken %v", c, out.Taken)
		}
		if !out.Taken {
			s.equal("found", []cluster.KeyValue{{Key: "x", Value: []byte("1"), Revision: x}, {Key: "z"}, {Key: "y", Value: []byte("1"), Revision: y}}, out.Found)
			if now := s.read(s.a, "x").Revision; out.Revision > now || out.Revision < y {
				s.Errorf("a step that was not taken is at revision %d; the engine is at %d", out.Revision, now)
			}
		}
		written := s.read(s.a, "done").Keys[0].Revision
		if (written != 0) != c.want {
			s.Errorf("%+v: the write is at revision %d", c, written)
		}
		if c.want && written != out.Revision {
			s.Errorf("the step has revision %d, its key %d", out.Revision, written)
		}
		s.commit(s.a, cluster.Step{Then: []cluster.Write{{Key: "done", Remove: true}}})
	}
}

func whole(s *suite) {
	step := cluster.Step{If: []cluster.Condition{{Key: "k00", Revision: 0}}}
	for i := range cluster.MaxStepWrites {
		step.Then = append(step.Then, cluster.Write{Key: fmt.Sprintf("k%02d", i), Value: []byte("v")})
	}
	out := s.commit(s.a, step)
	keys := s.all(s.b, "k", "l")
	if len(keys) != cluster.MaxStepWrites {
		s.Fatalf("%d of %d keys", len(keys), cluster.MaxStepWrites)
	}
	for _, kv := range keys {
		if kv.Revision != out.Revision {
			s.Errorf("%s has revision %d, its step %d", kv.Key, kv.Revision, out.Revision)
		}
	}
	if s.commit(s.a, step).Taken {
		s.Error("a step was taken twice, though its condition had ended")
	}
}

func revisions(s *suite) {
	var last cluster.Revision
	for i := range 5 {
		at := s.put(s.a, "x", strconv.Itoa(i))
		removed := s.commit(s.b, cluster.Step{Then: []cluster.Write{{Key: "x", Remove: true}}})
		if at <= last || removed.Revision < at {
			s.Errorf("revisions do not grow: %d, %d, %d", last, at, removed.Revision)
		}
		last = at
	}
	old := last
	s.put(s.a, "x", "again")
	if s.commit(s.a, cluster.Step{If: []cluster.Condition{{Key: "x", Revision: old}}, Then: []cluster.Write{{Key: "y", Value: nil}}}).Taken {
		s.Error("a key that was removed and written again has its old revision")
	}
}

func remove(s *suite) {
	s.put(s.a, "a", "1", "b", "1", "b/1", "1", "b/2", "1", "c", "1")
	out := s.commit(s.a, cluster.Step{Then: []cluster.Write{
		{Key: "b", To: "b/2", Remove: true}, {Key: "absent", Remove: true}, {Key: "none", To: "nonf", Remove: true}, {Key: "d", Value: []byte("1")},
	}})
	s.equal("left", []string{"a=1", "b/2=1", "c=1", "d=1"}, texts(s.all(s.b, "", "~")))
	if !out.Taken {
		s.Error("not taken")
	}
}

func list(s *suite) {
	large := string(bytes.Repeat([]byte("x"), 700<<10))
	var want []string
	for i := range 7 {
		k := fmt.Sprintf("log/%02d", i)
		s.put(s.a, k, large)
		want = append(want, k)
	}
	s.put(s.a, "log", "before", "log0", "after")
	var got []string
	for from, rounds := "log/", 0; ; rounds++ {
		v := s.list(s.b, from, "log0", 3)
		if len(v.Keys) == 0 || len(v.Keys) > 3 || rounds > 7 {
			s.Fatalf("round %d: %d keys", rounds, len(v.Keys))
		}
		for _, kv := range v.Keys {
			got = append(got, kv.Key)
			if len(kv.Value) != len(large) {
				s.Errorf("%s has %d bytes", kv.Key, len(kv.Value))
			}
		}
		if !v.More {
			break
		}
		from = got[len(got)-1] + "\x00"
	}
	s.equal("keys in order", want, got)
	if v := s.list(s.a, "nothing", "o", 3); len(v.Keys) != 0 || v.More || v.Revision == 0 {
		s.Errorf("an empty range: %+v", v)
	}
	if v := s.list(s.a, "log/05", "log0", 2); len(v.Keys) != 2 || v.More {
		s.Errorf("a range with as many keys as the limit: %d keys, more %v", len(v.Keys), v.More)
	}
}

// oneMoment: two keys that always change together are never seen apart.
func oneMoment(s *suite) {
	s.put(s.a, "x", "0", "y", "0")
	var g sync.WaitGroup
	defer g.Wait()
	g.Go(func() {
		for i := range 100 {
			text := strconv.Itoa(i)
			s.put(s.a, "x", text, "y", text)
		}
	})
	for range 50 {
		r, l := s.read(s.b, "x", "y"), s.list(s.b, "x", "z", 10)
		for _, v := range []cluster.View{r, l} {
			if len(v.Keys) == 2 && string(v.Keys[0].Value) != string(v.Keys[1].Value) || v.Keys[0].Revision > v.Revision {
				s.Errorf("keys that change together: %v", texts(v.Keys))
			}
		}
		if l.Revision < r.Revision || l.Keys[0].Revision < r.Keys[0].Revision {
			s.Error("a later read saw an earlier state")
		}
	}
}

// counter: many who compare and set at once lose no step, and take none twice.
func counter(s *suite) {
	const each = 15
	s.put(s.a, "n", "0")
	var g sync.WaitGroup
	for i := range 4 {
		e := []cluster.Engine{s.a, s.b}[i%2]
		g.Go(func() {
			for done := 0; done < each; {
				v := s.read(e, "n").Keys[0]
				n, err := strconv.Atoi(string(v.Value))
				if err != nil {
					s.Error(err)
					return
				}
				out, err := e.Commit(s.ctx, cluster.Step{If: []cluster.Condition{{Key: "n", Revision: v.Revision}}, Then: []cluster.Write{{Key: "n", Value: []byte(strconv.Itoa(n + 1))}}})
				switch {
				case err == nil && out.Taken:
					done++
				case err != nil && !errors.Is(err, cluster.ErrBusy):
					s.Errorf("on a quiet line: %v", err)
					return
				}
			}
		})
	}
	g.Wait()
	s.equal("counted", []string{"n=" + strconv.Itoa(4*each)}, texts(s.read(s.b, "n").Keys))
}

// wait wakes at the latest when the key has changed; it may wake before.
func wait(s *suite) {
	at := s.put(s.a, "x", "1")
	var g sync.WaitGroup
	defer g.Wait()
	woke := make(chan struct{})
	g.Go(func() {
		defer close(woke)
		for s.ctx.Err() == nil && s.read(s.b, "x").Keys[0].Revision == at {
			_ = s.b.Wait(s.ctx, "x", at) // it may end early, for any reason
		}
	})
	s.put(s.a, "other", "1")
	s.put(s.a, "x", "2")
	select {
	case <-woke:
	case <-s.ctx.Done():
		s.Error("nobody woke")
	}
	if err := s.b.Wait(s.ctx, "x", at); err != nil {
		s.Errorf("a change that was there already: %v", err)
	}
	short, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
	defer cancel()
	_ = s.b.Wait(short, "never", 0) // that it returns is what is tried
}

func compact(s *suite) {
	var last cluster.Revision
	for i := range 20 {
		last = s.put(s.a, "x", strconv.Itoa(i))
	}
	s.put(s.a, "gone", "1")
	s.commit(s.a, cluster.Step{Then: []cluster.Write{{Key: "gone", Remove: true}}})
	for range 2 { // the second has nothing to do
		if err := s.a.Compact(s.ctx); err != nil {
			s.Fatalf("Compact: %v", err)
		}
	}
	s.equal("after it", []cluster.KeyValue{{Key: "x", Value: []byte("19"), Revision: last}, {Key: "gone"}}, s.read(s.b, "x", "gone").Keys)
	if !s.commit(s.b, cluster.Step{If: []cluster.Condition{{Key: "x", Revision: last}, {Key: "gone"}}, Then: []cluster.Write{{Key: "x", Value: []byte("20")}}}).Taken {
		s.Error("conditions on what was compacted do not hold")
	}
	if err := s.b.Wait(s.ctx, "x", last); err != nil {
		s.Logf("Wait for a revision below the compacted one: %v", err)
	}
}

func sizes(s *suite) {
	full := cluster.Step{If: []cluster.Condition{{Key: "k"}}, Then: []cluster.Write{{Key: "k", Value: bytes.Repeat([]byte("x"), cluster.MaxStepBytes-1)}}}
	if !s.commit(s.a, full).Taken {
		s.Error("a step of the size that must be taken was not")
	}
	_, err := s.a.Commit(s.ctx, cluster.Step{Then: []cluster.Write{{Key: "k", Value: bytes.Repeat([]byte("y"), 32<<20)}}})
	if !errors.Is(err, cluster.ErrTooLarge) || !errors.Is(err, cluster.ErrRefused) {
		s.Errorf("32 MiB: %v, want ErrTooLarge, which is ErrRefused", err)
	}
	if v := s.read(s.b, "k").Keys[0]; len(v.Value) != cluster.MaxStepBytes-1 {
		s.Errorf("a refused step left %d bytes", len(v.Value))
	}
}

func usage(s *suite) {
	for i := range 4 {
		s.put(s.a, "k"+strconv.Itoa(i), string(bytes.Repeat([]byte("x"), 1<<20-100)))
	}
	for {
		u, err := s.b.Usage(s.ctx)
		if err == nil && u.InUse >= 4<<20-400 && u.File >= u.InUse && u.Quota >= u.File {
			break
		}
		if s.ctx.Err() != nil {
			s.Fatalf("Usage = %+v, %v", u, err)
		}
		time.Sleep(10 * time.Millisecond) // it may be a moment old
	}
	if err := s.a.Check(s.ctx); err != nil {
		s.Errorf("Check: %v", err)
	}
}

// ended: whoever stops waiting is answered, and not told that nothing happened.
func ended(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.a.Commit(ctx, cluster.Step{Then: []cluster.Write{{Key: "x", Value: []byte("1")}}}); err == nil || errors.Is(err, cluster.ErrRefused) {
		s.Errorf("Commit = %v, want an error that is in doubt", err)
	}
	if _, err := s.a.Read(ctx, "x"); err == nil {
		s.Error("Read gave no error")
	}
	if _, err := s.a.List(ctx, "x", "y", 1); err == nil {
		s.Error("List gave no error")
	}
}

func closing(s *suite) {
	if err := s.b.Close(); err != nil {
		s.Fatal(err)
	}
	if _, err := s.b.Commit(s.ctx, cluster.Step{Then: []cluster.Write{{Key: "x", Value: []byte("1")}}}); err == nil {
		s.Error("Commit after Close")
	}
	if _, err := s.b.Read(s.ctx, "x"); err == nil {
		s.Error("Read after Close")
	}
}
