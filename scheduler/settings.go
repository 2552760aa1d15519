package scheduler

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of Fix guards its source of chance, which any goroutine of the Frontier may draw
// from.

// Policy says which failures are permanent. Its words are the values of the
// configuration's errorPolicy.
type Policy uint8

// The policies.
const (
	// CloudView is the table of the Exalead manual, "Error Handling": 4xx and 5xx
	// are permanent except for 408, 425, 429 and a 503 with Retry-After.
	CloudView Policy = iota
	// Cautious makes 500, 502, 503, 504 and TLS errors temporary.
	Cautious
	// Smartsite is CloudView that deletes a known document on any failure to fetch it.
	Smartsite
)

// String is the policy's word.
func (p Policy) String() string {
	words := [...]string{"cloudview", "cautious", "smartsite"}
	if int(p) >= len(words) {
		return fmt.Sprintf("policy %d", uint8(p))
	}
	return words[p]
}

// Settings say how the Frontier picks, paces and judges. The zero value is of no
// use; begin with DefaultSettings.
type Settings struct {
	// Weights are each source's share of the picks, 0 to 1,000,000; 0 switches it off.
	Weights [Sources]int
	// Throttle is the pause between the end of a request to a host and the start
	// of the next.
	Throttle time.Duration
	// Aggressive drops the pause and allows MaxConnectionsPerHost requests at once
	// to a host. Crawl-delay, Retry-After and back-off are obeyed all the same.
	Aggressive            bool
	MaxConnectionsPerHost int
	// Throttles set pace and hours of some hosts or URLs; of those that match a URL
	// the first counts.
	Throttles []Throttle
	// PerAddress makes hosts that have one address share its gate, as far as the
	// holders of leases call Address.
	PerAddress bool

	Policy Policy
	// A URL has too many temporary errors after MaxTemporaryErrors in a row, the
	// first of them TemporaryErrorMin ago.
	MaxTemporaryErrors int
	TemporaryErrorMin  time.Duration
	// ErrorRefresh is when a remembered error is tried again.
	ErrorRefresh time.Duration
	// ForgetDeleted forgets a URL when its document is deleted for an error, as the Exalead
	// manual says: only a link that is found later makes it known again. Roots stay.
	ForgetDeleted bool

	// SmartRefresh makes documents due again between MinAge and MaxAge; without
	// it they rest until they are re-queued.
	SmartRefresh   bool
	MinAge, MaxAge time.Duration
	// MinimumAged makes every document due again after a fixed age, the form of
	// the Smartsite provider; 0 is off. SmartRefresh wins over it.
	MinimumAged time.Duration
	// Sections have ages of their own; of those that match a URL the first counts.
	Sections []Section
	// SitemapHints lets a sitemap's lastmod make a URL due (Hinted).
	SitemapHints bool

	// IndexRedirectSources keeps the URL that redirects as an alias of its target.
	IndexRedirectSources bool
	// PushUnchanged pushes a document again though its hash is the same.
	PushUnchanged bool

	// LinkGraph has the links of each page stored, as Completion.Outlinks says.
	LinkGraph bool

	// Levels is how many levels of links are crawled; 0: all. See Completion.Levels.
	Levels uint16

	Deletions Deletions
	// LeavesTarget says that a document which was pushed under the first source, and is
	// pushed under the second from now on, leaves a target; nil: never. Such moves count
	// as losses.
	LeavesTarget func(from, to string) bool
	// DeletionBody makes the body of a deletion order. It is called by several
	// goroutines at once. If nil, the orders have no body.
	DeletionBody func(url, reason string, at time.Time) []byte
}

// Section is some URLs whose ages of refresh are not those of the Settings.
type Section struct {
	// Match says which URLs. It is called by several goroutines at once.
	Match func(weburl.URL) bool
	// Key is equal for equal Matches.
	Key string
	// SmartRefresh, MinAge, MaxAge and MinimumAged are as in Settings.
	SmartRefresh   bool
	MinAge, MaxAge time.Duration
	MinimumAged    time.Duration
}

// DefaultSettings are the defaults of the Exalead manual and, where it gives
// none, of the project. DeletionBody is left to the caller.
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

// Shuffle is chance as the Frontier has it: that of math/rand, or that of Fix.
func (f *Frontier) Shuffle(n int, swap func(i, j int)) { f.shuffle(n, swap) }

// Fix makes what is left to chance the same each time. Simulations and tests
// call it before Run.
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
