package scheduler

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of Fix guards its random source, which any goroutine of the Frontier may use.

// Policy decides which failures are permanent. Its words are the values of the configuration's errorPolicy.
type Policy uint8

// The policies.
const (
	// CloudView is the table of the Exalead manual, "Error Handling": 4xx and 5xx
	// are permanent except for 408, 425, 429 and a 503 with Retry-After.
	CloudView Policy = iota
	// Cautious makes 500, 502, 503, 504 and TLS errors temporary.
	Cautious
	// Smartsite is CloudView, but deletes a known document on any failure to fetch it.
	Smartsite
)

// String returns the policy's word.
func (p Policy) String() string {
	words := [...]string{"cloudview", "cautious", "smartsite"}
	if int(p) >= len(words) {
		return fmt.Sprintf("policy %d", uint8(p))
	}
	return words[p]
}

// Settings control how the Frontier picks, paces and judges. The zero value is invalid; begin with DefaultSettings.
type Settings struct {
	// Weights are each source's share of the picks, 0 to 1,000,000; 0 switches it off.
	Weights [Sources]int
	// Throttle is the pause between the end of a request to a host and the start
	// of the next.
	Throttle time.Duration
	// Aggressive drops the pause and allows MaxConnectionsPerHost requests at once
	// to a host. Crawl-delay, Retry-After and back-off are always obeyed.
	Aggressive            bool
	MaxConnectionsPerHost int
	// Throttles set pace and hours of some hosts or URLs. The first one that matches a URL counts.
	Throttles []Throttle
	// PerAddress makes hosts with the same address share its gate, for callers that use Address.
	PerAddress bool

	Policy Policy
	// A URL has too many temporary errors after MaxTemporaryErrors in a row, the
	// first of them TemporaryErrorMin ago.
	MaxTemporaryErrors int
	TemporaryErrorMin  time.Duration
	// ErrorRefresh is the time after which a remembered error is retried.
	ErrorRefresh time.Duration
	// ForgetDeleted forgets a URL when its document is deleted for an error, as the Exalead manual specifies: only a later
	// link adds it again. Roots stay.
	ForgetDeleted bool

	// SmartRefresh makes documents due again between MinAge and MaxAge. Without it they rest until they are re-queued.
	SmartRefresh   bool
	MinAge, MaxAge time.Duration
	// MinimumAged makes every document due again after a fixed age, the form of the Smartsite provider; 0 is off.
	// SmartRefresh takes precedence.
	MinimumAged time.Duration
	// Sections have separate ages. The first one that matches a URL applies.
	Sections []Section
	// SitemapHints lets a sitemap's lastmod make a URL due (Hinted).
	SitemapHints bool

	// IndexRedirectSources keeps the URL that redirects as an alias of its target.
	IndexRedirectSources bool
	// PushUnchanged pushes a document again though its hash is the same.
	PushUnchanged bool

	// LinkGraph stores the links of each page, as Completion.Outlinks describes.
	LinkGraph bool

	// Levels is the number of levels of links that are crawled; 0: all. See Completion.Levels.
	Levels uint16

	Deletions Deletions
	// LeavesTarget reports whether a document leaves a target when its source changes from the first to the second;
	// nil: never. Such moves count as losses.
	LeavesTarget func(from, to string) bool
	// DeletionBody returns the body of a deletion order. It is called concurrently. If nil, orders have no body.
	DeletionBody func(url, reason string, at time.Time) []byte
}

// Section is a set of URLs whose refresh ages differ from those of the Settings.
type Section struct {
	// Match reports whether a URL belongs to the section. It is called concurrently.
	Match func(weburl.URL) bool
	// Key is equal for equal Matches.
	Key string
	// SmartRefresh, MinAge, MaxAge and MinimumAged are as in Settings.
	SmartRefresh   bool
	MinAge, MaxAge time.Duration
	MinimumAged    time.Duration
}

// DefaultSettings returns the defaults of the Exalead manual and, where it has none, of the project. The caller sets
// DeletionBody.
func DefaultSettings() Settings {
	return Settings{
		Weights:               [Sources]int{10000, 2000, 1000, 100, 10, 1},
		Throttle:              2500 * time.Millisecond,
		MaxConnectionsPerHost: 6,
		MaxTemporaryErrors:    5,
		TemporaryErrorMin:     24 * time.Hour,
		ErrorRefresh:          7 * 24 * time.Hour,
		MinAge:                24 * time.Hour,
		MaxAge:                7 * 24 * time.Hour,
		SitemapHints:          true,
		IndexRedirectSources:  true,
		Deletions:             Deletions{Rest: time.Minute, Confirm: 24 * time.Hour, Hold: 7 * 24 * time.Hour, Gone: 30 * 24 * time.Hour},
	}
}

// Shuffle shuffles by the Frontier's random source: math/rand, or that of Fix.
func (f *Frontier) Shuffle(n int, swap func(i, j int)) { f.shuffle(n, swap) }

// Fix makes random choices repeatable. Simulations and tests call it before Run.
func (f *Frontier) Fix(seed uint64) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // no secret
	f.jitter = func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Float64()
	}
	f.shuffle = func(n int, swap func(i, j int)) {
		mu.Lock()
		defer mu.Unlock()
		r.Shuffle(n, swap)
	}
}
