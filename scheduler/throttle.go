package scheduler

import (
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Throttle sets the pace of the hosts or URLs that it matches. What it sets
// overrides the Crawler's, also when that is aggressive; Crawl-delay, Retry-After
// and back-off still lengthen it.
type Throttle struct {
	// Match says which URLs. It is called by several goroutines at once.
	Match func(weburl.URL) bool
	// WholeHost says that Match asks for scheme, host and port only, so that its
	// answer holds for all URLs of a host.
	WholeHost bool
	// Pause is what must pass after the end of such a request, if HasPause is set.
	Pause    time.Duration
	HasPause bool
	// Connections is how many such requests may run at once at a host where no pause
	// is asked for; 0: not set.
	Connections int
	// Hours are those of the day in which such requests may be made; none: all.
	Hours []Hours
}

// Hours are a part of the day, in minutes of the local time: From is included, To
// is not. From above To goes over midnight; both alike are the whole day.
type Hours struct{ From, To int }
