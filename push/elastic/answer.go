package elastic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// answer is the indexer's result for one entry.
type answer struct {
	Status int     `json:"status"`
	Error  failure `json:"error"`
}

// failure is the reason why an entry was rejected.
type failure struct {
	Type     string   `json:"type"`
	Reason   string   `json:"reason"`
	CausedBy *failure `json:"caused_by"`
}

// UnmarshalJSON also accepts errors that are strings.
func (f *failure) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Reason)
	}
	type plain failure
	return json.Unmarshal(b, (*plain)(f))
}

// words returns type and reasons on one line, from the outermost to the cause.
func (f *failure) words() string {
	var all []string
	for depth := 0; f != nil && depth < 5; f, depth = f.CausedBy, depth+1 {
		for _, s := range []string{f.Type, f.Reason} {
			if s = wire.Plain(s); s != "" {
				all = append(all, s)
			}
		}
	}
	return wire.Clip(strings.Join(all, ": "), wire.MaxWords)
}

// parseAnswer parses the response to a request of n items.
func parseAnswer(body []byte, n int) ([]answer, error) {
	var whole struct {
		Errors *bool               `json:"errors"`
		Items  []map[string]answer `json:"items"`
		Error  failure             `json:"error"`
	}
	if err := json.Unmarshal(body, &whole); err != nil {
		return nil, fmt.Errorf("_bulk: the response is not that of an indexer: %w: is url its address?", err)
	}
	if whole.Errors == nil || len(whole.Items) != n {
		words := whole.Error.words()
		if words == "" {
			words = "is url the address of an indexer?"
		}
		return nil, fmt.Errorf("_bulk: the response has %d entries, but %d were sent: %s", len(whole.Items), n, words)
	}
	out := make([]answer, n)
	for i, item := range whole.Items {
		if len(item) != 1 {
			return nil, errors.New("_bulk: an entry of the response does not have exactly one operation")
		}
		for _, a := range item {
			out[i] = a
		}
	}
	return out, nil
}

// outcome returns the result for an entry of a response.
type outcome uint8

const (
	delivered  outcome = iota
	refused            // permanently
	turnedAway         // for now
	broken             // the fault is not the entry's
)

func (a *answer) judge(op push.Op) outcome {
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return delivered
	case a.Status == http.StatusConflict: // it has a newer version
		return delivered
	case a.Status == http.StatusNotFound && op == push.Delete:
		return delivered
	case a.Status == http.StatusTooManyRequests, a.Status >= 500:
		return turnedAway
	case a.Status != http.StatusBadRequest, a.Error.ofIndex():
		return broken
	}
	return refused
}

// ofIndex reports whether a 400 is caused by the index or the configuration: all documents would fail.
func (f *failure) ofIndex() bool {
	switch f.Type {
	case "invalid_index_name_exception", "index_closed_exception", "index_not_found_exception", "cluster_block_exception", "security_exception":
		return true
	case "illegal_argument_exception":
		return strings.HasPrefix(f.Reason, "pipeline with id") || strings.HasPrefix(f.Reason, "no write index")
	}
	return false
}
