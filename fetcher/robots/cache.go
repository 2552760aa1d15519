package robots

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Cache.mu guards the parsed copies. It is not held during a fetch or a call of Memory.

// maxRedirects is the most redirects in a row that are followed (RFC 9309 section 2.3.1.2).
const maxRedirects = 5

// Memory stores state over a restart. A name that was never set returns nil. It must be safe for concurrent use.
type Memory interface {
	Value(ctx context.Context, name scheduler.ValueName) ([]byte, error)
	SetValue(ctx context.Context, name scheduler.ValueName, value []byte) error
}

// Settings configures a Cache; a zero field takes its default.
type Settings struct {
	MaxAge     time.Duration // of a copy before it is fetched again; 24 h
	MinBackoff time.Duration // before the second try if robots.txt is unreachable; 60 s
	MaxBackoff time.Duration // the limit of its doubling; 6 h
	Origins    int           // parsed copies in memory; 10,000
	Bytes      int           // their estimated memory; 64 MiB
	MaxDelay   time.Duration // the longest Crawl-delay that is obeyed; 60 s
	// Original parses every copy with ParseOriginal, including those of a Memory.
	Original bool
	// Agent is the product token whose rules determine Verdict.Changed; empty: the rules for all agents.
	Agent string
}

func (s Settings) withDefaults() Settings {
	s.MaxAge = orDefault(s.MaxAge, 24*time.Hour)
	s.MinBackoff = orDefault(s.MinBackoff, time.Minute)
	s.MaxBackoff = orDefault(s.MaxBackoff, 6*time.Hour)
	s.MaxDelay = orDefault(s.MaxDelay, time.Minute)
	s.Origins = orDefault(s.Origins, 10_000)
	s.Bytes = orDefault(s.Bytes, 64<<20)
	return s
}

func orDefault[T int | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// State is the permission that robots.txt gives for a URL.
type State uint8

// The states.
const (
	Allowed     State = iota + 1
	Disallowed        // by a rule
	NeedsFetch        // robots.txt must be fetched first
	Unreachable       // robots.txt is unreachable, nothing is allowed for now
)

// String returns the word for a state; without a copy it is "unknown".
func (s State) String() string {
	switch s {
	case Allowed:
		return "allowed"
	case Disallowed:
		return "forbidden"
	case Unreachable:
		return "unreachable"
	case NeedsFetch:
	}
	return "unknown"
}

// Verdict is the decision whether a URL may be fetched.
type Verdict struct {
	State State
	// URL is the URL to fetch for NeedsFetch: robots.txt, or the target of its redirect, possibly on another host.
	URL weburl.URL
	// Until is the time to try again after Unreachable.
	Until time.Time
	// CrawlDelay is the delay in the copy at hand, at most Settings.MaxDelay; AskedDelay is the delay as written, at
	// most a day.
	CrawlDelay, AskedDelay time.Duration
	// Changed, if not zero, is when a copy was fetched that may forbid what the one before it allowed: call Forbids for
	// the stored URLs of this origin. It stays set, also across restarts, until Cache.Judged clears it.
	Changed time.Time
}

// WithoutRules returns the verdict for a crawler that ignores robots.txt with its owner's permission (ignoreRobotsTxt):
// the file is fetched, and its CrawlDelay and Rules.Sitemaps count, but nothing is forbidden, even while it is
// unreachable.
func (v Verdict) WithoutRules() Verdict {
	if v.State == Disallowed || v.State == Unreachable {
		v.State, v.Until = Allowed, time.Time{}
	}
	return v
}

// Request returns the request for NeedsFetch.
func (v Verdict) Request() fetcher.Request {
	return fetcher.Request{URL: v.URL, MaxBodyBytes: MaxBytes}
}

// Cache stores robots.txt by origin: recently used ones parsed, all in a Memory. It is safe for concurrent use.
type Cache struct {
	memory   Memory
	settings Settings

	mu      sync.Mutex
	entries map[string]*list.Element // of *entry, by origin
	used    *list.List               // most recently used first
	bytes   int                      // memory of the entries
}

// entry is the state of one origin, guarded by Cache.mu.
type entry struct {
	origin string
	size   int
	known
	hop  weburl.URL // next URL after a redirect
	hops int
}

// known is the part that survives a restart.
type known struct {
	rules    *Rules    // of the last copy, nil if there was none
	fetched  time.Time // when the last copy was fetched
	retryAt  time.Time // no try before, if failures > 0
	failures int       // since then
	changed  time.Time // fetched of the last stricter copy, until Judged
}

// NewCache returns a Cache over memory.
func NewCache(memory Memory, s Settings) *Cache {
	return &Cache{memory: memory, settings: s.withDefaults(), entries: map[string]*list.Element{}, used: list.New()}
}

// Verdict reports whether agent may fetch u, or what must be done first. An old copy stays in force as long as no newer
// one can be fetched. The error is Memory's.
func (c *Cache) Verdict(ctx context.Context, agent string, u weburl.URL) (Verdict, error) {
	k, hop, err := c.load(ctx, u.Origin())
	if err != nil {
		return Verdict{}, err
	}
	now := time.Now()
	waits := k.failures > 0 && now.Before(k.retryAt)
	v := Verdict{Changed: k.changed}
	if k.rules != nil {
		v.AskedDelay = k.rules.CrawlDelay(agent)
		v.CrawlDelay = min(v.AskedDelay, c.settings.MaxDelay)
	}
	switch {
	case k.rules != nil && (waits || now.Before(k.fetched.Add(c.settings.MaxAge))):
		v.State = Disallowed
		if k.rules.Allowed(agent, u) {
			v.State = Allowed
		}
	case waits:
		v.State, v.Until = Unreachable, k.retryAt
	default:
		v.State, v.URL = NeedsFetch, hop
		if hop.IsZero() {
			v.URL, err = robotsURL(u)
		}
	}
	return v, err
}

// Rules returns the current copy of u's robots.txt, regardless of its age; nil if there is none.
func (c *Cache) Rules(ctx context.Context, u weburl.URL) (*Rules, error) {
	k, _, err := c.load(ctx, u.Origin())
	return k.rules, err
}

// Judged records that everything stored of u's origin was judged by a copy at least as new as that of changed, a
// Verdict.Changed. A later stricter copy keeps its own Changed. The error is Memory's.
func (c *Cache) Judged(ctx context.Context, u weburl.URL, changed time.Time) error {
	origin := u.Origin()
	k, _, err := c.load(ctx, origin)
	if err != nil {
		return err
	}
	c.mu.Lock()
	e := c.entry(origin)
	if e.size == 0 { // evicted since
		e.known = k
	}
	settled := !e.changed.IsZero() && !e.changed.After(changed)
	if settled {
		e.changed = time.Time{}
	}
	c.resize(e)
	k = e.known
	c.mu.Unlock()
	if !settled {
		return nil
	}
	return c.save(ctx, origin, k)
}

// Record stores the result of fetching Verdict.URL for u. A redirect leads to another NeedsFetch; 4xx other than 429
// means that there are no rules; 429, 5xx and faults leave the present copy in force, and allow nothing without one. An
// error that is not a *fetcher.Error (the crawl is stopping) is not counted. The error is Memory's.
func (c *Cache) Record(ctx context.Context, u weburl.URL, resp *fetcher.Response, fetchErr error) error {
	var fault *fetcher.Error
	if resp == nil && !errors.As(fetchErr, &fault) {
		return nil
	}
	origin := u.Origin()
	k, asked, err := c.load(ctx, origin)
	if err == nil && asked.IsZero() {
		asked, err = robotsURL(u)
	}
	if err != nil {
		return err
	}
	rules := c.readRules(resp)
	next, redirected := location(asked, resp)

	c.mu.Lock()
	e := c.entry(origin)
	if e.size == 0 { // evicted since
		e.known = k
	}
	switch {
	case rules != nil:
		e.succeed(rules, c.settings.Agent)
	case redirected && !next.IsZero() && e.hops < maxRedirects:
		e.hop, e.hops = next, e.hops+1
		c.resize(e)
		c.mu.Unlock()
		return nil
	case redirected:
		e.succeed(Parse(nil), c.settings.Agent) // as if there were no rules
	default:
		e.fail(c.settings, resp)
	}
	c.resize(e)
	k = e.known
	c.mu.Unlock()
	return c.save(ctx, origin, k)
}

// readRules returns nil if resp does not determine rules.
func (c *Cache) readRules(resp *fetcher.Response) *Rules {
	switch {
	case resp == nil:
		return nil
	case resp.Status/100 == 2:
		return parse(resp.Body, resp.Truncated, c.settings.Original)
	case resp.Status/100 == 4 && resp.Status != http.StatusTooManyRequests:
		return Parse(nil)
	}
	return nil
}

// location returns the target of a redirect; the URL is zero if it has none.
func location(from weburl.URL, resp *fetcher.Response) (to weburl.URL, redirected bool) {
	if resp == nil || resp.Status/100 != 3 || resp.Status == http.StatusNotModified {
		return weburl.URL{}, false
	}
	base, err := weburl.NewBase(from.String())
	if ref := resp.Header.Get("Location"); err == nil && ref != "" {
		to, _ = base.Resolve(ref) // zero if it is not a URL
	}
	return to, true
}

func robotsURL(u weburl.URL) (weburl.URL, error) {
	r, err := weburl.Parse(u.Origin() + "/robots.txt")
	if err != nil {
		return weburl.URL{}, fmt.Errorf("robots.txt of %s: %w", u.Origin(), err)
	}
	return r, nil
}

// succeed stores a new copy. The first copy is not a change, since no URL was allowed before.
func (e *entry) succeed(rules *Rules, agent string) {
	old := e.known
	e.known = known{rules: rules, fetched: time.Now(), changed: old.changed}
	if old.rules != nil && rules.stricter(agent, old.rules) {
		e.changed = e.fetched
	}
	e.hop, e.hops = weburl.URL{}, 0
}

func (e *entry) fail(s Settings, resp *fetcher.Response) {
	wait := s.MinBackoff
	for i := 0; i < e.failures && wait < s.MaxBackoff; i++ {
		wait *= 2
	}
	wait = min(wait, s.MaxBackoff)
	wait += time.Duration(rand.Int64N(int64(wait)/8 + 1)) // apart from other hosts that failed at the same time
	if resp != nil && resp.HasRetryAfter {
		wait = max(wait, resp.RetryAfter)
	}
	e.failures++
	e.retryAt = time.Now().Add(wait)
	e.hop, e.hops = weburl.URL{}, 0
}
