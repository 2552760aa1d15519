// Package webhook is the push target that posts JSON Lines to an address of the
// operator's: the lines that the file target writes. Any answer 2xx says that the
// receiver has all lines of the request safely, except those that it names as
// refused; docs/webhook.openapi.yaml describes both sides.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// The header fields of a request, beside Content-Type.
const (
	// KeyHeader names a request: the same for its repetitions.
	KeyHeader = "Idempotency-Key"
	// SignatureHeader is "t=SECONDS,v1=HEX", where there is a secret: the time of the
	// request, and the HMAC-SHA256 over "SECONDS.BODY" with BODY as it was sent but
	// for Content-Encoding.
	SignatureHeader = "Sextant-Signature"
)

// ContentType is the media type of the lines.
const ContentType = "application/x-ndjson"

// Settings of a webhook target. Zero values stand for the defaults in brackets.
type Settings struct {
	Name   string        // of the target ["webhook"]
	Secret secret.Value  // signs requests if it is not empty
	Fields wire.Names    // of documents
	Server wire.Settings // its URL is the whole address
	Limits wire.Limits
}

// Target is a push.Target for one address.
type Target struct {
	wire.Endpoint
	set   Settings
	path  string
	query url.Values
}

// New checks the settings; it makes no request.
func New(s Settings) (*Target, error) {
	s.Name = cmp.Or(s.Name, "webhook")
	t := &Target{}
	// The client puts paths behind its address, where a slash and a query at the end
	// would be lost.
	if u, err := url.Parse(s.Server.URL); err == nil && u.Host != "" {
		t.path, t.query = u.EscapedPath(), u.Query()
		u.Path, u.RawPath, u.RawQuery = "", "", ""
		s.Server.URL = u.String()
	}
	endpoint, err := wire.NewEndpoint(s.Name, s.Server)
	if err != nil {
		return nil, err
	}
	t.set, t.Endpoint = s, endpoint
	return t, nil
}

// Push posts entries in order.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	return t.Spread(ctx, entries, t.set.Limits, t.encode, t.send)
}

// encode returns the line of an entry.
func (t *Target) encode(e push.Entry) ([]byte, error) {
	member, fields := "document", t.set.Fields
	if e.Op == push.Delete {
		member, fields = "deletion", nil
	}
	var b bytes.Buffer
	b.Grow(len(e.Body) + 64)
	fmt.Fprintf(&b, `{"op":%q,"seq":%d,%q:`, e.Op, e.Seq, member)
	if err := fields.Append(&b, e); err != nil {
		return nil, err
	}
	b.WriteString("}\n")
	return b.Bytes(), nil
}

// Answer is an optional JSON response with status 2xx.
type Answer struct {
	// Refused are the lines that the receiver refuses permanently.
	Refused []RefusedLine `json:"refused"`
}

// RefusedLine is a refused line, by its seq, and the reason.
type RefusedLine struct {
	Seq   uint64 `json:"seq"`
	Error string `json:"error"`
}

func (t *Target) send(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
	body := wire.Join(items)
	header := http.Header{KeyHeader: {key(body)}}
	if !t.set.Secret.IsEmpty() {
		header[SignatureHeader] = []string{Signature(t.set.Secret, time.Now(), body)}
	}
	answer, err := t.Client.Do(ctx, wire.Request{
		Name: "webhook", Method: http.MethodPost, Path: t.path, Query: t.query, ContentType: ContentType, Body: body, Header: header,
		MaxAnswer: int64(wire.MaxAnswer + 1024*len(items)),
	})
	if status, ok := errors.AsType[*wire.StatusError](err); ok {
		return nil, status.Unfit("")
	}
	if err != nil {
		return nil, err
	}
	refused, err := refusals(answer, items)
	if err != nil {
		return nil, &wire.Unanswered{Err: err}
	}
	return refused, nil
}

// key is the same for the same lines, also after a restart.
func key(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// Signature is the value of SignatureHeader.
func Signature(key secret.Value, at time.Time, body []byte) string {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write([]byte(seconds + "."))
	mac.Write(body)
	return "t=" + seconds + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// refusals parses a successful response. One that is not a JSON object refuses nothing.
func refusals(answer []byte, items []wire.Item) ([]push.Refusal, error) {
	var a Answer
	trimmed := bytes.TrimSpace(answer)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, nil
	}
	if err := json.Unmarshal(trimmed, &a); err != nil {
		return nil, fmt.Errorf("webhook: the answer is not JSON of {\"refused\":[{\"seq\":1,\"error\":\"...\"}]}: %w", err)
	}
	sent := make(map[uint64]bool, len(items))
	for _, item := range items {
		sent[item.Seq] = true
	}
	var out []push.Refusal
	for _, r := range a.Refused {
		if !sent[r.Seq] {
			return nil, fmt.Errorf("webhook: the answer refuses seq %d, which was not sent or is refused twice", r.Seq)
		}
		delete(sent, r.Seq)
		words := wire.Clip(wire.Plain(r.Error), wire.MaxWords)
		if words == "" {
			words = "refused without a reason"
		}
		out = append(out, push.Refusal{Seq: r.Seq, Words: words})
	}
	return out, nil
}
