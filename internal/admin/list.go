package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	defaultLimit = 100
	// MaxLimit is the most items on a page of a list.
	MaxLimit = 1000
)

// jsonLines is the media type of streamed lists.
const jsonLines = "application/jsonl"

// Page is a part of a list.
type Page struct {
	Items []any `json:"items"`
	// Next is the cursor of the following page; empty at the end.
	Next string `json:"next,omitempty"`
	// Total counts the whole list, with Next up to MostCounted only; 0 if unknown.
	Total int `json:"total,omitempty"`
}

// MostCounted is the number of items after which a page of a list does not count the items that follow it.
const MostCounted = 10_000

// errPageFull ends a walk over a list.
var errPageFull = errors.New("the page is full")

// errCursor is the error for a cursor that is not from a page.
var errCursor = wrong("the cursor is not from a page of this list: start without one")

// wantsLines reports whether the caller asks for the whole list as JSON Lines.
func wantsLines(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), jsonLines)
}

// list responds with a page of the items that each visits, or streams them as JSON Lines. at is the cursor of a page
// that begins with the item. An item that precedes the requested page is nil.
func list(s *Server, c *call, what string, each func(fn func(item any, at string) error) error) (any, error) {
	if wantsLines(c.r) {
		return s.lines(c, what, c.number("limit"), each)
	}
	limit, page := cmp.Or(c.number("limit"), defaultLimit), Page{Items: []any{}}
	err := each(func(item any, at string) error {
		switch page.Total++; {
		case item == nil:
		case len(page.Items) < limit:
			page.Items = append(page.Items, item)
		case page.Next == "":
			page.Next = at
		case page.Total >= MostCounted:
			return errPageFull
		}
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	c.total(page.Total)
	return page, err
}

// total sends the number of all entries of a list in TotalHeader.
func (c *call) total(n int) { c.w.Header().Set(TotalHeader, strconv.Itoa(n)) }

// lines streams a list; limit 0 is all of it.
func (s *Server) lines(c *call, what string, limit int, each func(fn func(item any, at string) error) error) (any, error) {
	c.w.Header().Set("Content-Type", jsonLines)
	return s.stream(c, what, func(w io.Writer) error {
		out, n := json.NewEncoder(w), 0
		err := each(func(item any, _ string) error {
			if item == nil {
				return nil
			}
			if limit > 0 && n == limit {
				return errPageFull
			}
			n++
			return out.Encode(item)
		})
		if errors.Is(err, errPageFull) {
			return nil
		}
		return err
	})
}

// stream sends the output of write. After an error it closes the connection, unless nothing was sent yet: only that
// informs the reader then.
func (s *Server) stream(c *call, what string, write func(io.Writer) error) (any, error) {
	out := &patientWriter{w: c.w, control: http.NewResponseController(c.w)}
	err := write(out)
	switch {
	case err == nil:
		return answered{}, nil
	case !out.begun:
		return nil, err
	default:
		if w, ok := c.w.(*pipedAnswer); ok {
			w.broken = err
		}
		if c.r.Context().Err() == nil { // not because the reader left, as head does
			s.log.Warn(what+" broke off", "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// writePatience is the time that a reader has to accept a part of a stream.
const writePatience = time.Minute

// patientWriter records whether anything was written, and gives up on a reader that accepts nothing.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
	begun   bool
	until   time.Time
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.begun = true
	if now := time.Now(); p.until.Sub(now) < writePatience/2 {
		p.until = now.Add(writePatience)
		if err := p.control.SetWriteDeadline(p.until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return 0, err
		}
	}
	return p.w.Write(b)
}

// parseSeq parses a cursor that is the number of an order; 0 if absent.
func parseSeq(written string) (uint64, error) {
	if written == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(written, 10, 64)
	if err != nil {
		return 0, errCursor
	}
	return n, nil
}
