package indexer

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

func (s *Server) currentSession(c *call) error {
	s.mu.Lock()
	id := s.session
	s.mu.Unlock()
	_, err := fmt.Fprintf(c.answer, "%d", id)
	return err
}

// addDocuments reads and checks the whole request before it accepts the first document.
func (s *Server) addDocuments(c *call) error {
	docs, err := s.readDocuments(c.request)
	if err != nil {
		return err
	}
	for _, d := range docs {
		if bad, ok := s.settings.Fail.badFor(d.URL); ok {
			return badRequest("scripted failure: the uri %s contains %s", quote(d.URL), quote(bad))
		}
	}
	return s.change(c, func(conn *connector) error {
		for _, d := range docs[:c.scripted.taken(len(docs))] {
			d.Connector = c.connector
			if err := s.grown(conn.put(d.URL, d)); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxFormBytes bounds the body of delete_documents.
const maxFormBytes = 16 << 20

func (s *Server) deleteDocuments(c *call) error {
	form, err := readForm(c.request)
	if err != nil {
		return err
	}
	uris := slices.Concat(form["PAPI_uri"], c.query["PAPI_uri"])
	if len(uris) == 0 {
		return badRequest("PAPI_uri is missing: write it in the form body, once or more")
	}
	for _, uri := range uris {
		if err := checkURI(uri); err != nil {
			return err
		}
	}
	return s.change(c, func(conn *connector) error {
		for _, uri := range uris[:c.scripted.taken(len(uris))] {
			if err := s.grown(conn.put(uri, nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

// readForm parses a form-urlencoded body that contains only PAPI_uri; an empty body is an empty form.
func readForm(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxFormBytes+1))
	if err != nil {
		return nil, badRequest("the body was cut off: %v", err)
	}
	if len(body) == 0 {
		return url.Values{}, nil
	}
	if len(body) > maxFormBytes {
		return nil, badRequest("the form is larger than %d bytes: delete fewer documents at once", maxFormBytes)
	}
	const want = "application/x-www-form-urlencoded"
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != want {
		return nil, badRequest("Content-Type %s: send %s", quote(r.Header.Get("Content-Type")), want)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("the form: %v", err)
	}
	for name := range form {
		if name != "PAPI_uri" {
			return nil, badRequest("the form has an unknown field %s: only PAPI_uri is supported", quote(name))
		}
	}
	return form, nil
}

func (s *Server) deleteRootPath(c *call) error {
	path, _, err := c.parameter("PAPI_rootPath")
	if err != nil {
		return err
	}
	recursive, err := c.flag("PAPI_recursive", true)
	if err != nil {
		return err
	}
	root := newRootPath(path, recursive)
	if root.path == "" {
		return badRequest("PAPI_rootPath is empty: that would delete the whole collection; name a path")
	}
	return s.change(c, func(conn *connector) error { return s.grown(conn.deleteRoot(root)) })
}

func (s *Server) setCheckpoint(c *call) error {
	value, ok, err := c.parameter("PAPI_checkpoint")
	if err != nil {
		return err
	}
	if !ok {
		return badRequest("PAPI_checkpoint is missing in the URL")
	}
	name, _, err := c.parameter("PAPI_name")
	if err != nil {
		return err
	}
	if len(name) > maxCheckpointBytes || len(value) > maxCheckpointBytes {
		return badRequest("PAPI_checkpoint or PAPI_name is longer than %d bytes", maxCheckpointBytes)
	}
	sync, err := c.flag("PAPI_sync", false)
	if err != nil {
		return err
	}
	return s.change(c, func(conn *connector) error {
		if err := conn.mark(name, value); err != nil {
			return err
		}
		if sync {
			if err := s.sync(conn); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(c.answer, "%d", conn.serial)
		return err
	})
}

func (s *Server) syncConnector(c *call) error {
	return s.change(c, s.sync)
}

func (s *Server) checkpoint(c *call) error {
	name, _, err := c.parameter("PAPI_name")
	if err != nil {
		return err
	}
	s.mu.Lock()
	value := ""
	if conn, ok := s.connectors[c.connector]; ok {
		value = conn.synced.Checkpoints[name]
	}
	s.mu.Unlock()
	_, err = io.WriteString(c.answer, value)
	return err
}

// documentsStatus responds from the pending operations first, then from the synced documents.
func (s *Server) documentsStatus(c *call) error {
	uris := c.query["PAPI_uri"]
	if len(uris) == 0 {
		return badRequest("PAPI_uri is missing in the URL: write it once or more")
	}
	for _, uri := range uris {
		if err := checkURI(uri); err != nil {
			return err
		}
	}
	// The lock prevents a sync from moving documents between the two reads.
	s.mu.Lock()
	stamps, err := s.stampsLocked(c.connector, uris)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.answer)
	for _, uri := range uris {
		stamp, exists := stamps[uri]
		_, _ = fmt.Fprintf(out, "%s %t %s\n", url.QueryEscape(uri), exists, escapeStamp(stamp)) // Flush reports an error
	}
	return out.Flush()
}

func (s *Server) stampsLocked(connector string, uris []string) (map[string]string, error) {
	if s.closed {
		return nil, errClosed
	}
	stamps, err := s.store.stamps(connector, uris)
	conn, ok := s.connectors[connector]
	if err != nil || !ok {
		return stamps, err
	}
	for _, uri := range uris {
		if conn.rootsCover(uri) {
			delete(stamps, uri)
		}
		switch d, pending := conn.last[uri]; {
		case pending && d != nil:
			stamps[uri] = d.Stamp
		case pending:
			delete(stamps, uri)
		}
	}
	return stamps, nil
}

// entries calls f for the synced documents that the call's root path and mode select.
func (s *Server) entries(c *call, f func(uri, stamp string) error) error {
	path, _, err := c.parameter("PAPI_rootPath")
	if err != nil {
		return err
	}
	mode, given, err := c.parameter("PAPI_mode")
	if err != nil {
		return err
	}
	if given && mode != "RECURSIVE_DOCUMENTS" && mode != "NOT_RECURSIVE_DOCUMENTS" {
		return badRequest("PAPI_mode %s: write RECURSIVE_DOCUMENTS or NOT_RECURSIVE_DOCUMENTS; folders are not listed", quote(mode))
	}
	root := newRootPath(path, mode != "NOT_RECURSIVE_DOCUMENTS")
	return s.store.walk(c.connector, func(uri, stamp string) error {
		if !root.matches(uri) {
			return nil
		}
		return f(uri, stamp)
	})
}

func (s *Server) enumerate(c *call) error {
	out := bufio.NewWriter(c.answer)
	err := s.entries(c, func(uri, stamp string) error {
		_, err := fmt.Fprintf(out, "%s %s\n", url.QueryEscape(uri), escapeStamp(stamp))
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func (s *Server) countEntries(c *call) error {
	n := 0
	err := s.entries(c, func(string, string) error { n++; return nil })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.answer, "%d", n)
	return err
}

// escapeStamp escapes a stamp for one line.
func escapeStamp(stamp string) string {
	if !strings.ContainsAny(stamp, "\\\r\n") {
		return stamp // the usual case, without building the Replacer
	}
	return strings.NewReplacer(`\`, `\\`, "\r", `\r`, "\n", `\n`).Replace(stamp)
}
