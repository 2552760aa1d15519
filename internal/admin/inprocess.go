package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin/whole"
	"github.com/sextant-crawler/sextant/internal/report"
)

// As answers what another part of this process asks for somebody, with that one's
// rights: the console asks the API in this way. Callers over TCP were judged before.
// A Caller who came over TCP may name no files of this machine.
func (s *Server) As(c Caller) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r.WithContext(context.WithValue(r.Context(), ownerKey{}, c)))
	})
}

// SignIn says who has a token that somebody typed. Wrong ones are counted by remote
// address together with those in headers: after a few one must wait, also with the
// right one.
func (s *Server) SignIn(r *http.Request, token string) (Caller, *Problem) {
	c, p := s.guard.attempt(r, func() (Caller, bool) { return s.access.ByToken(token) })
	c.Remote = r.RemoteAddr
	return c, p
}

// ConsoleAddress says where the console is, and which file holds the operator's token.
type ConsoleAddress struct {
	URL       string `json:"url"`
	TokenFile string `json:"token_file"`
}

// errNoConsole is the answer where nothing listens on TCP.
var errNoConsole = &Declined{Err: errors.New("the service has no console: it was started with --listen off")}

// Shows tells the server, before Run, that it has a console at a URL.
func (s *Server) Shows(url string) { s.console = url }

func (s *Server) consoleRoutes() []route {
	return []route{{method: "GET", path: "/api/v1/console", role: Operator, answer: s.consoleAddress}}
}

func (s *Server) consoleAddress(*call) (any, error) {
	if s.console == "" {
		return nil, errNoConsole
	}
	return ConsoleAddress{s.console, s.access.settings.OperatorToken}, nil
}

// Console says where the service's console is.
func (c *Client) Console(ctx context.Context) (a ConsoleAddress, err error) {
	return a, c.decode(ctx, http.MethodGet, "/api/v1/console", nil, nil, &a)
}

// forAll answers for all nodes of a cluster, if there is one and the request is not for this node's part.
func (s *Server) forAll(route *route, w http.ResponseWriter, r *http.Request, caller Caller) (answered bool) {
	part, _ := whole.IsPart(r.Context())
	switch {
	case s.whole == nil || part || route.whole == nil || route.whole.Gathers:
		return false
	case route.whole == elsewhere:
		s.several(route).write(w)
		return true
	}
	by := whole.Asker{Role: caller.Role.String(), Name: caller.Name}
	if route.change == "remove" && !s.confirmedByAll(w, r, by) {
		return true
	}
	s.whole.Serve(w, r, by, route.whole)
	return true
}

// confirmedByAll counts over all nodes what is to be removed where nobody has said yes to it, and answers with the problem if that is much. The nodes are
// told yes then: each would count its own part.
func (s *Server) confirmedByAll(w http.ResponseWriter, r *http.Request, by whole.Asker) bool {
	query := r.URL.Query()
	if query.Get("yes") != "" {
		return true
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, whole.MaxQuestion))
	if err != nil {
		problemOf(brokenBody(err)).write(w)
		return false
	}
	count := r.Clone(r.Context())
	count.URL.Path, count.Body = "/api/v1/selected", io.NopCloser(bytes.NewReader(body))
	many := buffered{header: http.Header{}, status: http.StatusOK}
	s.whole.Serve(&many, count, by, ofSome())
	var n crawl.SelectedCount
	if many.status != http.StatusOK || json.Unmarshal(many.body.Bytes(), &n) != nil {
		maps.Copy(w.Header(), many.header)
		w.WriteHeader(many.status)
		_, _ = w.Write(many.body.Bytes())
		return false
	}
	if who := many.header.Get(whole.Missing); who != "" {
		busy("what this removes cannot be counted: %s. Send it with yes=true in the query to remove what is there", who).write(w)
		return false
	}
	if n.URLs > RemovedUnasked {
		tooMany(n).write(w)
		return false
	}
	query.Set("yes", "true")
	r.URL.RawQuery, r.Body = query.Encode(), io.NopCloser(bytes.NewReader(body))
	return true
}

// buffered is an answer in memory.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter, as do the others.
func (b *buffered) Header() http.Header { return b.header }

// WriteHeader keeps the status.
func (b *buffered) WriteHeader(status int) { b.status = status }

// Write keeps what is written.
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// elsewhere marks what no node of several can answer for all; anyNode what each answers alike, and own what is of the node that is asked.
var elsewhere = &whole.Rule{}

// several says what to do where several nodes have parts of the crawl, and none of them can do it.
func (s *Server) several(route *route) *Problem {
	return newProblem(http.StatusNotImplemented, codeSeveral, "%s is not there for a crawl whose partitions several nodes have: %s", route.pattern(), route.instead)
}

// gather has a route read the store of all nodes, if it is one that does and the request is not for this node's part.
func (s *Server) gather(c *call) error {
	part, _ := whole.IsPart(c.r.Context())
	if s.whole == nil || part || c.route.whole == nil || !c.route.whole.Gathers {
		return nil
	}
	if p := s.stall(); p != nil {
		return p
	}
	g, err := s.whole.Gather(c.r.Context(), c.crawler.Reports(), c.crawler.Name(), whole.Asker{Role: c.caller.Role.String(), Name: c.caller.Name})
	if err != nil {
		return busy("%v", err)
	}
	c.store, c.w = g, &telling{c.w, g}
	return nil
}

// telling names the nodes that are missing when an answer begins.
type telling struct {
	http.ResponseWriter
	of *whole.Gathered
}

// WriteHeader implements http.ResponseWriter.
func (t *telling) WriteHeader(status int) {
	t.of.Tell(t.Header())
	t.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (t *telling) Write(b []byte) (int, error) {
	t.of.Tell(t.Header())
	return t.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (t *telling) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// partOfStore gives another node what it gathers of this node's store.
func (s *Server) partOfStore() *route {
	return &route{method: "GET", path: whole.StorePath, role: Reader, crawler: true, answer: func(c *call) (any, error) {
		if part, _ := whole.IsPart(c.r.Context()); !part {
			return nil, newProblem(http.StatusNotFound, codeNotFound, "%s is for nodes of the same cluster alone", c.route.path)
		}
		question, err := c.text()
		if err != nil {
			return nil, err
		}
		return s.stream(c, "a part of the store", func(w io.Writer) error { return whole.WriteStore(c.r.Context(), w, c.crawler.Reports(), question) })
	}}
}

// InCluster makes the server answer for all nodes of a cluster. It is called before Run. What it gives answers other nodes,
// which have shown that they belong to the cluster: they ask with the rights of who asked them.
func (s *Server) InCluster(name string, c whole.Cluster) *whole.Server {
	s.whole = &whole.Server{Name: name, Cluster: c, Stalled: s.stalled, Own: func(w http.ResponseWriter, r *http.Request, by whole.Asker) {
		caller := Caller{Name: by.Name, Remote: "another node"}
		for _, role := range []Role{Local, Reader, Operator} {
			if role.String() == by.Role {
				caller.Role = role
			}
		}
		s.answer(w, r.WithContext(context.WithValue(r.Context(), ownerKey{}, caller)))
	}}
	return s.whole
}

// summed are figures, which are added.
func summed() *whole.Rule { return &whole.Rule{Sums: whole.Sums{}} }

// command is done by all nodes.
func command() *whole.Rule { return &whole.Rule{Command: true, Spares: true, Sums: whole.Sums{}} }

// ofSome is what a command would be about.
func ofSome() *whole.Rule { return &whole.Rule{Spares: true, Sums: whole.Sums{}} }

// gathered is made of the store of all nodes.
func gathered() *whole.Rule { return &whole.Rule{Gathers: true} }

// eachOwner is about the URLs that a parameter names, or a member of the body.
func eachOwner(name string) *whole.Rule { return &whole.Rule{Each: name} }

// shaped are figures of which each node is asked for what it may have to give, and whose sum gets its shape here.
func shaped[T any](ask func(q url.Values), shape func(q url.Values, sum *T)) *whole.Rule {
	return &whole.Rule{Sums: whole.Sums{}, Ask: ask, Shape: func(q url.Values, b []byte) (any, error) {
		var sum T
		if err := json.Unmarshal(b, &sum); err != nil {
			return nil, err
		}
		shape(q, &sum)
		return &sum, nil
	}}
}

// limited is the limit of a query, at most so many; the default where it names none.
func limited(q url.Values, name string) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return defaultLimit
	}
	return n
}

// wholeHosts are the hosts with the longest queues of all nodes, then those that rest longest.
func wholeHosts() *whole.Rule {
	return shaped(func(url.Values) {}, func(q url.Values, all *[]HostStatus) {
		n := limited(q, "n")
		slices.SortStableFunc(*all, func(a, b HostStatus) int {
			return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Host, b.Host))
		})
		if len(*all) <= n {
			return
		}
		rest := slices.DeleteFunc(slices.Clone((*all)[n:]), func(h HostStatus) bool { return h.ClosedUntil == nil })
		slices.SortStableFunc(rest, func(a, b HostStatus) int { return b.ClosedUntil.Compare(*a.ClosedUntil) })
		*all = append((*all)[:n], rest[:min(n, len(rest))]...)
	})
}

// wholeHostList is a page of the hosts of all nodes: each gives all that come before its end.
func wholeHostList() *whole.Rule {
	return shaped(func(q url.Values) {
		from, _ := strconv.Atoi(q.Get("from")) // what is no number is refused by the nodes
		q.Set("limit", strconv.Itoa(from+limited(q, "limit")))
		if from > 0 {
			q.Set("from", "0")
		}
	}, func(q url.Values, page *report.HostsPage) {
		from, _ := strconv.Atoi(q.Get("from"))
		page.Cut(q.Get("sort"), from, limited(q, "limit"))
	})
}

// wholeCounts are counts of deletions by what they have in common, the largest groups of all nodes.
func wholeCounts() *whole.Rule {
	return shaped(func(q url.Values) { q.Del("limit") }, func(q url.Values, n *DeletionCounts) {
		most, _ := strconv.Atoi(q.Get("limit"))
		n.order(most)
	})
}

// wholeIll are ill hosts, the latest first.
func wholeIll() *whole.Rule {
	return shaped(func(url.Values) {}, func(_ url.Values, all *[]IllHost) {
		slices.SortStableFunc(*all, func(a, b IllHost) int { return b.Since.Compare(a.Since) })
	})
}

// ofOwner is about the URL or host that a parameter names.
func ofOwner(parameter string) *whole.Rule { return &whole.Rule{Of: parameter} }

// wholeStatus adds what each node counts. What is the same at all nodes is that of the first.
func wholeStatus() *whole.Rule {
	return &whole.Rule{Sums: whole.Sums{
		"started_at": whole.Least, "version": whole.First, "config_loaded_at": whole.Most, "config_version": whole.Least, "last_at": whole.Most, "oldest": whole.Least, "since": whole.Least,
		"next": whole.Least, "next_at": whole.Least, "next_due": whole.Least, "next_opening": whole.Least, "down_since": whole.Least, "cluster": whole.First, "notices": whole.First,
		"disk_free_bytes": whole.Least, "disk_needed_bytes": whole.Most, "last_commit_s": whole.Most, "longest_commit_s": whole.Most, "lag_s": whole.Most, "oldest_s": whole.Most,
		"engine_bytes": whole.Most, "engine_quota_bytes": whole.Most, "schedules": whole.First, "edit": whole.First, "status": whole.First,
	}}
}

// wholeURLs merges stored URLs in the order of their keys, or of a column.
func wholeURLs() *whole.Rule {
	return &whole.Rule{
		Order: func(q url.Values) (whole.Order, error) {
			o, err := report.ParseOrder(q.Get("sort"), report.URLColumns())
			if o.By == "" {
				return strings.Compare, err
			}
			return func(a, b string) int {
				p, errP := report.ParsePlace(a)
				r, errR := report.ParsePlace(b)
				if errP != nil || errR != nil {
					return strings.Compare(a, b) // a node that is not well
				}
				return o.Compare(p, r)
			}, err
		},
		After: func(q url.Values) bool { return q.Get("sort") != "" },
	}
}

func wholeOrders() *whole.Rule {
	return inOrder(parseOrderCursor, func(a, b orderCursor) bool { return a.before(b) })
}

func wholeDeletions() *whole.Rule {
	return inOrder(parseSeq, func(a, b uint64) bool { return a < b })
}

// inOrder merges a list in the order of its cursors.
func inOrder[C any](parse func(string) (C, error), before func(a, b C) bool) *whole.Rule {
	order := func(a, b string) int {
		x, errX := parse(a)
		y, errY := parse(b)
		switch {
		case errX != nil || errY != nil:
			return strings.Compare(a, b) // a node that is not well
		case before(x, y):
			return -1
		case before(y, x):
			return 1
		}
		return 0
	}
	return &whole.Rule{Order: func(url.Values) (whole.Order, error) { return order, nil }}
}
