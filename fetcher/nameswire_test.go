package fetcher

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/fetcher/fault"
)

func one(m dnsmessage.Message) [][]byte { return [][]byte{packed(m)} }

// TestNamesOverTheWire: what a server answers by packets and connections is understood,
// and the second time taken from what is kept.
func TestNamesOverTheWire(t *testing.T) {
	many := make([]string, 60) // more than a packet of 512 bytes takes
	for i := range many {
		many[i] = fmt.Sprintf("192.0.2.%d", i+1)
	}
	packets := map[string]int{"udp TypeA": 1, "udp TypeAAAA": 1}
	truncated := func(q query, rest func(m *dnsmessage.Message)) [][]byte {
		m := q.reply("192.0.2.0")
		if !q.tcp {
			m.Answers, m.Truncated = nil, true
		}
		rest(&m)
		return one(m)
	}
	tests := map[string]struct {
		answer func(q query) [][]byte
		asked  map[string]int
	}{
		"packet": {func(q query) [][]byte { return one(q.reply("192.0.2.0")) }, packets},
		"large packet": {func(q query) [][]byte {
			return one(q.reply(append(many, "192.0.2.0")...))
		}, packets},
		"others' packets first": {func(q query) [][]byte {
			id, name, kind, question := q.reply("127.0.0.1"), q.reply("127.0.0.2"), q.reply("127.0.0.3"), q.reply("127.0.0.4")
			id.ID++
			name.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("b.test."), Type: q.kind(), Class: dnsmessage.ClassINET}}
			kind.Questions = []dnsmessage.Question{{Name: q.Questions[0].Name, Type: dnsmessage.TypeMX, Class: dnsmessage.ClassINET}}
			question.Response = false
			two := q.reply("127.0.0.5")
			two.Questions = append(two.Questions, two.Questions...)
			return [][]byte{
				{}, {1}, []byte(strings.Repeat("?", 600)), packed(id), packed(name), packed(kind), packed(question), packed(two),
				packed(q.reply("192.0.2.0")),
			}
		}, packets},
		"truncated": {
			func(q query) [][]byte { return truncated(q, func(*dnsmessage.Message) {}) },
			map[string]int{"udp TypeA": 1, "udp TypeAAAA": 1, "tcp TypeA": 1, "tcp TypeAAAA": 1},
		},
		"truncated in the middle": {func(q query) [][]byte {
			if q.tcp {
				return one(q.reply(append(many, "192.0.2.0")...))
			}
			m := q.reply(many...)
			m.Truncated = true
			b := packed(m)
			return [][]byte{b[:min(len(b), 500)]}
		}, map[string]int{"udp TypeA": 1, "udp TypeAAAA": 1, "tcp TypeA": 1, "tcp TypeAAAA": 1}},
		"alias": {func(q query) [][]byte {
			m := q.reply("192.0.2.0")
			h := dnsmessage.ResourceHeader{Name: q.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60}
			alias := dnsmessage.MustNewName("c.test.")
			for i := range m.Answers {
				m.Answers[i].Header.Name = alias
			}
			m.Answers = append([]dnsmessage.Resource{{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: alias}}}, m.Answers...)
			return one(m)
		}, packets},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newWireServer(t, tt.answer)
			f := newFetcher(t, func(set *Settings) { set.Resolver = s.resolver() })
			const want = "192.0.2.0" // is the lowest
			for range 3 {
				a, err := f.Address(t.Context(), mustURL(t, "http://a.test./"))
				if err != nil || a.String() != want {
					t.Fatalf("got %v, %v, want %s", a, err, want)
				}
			}
			if d := cmp.Diff(tt.asked, s.counts()); d != "" {
				t.Errorf("queries (-want +got):\n%s", d)
			}
			for _, size := range s.sizes {
				if size < 1232 || size > maxAnswer {
					t.Errorf("EDNS offers packets of %d bytes; %d are read", size, maxAnswer)
				}
			}
			if len(s.sizes) == 0 {
				t.Error("no query with EDNS")
			}
		})
	}
}

// TestFaultsOfNames: only the word that a name does not exist, or has no address, is
// that the host does not exist, for the URLs of such a host are deleted.
func TestFaultsOfNames(t *testing.T) {
	const a, aaaa = dnsmessage.TypeA, dnsmessage.TypeAAAA
	// by gives nothing for one kind of address, and something for the other.
	by := func(empty dnsmessage.Type, other func(q query) [][]byte) func(q query) [][]byte {
		return func(q query) [][]byte {
			if q.kind() == empty {
				return one(q.reply())
			}
			return other(q)
		}
	}
	code := func(c dnsmessage.RCode) func(q query) [][]byte {
		return func(q query) [][]byte { return one(q.code(c)) }
	}
	referral := func(q query) [][]byte {
		m := q.reply()
		m.RecursionAvailable = false
		m.Additionals = q.Additionals
		return one(m)
	}
	extended := func(q query) [][]byte { // BADVERS
		m := q.reply()
		var h dnsmessage.ResourceHeader
		_ = h.SetEDNS0(1232, 16, false)
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
		return one(m)
	}
	garbled := func(q query) [][]byte {
		m := q.reply("192.0.2.1", "2001:db8::1")
		b := packed(m)
		return [][]byte{b[:len(b)-3]}
	}
	halfway := func(q query) [][]byte {
		m := q.reply()
		m.Truncated = true
		return one(m)
	}
	nothing := func(query) [][]byte { return nil }
	closes := func(q query) [][]byte { // the connection
		if q.tcp {
			return nil
		}
		return halfway(q)
	}
	for name, tt := range map[string]struct {
		answer func(q query) [][]byte
		want   fault.Fault
	}{
		"no such name":              {code(dnsmessage.RCodeNameError), fault.DNSNotFound},
		"no address":                {func(q query) [][]byte { return one(q.reply()) }, fault.DNSNotFound},
		"failure":                   {code(dnsmessage.RCodeServerFailure), fault.DNSNoAnswer},
		"refused":                   {code(dnsmessage.RCodeRefused), fault.DNSNoAnswer},
		"not implemented":           {code(dnsmessage.RCodeNotImplemented), fault.DNSNoAnswer},
		"bad version":               {extended, fault.DNSNoAnswer},
		"referral":                  {referral, fault.DNSNoAnswer},
		"garbled":                   {garbled, fault.DNSNoAnswer},
		"truncated by TCP, too":     {halfway, fault.DNSNoAnswer},
		"TCP is closed":             {closes, fault.DNSNoAnswer},
		"silence":                   {nothing, fault.DNSNoAnswer},
		"no A, AAAA fails":          {by(a, code(dnsmessage.RCodeServerFailure)), fault.DNSNoAnswer},
		"no A, AAAA refused":        {by(a, code(dnsmessage.RCodeRefused)), fault.DNSNoAnswer},
		"no A, AAAA garbled":        {by(a, garbled), fault.DNSNoAnswer},
		"no A, AAAA bad version":    {by(a, extended), fault.DNSNoAnswer},
		"no A, AAAA referral":       {by(a, referral), fault.DNSNoAnswer},
		"no A, AAAA silent":         {by(a, nothing), fault.DNSNoAnswer},
		"no A, AAAA closed":         {by(a, closes), fault.DNSNoAnswer},
		"no AAAA, A fails":          {by(aaaa, code(dnsmessage.RCodeServerFailure)), fault.DNSNoAnswer},
		"no AAAA, A refused":        {by(aaaa, code(dnsmessage.RCodeRefused)), fault.DNSNoAnswer},
		"no AAAA, no such name (A)": {by(aaaa, code(dnsmessage.RCodeNameError)), fault.DNSNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slow := range []dnsmessage.Type{a, aaaa} { // whichever answer is the last
				first := make(chan struct{})
				var once sync.Once
				s := newWireServer(t, func(q query) [][]byte {
					if q.kind() != slow {
						defer once.Do(func() { close(first) })
					} else {
						<-first
					}
					return tt.answer(q)
				})
				f := newFetcher(t, func(set *Settings) {
					if set.Resolver = s.resolver(); tt.want == fault.DNSNoAnswer { // which silence gives, too
						set.ConnectTimeout = 4 * short
					}
				})
				resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test./")})
				wantFault(t, resp, err, tt.want)
				_, err = f.Address(t.Context(), mustURL(t, "http://a.test./"))
				wantFault(t, nil, err, tt.want)
			}
		})
	}
}

// TestOneKindOfAddressIsEnough: that a server fails for one kind of address does not
// take away those of the other.
func TestOneKindOfAddressIsEnough(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(addr)
	s := newWireServer(t, func(q query) [][]byte {
		if q.kind() == dnsmessage.TypeAAAA {
			return one(q.code(dnsmessage.RCodeServerFailure))
		}
		return one(q.reply("127.0.0.1"))
	})
	f := newFetcher(t, func(set *Settings) { set.Resolver, set.Judge = s.resolver(), allowAll })
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test.:"+port+"/")})
	if err != nil || resp.Status != http.StatusOK {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// TestKindsAreAskedTogether: a server that waits for both questions gets both.
func TestKindsAreAskedTogether(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	s := newWireServer(t, func(q query) [][]byte {
		both.Done()
		both.Wait()
		return one(q.reply("192.0.2.9"))
	})
	f := newFetcher(t, func(set *Settings) { set.Resolver = s.resolver() })
	if a, err := f.Address(t.Context(), mustURL(t, "http://a.test./")); err != nil || a.String() != "192.0.2.9" {
		t.Errorf("got %v, %v", a, err)
	}
}

// TestManyNamesAtOnce: many goroutines of many Fetchers get each the address of the name
// that they asked for, by one query of each kind, though all answers are truncated.
func TestManyNamesAtOnce(t *testing.T) {
	const names, each = 20, 10
	s := newWireServer(t, func(q query) [][]byte {
		var i int
		_, _ = fmt.Sscanf(q.Questions[0].Name.String(), "n%d.test.", &i)
		m := q.reply(fmt.Sprintf("192.0.2.%d", i))
		m.Truncated = !q.tcp
		return one(m)
	})
	resolver, shared := s.resolver(), NewNames()
	var wg sync.WaitGroup
	for range each {
		f := newFetcher(t, func(set *Settings) { set.Resolver, set.Names = resolver, shared })
		for i := range names {
			wg.Go(func() {
				a, err := f.Address(t.Context(), mustURL(t, fmt.Sprintf("http://n%d.test./", i)))
				if want := fmt.Sprintf("192.0.2.%d", i); err != nil || a.String() != want {
					t.Errorf("got %v, %v, want %s", a, err, want)
				}
			})
		}
	}
	wg.Wait()
	for _, kind := range []string{"tcp TypeA", "tcp TypeAAAA"} {
		if got := s.counts()[kind]; got != names {
			t.Errorf("%s: asked %d times, want %d", kind, got, names)
		}
	}
}

// TestDeadServer: a server that refuses packets leaves its turn to the next.
func TestDeadServer(t *testing.T) {
	s := newWireServer(t, func(q query) [][]byte { return one(q.reply("192.0.2.9")) })
	dead, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close()
	var dialled atomic.Int64
	var both sync.WaitGroup // A and AAAA, each for the first time
	both.Add(2)
	resolver := &net.Resolver{Dial: func(ctx context.Context, network, server string) (net.Conn, error) {
		if dialled.Add(1) <= 2 {
			both.Done()
			both.Wait()
			return (&net.Dialer{}).DialContext(ctx, network, dead.LocalAddr().String())
		}
		return s.resolver().Dial(ctx, network, server)
	}}
	f := newFetcher(t, func(set *Settings) { set.Resolver = resolver })
	a, err := f.Address(t.Context(), mustURL(t, "http://a.test./"))
	if err != nil || a.String() != "192.0.2.9" {
		t.Errorf("got %v, %v", a, err)
	}
}

// TestLifetime: how long answers may be kept, by what is in them.
func TestLifetime(t *testing.T) {
	name := dnsmessage.MustNewName("a.test.")
	header := func(ttl uint32) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}
	}
	a := func(ttl uint32) dnsmessage.Resource {
		return dnsmessage.Resource{Header: header(ttl), Body: &dnsmessage.AResource{}}
	}
	alias := func(ttl uint32) dnsmessage.Resource {
		return dnsmessage.Resource{Header: header(ttl), Body: &dnsmessage.CNAMEResource{CNAME: name}}
	}
	soa := func(ttl, minimum uint32) []dnsmessage.Resource {
		return []dnsmessage.Resource{{Header: header(ttl), Body: &dnsmessage.SOAResource{NS: name, MBox: name, MinTTL: minimum}}}
	}
	type resources = []dnsmessage.Resource
	for words, tt := range map[string]struct {
		answers, authorities resources
		code                 dnsmessage.RCode
		want                 time.Duration
	}{
		"address":                      {answers: resources{a(60)}, want: time.Minute},
		"shortest of all":              {answers: resources{alias(40), a(60), a(50)}, want: 40 * time.Second},
		"highest bit (RFC 2181)":       {answers: resources{a(1<<31 + 60)}, want: minTTL},
		"alias to nothing":             {answers: resources{alias(3600)}, authorities: soa(3600, 30), want: 30 * time.Second},
		"short alias to nothing":       {answers: resources{alias(20)}, authorities: soa(3600, 30), want: 20 * time.Second},
		"alias to nothing, no SOA":     {answers: resources{alias(3600)}, want: troubleTTL},
		"alias to no name":             {answers: resources{alias(3600)}, authorities: soa(3600, 30), code: dnsmessage.RCodeNameError, want: 30 * time.Second},
		"time to live of the SOA":      {authorities: soa(30, 3600), want: 30 * time.Second},
		"SOA without any time":         {authorities: soa(0, 3600), want: minTTL},
		"failure, whatever it carries": {answers: resources{a(60)}, code: dnsmessage.RCodeServerFailure, want: troubleTTL},
	} {
		m := dnsmessage.Message{Header: dnsmessage.Header{Response: true, RecursionAvailable: true, RCode: tt.code}, Answers: tt.answers, Authorities: tt.authorities}
		got, trouble := lifetime(packed(m), dnsmessage.TypeA)
		if got != tt.want || (trouble != nil) != (tt.code == dnsmessage.RCodeServerFailure) {
			t.Errorf("%s: kept for %v (%v), want %v", words, got, trouble, tt.want)
		}
	}
}
