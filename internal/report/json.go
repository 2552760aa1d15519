package report

import (
	"encoding/json"
	"io"
)

// JSON writes entries as JSON Lines.
type JSON struct{ out *json.Encoder }

// NewJSON returns a JSON writer.
func NewJSON(w io.Writer) JSON {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return JSON{out}
}

// Put writes a line.
func (j JSON) Put(e Entry) error { return j.out.Encode(e) }

// End does nothing.
func (j JSON) End() error { return nil }
