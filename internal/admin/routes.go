package admin

import (
	"bytes"
	_ "embed" // for the description of the API
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// route is a path of the service: its requirements, and its function.
type route struct {
	method, path string
	role         Role   // the least that may ask for it
	crawler      bool   // it is about one Crawler, which ?crawler= names; it may stand in every query
	change       string // what it changes, or hands out whole, for the log; empty: nothing
	heavy        bool   // it reads a whole store, or asks other servers: few run at once
	body         int64  // bytes that a request may have; 0 is maxRequestBytes
	query        string // parameters that it takes beside crawler, with spaces between; see names

	answer func(*call) (any, error)
	// plain writes the response itself.
	plain http.Handler
}

// pattern returns the route in the syntax of http.ServeMux.
func (r *route) pattern() string { return r.method + " " + r.path }

// call is a permitted request.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	crawler Crawler // nil if it concerns none
	caller  Caller
	route   *route
	query   url.Values // only parameters of the route
	// change, target and result are for the log.
	change, target string
	result         []any
	nothing        bool // nothing was changed: logged, but not an event
}

// answered is returned by routes that have already written their response.
type answered struct{}

// document is a response other than JSON.
type document struct {
	media string
	body  []byte
}

// serve handles one route for one caller.
func (s *Server) serve(route *route, w http.ResponseWriter, r *http.Request, caller Caller) {
	if caller.Role < route.role {
		p := refusal(route, caller)
		if route.change != "" && caller.Role > Local {
			s.audit(&call{caller: caller, change: route.change}, p)
		}
		p.write(w, r)
		return
	}
	if route.plain != nil {
		route.plain.ServeHTTP(w, r)
		return
	}
	c := &call{w: w, r: r, caller: caller, route: route, change: route.change}
	answer, err := s.do(c)
	if c.change != "" {
		s.audit(c, err)
	}
	if err != nil {
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError && r.Context().Err() == nil { // else the caller is gone
			s.log.Error("a request failed", "path", route.path, "error", err)
		}
		p.write(w, r)
		return
	}
	s.write(w, r, answer)
}

// do reads the query, finds the Crawler, and calls the route. It does not wait.
func (s *Server) do(c *call) (answer any, err error) {
	route := c.route
	if c.query, err = route.parameters(c.r.URL.RawQuery); err != nil {
		return nil, err
	}
	if route.crawler {
		named, err := s.crawler(c.query.Get("crawler"))
		if err != nil {
			return nil, err
		}
		c.crawler = named
	}
	limit := route.body
	if limit == 0 || c.caller.Role < Operator {
		limit = maxRequestBytes
	}
	if c.r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit} // before it is sent, if the caller uses Expect
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, limit)
	if c.r.ContentLength != 0 {
		if err := c.readUntil(time.Now().Add(bodyTimeout)); err != nil {
			return nil, err
		}
	}
	if route.heavy {
		leave, err := s.enter(c)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return route.answer(c)
}

// names returns the parameters of the route. In query, # marks a number from 1 to MaxLimit, and ? a boolean.
func (r *route) names() []string {
	return strings.Fields(strings.NewReplacer("#", "", "?", "").Replace(r.query))
}

// parameters reads a query. It refuses names that the route does not know: a misspelled filter
// would select everything.
func (r *route) parameters(written string) (url.Values, error) {
	query, err := url.ParseQuery(written)
	if err != nil {
		return nil, wrong("the query cannot be read: %v", err)
	}
	known, marked := append(r.names(), "crawler"), append(strings.Fields(r.query), "crawler")
	for _, name := range slices.Sorted(maps.Keys(query)) {
		i, written := slices.Index(known, name), query.Get(name)
		if i < 0 {
			return nil, wrong("%s takes no parameter %.100q: it takes %s", r.path, name, strings.Join(known, ", "))
		}
		switch {
		case written == "":
		case strings.HasSuffix(marked[i], "#"):
			if n, err := strconv.Atoi(written); err != nil || n < 1 || n > MaxLimit {
				return nil, wrong("%s %q is no number from 1 to %d", name, written, MaxLimit)
			}
		case strings.HasSuffix(marked[i], "?"):
			if _, err := strconv.ParseBool(written); err != nil {
				return nil, wrong("%s %q: write true or false", name, written)
			}
		}
	}
	return query, nil
}

// number returns the value of a parameter marked #, or 0 without it.
func (c *call) number(name string) int {
	n, _ := strconv.Atoi(c.query.Get(name)) // it was checked
	return n
}

// says returns the value of a parameter marked ?, or false without it. The parameter yes confirms large changes.
func (c *call) says(name string) bool {
	yes, _ := strconv.ParseBool(c.query.Get(name)) // it was checked
	return yes
}

// refusal says why a caller may not.
func refusal(route *route, caller Caller) *Problem {
	if caller.Role <= Local {
		whose := "the operator's"
		if route.role < Operator {
			whose = "a reader's or the operator's"
		}
		return newProblem(http.StatusUnauthorized, codeNoToken,
			"this needs %s token, as in Authorization: Bearer TOKEN; sextant token prints the file that holds it", whose)
	}
	return newProblem(http.StatusForbidden, codeForbidden, "a %s may not do this, it needs the %s's token", caller.Role, route.role)
}

// write sends a response; nil is an empty object.
func (s *Server) write(w http.ResponseWriter, r *http.Request, answer any) {
	switch a := answer.(type) {
	case answered:
		return
	case document:
		w.Header().Set("Content-Type", a.media)
		_, _ = w.Write(a.body)
		return
	case nil:
		answer = struct{}{}
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(answer); err != nil {
		s.log.Error("an answer cannot be written", "error", err)
		problemOf(err).write(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// audit logs a change: the caller, the change, its target, and the outcome.
func (s *Server) audit(c *call, err error) {
	fields := []any{"what", c.change, "who", c.caller.String()}
	if c.crawler != nil {
		fields = append(fields, "crawler", c.crawler.Name())
	}
	if c.target != "" {
		fields = append(fields, "target", c.target)
	}
	fields = append(fields, c.result...)
	if err != nil {
		s.log.Warn("change refused", append(fields, "result", err.Error())...)
		return
	}
	s.log.Info("change", append(fields, "result", "done")...)
	if !c.nothing {
		s.watcher.changed(c)
	}
}

// read reads the JSON of a request's body.
func (c *call) read(into any) error {
	media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return newProblem(http.StatusUnsupportedMediaType, codeMediaType, "the body must be JSON: send it with Content-Type: application/json")
	}
	b, err := c.text()
	if err != nil {
		return err
	}
	if c.change != "" {
		c.target = told(b)
	}
	return decodeBody(b, into)
}

// told describes the body of a command for the log: the number of URLs and the first of them, then the other fields.
func told(body []byte) string {
	var fields map[string]any
	_ = json.Unmarshal(body, &fields) // decodeBody says what is wrong with it
	var parts []string
	if urls, _ := fields["urls"].([]any); len(urls) > 0 {
		parts = append(parts, fmt.Sprintf("%d URLs, the first %v", len(urls), urls[0]))
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch value := fields[name].(type) {
		case string:
			parts = append(parts, fmt.Sprintf("%s %q", name, value))
		case float64:
			parts = append(parts, fmt.Sprintf("%s %.0f", name, value))
		case bool:
			if value {
				parts = append(parts, name)
			}
		}
	}
	return strings.Join(parts, ", ")
}

// posted makes the answer of a route that reads its body into a T.
func posted[T any](answer func(*call, T) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var in T
		if err := c.read(&in); err != nil {
			return nil, err
		}
		return answer(c, in)
	}
}

// text reads the whole body. The time for it does not count for the response.
func (c *call) text() ([]byte, error) {
	b, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil, brokenBody(err)
	}
	return b, c.readUntil(time.Time{})
}

// readUntil sets the deadline of the body; the zero time is none.
func (c *call) readUntil(t time.Time) error {
	err := http.NewResponseController(c.w).SetReadDeadline(t)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// decodeBody decodes one JSON value and allows nothing after it.
func decodeBody(b []byte, into any) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) == nil {
		for name, value := range fields {
			if string(value) == "null" && name != "urls" { // it would count as absent; an empty list may be written like this
				return wrong("%q is null: write a value, or leave it out", name)
			}
		}
	}
	in := json.NewDecoder(bytes.NewReader(b))
	in.DisallowUnknownFields()
	err := in.Decode(into)
	if err == nil {
		if _, more := in.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON value")
		}
	}
	if err != nil {
		return wrong("the body is not a valid command: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// crawler finds a Crawler by name. A process with one Crawler needs no name.
func (s *Server) crawler(name string) (Crawler, error) {
	var names []string
	for _, c := range s.crawlers {
		if c.Name() == name || (name == "" && len(s.crawlers) == 1) {
			return c, nil
		}
		names = append(names, c.Name())
	}
	if name == "" {
		return nil, wrong("the service runs several Crawlers: name one with --crawler, or ?crawler= (%s)", strings.Join(names, ", "))
	}
	return nil, wrong("the service has no Crawler %q: it has %s", name, strings.Join(names, ", "))
}

//go:embed openapi.yaml
var openAPIText []byte

// OpenAPI returns the description of the API, in YAML.
func OpenAPI() []byte { return openAPIText }

func openAPI(*call) (any, error) { return document{"application/yaml", OpenAPI()}, nil }
