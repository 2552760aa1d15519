package whole

// serve.go: a goroutine writes this node's own part, while it is read here; it ends before Serve does.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rule says how the answers to one path become one.
type Rule struct {
	// Order makes the path a list: it compares its cursors, by the query. After says that a cursor names what
	// stands before the rest, in place of its beginning.
	Order func(q url.Values) (Order, error)
	After func(q url.Values) bool
	// Sums makes it figures; an empty one adds all.
	Sums Sums
	// Apart has the answers stand in a list for Shape, in place of being added.
	Apart bool
	// Ask changes the query that nodes are asked with, and Shape makes the answer of the sum of theirs, by the query as it was.
	Ask   func(q url.Values)
	Shape func(q url.Values, sum []byte) (any, error)
	// Of is the parameter with the URL or host whose owner is asked, or the member of the body that has it.
	Of string
	// Each is the member of the body that lists URLs: each is asked of its owner, and answers come in their order.
	Each string
	// Gathers has this node answer from the store of all of them (Gathered), which is not done here.
	Gathers bool
	// Order of an operator: it goes to all, and Sums adds what was done.
	Command bool
	// Spares leaves out nodes that decline, because what is named is not theirs, if others do not.
	Spares bool
}

// Cluster is what Serve needs to know of the others.
type Cluster interface {
	// Others are the other nodes that have a part of the crawl, or may have: also those that do not answer.
	Others(ctx context.Context) ([]Node, error)
	// Owner is the name of the node that has a host, "" if nobody has.
	Owner(ctx context.Context, of string) (node string, err error)
}

// Asker is who asks, for the other nodes.
type Asker struct{ Role, Name string }

// Server answers for all nodes.
type Server struct {
	Name    string // of this node
	Cluster Cluster
	// Lacks says which partitions this node should have, by the engine, and does not have yet, "" if it has all. It may be nil.
	Lacks func(ctx context.Context) string
	// Stalled says that the cluster's engine has not answered for a while, and what to do; "" if it answers. It may be nil. Until it answers figures are of
	// this node alone, and all else is refused with these words.
	Stalled func() string
	// Own answers for this node alone, with the asker's rights.
	Own func(w http.ResponseWriter, r *http.Request, by Asker)
}

type partKey struct{}

// IsPart reports whether a request is for a node's part alone, and whether it wants lines.
func IsPart(ctx context.Context) (part, lines bool) {
	q, part := ctx.Value(partKey{}).(*Question)
	return part, part && q.Lines
}

// Answer answers another node's question.
func (s *Server) Answer(ctx context.Context, w io.Writer, q *Question) error {
	ctx = context.WithValue(ctx, partKey{}, q)
	r, err := http.NewRequestWithContext(ctx, q.Method, "http://node"+q.Path, bytes.NewReader(q.Body))
	if err != nil || !strings.HasPrefix(r.URL.Path, "/api/v1/") && r.URL.Path != "/status" {
		return fmt.Errorf("the question is about %q, which is no path of the API: %w", q.Path, errors.Join(err, http.ErrNotSupported))
	}
	if r.Header.Set("Content-Type", q.Media); q.Media == "" {
		r.Header.Del("Content-Type")
	}
	out := &writer{to: w, header: http.Header{}, lacks: s.lacks(ctx)}
	s.Own(out, r, Asker{q.Role, q.Name})
	out.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) lacks(ctx context.Context) string {
	if s.Lacks == nil || s.stalled() != "" {
		return ""
	}
	return s.Lacks(ctx)
}

// own is this node as one of those that are asked.
func (s *Server) own(done *sync.WaitGroup) Node {
	return Node{Name: s.Name, Ask: func(ctx context.Context, q *Question) (io.ReadCloser, error) {
		r, w := io.Pipe()
		done.Go(func() {
			defer func() {
				if broke := recover(); broke != nil { // http.ErrAbortHandler, when a stream breaks off
					w.CloseWithError(fmt.Errorf("it broke off: %v", broke))
				}
			}()
			w.CloseWithError(s.Answer(ctx, w, q))
		})
		return r, nil
	}}
}

// Serve answers a request for all nodes by a rule.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, by Asker, rule *Rule) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	var own sync.WaitGroup
	defer own.Wait()
	q := &Question{Method: r.Method, Path: r.URL.RequestURI(), Role: by.Role, Name: by.Name, Media: r.Header.Get("Content-Type"), Lines: rule.Order != nil}
	if r.Body != nil {
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxQuestion))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, "too_large", "the body cannot be read: "+err.Error())
			return
		}
		q.Body = b
	}
	others, err := s.others(ctx, rule)
	if err != nil {
		code := "busy"
		if s.stalled() != "" {
			code = "engine_silent"
		}
		refuse(w, http.StatusServiceUnavailable, code, err.Error())
		return
	}
	nodes := append([]Node{s.own(&own)}, others...)
	streams := rule.Order != nil && strings.Contains(r.Header.Get("Accept"), "application/jsonl")
	if !streams {
		late := time.AfterFunc(pageFor, func() { cancel(errLate) })
		defer late.Stop()
	}
	switch {
	case rule.Of != "":
		s.ofOne(ctx, w, nodes, q, rule)
	case rule.Each != "":
		s.eachOwner(ctx, w, nodes, q, rule)
	case rule.Order != nil:
		s.list(ctx, w, nodes, q, rule, streams)
	default:
		s.figures(ctx, w, nodes, q, rule)
	}
}

func (s *Server) stalled() string {
	if s.Stalled == nil {
		return ""
	}
	return s.Stalled()
}

// others are the nodes to be asked beside this one; their error is for people. Without the engine nobody knows who they are: where the rule is one of figures
// one that is missing stands for all of them.
func (s *Server) others(ctx context.Context, rule *Rule) ([]Node, error) {
	if why := s.stalled(); why != "" {
		silent := errors.New(why)
		if rule.Sums == nil || rule.Command || rule.Spares {
			return nil, silent
		}
		return []Node{{"the other nodes", func(context.Context, *Question) (io.ReadCloser, error) { return nil, silent }}}, nil
	}
	all, err := s.Cluster.Others(ctx)
	if err != nil {
		err = fmt.Errorf("who else has a part of the crawl cannot be seen: %w", err)
	}
	return all, err
}

// Alone says that an answer is of this node alone, because there is no way to join it with others'.
func (s *Server) Alone(ctx context.Context, h http.Header) {
	others, err := s.others(ctx, &Rule{})
	if err != nil {
		h.Set(Missing, clean(err.Error()))
		return
	}
	var all []*part
	for _, n := range others {
		all = append(all, &part{node: n.Name, err: fmt.Errorf("not asked: this is of %s alone", s.Name)})
	}
	tell(h, all)
}

// tell names the nodes that are missing.
func tell(h http.Header, parts []*part) (missing bool) {
	who := lacking(parts)
	if who != "" {
		h.Set(Missing, who)
	}
	return who != ""
}

// lacking names the nodes without which an answer is, and why, "" if there are none.
func lacking(parts []*part) string {
	var all []string
	for _, p := range parts {
		switch {
		case p.err != nil:
			all = append(all, p.node+": "+clean(p.err.Error()))
		case p.lacks != "":
			all = append(all, p.node+": "+clean(p.lacks))
		}
	}
	return strings.Join(all, "; ")
}

// clean makes a text fit for a header.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, text)
	return text[:min(len(text), 300)]
}

// refuse answers with a problem, as admin writes them.
func refuse(w http.ResponseWriter, status int, code, words string) {
	b, err := json.Marshal(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": words, "code": code})
	if err != nil {
		b = nil // texts can always be written
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

// judged are the parts that count. What this node itself refuses is refused: a wrong query is wrong everywhere.
func (s *Server) judged(w http.ResponseWriter, parts []*part) bool {
	for _, p := range parts {
		if p.err != nil || p.status == http.StatusOK {
			continue
		}
		body := p.rest()
		if p.node == s.Name {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(p.status)
			_, _ = w.Write(body)
			return false
		}
		p.fail("it answered %d: %s", p.status, detail(body))
	}
	return true
}

// figures adds what all say.
func (s *Server) figures(ctx context.Context, w http.ResponseWriter, nodes []Node, q *Question, rule *Rule) {
	asked, query, err := rule.asks(q)
	if err != nil {
		refuse(w, http.StatusBadRequest, "wrong_use", err.Error())
		return
	}
	parts := open(ctx, nodes, asked)
	defer closeAll(parts)
	if rule.Spares {
		parts = didSomething(parts)
	}
	if !s.judged(w, parts) {
		return
	}
	sum := s.sum(parts, rule)
	if tell(w.Header(), parts) && rule.Command {
		refuse(w, http.StatusBadGateway, "failed", "it was done at all other nodes: "+w.Header().Get(Missing)+". Repeat it when they are there")
		return
	}
	if sum, err = rule.shaped(query, sum); err != nil {
		refuse(w, http.StatusInternalServerError, "failed", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sum) // a reader that has gone is no fault
}

// sum adds what all say, in one order, whichever node is asked. What this node says is right: who says something of another kind is missing.
func (s *Server) sum(parts []*part, rule *Rule) (sum any) {
	bodies := map[*part][]byte{}
	var own any
	for _, p := range parts {
		bodies[p] = p.rest()
		if p.node == s.Name && p.err == nil {
			own, p.err = decode(bodies[p])
		}
	}
	slices.SortFunc(parts, byNode)
	for _, p := range parts {
		if p.err != nil {
			continue
		}
		v, err := rule.add(sum, bodies[p])
		if err == nil && !rule.Apart {
			_, err = rule.add(own, bodies[p])
		}
		if err != nil {
			p.fail("its answer is garbage: %w", err)
			continue
		}
		sum = v
	}
	return sum
}

// add adds a node's answer to the sum of those before.
func (r *Rule) add(sum any, body []byte) (any, error) {
	v, err := decode(body)
	switch {
	case err != nil:
		return nil, err
	case !r.Apart:
		return r.Sums.Sum(sum, v)
	}
	all, _ := sum.([]any)
	return append(all, v), nil
}

// byNode has answers come in one order, whichever node is asked.
func byNode(a, b *part) int { return strings.Compare(a.node, b.node) }

// asks is the question as nodes are asked it, and the query as it was.
func (r *Rule) asks(q *Question) (*Question, url.Values, error) {
	u, err := url.Parse(q.Path)
	if err != nil || r.Ask == nil {
		return q, nil, err
	}
	query := u.Query()
	asked := maps.Clone(query)
	r.Ask(asked)
	u.RawQuery = asked.Encode()
	out := *q
	out.Path = u.RequestURI()
	return &out, query, nil
}

// shaped is the answer that is made of a sum.
func (r *Rule) shaped(query url.Values, sum any) (any, error) {
	if r.Shape == nil {
		return sum, nil
	}
	b, err := json.Marshal(sum)
	if err != nil {
		return nil, err
	}
	return r.Shape(query, b)
}

// didSomething leaves out nodes that had nothing to do, because what the command names is not theirs, if others had.
func didSomething(parts []*part) []*part {
	declined := func(p *part) bool { return p.err == nil && p.status == http.StatusUnprocessableEntity }
	did := slices.DeleteFunc(slices.Clone(parts), declined)
	if slices.ContainsFunc(did, func(p *part) bool { return p.err == nil && p.status == http.StatusOK }) {
		return did
	}
	return parts
}
