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
	c.w.Header().Set("ETag", configTag(text))
	c.w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": filepath.Base(s.config.Path())}))
	return document{configMedia, text}, nil
}

// Written is the result of writing a configuration.
type Written struct {
	ETag string `json:"etag"`
	// Kept is the file that holds the former text; empty if nothing changed.
	Kept string `json:"kept,omitempty"`
	// InForce is set if it was loaded; otherwise Words is why not, and it takes effect at the next start.
	InForce  bool      `json:"in_force"`
	Words    string    `json:"words,omitempty"`
	Warnings []Finding `json:"warnings"`
}

// writeConfig replaces the configuration by a text, if it is valid and the file has not
// changed since the caller read it.
func (s *Server) writeConfig(c *call) (any, error) {
	match, err := c.match("the configuration")
	if err != nil {
		return nil, err
	}
	options, err := c.reloadOptions()
	if err != nil {
		return nil, err
	}
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	done, err := s.writeAlone(c.r.Context())
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
	// The file is written: if the caller leaves, it must still be put in force completely.
	if _, err := s.service.Reload(context.WithoutCancel(c.r.Context()), options); err != nil {
		out.Words = err.Error()
		return out, nil //nolint:nilerr // the response reports it
	}
	out.InForce = true
	return out, nil
}

// errChanged returns the response to a caller that has not seen the text it would replace.
func errChanged() *Problem {
	return newProblem(http.StatusPreconditionFailed, codeChanged, "the configuration was changed in the meantime: read it again, and make your change in that")
}

// replace replaces the configuration, whose text is before.
func (s *Server) replace(c *call, path string, before, text []byte) (kept string, err error) {
	write := func() error {
		kept, err = replaceConfig(path, before, text, time.Now())
		return unwritable(path, err)
	}
	if c.caller.Socket {
		err = write()
	} else {
		err = s.config.Receive(text, write)
	}
	return kept, err
}

// match returns the required If-Match header of a caller that would replace a text.
func (c *call) match(text string) (string, error) {
	match := c.r.Header.Get("If-Match")
	if match == "" {
		return "", newProblem(http.StatusPreconditionRequired, codePrecond, "send If-Match with the ETag that reading %s gave, so that nobody else's change is lost", text)
	}
	return match, nil
}

// writeAlone waits until no other request writes one of the operator's files. The caller must call done.
func (s *Server) writeAlone(ctx context.Context) (done func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
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
	options, err := c.reloadOptions()
	if err != nil {
		return nil, err
	}
	return s.service.Reload(c.r.Context(), options)
}
