package fetcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

// nameServer is a DNS server in memory that counts what it is asked.
type nameServer struct {
	mu     sync.Mutex
	asked  map[string]int
	answer func(name string, nth int) (addresses []string, ttl uint32, code dnsmessage.RCode)
	slow   time.Duration
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go s.serve(server)
		return client, nil
	}}
}

func (s *nameServer) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

func (s *nameServer) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	message, err := readMessage(c, false)
	if err != nil {
		return
	}
	var m dnsmessage.Message
	if err := m.Unpack(message); err != nil {
		return
	}
	time.Sleep(s.slow)
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	s.mu.Lock()
	if q.Type == dnsmessage.TypeA {
		s.asked[name]++
	}
	addresses, ttl, code := s.answer(name, s.asked[name])
	s.mu.Unlock()
	m.Response, m.RecursionAvailable, m.Additionals, m.RCode = true, true, nil, code
	h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: ttl}
	if q.Type == dnsmessage.TypeA {
		for _, a := range addresses {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(a).To4())}})
		}
	}
	if len(m.Answers) == 0 && ttl > 0 {
		m.Authorities = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.SOAResource{NS: q.Name, MBox: q.Name, MinTTL: ttl}}}
	}
	packed, err := m.Pack()
	if err == nil {
		_, _ = c.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...))
	}
}

// TestNames: answers are kept as long as they may be, and no longer.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		name      string
		ttl       uint32
		code      dnsmessage.RCode
		addresses []string
		kept      time.Duration
		want      fault.Fault
	}{
		{"usual", 60, 0, []string{"192.0.2.1"}, time.Minute, 0},
		{"never", 0, 0, []string{"192.0.2.1"}, minTTL, 0},
		{"week", 604800, 0, []string{"192.0.2.1"}, maxTTL, 0},
		{"unknown", 30, dnsmessage.RCodeNameError, nil, 30 * time.Second, fault.DNSNotFound},
		{"unknown for a week", 604800, dnsmessage.RCodeNameError, nil, maxNegativeTTL, fault.DNSNotFound},
		{"no address", 30, 0, nil, 30 * time.Second, fault.DNSNotFound},
		{"failure", 0, dnsmessage.RCodeServerFailure, nil, troubleTTL, fault.DNSNoAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &nameServer{asked: map[string]int{}, answer: func(string, int) ([]string, uint32, dnsmessage.RCode) {
					return tt.addresses, tt.ttl, tt.code
				}}
				resolver, names := s.resolver(), NewNames()
				f := []*Fetcher{
					newFetcher(t, func(set *Settings) { set.Resolver, set.Names = resolver, names }),
					newFetcher(t, func(set *Settings) { set.Resolver, set.Names = resolver, names }),
				}
				look := func(f *Fetcher) {
					_, err := f.Address(t.Context(), mustURL(t, "http://A.test/"))
					if tt.want != 0 {
						wantFault(t, nil, err, tt.want)
					} else if err != nil {
						t.Error(err)
					}
				}
				look(f[0])
				once := s.count("a.test")
				time.Sleep(tt.kept - time.Millisecond)
				look(f[0])
				look(f[1])
				if got := s.count("a.test"); got != once {
					t.Errorf("asked %d times within %v, want %d", got, tt.kept, once)
				}
				time.Sleep(2 * time.Millisecond)
				look(f[1])
				if got := s.count("a.test"); got <= once {
					t.Errorf("not asked again after %v", tt.kept)
				}
			})
		})
	}
}

// TestNamesOnce: many that want a name at once make one query; one that gives up keeps
// the others from nothing, and makes the next of them ask once more.
func TestNamesOnce(t *testing.T) {
	for _, givesUp := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &nameServer{slow: time.Second, asked: map[string]int{}, answer: func(string, int) ([]string, uint32, dnsmessage.RCode) {
				return []string{"192.0.2.1"}, 60, 0
			}}
			resolver, names := s.resolver(), NewNames()
			start, queries, wait := time.Now(), 1, time.Second
			if givesUp {
				queries, wait = 2, 1500*time.Millisecond
			}
			var wg sync.WaitGroup
			for i := range 20 {
				f := newFetcher(t, func(set *Settings) { set.Resolver, set.Names = resolver, names })
				ctx, cancel := context.WithCancel(t.Context())
				leaves := givesUp && i == 0
				if leaves {
					time.AfterFunc(500*time.Millisecond, cancel)
				}
				wg.Go(func() {
					defer cancel()
					a, err := f.Address(ctx, mustURL(t, "http://a.test/"))
					switch {
					case leaves && !errors.Is(err, context.Canceled):
						t.Errorf("the one that gave up: %v", err)
					case !leaves && (err != nil || a.String() != "192.0.2.1"):
						t.Errorf("%d: %v, %v", i, a, err)
					}
				})
				synctest.Wait() // the first asks, the others wait
			}
			wg.Wait()
			if got := s.count("a.test"); got != queries {
				t.Errorf("asked %d times, want %d", got, queries)
			}
			if got := time.Since(start); got != wait {
				t.Errorf("took %v, want %v", got, wait)
			}
			time.Sleep(time.Minute) // for the server to end
		})
	}
}

// TestRebinding: whatever a name's answer was before, the address that is dialled now
// is judged, also when it comes out of the cache.
func TestRebinding(t *testing.T) { onBoth(t, testRebinding) }

func testRebinding(t *testing.T, newFetcher maker) {
	var reached atomic.Int64
	addr := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, _ := net.SplitHostPort(addr)
	s := &nameServer{asked: map[string]int{}, answer: func(_ string, nth int) ([]string, uint32, dnsmessage.RCode) {
		if nth <= 1 {
			return []string{"192.0.2.1"}, 0, 0
		}
		return []string{"127.0.0.1"}, 3600, 0
	}}
	f := newFetcher(t, func(set *Settings) { set.Resolver = s.resolver() })
	u := mustURL(t, "http://rebound.test:"+port+"/")
	if a, err := f.Address(t.Context(), u); err != nil || a.String() != "192.0.2.1" {
		t.Fatalf("first look-up: %v, %v", a, err)
	}
	names := f.settings.Names
	names.mu.Lock()
	clear(names.answers) // as after its time to live
	names.mu.Unlock()
	for range 3 {
		resp, err := f.Fetch(t.Context(), Request{URL: u})
		wantFault(t, resp, err, fault.Address)
	}
	if got := s.count("rebound.test"); got != 2 || reached.Load() != 0 {
		t.Errorf("%d look-ups, want 2; the server was reached %d times", got, reached.Load())
	}
}

// TestNamesAreBounded: however many names are asked for, room is what it is; what is out
// of date leaves first, and what is too long is not kept.
func TestNamesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNames()
		queries := 0
		ask := func(i, addresses int, ttl uint32) {
			name := dnsmessage.MustNewName(fmt.Sprintf("n%d.test.", i))
			m := dnsmessage.Message{
				Header:    dnsmessage.Header{Response: true, RecursionAvailable: true},
				Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
			}
			for range addresses {
				h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{}})
			}
			q := question{name: name.String(), kind: dnsmessage.TypeA}
			_, err := n.answer(t.Context(), q, func() ([]byte, error) { queries++; return packed(m), nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		again := func(from, to int) int { // how many of them are asked for again
			before := queries
			for i := from; i < to; i++ {
				ask(i, 1, 3600)
			}
			return queries - before
		}
		const old = maxNames / 4
		for i := range maxNames {
			ask(i, 1, map[bool]uint32{true: 10, false: 3600}[i < old])
		}
		if len(n.answers) != maxNames || again(0, maxNames) != 0 {
			t.Fatalf("%d answers are kept, and not all are used", len(n.answers))
		}
		time.Sleep(11 * time.Second)
		ask(maxNames, 1, 3600)
		if got := len(n.answers); got != maxNames-old+1 || again(old, maxNames+1) != 0 {
			t.Errorf("%d answers are kept, want those that are not out of date", got)
		}
		for i := range 2 * maxNames { // of which none goes out of date
			ask(maxNames+1+i, 1, 3600)
			if len(n.answers) > maxNames {
				t.Fatalf("%d answers are kept", len(n.answers))
			}
		}
		if len(n.answers) < maxNames*9/10 || again(3*maxNames, 3*maxNames+1) != 0 {
			t.Errorf("%d answers are kept, or not the newest", len(n.answers))
		}
		before := queries
		for range 2 {
			ask(-1, maxAnswer/16+1, 3600)
		}
		if queries != before+2 {
			t.Error("an answer that is too long is kept")
		}
	})
}

// FuzzLifetime: any answer of a server gives a time within the bounds.
func FuzzLifetime(f *testing.F) {
	m := dnsmessage.Message{Header: dnsmessage.Header{Response: true}, Questions: []dnsmessage.Question{
		{Name: dnsmessage.MustNewName("a.test."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
	}}
	packed, err := m.Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, message []byte) {
		if ttl, _ := lifetime(message, dnsmessage.TypeA); ttl != 0 && (ttl < minTTL || ttl > maxTTL) {
			t.Errorf("kept for %v", ttl)
		}
		_, _, _, _ = questionOf(message)
	})
}
