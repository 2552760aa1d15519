package indexer

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// refusal is an error that the client caused, or that was scripted.
type refusal struct {
	status     int
	words      string
	retryAfter int // seconds; 0: not sent
}

func (r *refusal) Error() string { return r.words }

func badRequest(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, words: fmt.Sprintf(format, args...)}
}

// call is a running command.
type call struct {
	connector string
	query     url.Values
	request   *http.Request
	scripted  scripted
	answer    http.ResponseWriter
}

// command is a command of the protocol. run writes the response itself, or nothing for a 204.
type command struct {
	method      string
	sessionless bool
	run         func(*Server, *call) error
}

// lookup finds a command by name.
func lookup(name string) (command, bool) {
	switch name {
	case "get_current_session_id":
		return command{http.MethodGet, true, (*Server).currentSession}, true
	case "ping":
		return command{http.MethodGet, true, func(*Server, *call) error { return nil }}, true
	case "add_documents":
		return command{http.MethodPost, false, (*Server).addDocuments}, true
	case "delete_documents":
		return command{http.MethodPost, false, (*Server).deleteDocuments}, true
	case "delete_documents_root_path":
		return command{http.MethodPost, false, (*Server).deleteRootPath}, true
	case "set_checkpoint":
		return command{http.MethodPost, false, (*Server).setCheckpoint}, true
	case "sync":
		return command{http.MethodPost, false, (*Server).syncConnector}, true
	case "get_checkpoint":
		return command{http.MethodGet, false, (*Server).checkpoint}, true
	case "get_documents_status":
		return command{http.MethodGet, false, (*Server).documentsStatus}, true
	case "enumerate_synced_entries":
		return command{http.MethodGet, false, (*Server).enumerate}, true
	case "count_synced_entries":
		return command{http.MethodGet, false, (*Server).countEntries}, true
	}
	return command{}, false
}

func (s *Server) serveCommand(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("connector")
	cmd, ok := lookup(r.PathValue("command"))
	switch {
	case !ok:
		s.refuse(w, r, &refusal{status: http.StatusNotFound, words: "unknown command " + strconv.Quote(r.PathValue("command"))})
		return
	case !s.accepts(name):
		s.refuse(w, r, &refusal{status: http.StatusNotFound, words: "unknown connector " + strconv.Quote(name)})
		return
	case r.Method != cmd.method:
		w.Header().Set("Allow", cmd.method)
		s.refuse(w, r, &refusal{status: http.StatusMethodNotAllowed, words: "this command requires the method " + cmd.method})
		return
	}
	v := s.script.next(strings.HasSuffix(r.PathValue("command"), "_documents") && cmd.method == http.MethodPost)
	if err := s.follow(r.Context(), v, r); err != nil {
		s.refuse(w, r, err)
		return
	}
	if v.garbage {
		writeGarbage(w)
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.refuse(w, r, badRequest("parameters of the URL: %v", err))
		return
	}
	if !cmd.sessionless {
		if err := s.checkSession(query); err != nil {
			s.refuse(w, r, err)
			return
		}
	}
	c := &call{connector: name, query: query, request: r, scripted: v}
	written := &answerWriter{ResponseWriter: w}
	c.answer = written
	if err := cmd.run(s, c); err != nil {
		if written.begun { // too late for a status: cut the response off
			s.log.Error("answer cut off", "command", r.PathValue("command"), "error", err)
			panic(http.ErrAbortHandler)
		}
		s.refuse(w, r, err)
		return
	}
	s.end(v)
	if !written.begun {
		w.WriteHeader(http.StatusNoContent)
	}
}

// answerWriter records whether a response has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

func (w *answerWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	return w.ResponseWriter.Write(b)
}

const maxConnectorName = 128

func (s *Server) accepts(connector string) bool {
	if len(s.settings.Connectors) > 0 {
		return slices.Contains(s.settings.Connectors, connector)
	}
	return connector != "" && !strings.HasPrefix(connector, elasticPrefix) && !strings.HasPrefix(connector, webhookPrefix) && len(connector) <= maxConnectorName && isPlain(connector) && !strings.Contains(connector, "/")
}

func (s *Server) checkSession(query url.Values) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkSessionLocked(query)
}

func (s *Server) checkSessionLocked(query url.Values) error {
	if s.closed {
		return errClosed
	}
	given := query["PAPI_session"]
	if len(given) != 1 {
		return badRequest("PAPI_session is missing or repeated in the URL: write the response of get_current_session_id")
	}
	id, err := strconv.ParseInt(given[0], 10, 64)
	if err != nil {
		return badRequest("PAPI_session %s is not an integer", quote(given[0]))
	}
	if id != s.session {
		return badRequest("PAPI_session %d is not the current session: the indexer was restarted; read get_current_session_id again", id)
	}
	return nil
}

// change runs f, which may change operations, under the lock and in the session of the call, because the session may
// have ended while the body was read.
func (s *Server) change(c *call, f func(*connector) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkSessionLocked(c.query); err != nil {
		return err
	}
	conn, err := s.connector(c.connector)
	if err != nil {
		return err
	}
	return f(conn)
}

// errorBody is the XML of a refusal.
type errorBody struct {
	XMLName xml.Name `xml:"error"`
	Status  int      `xml:"status"`
	Message string   `xml:"message"`
}

// drainLimit is the number of bytes read from a refused body, so that the client receives the response instead of a
// broken pipe.
const drainLimit = 1 << 30

// refused prepares the response to any protocol's error. An error that is not a refusal is a 500.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, err error) *refusal {
	ref, ok := errors.AsType[*refusal](err)
	if ok {
		s.log.Info("refused", "path", r.URL.Path, "status", ref.status, "why", ref.words)
	} else {
		s.log.Error("command failed", "path", r.URL.Path, "error", err)
		ref = &refusal{status: http.StatusInternalServerError, words: err.Error()}
	}
	_, _ = io.CopyN(io.Discard, r.Body, drainLimit)
	if ref.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(ref.retryAfter))
	}
	return ref
}

// refuse writes an error as XML.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ref := s.refused(w, r, err)
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	w.WriteHeader(ref.status)
	body, _ := xml.Marshal(errorBody{Status: ref.status, Message: ref.words}) // strings and numbers always marshal
	_, _ = fmt.Fprintf(w, "%s%s\n", xml.Header, body)
}

// parameter returns a parameter that may occur once. ok reports whether it is present.
func (c *call) parameter(name string) (value string, ok bool, err error) {
	values := c.query[name]
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", true, badRequest("%s occurs %d times: write it once", name, len(values))
	case len(values[0]) > maxURI || !isPlain(values[0]):
		return "", true, badRequest("%s %s: longer than %d bytes, not UTF-8, or with control characters", name, quote(values[0]), maxURI)
	}
	return values[0], true, nil
}

func (c *call) flag(name string, missing bool) (bool, error) {
	value, ok, err := c.parameter(name)
	if err != nil || !ok {
		return missing, err
	}
	switch value {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, badRequest("%s %s: write true or false", name, quote(value))
}

// maxURI bounds URIs, stamps, names and checkpoints, in bytes.
const maxURI = 32 << 10

// isPlain reports whether v is UTF-8 without control characters.
func isPlain(v string) bool {
	return utf8.ValidString(v) && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func checkURI(uri string) error {
	if uri == "" || len(uri) > maxURI || !isPlain(uri) {
		return badRequest("uri %s: empty, longer than %d bytes, not UTF-8, or with control characters", quote(uri), maxURI)
	}
	return nil
}

// quote shortens a client's text for a message.
func quote(v string) string {
	const most = 200
	if len(v) > most {
		v = v[:most] + "..."
	}
	return strconv.Quote(v)
}
