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

// Names.mu guards the answers and who asks for them. It is never held over a query: the
// goroutine that asks leaves a channel, on which others with the same question wait.

const (
	// minTTL keeps an answer for the requests that follow it at once, however short
	// its time to live; maxTTL lets a host that moved be found again.
	minTTL = 5 * time.Second
	maxTTL = time.Hour
	// maxNegativeTTL is for a name that does not exist (RFC 2308), troubleTTL for
	// a server that says that it failed.
	maxNegativeTTL = 5 * time.Minute
	troubleTTL     = 5 * time.Second
	// maxNames bounds the answers kept, maxAnswer the bytes of each.
	maxNames  = 20_000
	maxAnswer = 4 << 10
)

// Names keeps answers of DNS for as long as their time to live says, between 5 s
// and 1 h: for a name that does not exist at most 5 min (RFC 2308), for the failure
// of a server 5 s. What never came, or came garbled, is not kept. One query for a
// name is on its way to a server at a time. At most 20,000 answers of at most 4 KiB are kept. It stands
// between Go's resolver and the server, so that hosts file, search list and the order
// of addresses are the resolver's, and the guard judges each address that is dialled,
// kept or not. It is safe for concurrent use and may be shared by Fetchers.
type Names struct {
	mu      sync.Mutex
	answers map[question]kept
	asking  map[question]chan struct{} // closed when the answer is there, or will not come
}

// question is what is asked, and whom: a resolver of other settings may say
// otherwise.
type question struct {
	resolver *net.Resolver
	server   string // "" for any: what one said is said, also when it is another's turn
	name     string // in lower case
	kind     dnsmessage.Type
}

type kept struct {
	message []byte
	trouble error // why the message cannot be relied on
	until   time.Time
}

// NewNames returns an empty Names.
func NewNames() *Names {
	return &Names{answers: map[question]kept{}, asking: map[question]chan struct{}{}}
}

// resolver asks as r does, nil being the system's servers, through n. A strict one
// takes no address and no absence for the answer when a server failed.
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

// answer returns what is kept for q, or what ask returns. Others that ask for the same
// wait meanwhile; when the one that asked got nothing, the next one asks.
func (n *Names) answer(ctx context.Context, q question, ask func() ([]byte, error)) ([]byte, error) {
	for {
		n.mu.Lock()
		if k, ok := n.find(q); ok {
			n.mu.Unlock()
			return k.message, k.trouble
		}
		others, busy := n.asking[q]
		if !busy && ctx.Err() == nil { // a resolver that was left tries again all the same
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

// find returns what any server answered to q, or else how its own server failed. The
// caller holds mu.
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

// makeRoom drops what is out of date when all room is taken, and if that is
// nothing a tenth of the rest. The caller holds mu.
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
	errGarbled  = errors.New("the answer of the DNS server is garbled")
	errReferral = errors.New("the DNS server sends to other servers instead of asking them")
)

// lifetime returns how long an answer to a question of a kind may be kept, 0 for not at
// all. trouble is why it says nothing about the name, not even that it does not
// exist. A truncated answer is for the resolver to ask again.
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
	authorities, _ := p.AllAuthorities() // what is garbled here is only a time lost
	switch code := extendedCode(&p, h); code {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		return negativeLifetime(authorities), nil
	default:
		return troubleTTL, fmt.Errorf("the DNS server fails: %s", strings.TrimPrefix(code.String(), "RCode"))
	}
	if len(answers) == 0 && !h.Authoritative && !h.RecursionAvailable {
		return troubleTTL, errReferral
	}
	ttl, found := maxTTL, false
	for _, r := range answers {
		ttl = min(ttl, seconds(r.Header.TTL))
		found = found || r.Header.Type == kind
	}
	if !found { // the aliases, if there are any, may be kept for longer than what they lead to
		return min(negativeLifetime(authorities), max(ttl, minTTL)), nil
	}
	return max(ttl, minTTL), nil
}

// negativeLifetime is by RFC 2308 section 5.
func negativeLifetime(authorities []dnsmessage.Resource) time.Duration {
	for _, r := range authorities {
		if soa, ok := r.Body.(*dnsmessage.SOAResource); ok {
			return min(max(min(seconds(soa.MinTTL), seconds(r.Header.TTL)), minTTL), maxNegativeTTL)
		}
	}
	return troubleTTL // without SOA it should not be kept at all
}

// seconds returns a time to live by RFC 2181 section 8: with the highest bit it is 0.
func seconds(ttl uint32) time.Duration {
	if ttl > math.MaxInt32 {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// extendedCode is h's code with the bits that EDNS adds (RFC 6891 section 6.1.3). p
// stands behind the authorities.
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

// asked reads the question of a message; a message with several questions does not count.
func asked(message []byte) (name string, kind dnsmessage.Type, id uint16, ok bool) {
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
