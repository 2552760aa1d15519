package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const configMedia = "application/xml"

// configTag returns the entity tag of a configuration's text.
func configTag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// readConfig returns the text of the file. References to secrets and environment variables
// are not resolved.
func (s *Server) readConfig(c *call) (any, error) {
	text, err := os.ReadFile(s.config.Path())
	if err != nil {
		return nil, err
	}
	return c.handOut(configMedia, filepath.Base(s.config.Path()), text), nil
}

// handOut returns a file of the operator as the response, and sets its entity tag.
func (c *call) handOut(media, name string, text []byte) document {
	c.w.Header().Set("ETag", configTag(text))
	c.w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": name}))
	return document{media, text}
}

// Written is the result of writing a configuration.
type Written struct {
	ETag string `json:"etag"`
	// Kept is the version that holds the former text; empty if nothing changed.
	Kept string `json:"kept,omitempty"`
	// InForce is set if it was loaded; otherwise Words is why not, and it takes effect at the next start.
	InForce  bool      `json:"in_force"`
	Words    string    `json:"words,omitempty"`
	Warnings []Finding `json:"warnings"`
}

// writeConfig replaces the configuration by a text, if it is valid and the file has not
// changed since the caller read it.
func (s *Server) writeConfig(c *call) (any, error) {
	match, text, done, err := s.replacement(c, "the configuration")
	if err != nil {
		return nil, err
	}
	defer done()
	path, err := filepath.EvalSymlinks(s.config.Path())
	if err != nil {
		return nil, err
	}
	before, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !matches(match, configTag(before)) {
		return nil, errChanged()
	}
	draft := s.config.Draft(text, c.caller.Socket)
	if err := draft.broken(); err != nil {
		return nil, err
	}
	out := Written{ETag: configTag(text), Warnings: []Finding{}}
	for _, f := range draft.Findings {
		if f.Severity == "warning" {
			out.Warnings = append(out.Warnings, f)
		}
	}
	if string(before) != string(text) {
		if out.Kept, err = s.replace(c, path, before, text); err != nil {
			return nil, err
		}
	}
	c.w.Header().Set("ETag", out.ETag)
	c.target, c.result = path, []any{"bytes", len(text), "kept", out.Kept}
	// It is written: that the caller goes must not leave it half in force.
	if _, err := s.service.Reload(context.WithoutCancel(c.r.Context()), c.reloadOptions()); err != nil {
		out.Words = err.Error()
		return out, nil //nolint:nilerr // the response reports it
	}
	out.InForce = true
	return out, nil
}

// replace writes text to the configuration's file, and keeps before, the text that it had, as a version.
func (s *Server) replace(c *call, path string, before, text []byte) (kept string, err error) {
	if kept, err = s.config.History().Keep(before, time.Now()); err != nil {
		return "", err
	}
	write := func() error { return unwritable(path, replaceConfig(path, before, text)) }
	if c.caller.Socket {
		err = write()
	} else {
		err = s.config.Receive(text, write)
	}
	return kept, err
}

// replacement reads a request that replaces one of the operator's files: the If-Match header, which is required, and
// the text. No other request writes such a file until the caller calls done.
func (s *Server) replacement(c *call, of string) (match string, text []byte, done func(), err error) {
	if match = c.r.Header.Get("If-Match"); match == "" {
		return "", nil, nil, newProblem(http.StatusPreconditionRequired, codePrecond, "send If-Match with the ETag from reading %s, so that no other change is lost", of)
	}
	if text, err = c.text(); err != nil {
		return "", nil, nil, err
	}
	select {
	case s.writing <- struct{}{}:
		return match, text, func() { <-s.writing }, nil
	case <-c.r.Context().Done():
		return "", nil, nil, c.r.Context().Err()
	}
}

// matches reports whether an If-Match header (RFC 9110, 13.1.1) matches a tag.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.TrimSpace(part); part == tag || part == "*" {
			return true
		}
	}
	return false
}

func (s *Server) reload(c *call) (any, error) {
	return s.service.Reload(c.r.Context(), c.reloadOptions())
}
