package scheduler_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// manyHosts is a store with one URL waiting in each of the sources of many hosts,
// for ever. What is not asked for by a crawl that only takes is not there.
type manyHosts struct {
	scheduler.Store
	hosts   int
	sources []scheduler.Source
	read    chan struct{} // closed when all places were announced
}

func hostKey(i int) (k weburl.HostKey) {
	binary.BigEndian.PutUint64(k[:], uint64(i)*0x9E3779B97F4A7C15)
	return k
}

func (m *manyHosts) Places(_ context.Context, fn func(scheduler.Place, uint64) error) error {
	for i := range m.hosts {
		for _, s := range m.sources {
			if err := fn(scheduler.Place{Source: s, Host: hostKey(i)}, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *manyHosts) Value(context.Context, scheduler.ValueName) ([]byte, error)  { return nil, nil }
func (m *manyHosts) SetValue(context.Context, scheduler.ValueName, []byte) error { return nil }
func (m *manyHosts) ClosedCleanly() bool                                         { return true }
func (m *manyHosts) Counts(context.Context) (scheduler.Counts, error)            { return scheduler.Counts{}, nil }
func (m *manyHosts) Host(context.Context, weburl.HostKey) (scheduler.HostState, error) {
	return scheduler.HostState{}, nil
}

func (m *manyHosts) Due(context.Context, time.Time, scheduler.Source, int) ([]scheduler.Place, time.Time, error) {
	select {
	case <-m.read:
	default:
		close(m.read)
	}
	return nil, time.Time{}, nil
}

func (m *manyHosts) Complete(_ context.Context, c scheduler.Completion, settled func(scheduler.Completed)) error {
	settled(scheduler.Completed{Places: []scheduler.Place{c.Taken}})
	return nil
}

func (m *manyHosts) Queue(_ context.Context, p scheduler.Place, after uint64, _ int) ([]scheduler.WaitingURL, error) {
	w := scheduler.WaitingURL{Seq: after + 1, Record: scheduler.Record{URL: "http://a.test/", Host: p.Host, Origin: "http://a.test", Source: p.Source, Fifo: p.Source}}
	copy(w.Key[:], p.Host[:])
	w.Key[15] = byte(p.Source)
	return []scheduler.WaitingURL{w}, nil
}

// heap returns what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestResidentMemory: hosts with work cost under 200 bytes each, all
// that belongs to them included, also while all their gates are closed; hosts
// whose work was done cost nothing.
func TestResidentMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand hosts and more take long under the race detector")
	}
	for _, c := range []struct {
		name    string
		hosts   int
		sources []scheduler.Source
	}{
		{"one source", 200_000, []scheduler.Source{scheduler.IndexFollow}},
		{"two sources", 100_000, []scheduler.Source{scheduler.IndexFollow, scheduler.Refresh}},
	} {
		hosts := c.hosts
		store := &manyHosts{hosts: hosts, sources: c.sources, read: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		before := heap()
		f := scheduler.New(store, scheduler.DefaultSettings(), slog.New(slog.DiscardHandler))
		done := make(chan error, 1)
		go func() { done <- f.Run(ctx) }()
		<-store.read
		if n := f.Snapshot().Hosts; n != hosts {
			t.Fatalf("%d hosts have work, want %d", n, hosts)
		}
		used := heap() - before
		each := used / uint64(hosts)
		t.Logf("%s: %d bytes a host", c.name, each)
		if each > 200 {
			t.Errorf("%s: %d hosts take %d bytes each, want under 200", c.name, hosts, each)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		runtime.KeepAlive(f)
	}
}

// TestRestingMemory: hosts that rest, or that were visited and have more work,
// keep no more than that they rest.
func TestRestingMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred thousand hosts and more take long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		const hosts = 30_000
		store := &manyHosts{hosts: hosts, sources: []scheduler.Source{scheduler.IndexFollow}, read: make(chan struct{})}
		before := heap()
		f := run(t, store)
		defer f.end()
		for range hosts {
			l := f.next()
			f.complete(l, ok(l))
		}
		if s := f.Snapshot(); s.HostsClosed != hosts || s.Hosts != hosts {
			t.Fatalf("%d hosts rest, %d have work; want all", s.HostsClosed, s.Hosts)
		}
		used := heap() - before
		t.Logf("%d bytes a resting host", used/hosts)
		if used > 200*hosts {
			t.Errorf("a resting host takes %d bytes, want under 200", used/hosts)
		}
	})
}
