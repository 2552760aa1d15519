package robots

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The state of an origin is stored as JSON (type stored) under the name "robots/" and the origin.

// stored is the form of known in a Memory.
type stored struct {
	Text     *[]byte   `json:"text,omitempty"`
	Fetched  time.Time `json:"fetched,omitzero"`
	RetryAt  time.Time `json:"retryAt,omitzero"`
	Failures int       `json:"failures,omitempty"`
	Changed  time.Time `json:"changed,omitzero"`
}

// valueName returns the name of an origin's value, which is a host's value.
func valueName(origin string) (scheduler.ValueName, error) {
	u, err := weburl.Parse(origin)
	return scheduler.HostValue(u.HostKey(), "robots"), err
}

// save writes k, and writes again if origin's entry changed in the meantime, so that of two concurrent calls the newer
// state remains.
func (c *Cache) save(ctx context.Context, origin string, k known) error {
	for {
		if err := c.write(ctx, origin, k); err != nil {
			return fmt.Errorf("storing robots.txt of %s: %w", origin, err)
		}
		c.mu.Lock()
		element, ok := c.entries[origin]
		if !ok || element.Value.(*entry).known == k {
			c.mu.Unlock()
			return nil
		}
		k = element.Value.(*entry).known
		c.mu.Unlock()
	}
}

func (c *Cache) write(ctx context.Context, origin string, k known) error {
	s := stored{Fetched: k.fetched, RetryAt: k.retryAt, Failures: k.failures, Changed: k.changed}
	if k.rules != nil {
		text := []byte(k.rules.text) // as bytes, since it need not be UTF-8
		s.Text = &text
	}
	value, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name, err := valueName(origin)
	if err != nil {
		return err
	}
	return c.memory.SetValue(ctx, name, value)
}

// load returns the state of origin, and the next URL after a redirect, from the cache or Memory. A value that cannot be
// decoded is ignored: robots.txt is fetched again.
func (c *Cache) load(ctx context.Context, origin string) (known, weburl.URL, error) {
	c.mu.Lock()
	if element, ok := c.entries[origin]; ok {
		c.used.MoveToFront(element)
		e := element.Value.(*entry)
		k, hop := e.known, e.hop
		c.mu.Unlock()
		return k, hop, nil
	}
	c.mu.Unlock()
	name, err := valueName(origin)
	if err != nil {
		return known{}, weburl.URL{}, err
	}
	value, err := c.memory.Value(ctx, name)
	if err != nil {
		return known{}, weburl.URL{}, fmt.Errorf("reading robots.txt of %s: %w", origin, err)
	}
	var k known
	var s stored
	if value != nil && json.Unmarshal(value, &s) == nil {
		k = known{fetched: s.Fetched, retryAt: s.RetryAt, failures: s.Failures, changed: s.Changed}
		if s.Text != nil {
			k.rules = parse(*s.Text, false, c.settings.Original)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entry(origin)
	if e.size == 0 { // no other goroutine was faster
		e.known = k
		c.resize(e)
	}
	return e.known, e.hop, nil
}

// entry returns origin's entry, a new one of size 0 if there is none. The caller holds mu, and calls resize.
func (c *Cache) entry(origin string) *entry {
	element, ok := c.entries[origin]
	if !ok {
		element = c.used.PushFront(&entry{origin: origin})
		c.entries[origin] = element
	}
	return element.Value.(*entry)
}

// resize updates e's size and evicts the least recently used entries, but not e if it is the most recently used one.
// The caller holds mu.
func (c *Cache) resize(e *entry) {
	const perEntry = 400 // entry, list element, map slot, origin
	size := perEntry + 2*len(e.origin)
	if e.rules != nil {
		size += e.rules.size()
	}
	c.bytes += size - e.size
	e.size = size
	for c.used.Len() > 1 && (c.used.Len() > c.settings.Origins || c.bytes > c.settings.Bytes) {
		oldest := c.used.Remove(c.used.Back()).(*entry)
		delete(c.entries, oldest.origin)
		c.bytes -= oldest.size
	}
}
