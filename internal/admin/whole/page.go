package whole

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// list merges a list, as a page or as a stream.
func (s *Server) list(ctx context.Context, w http.ResponseWriter, nodes []Node, q *Question, rule *Rule, streams bool) {
	u, err := url.Parse(q.Path)
	var order Order
	if err == nil {
		order, err = rule.Order(u.Query())
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "wrong_use", err.Error())
		return
	}
	limit, _ := strconv.Atoi(u.Query().Get("limit")) // this node refuses what is none
	parts := open(ctx, nodes, q)
	defer closeAll(parts)
	if !s.judged(w, parts) {
		return
	}
	slices.SortFunc(parts, byNode)
	if streams {
		s.stream(w, parts, order, limit)
		return
	}
	after := rule.After != nil && rule.After(u.Query())
	body := page(parts, order, limit, after)
	tell(w.Header(), parts)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

const (
	defaultLimit = 100
	// maxPage are bytes that make a page full, and sameMost how many items with the same cursor may stand beyond that.
	maxPage  = 16 << 20
	sameMost = 1000
)

// listed is a page of a list.
type listed struct {
	Items []json.RawMessage `json:"items"`
	Next  string            `json:"next,omitempty"`
}

// page merges the first items. It ends where it is full, never between two items with the same cursor, or after as many marks
// as there are nodes: then enough was looked at.
func page(parts []*part, order Order, limit int, after bool) listed {
	if limit == 0 {
		limit = defaultLimit
	}
	out, marks, bytes, last := listed{Items: []json.RawMessage{}}, 0, 0, ""
	rest, cut := merge(parts, order, func(l Line) bool {
		switch full := len(out.Items) >= limit || bytes >= maxPage || marks >= len(parts); {
		case l.Item == nil && after:
			return true // a cursor in front of what follows is none of this list
		case full && order(l.At, last) != 0, len(out.Items) >= limit+sameMost, bytes >= 2*maxPage, marks >= len(parts)+sameMost:
			return false
		}
		bytes += len(l.Item)
		if last = l.At; l.Item == nil {
			marks++
			return true
		}
		out.Items = append(out.Items, l.Item)
		return true
	})
	switch {
	case cut && after:
		out.Next = last
	case cut:
		out.Next = rest
	}
	return out
}

// stream merges all items. A node that is missing from the beginning is named in the header; one that gets lost breaks the stream off, since
// nothing else tells the reader then.
func (s *Server) stream(w http.ResponseWriter, parts []*part, order Order, limit int) {
	gone := func() (n int) {
		for _, p := range parts {
			if p.err != nil {
				n++
			}
		}
		return n
	}
	before := gone()
	tell(w.Header(), parts)
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	n, control := 0, http.NewResponseController(w)
	merge(parts, order, func(l Line) bool {
		if l.Item == nil {
			return true
		}
		if n++; limit > 0 && n > limit {
			return false
		}
		if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return false
		}
		_, err := w.Write(append(l.Item, '\n'))
		return err == nil
	})
	if gone() > before {
		panic(http.ErrAbortHandler)
	}
}
