package indexer

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// hookLine is a line of a webhook's body.
type hookLine struct {
	Op       string         `json:"op"`
	Seq      *uint64        `json:"seq"`
	Document map[string]any `json:"document"`
	Deletion map[string]any `json:"deletion"`

	doc *document // of an add
	url string
}

// hookAnswer is the response to a webhook.
type hookAnswer struct {
	Accepted int           `json:"accepted"`
	Refused  []hookRefusal `json:"refused,omitempty"`
}

type hookRefusal struct {
	Seq   uint64 `json:"seq"`
	Error string `json:"error"`
}

// signatureAge bounds the difference of a signature's time and the present.
const signatureAge = 5 * time.Minute

// maxKeys is the least number of remembered Idempotency-Keys, and half of the greatest.
const maxKeys = 1000

// remembered is the response to an Idempotency-Key.
type remembered struct {
	sum    [sha256.Size]byte // of the body
	answer hookAnswer
}

func (s *Server) refuseHook(w http.ResponseWriter, r *http.Request, err error) {
	ref := s.refused(w, r, err)
	writeRefusal(w, ref.status, map[string]string{"error": ref.words})
}

func (s *Server) webhook(x *exchange) (any, error) {
	if kind := x.Header.Get("Content-Type"); kind != "application/x-ndjson" {
		return nil, &refusal{status: http.StatusUnsupportedMediaType, words: "Content-Type " + quote(kind) + ": send application/x-ndjson"}
	}
	key := x.Header.Get("Idempotency-Key")
	if key == "" || len(key) > maxID {
		return nil, badRequest("Idempotency-Key is missing, or longer than %d bytes", maxID)
	}
	name := x.PathValue("name")
	if !s.accepts(name) {
		return nil, &refusal{status: http.StatusNotFound, words: "this path does not exist: write /webhook/NAME"}
	}
	body, done, err := s.readBody(x.Request)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.checkSignature(x.Header.Get("Sextant-Signature"), body, time.Now()); err != nil {
		return nil, err
	}
	lines, err := parseLines(body)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if before, ok := s.recall(key); ok {
		if before.sum != sum {
			return nil, &refusal{status: http.StatusUnprocessableEntity, words: "this Idempotency-Key was already used with another body"}
		}
		return before.answer, nil
	}
	answer, err := s.take(x, webhookPrefix+name, lines)
	if err == nil && !x.lose {
		s.remember(key, remembered{sum, answer})
	}
	return answer, err
}

// remember keeps a response until at least maxKeys others follow. The caller of it and of recall holds mu.
func (s *Server) remember(key string, r remembered) {
	if len(s.keys) >= maxKeys {
		s.older, s.keys = s.keys, map[string]remembered{}
	}
	s.keys[key] = r
}

func (s *Server) recall(key string) (remembered, bool) {
	r, ok := s.keys[key]
	if !ok {
		r, ok = s.older[key]
	}
	return r, ok
}

// take applies lines and syncs. The caller holds mu.
func (s *Server) take(x *exchange, name string, lines []hookLine) (hookAnswer, error) {
	answer := hookAnswer{}
	conn, err := s.connector(name)
	if err != nil {
		return answer, err
	}
	taken := x.taken(len(lines))
	for i, line := range lines {
		if bad, ok := s.settings.Fail.badFor(line.url); ok && line.doc != nil {
			answer.Refused = append(answer.Refused, hookRefusal{*line.Seq, fmt.Sprintf("scripted failure: the url %s contains %s", quote(line.url), quote(bad))})
			continue
		}
		answer.Accepted++
		if i < taken {
			if line.doc != nil {
				line.doc.Connector = name
			}
			s.pending += conn.put(line.url, line.doc)
		}
	}
	return answer, s.sync(conn)
}

// parseLines parses a body; an invalid line rejects all of it.
func parseLines(body []byte) ([]hookLine, error) {
	if len(body) == 0 || body[len(body)-1] != '\n' {
		return nil, badRequest("the body does not end with a line feed, so it was cut off")
	}
	var out []hookLine
	for n := 1; len(body) > 0; n++ {
		var raw []byte
		raw, body, _ = bytes.Cut(body, []byte("\n"))
		line, err := parseLine(raw)
		if err != nil {
			return nil, badRequest("line %d: %v", n, err)
		}
		out = append(out, line)
	}
	return out, nil
}

func parseLine(raw []byte) (hookLine, error) {
	var line hookLine
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&line); err != nil {
		return line, err
	}
	if d.InputOffset() != int64(len(raw)) {
		return line, errors.New("more than one JSON value")
	}
	fields := line.Document
	switch {
	case line.Seq == nil:
		return line, errors.New("seq is missing")
	case line.Op == "add" && line.Document != nil && line.Deletion == nil:
		doc, err := fromFields(line.Document)
		if err != nil {
			return line, err
		}
		doc.Stamp = strconv.FormatUint(*line.Seq, 10)
		line.doc = doc
	case line.Op == "delete" && line.Deletion != nil && line.Document == nil:
		fields = line.Deletion
	default:
		return line, errors.New(`op must be "add" with a document, or "delete" with a deletion`)
	}
	line.url, _ = fields["url"].(string)
	return line, checkURI(line.url)
}

// checkSignature checks that a body was recently signed with the secret.
func (s *Server) checkSignature(header string, body []byte, now time.Time) error {
	if s.settings.WebhookSecret == "" {
		return nil
	}
	unauthorized := func(words string) error { return &refusal{status: http.StatusUnauthorized, words: words} }
	seconds, sum, ok := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if !ok || err != nil {
		return unauthorized("Sextant-Signature is missing, or not t=SECONDS,v1=HEX")
	}
	if age := now.Sub(time.Unix(at, 0)); age > signatureAge || age < -signatureAge {
		return unauthorized("Sextant-Signature is older or newer than 5 minutes")
	}
	mac := hmac.New(sha256.New, []byte(s.settings.WebhookSecret))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	given, err := hex.DecodeString(sum)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return unauthorized("Sextant-Signature does not match the secret and the body")
	}
	return nil
}
