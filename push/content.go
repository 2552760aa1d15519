package push

import (
	"bytes"
	"context"
)

// WithoutContent returns a target that receives documents without their page bytes, which another target of the same
// outbox requires.
func WithoutContent(t Target) Target { return withoutContent{t} }

type withoutContent struct{ Target }

// Push implements Target.
func (t withoutContent) Push(ctx context.Context, entries []Entry) ([]Refusal, error) {
	lean := make([]Entry, len(entries))
	for i, e := range entries {
		e.Body = cutContent(e.Body)
		lean[i] = e
	}
	return t.Target.Push(ctx, lean)
}

// cutContent removes the member "content" from the JSON of a Document. A quoted name after a comma cannot occur inside
// a JSON string, where quotes are escaped; a meta of that name is a list, so that no quote follows its colon; and
// base64 contains no quotes.
func cutContent(body []byte) []byte {
	member := []byte(`,"content":"`)
	i := bytes.Index(body, member)
	if i < 0 {
		return body
	}
	end := bytes.IndexByte(body[i+len(member):], '"')
	if end < 0 {
		return body
	}
	lean := make([]byte, 0, len(body))
	lean = append(lean, body[:i]...)
	return append(lean, body[i+len(member)+end+1:]...)
}
