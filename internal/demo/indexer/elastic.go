package indexer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// elasticPrefix begins the names of connectors that are indices of the _bulk interface, webhookPrefix those of
// webhooks.
const (
	elasticPrefix = "elastic:"
	webhookPrefix = "webhook:"
)

// exchange is one request of a JSON protocol.
type exchange struct {
	scripted
	*http.Request
}

// protocol serves commands with JSON responses, which may be changes as defined by Fail. refuse writes errors.
func (s *Server) protocol(change bool, refuse func(http.ResponseWriter, *http.Request, error), run func(*exchange) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := s.script.next(change)
		err := s.follow(r.Context(), v, r)
		if err == nil && v.garbage {
			writeGarbage(w)
			return
		}
		var answer any
		if err == nil {
			answer, err = run(&exchange{v, r})
		}
		if err != nil {
			refuse(w, r, err)
			return
		}
		s.end(v)
		s.writeJSON(w, r, answer, nil)
	}
}

// serveElastic finds the command of a path. Patterns of the mux cannot, because an index may have the name
// "_index_template".
func (s *Server) serveElastic(w http.ResponseWriter, r *http.Request) {
	first, rest, _ := strings.Cut(r.PathValue("path"), "/")
	run, change := (func(*exchange) (any, error))(nil), false
	switch {
	case first == "_bulk" && rest == "", rest == "_bulk" && !strings.HasPrefix(first, "_"):
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			run, change = s.bulk, true
		}
		r.SetPathValue("index", strings.TrimPrefix(first, "_bulk"))
	case rest == "_mget" && !strings.HasPrefix(first, "_"):
		if r.Method == http.MethodPost || r.Method == http.MethodGet {
			run = s.multiGet
		}
		r.SetPathValue("index", first)
	case first == "_index_template" && rest != "" && !strings.Contains(rest, "/"):
		r.SetPathValue("name", rest)
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			run = s.template
		case http.MethodPut:
			run = s.putTemplate
		}
	default:
		s.refuseElastic(w, r, badRequest("no handler found for uri [%s] and method [%s]", r.URL.Path, r.Method))
		return
	}
	if run == nil {
		s.refuseElastic(w, r, &refusal{status: http.StatusMethodNotAllowed, words: "Incorrect HTTP method for uri [" + r.URL.Path + "]"})
		return
	}
	s.protocol(change, s.refuseElastic, run)(w, r)
}

// elasticError is the JSON of an error of a request or an item.
type elasticError struct {
	Type   string `json:"type"`
	Reason string `json:"reason"`
}

func (s *Server) refuseElastic(w http.ResponseWriter, r *http.Request, err error) {
	ref := s.refused(w, r, err)
	kind := "illegal_argument_exception"
	if ref.status >= http.StatusInternalServerError {
		kind = "exception"
	}
	writeRefusal(w, ref.status, map[string]any{"status": ref.status, "error": elasticError{kind, ref.words}})
}

// writeRefusal writes an error as JSON.
func writeRefusal(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// readBody reads a body of at most MaxRequestBytes, also after decompression.
func (s *Server) readBody(r *http.Request) ([]byte, func(), error) {
	limit := s.settings.MaxRequestBytes
	if err := s.reading.Acquire(r.Context(), limit/readers); err != nil {
		return nil, nil, err
	}
	done := func() { s.reading.Release(limit / readers) }
	body, err := readLimited(r, limit/readers)
	if err != nil {
		done()
		return nil, nil, err
	}
	return body, done, nil
}

// readers is the number of bodies in memory at a time; MaxRequestBytes limits their total size.
const readers = 4

func readLimited(r *http.Request, limit int64) ([]byte, error) {
	in := io.Reader(r.Body)
	switch r.Header.Get("Content-Encoding") {
	case "":
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, badRequest("the body is not gzip: %v", err)
		}
		in = z
	default:
		return nil, &refusal{status: http.StatusUnsupportedMediaType, words: "Content-Encoding must be gzip or absent"}
	}
	body, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, badRequest("the body was cut off: %v", err)
	}
	if int64(len(body)) > limit {
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, words: fmt.Sprintf("the body is longer than %d bytes: send fewer documents at once", limit)}
	}
	return body, nil
}

// bulkAnswer is the response of _bulk.
type bulkAnswer struct {
	Took   int64                 `json:"took"`
	Errors bool                  `json:"errors"`
	Items  []map[string]bulkItem `json:"items"`
}

type bulkItem struct {
	Index   string        `json:"_index"`
	ID      string        `json:"_id"`
	Version int64         `json:"_version,omitempty"`
	Result  string        `json:"result,omitempty"`
	Status  int           `json:"status"`
	Error   *elasticError `json:"error,omitempty"`
}

func (s *Server) bulk(x *exchange) (any, error) {
	begun := time.Now()
	if err := checkBulk(x); err != nil {
		return nil, err
	}
	body, done, err := s.readBody(x.Request)
	if err != nil {
		return nil, err
	}
	defer done()
	actions, err := parseBulk(body, x.PathValue("index"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	answer := bulkAnswer{Items: make([]map[string]bulkItem, 0, len(actions))}
	taken := x.taken(len(actions))
	touched := map[*connector]bool{}
	for i, a := range actions {
		item, err := s.act(a, i < taken, touched)
		if err != nil {
			return nil, err
		}
		answer.Errors = answer.Errors || item.Error != nil
		answer.Items = append(answer.Items, map[string]bulkItem{a.op: item})
	}
	for conn := range touched {
		if err := s.sync(conn); err != nil {
			return nil, err
		}
	}
	answer.Took = time.Since(begun).Milliseconds()
	return answer, nil
}

// checkBulk checks the header of a request.
func checkBulk(x *exchange) error {
	kind, _, _ := strings.Cut(x.Header.Get("Content-Type"), ";")
	if kind != "application/x-ndjson" && kind != "application/json" {
		return &refusal{status: http.StatusNotAcceptable, words: "Content-Type " + quote(kind) + ": send application/x-ndjson"}
	}
	query, err := url.ParseQuery(x.URL.RawQuery)
	if err != nil {
		return badRequest("parameters of the URL: %v", err)
	}
	for name := range query {
		if !slices.Contains([]string{"filter_path", "pipeline", "refresh", "timeout", "pretty"}, name) {
			return badRequest("request [%s] contains unrecognized parameter: [%s]", x.URL.Path, name)
		}
	}
	return nil
}

// act applies an action, or only returns its result. The caller holds mu.
func (s *Server) act(a action, taken bool, touched map[*connector]bool) (bulkItem, error) {
	item := bulkItem{Index: a.index, ID: a.id, Version: a.version}
	fail := func(status int, kind, format string, args ...any) (bulkItem, error) {
		item.Status, item.Error = status, &elasticError{kind, fmt.Sprintf(format, args...)}
		return item, nil
	}
	if !validIndex(a.index) {
		return fail(http.StatusBadRequest, "invalid_index_name_exception", "Invalid index name [%s], must be lowercase and of plain characters", a.index)
	}
	conn, err := s.connector(elasticPrefix + a.index)
	if err != nil {
		return fail(http.StatusBadRequest, "illegal_argument_exception", "%v", err)
	}
	old, there, err := s.version(conn, a.id)
	if err != nil {
		return item, err
	}
	if a.version >= 0 && old > a.version {
		return fail(http.StatusConflict, "version_conflict_engine_exception",
			"[%s]: version conflict, current version [%d] is higher than the one provided [%d]", a.id, old, a.version)
	}
	if a.version < 0 {
		item.Version = old + 1
	}
	var doc *document
	switch {
	case a.op == "delete" && there:
		item.Status, item.Result = http.StatusOK, "deleted"
	case a.op == "delete":
		item.Status, item.Result = http.StatusNotFound, "not_found"
	default:
		if doc, err = newBulkDocument(a, item.Version); err != nil {
			return fail(http.StatusBadRequest, "document_parsing_exception", "%v", err)
		}
		if bad, ok := s.settings.Fail.badFor(doc.URL); ok {
			return fail(http.StatusBadRequest, "document_parsing_exception", "scripted failure: the url %s contains %s", quote(doc.URL), quote(bad))
		}
		doc.Connector = conn.name
		item.Status, item.Result = http.StatusCreated, "created"
		if there {
			item.Status, item.Result = http.StatusOK, "updated"
		}
	}
	if taken {
		touched[conn] = true
		s.pending += conn.put(a.id, doc)
		conn.graves.note(a.id, item.Version, doc == nil)
	}
	return item, nil
}

// version returns the version of a document, or of its deletion, and whether it exists.
func (s *Server) version(conn *connector, id string) (int64, bool, error) {
	if version, ok := conn.graves.version(id); ok {
		return version, false, nil
	}
	if d, ok := conn.last[id]; ok && d != nil {
		n, err := strconv.ParseInt(d.Stamp, 10, 64)
		return n, true, err
	}
	stamps, err := s.store.stamps(conn.name, []string{id})
	stamp, there := stamps[id]
	if err != nil || !there {
		return 0, false, err
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	return n, true, err
}

// validIndex checks the rules of index names.
func validIndex(name string) bool {
	return name != "" && len(name) <= 255 && name == strings.ToLower(name) && isPlain(name) && name != "." && name != ".." &&
		!strings.ContainsAny(name, `\/*?"<>| ,#:`) && !strings.ContainsAny(name[:1], "-_+")
}
