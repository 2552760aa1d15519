package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/sextant-crawler/sextant/admin/whole"
	"github.com/sextant-crawler/sextant/report"
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
	case s.whole == nil || part:
		return false
	case route.whole != nil:
		s.whole.Serve(w, r, whole.Asker{Role: caller.Role.String(), Name: caller.Name}, route.whole)
		return true
	case route.crawler:
		s.whole.Alone(r.Context(), w.Header())
	}
	return false
}

// InCluster makes the server answer for all nodes of a cluster. It is called before Run. What it gives answers other nodes,
// which have shown that they belong to the cluster: they ask with the rights of who asked them.
func (s *Server) InCluster(name string, c whole.Cluster) *whole.Server {
	s.whole = &whole.Server{Name: name, Cluster: c, Own: func(w http.ResponseWriter, r *http.Request, by whole.Asker) {
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
func command() *whole.Rule { return &whole.Rule{Command: true, Sums: whole.Sums{}} }

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
