package fetcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Names.mu guards the responses and the running queries. It is never held over a query: the querying goroutine leaves a
// channel, on which others with the same question wait.

const (
	// minTTL keeps a response for the requests that follow at once, however short its time to live; maxTTL makes a
	// moved host be found again.
	minTTL = 5 * time.Second
	maxTTL = time.Hour
	// maxNegativeTTL is for a name that does not exist (RFC 2308), troubleTTL for a server that reports a failure.
	maxNegativeTTL = 5 * time.Minute
	troubleTTL     = 5 * time.Second
	// maxNames bounds the stored responses, maxAnswer the bytes of each.
	maxNames  = 20_000
	maxAnswer = 4 << 10
)

// Names caches DNS responses for their time to live, between 5 s and 1 h: for a name that does not exist at most 5 min
// (RFC 2308), for a server's failure 5 s. Missing or malformed responses are not cached. It sends one query for a name
// to a server at a time. It stores at most 20,000 responses of at most 4 KiB. It stands between Go's resolver and the
// server, so that the resolver still handles hosts file, search list and the order of addresses, and the guard checks
// each address that is dialled, cached or not. It is safe for concurrent use and may be shared by Fetchers.
type Names struct {
	mu      sync.Mutex
	answers map[question]kept
	asking  map[question]chan struct{} // closed when the query has ended
}

// question is a query and its server: a resolver with other settings may get other responses.
type question struct {
	resolver *net.Resolver
	server   string // "" for any: the response of one server also counts when another is queried
	name     string // in lower case
	kind     dnsmessage.Type
}

type kept struct {
	message []byte
	trouble error // why the response is unreliable
	until   time.Time
}

// NewNames returns an empty Names.
func NewNames() *Names {
	return &Names{answers: map[question]kept{}, asking: map[question]chan struct{}{}}
}

// resolver returns r, nil being the system's servers, with its queries through n. A strict one accepts neither
// addresses nor their absence when a server failed.
func (n *Names) resolver(r *net.Resolver, strict bool) *net.Resolver {
	dial := (&net.Dialer{}).DialContext
	if r != nil {
		strict = strict || r.StrictErrors
		if r.Dial != nil {
			dial = r.Dial
		}
	}
	return &net.Resolver{PreferGo: true, StrictErrors: strict,
		Dial: func(ctx context.Context, network, server string) (net.Conn, error) {
			return &nameConn{ctx: ctx, names: n, resolver: r, network: network, server: server, dial: dial}, nil
		}}
}

// answer returns the cached response to q, or the result of ask. Callers with the same question wait in the meantime;
// if the query fails, the next one repeats it.
func (n *Names) answer(ctx context.Context, q question, ask func() ([]byte, error)) ([]byte, error) {
	for {
		n.mu.Lock()
		if k, ok := n.find(q); ok {
			n.mu.Unlock()
			return k.message, k.trouble
		}
		others, busy := n.asking[q]
		if !busy && ctx.Err() == nil { // a resolver that was abandoned retries anyway
			break
		}
		n.mu.Unlock()
		if !busy {
			return nil, ctx.Err()
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	done := make(chan struct{})
	n.asking[q] = done
	n.mu.Unlock()
	message, err := ask()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.asking, q)
	close(done)
	if err != nil {
		return nil, err
	}
	ttl, trouble := lifetime(message, q.kind)
	if ttl > 0 && len(message) <= maxAnswer {
		if trouble == nil {
			q.server = ""
		}
		n.makeRoom()
		n.answers[q] = kept{bytes.Clone(message), trouble, time.Now().Add(ttl)}
	}
	return message, trouble
}

// find returns any server's response to q, or else the failure of its own server. The caller holds mu.
func (n *Names) find(q question) (kept, bool) {
	now := time.Now()
	whole := q
	whole.server = ""
	if k, ok := n.answers[whole]; ok && now.Before(k.until) {
		return k, true
	}
	k, ok := n.answers[q]
	return k, ok && now.Before(k.until)
}

// makeRoom drops expired responses when the cache is full, and if there are none a tenth of the rest. The caller holds
// mu.
func (n *Names) makeRoom() {
	if len(n.answers) < maxNames {
		return
	}
	now := time.Now()
	for q, k := range n.answers {
		if now.After(k.until) {
			delete(n.answers, q)
		}
	}
	for q := range n.answers {
		if len(n.answers) <= maxNames*9/10 {
			return
		}
		delete(n.answers, q)
	}
}

var (
	errGarbled  = errors.New("the DNS server's response is malformed")
	errReferral = errors.New("the DNS server refers to other servers instead of querying them")
)

// lifetime returns how long a response to a question of a kind may be cached, or 0. trouble is the reason why the
// response proves nothing about the name, not even that it does not exist. The resolver repeats the query after a
// truncated response.
func lifetime(message []byte, kind dnsmessage.Type) (ttl time.Duration, trouble error) {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil {
		return 0, errGarbled
	}
	if h.Truncated {
		return 0, nil
	}
	if err := p.SkipAllQuestions(); err != nil {
		return 0, errGarbled
	}
	answers, err := p.AllAnswers()
	if err != nil {
		return 0, errGarbled
	}
	authorities, _ := p.AllAuthorities() // malformed ones cost only time
	switch code := extendedCode(&p, h); code {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		return negativeLifetime(authorities), nil
	default:
		return troubleTTL, fmt.Errorf("the DNS server failed: %s", strings.TrimPrefix(code.String(), "RCode"))
	}
	if len(answers) == 0 && !h.Authoritative && !h.RecursionAvailable {
		return troubleTTL, errReferral
	}
	ttl, found := maxTTL, false
	for _, r := range answers {
		ttl = min(ttl, seconds(r.Header.TTL))
		found = found || r.Header.Type == kind
	}
	if !found { // aliases may live longer than their target
		return min(negativeLifetime(authorities), max(ttl, minTTL)), nil
	}
	return max(ttl, minTTL), nil
}

// negativeLifetime follows RFC 2308 section 5.
func negativeLifetime(authorities []dnsmessage.Resource) time.Duration {
	for _, r := range authorities {
		if soa, ok := r.Body.(*dnsmessage.SOAResource); ok {
			return min(max(min(seconds(soa.MinTTL), seconds(r.Header.TTL)), minTTL), maxNegativeTTL)
		}
	}
	return troubleTTL // RFC 2308 advises against caching without an SOA
}

// seconds returns a time to live by RFC 2181 section 8: 0 if the highest bit is set.
func seconds(ttl uint32) time.Duration {
	if ttl > math.MaxInt32 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// extendedCode returns h's code with the bits that EDNS adds (RFC 6891 section 6.1.3). p is positioned after the
// authorities.
func extendedCode(p *dnsmessage.Parser, h dnsmessage.Header) dnsmessage.RCode {
	for {
		r, err := p.AdditionalHeader()
		if err != nil {
			return h.RCode
		}
		if r.Type == dnsmessage.TypeOPT {
			return r.ExtendedRCode(h.RCode)
		}
		if err := p.SkipAdditional(); err != nil {
			return h.RCode
		}
	}
}

// questionOf returns the question of a message that has exactly one.
func questionOf(message []byte) (name string, kind dnsmessage.Type, id uint16, ok bool) {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil {
		return "", 0, 0, false
	}
	all, err := p.AllQuestions()
	if err != nil || len(all) != 1 || all[0].Class != dnsmessage.ClassINET {
		return "", 0, 0, false
	}
	return strings.ToLower(all[0].Name.String()), all[0].Type, h.ID, true
}
