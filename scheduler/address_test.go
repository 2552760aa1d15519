package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

func perAddress(s *scheduler.Settings) { s.PerAddress = true }

// machines are addresses that measure how they are visited.
type machines struct {
	t  *testing.T
	of func(host string) netip.Addr

	mu       sync.Mutex
	running  map[netip.Addr]int
	ended    map[netip.Addr]time.Time
	requests map[netip.Addr]int
}

func newMachines(t *testing.T, of func(host string) netip.Addr) *machines {
	return &machines{t: t, of: of, running: map[netip.Addr]int{}, ended: map[netip.Addr]time.Time{}, requests: map[netip.Addr]int{}}
}

// visit makes one request if the frontier lets it, with the pause that is due.
func (m *machines) visit(f *running, l *scheduler.Lease, pause, d time.Duration) bool {
	addr := m.of(l.URL.Host())
	if !f.Address(l, addr) {
		return false
	}
	m.mu.Lock()
	if last, ok := m.ended[addr]; ok && time.Since(last) < pause {
		m.t.Errorf("%v: a request to %v %v after the last, want %v", l.URL, addr, time.Since(last), pause)
	}
	if m.running[addr]++; m.running[addr] > 1 {
		m.t.Errorf("%v: %d requests at once to %v", l.URL, m.running[addr], addr)
	}
	m.requests[addr]++
	m.mu.Unlock()
	time.Sleep(d)
	m.mu.Lock()
	m.running[addr]--
	m.ended[addr] = time.Now()
	m.mu.Unlock()
	return true
}

func addr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }

// TestPerAddress: hosts that share an address are visited one after the other with
// the pause between, as fast as that allows, and each gets its turn.
func TestPerAddress(t *testing.T) {
	for _, aggressive := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const hosts, pages = 30, 4
			pause := throttle
			if aggressive {
				pause = 0
			}
			m := newMachines(t, func(host string) netip.Addr {
				var i int
				if _, err := fmt.Sscanf(host, "h%d.test", &i); err != nil {
					t.Error(err)
				}
				return addr(i % 3)
			})
			f := run(t, teststore.New(t), perAddress, func(s *scheduler.Settings) { s.Aggressive = aggressive })
			defer f.end()
			for h := range hosts {
				f.add(storetest.Links(pages, fmt.Sprintf("http://h%d.test/%%d", h), scheduler.Index)...)
			}
			begin := time.Now()
			asked := 0
			f.work(20, func(l *scheduler.Lease) {
				if m.visit(f, l, pause, 100*time.Millisecond) {
					f.complete(l, ok(l))
				} else {
					m.mu.Lock()
					asked++
					m.mu.Unlock()
				}
			})
			for a, n := range m.requests {
				if n != hosts*pages/3 {
					t.Errorf("%v got %d requests, want %d", a, n, hosts*pages/3)
				}
			}
			possible := time.Duration(hosts*pages/3)*(pause+100*time.Millisecond) - pause
			if took := time.Since(begin); took > possible*102/98+throttle {
				t.Errorf("aggressive %t: it took %v, want about %v", aggressive, took, possible)
			}
			if asked > hosts {
				t.Errorf("%d URLs were given out in vain, want one a host at most", asked)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := f.Entries(); n != 0 {
				t.Errorf("%d hosts take memory", n)
			}
			if n := f.Addresses(); n != 0 {
				t.Errorf("%d addresses take memory", n)
			}
		})
	}
}

// TestAddressesAtRandom: hosts change their addresses, rest for long, are given
// back and fail; nothing is early and nothing is forgotten.
func TestAddressesAtRandom(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			var mu sync.Mutex
			chance := func(n int) bool {
				mu.Lock()
				defer mu.Unlock()
				return rnd.IntN(n) == 0
			}
			at := map[string]netip.Addr{}
			m := newMachines(t, func(host string) netip.Addr {
				mu.Lock()
				defer mu.Unlock()
				if at[host] == (netip.Addr{}) || rnd.IntN(10) == 0 {
					at[host] = addr(rnd.IntN(4))
				}
				return at[host]
			})
			store := teststore.New(t)
			f := run(t, store, perAddress)
			defer f.end()
			all := 0
			for h := range 20 {
				n := 1 + rnd.IntN(20)
				f.add(storetest.Links(n, fmt.Sprintf("http://h%d.test/%%d", h), scheduler.Source(rnd.IntN(5)))...)
				all += n
			}
			fetched := map[weburl.Key]bool{}
			f.work(10, func(l *scheduler.Lease) {
				if chance(20) {
					f.GiveBack(l, false, time.Now().Add(time.Minute))
					return
				}
				if chance(10) {
					f.complete(l, scheduler.Result{Excluded: &scheduler.Exclusion{Status: 760}})
					mu.Lock()
					fetched[l.Key] = true
					mu.Unlock()
					return
				}
				if !m.visit(f, l, throttle, time.Second) {
					return
				}
				switch {
				case chance(8):
					f.GiveBack(l, true, time.Time{})
				case chance(8):
					f.complete(l, scheduler.Result{Status: 503, HasRetryAfter: true, RetryAfter: time.Minute})
				default:
					f.complete(l, ok(l))
				}
				mu.Lock()
				fetched[l.Key] = true
				mu.Unlock()
			})
			if len(fetched) != all {
				t.Errorf("seed %d: %d URLs were fetched, want %d", seed, len(fetched), all)
			}
			if c := f.counts(store); c.Pending != [scheduler.Sources]uint64{} {
				t.Errorf("seed %d: %v still wait", seed, c.Pending)
			}
		})
	}
}

// TestPerAddressSwitchedOff lets the hosts go that waited for their turn.
func TestPerAddressSwitchedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, teststore.New(t), perAddress)
		defer f.end()
		time.Sleep(throttle) // its hosts may share an address with those of the last run
		f.add(storetest.Links(3, "http://h%d.test/", scheduler.Index)...)
		first := f.next()
		if !f.Address(first, addr(1)) {
			t.Fatal("the first host may not be visited")
		}
		for range 2 {
			if f.Address(f.next(), addr(1)) {
				t.Fatal("another host may be visited as well")
			}
		}
		f.none(time.Minute)
		if s := f.Snapshot(); s.IdleCode != scheduler.IdleVisited {
			t.Errorf("Snapshot = %+v", s)
		}
		f.Apply(scheduler.DefaultSettings())
		f.next()
		f.next()
	})
}

// TestPerAddressAfterStart: even after a clean end it is unknown which hosts share an address that was just visited.
func TestPerAddressAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := teststore.New(t)
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		f := run(t, store.Reopen(), perAddress)
		defer f.end()
		f.add(storetest.Link("http://a.test/", scheduler.Index))
		begin := time.Now()
		f.next()
		if d := time.Since(begin); d != throttle {
			t.Errorf("the first visit came after %v, want %v", d, throttle)
		}
	})
}
