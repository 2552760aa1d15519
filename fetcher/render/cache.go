package render

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// cache.mu guards the responses; it is not held during a fetch.

const (
	// cacheBytes bounds all responses together, cachedBytes a single one.
	cacheBytes  = 64 << 20
	cachedBytes = 8 << 20
	// A response without an explicit lifetime stays fresh for its age divided by heuristicShare, at most heuristicMost
	// (RFC 9111 section 4.2.2).
	heuristicShare = 10
	heuristicMost  = 24 * time.Hour
)

// cache keeps scripts and styles across pages, by the rules of HTTP (RFC 9111) for a private cache.
type cache struct {
	now func() time.Time

	mu      sync.Mutex
	answers map[string]*list.Element // of *cached, by key
	used    *list.List               // last used first
	bytes   int
}

// cached is a stored response.
type cached struct {
	key    string
	answer Answer
	until  time.Time // when it becomes stale
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, answers: map[string]*list.Element{}, used: list.New()}
}

// keyOf returns the key of a request whose response may be stored, "" for others. What another site may read of a
// response depends on the requesting origin, so that is part of the key; and a page gets nothing that was fetched for
// pages of other sites, or with other access rights.
func keyOf(r Request) string {
	if r.Method != http.MethodGet || r.Kind != "Script" && r.Kind != "Stylesheet" || r.Header.Get("Authorization") != "" {
		return ""
	}
	return r.partition + " " + r.Kind + " " + r.Header.Get("Origin") + " " + r.URL
}

// fresh returns a response that may be used without a request.
func (c *cache) fresh(r Request) (Answer, bool) {
	if hit := c.find(keyOf(r)); hit != nil && c.now().Before(hit.until) {
		return hit.answer, true
	}
	return Answer{}, false
}

func (c *cache) find(key string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.answers[key]
	if key == "" || e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	kept := *e.Value.(*cached)
	return &kept
}

// fetch requests a response, or revalidates the stored one.
func (c *cache) fetch(ctx context.Context, r Request, fetch func(context.Context, Request) (Answer, error)) (Answer, error) {
	key := keyOf(r)
	old := c.find(key)
	if old != nil {
		r.Header = r.Header.Clone()
		if etag := old.answer.Header.Get("ETag"); etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		if at := old.answer.Header.Get("Last-Modified"); at != "" {
			r.Header.Set("If-Modified-Since", at)
		}
	}
	asked := c.now()
	a, err := fetch(ctx, r)
	if err != nil {
		return a, err
	}
	if old != nil && a.Status == http.StatusNotModified {
		header := old.answer.Header.Clone()
		for name, values := range a.Header {
			if name != "Content-Length" && name != "Content-Encoding" {
				header[name] = values
			}
		}
		a = Answer{old.answer.Status, header, old.answer.Body}
	}
	if key != "" {
		c.keep(key, a, asked)
	}
	return a, nil
}

// keep stores a response if allowed, in place of an older one.
func (c *cache) keep(key string, a Answer, asked time.Time) {
	until, ok := lifetime(a, asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.answers[key]; e != nil {
		c.drop(e)
	}
	if !ok || len(a.Body) > cachedBytes {
		return
	}
	c.answers[key] = c.used.PushFront(&cached{key, a, until})
	c.bytes += len(a.Body)
	for c.bytes > cacheBytes {
		c.drop(c.used.Back())
	}
}

// drop removes a response; the caller holds mu.
func (c *cache) drop(e *list.Element) {
	old := e.Value.(*cached)
	c.used.Remove(e)
	delete(c.answers, old.key)
	c.bytes -= len(old.answer.Body)
}

// lifetime returns the time until which a response is fresh; ok is false if it must not be stored, or could not be
// revalidated later.
func lifetime(a Answer, asked time.Time) (until time.Time, ok bool) {
	h := a.Header
	directives := cacheControl(h)
	_, noStore := directives["no-store"]
	_, noCache := directives["no-cache"]
	asks := h.Get("ETag") != "" || h.Get("Last-Modified") != ""
	switch {
	case a.Status != http.StatusOK || noStore || varies(h):
		return until, false
	case noCache:
		return asked, asks
	}
	spent := time.Duration(0)
	if n, err := strconv.ParseInt(h.Get("Age"), 10, 32); err == nil && n > 0 {
		spent = time.Duration(n) * time.Second
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = asked
	}
	for _, name := range [...]string{"max-age", "expires", "last-modified"} {
		switch name {
		case "max-age":
			if v, is := directives[name]; is {
				n, err := strconv.ParseInt(strings.Trim(v, `"`), 10, 32)
				if errors.Is(err, strconv.ErrRange) && n > 0 {
					err = nil
				}
				if err != nil || n < 0 {
					n = 0
				}
				until := asked.Add(time.Duration(n)*time.Second - spent)
				return until, asks || until.After(asked)
			}
		case "expires":
			if v := h.Get("Expires"); v != "" {
				at, err := http.ParseTime(v)
				if err != nil {
					return asked, asks
				}
				until := asked.Add(at.Sub(date) - spent)
				return until, asks || until.After(asked)
			}
		case "last-modified":
			if at, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
				return asked.Add(min(max(date.Sub(at), 0)/heuristicShare, heuristicMost) - spent), true
			}
		}
	}
	return asked, asks
}

// cacheControl returns the directives of a response, in lower case.
func cacheControl(h http.Header) map[string]string {
	out := map[string]string{}
	for _, line := range h.Values("Cache-Control") {
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if _, twice := out[strings.ToLower(name)]; !twice && name != "" {
				out[strings.ToLower(name)] = value
			}
		}
	}
	return out
}

// varies reports whether the response may depend on headers other than the origin's and those that are the same for all
// requests.
func varies(h http.Header) bool {
	for _, line := range h.Values("Vary") {
		for name := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "", "accept-encoding", "origin", "user-agent":
			default:
				return true
			}
		}
	}
	return false
}
