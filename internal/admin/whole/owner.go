package whole

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// ofOne answers with what the owner says.
func (s *Server) ofOne(ctx context.Context, w http.ResponseWriter, nodes []Node, q *Question, rule *Rule) {
	u, err := url.Parse(q.Path)
	if err != nil {
		refuse(w, http.StatusBadRequest, "wrong_use", err.Error())
		return
	}
	of := u.Query().Get(rule.Of)
	if q.Method != http.MethodGet {
		var body map[string]json.RawMessage
		if json.Unmarshal(q.Body, &body) != nil || json.Unmarshal(body[rule.Of], &of) != nil {
			of = "" // which this node refuses
		}
	}
	owner := s.ownerOf(ctx, of)
	if owner == "" {
		owner = s.Name
		tell(w.Header(), []*part{{node: "no node", err: errors.New("the partition of this host has no owner now: what follows is without what is stored")}})
	}
	p := s.askOwner(ctx, nodes, owner, q)
	defer closeAll([]*part{p})
	body := p.rest()
	if p.err != nil {
		tell(w.Header(), []*part{p})
		refuse(w, http.StatusServiceUnavailable, "busy", p.err.Error())
		return
	}
	tell(w.Header(), []*part{p})
	kind := "application/json"
	if p.status != http.StatusOK {
		kind = "application/problem+json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(p.status)
	_, _ = w.Write(body)
}

// ownerOf is the node that has a URL or host, "" if nobody has. A URL that cannot be read is this node's, which refuses it as ever.
func (s *Server) ownerOf(ctx context.Context, of string) string {
	owner, err := s.Cluster.Owner(ctx, of)
	if err != nil {
		return s.Name
	}
	return owner
}

// askOwner asks the node that has a host.
func (s *Server) askOwner(ctx context.Context, nodes []Node, owner string, q *Question) *part {
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Name == owner })
	if i < 0 {
		return &part{node: owner, err: fmt.Errorf("node %s has this host, and is not seen", owner)}
	}
	p := open(ctx, nodes[i:i+1], q)[0]
	if p.err != nil {
		p.err = fmt.Errorf("node %s has this host, and cannot be asked: %w", owner, p.err)
	}
	return p
}

// eachOwner asks the owner of each URL that the body lists. All of them must answer.
func (s *Server) eachOwner(ctx context.Context, w http.ResponseWriter, nodes []Node, q *Question, rule *Rule) {
	l := &ofOwners{server: s, q: q, member: rule.Each}
	l.read()
	l.answers = make([]json.RawMessage, len(l.urls))
	at := map[string][]int{} // where the URLs of a node stand
	for i, u := range l.urls {
		owner := s.ownerOf(ctx, u)
		if owner == "" {
			refuse(w, http.StatusServiceUnavailable, "busy", fmt.Sprintf("the partition of %s has no owner now: try again in some seconds", u))
			return
		}
		at[owner] = append(at[owner], i)
	}
	if len(l.urls) == 0 {
		at[s.Name] = []int{}
	}
	for _, owner := range slices.Sorted(maps.Keys(at)) {
		if !l.ask(ctx, w, nodes, owner, at[owner]) {
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(l.answers)
}

// ofOwners is a question about many URLs.
type ofOwners struct {
	server  *Server
	q       *Question
	body    map[string]json.RawMessage
	path    string // without the query, of a question without a body
	query   url.Values
	member  string // of the body, or of the query
	urls    []string
	answers []json.RawMessage
}

// read finds the URLs; none where this node refuses the question.
func (l *ofOwners) read() {
	if l.q.Method != http.MethodGet {
		if json.Unmarshal(l.q.Body, &l.body) != nil || json.Unmarshal(l.body[l.member], &l.urls) != nil {
			l.urls = nil
		}
		return
	}
	u, err := url.Parse(l.q.Path)
	if err == nil {
		l.path, l.query = u.Path, u.Query()
		l.urls = l.query[l.member]
	}
}

// about is the question about some of the URLs.
func (l *ofOwners) about(at []int) (*Question, error) {
	if len(at) == 0 {
		return l.q, nil
	}
	its := make([]string, len(at))
	for i, n := range at {
		its[i] = l.urls[n]
	}
	if some := *l.q; l.query != nil {
		query := maps.Clone(l.query)
		query[l.member] = its
		some.Path = l.path + "?" + query.Encode()
		return &some, nil
	}
	list, err := json.Marshal(its)
	if err != nil {
		return nil, err
	}
	body := maps.Clone(l.body)
	body[l.member] = list
	some := *l.q
	some.Body, err = json.Marshal(body)
	return &some, err
}

// ask asks one owner for its URLs, and puts the answers where they belong. What it refuses is refused.
func (l *ofOwners) ask(ctx context.Context, w http.ResponseWriter, nodes []Node, owner string, at []int) (ok bool) {
	q, err := l.about(at)
	if err != nil {
		refuse(w, http.StatusBadRequest, "wrong_use", err.Error())
		return false
	}
	p := l.server.askOwner(ctx, nodes, owner, q)
	defer closeAll([]*part{p})
	said := p.rest()
	if p.err == nil && p.status != http.StatusOK {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(p.status)
		_, _ = w.Write(said)
		return false
	}
	var list []json.RawMessage
	if p.err == nil && (json.Unmarshal(said, &list) != nil || len(list) != len(at)) {
		p.fail("node %s answers garbage", owner)
	}
	if p.err != nil {
		tell(w.Header(), []*part{p})
		refuse(w, http.StatusServiceUnavailable, "busy", p.err.Error())
		return false
	}
	for i, n := range at {
		l.answers[n] = list[i]
	}
	return true
}
