package crawl

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sextant-crawler/sextant/crawl/policy"
)

// All workers share the limits, and fetchers charge bytes to them. The limiters have locks of
// their own; mu guards the tokens that came back.

const (
	// burst is the time whose tokens can be spent at once.
	burst = time.Second / 20
	// leastByteBurst allows a small limit one or two TCP segments at once.
	leastByteBurst = 4 << 10
)

// limits bound the whole crawl (maxRequestsPerS, maxBytesPerS). A worker waits
// here before it asks for a URL, so that it never sleeps while it holds one.
type limits struct {
	requests, bytes *rate.Limiter
	// turn is held from the wait for a token until a URL is taken (capacity 1), so no tokens accumulate at workers that
	// wait for URLs.
	turn chan struct{}

	mu    sync.Mutex
	spare int       // tokens of requests that were not made
	since time.Time // when the last of them was returned
}

func newLimits(s *policy.Settings) *limits {
	l := &limits{requests: rate.NewLimiter(rate.Inf, 1), bytes: rate.NewLimiter(rate.Inf, 1), turn: make(chan struct{}, 1)}
	l.apply(s)
	return l
}

// apply sets other limits; callers that already wait use them from their next wait on.
func (l *limits) apply(s *policy.Settings) {
	setLimit(l.requests, int64(s.MaxRequestsPerS), 1)
	setLimit(l.bytes, s.MaxBytesPerS, leastByteBurst)
}

func setLimit(l *rate.Limiter, perS int64, least int) {
	if perS <= 0 {
		l.SetLimit(rate.Inf)
		return
	}
	l.SetBurst(max(least, int(min(perS, 1<<30)/int64(time.Second/burst))))
	l.SetLimit(rate.Limit(perS))
}

// token permits one request.
type token struct {
	limited bool      // otherwise there is no limit and no token to return
	at      time.Time // when its URL was available
}

// begin waits until another request is allowed and no bytes are owed. The caller then calls got, whether it has a URL
// or not.
func (l *limits) begin(ctx context.Context) (token, error) {
	if l.requests.Limit() == rate.Inf && l.bytes.Limit() == rate.Inf {
		return token{}, nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return token{}, ctx.Err()
	}
	err := l.awaitBytes(ctx)
	if err == nil && !l.takeSpare() {
		err = l.requests.Wait(ctx)
	}
	if err != nil {
		<-l.turn
	}
	return token{limited: err == nil, at: time.Now()}, err
}

// await waits until another request is allowed, before a URL is taken.
func (l *limits) await(ctx context.Context) error {
	if err := l.awaitBytes(ctx); err != nil || l.requests.Limit() == rate.Inf {
		return err
	}
	return l.requests.Wait(ctx)
}

// awaitBytes waits until all received bytes are paid for, apart from rounding.
func (l *limits) awaitBytes(ctx context.Context) error {
	for l.bytes.Limit() != rate.Inf && l.bytes.Tokens() <= -1 {
		if err := l.bytes.WaitN(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

// got ends begin. Tokens that accumulated while there was no URL are discarded.
func (l *limits) got(t *token) {
	if !t.limited {
		return
	}
	now := time.Now()
	if now.Sub(t.at) > burst && l.requests.Limit() != rate.Inf {
		l.requests.AllowN(now, max(int(l.requests.TokensAt(now)), 0))
	}
	t.at = now
	<-l.turn
}

// back returns the token of a request that was not made, for immediate use.
func (l *limits) back(t token) {
	if !t.limited || time.Since(t.at) > burst {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare, l.since = l.spare+1, time.Now()
}

// takeSpare takes a token that was returned recently.
func (l *limits) takeSpare() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spare > 0 && time.Since(l.since) > burst {
		l.spare = 0
	}
	taken := l.spare > 0
	if taken {
		l.spare--
	}
	return taken
}

// pay charges received bytes, and waits until the limit allows them.
func (l *limits) pay(ctx context.Context, n int) error {
	for n > 0 {
		part := n
		if l.bytes.Limit() != rate.Inf {
			part = min(n, l.bytes.Burst())
		}
		if err := l.bytes.WaitN(ctx, part); err != nil {
			if ctx.Err() == nil && part > l.bytes.Burst() {
				continue // a reload made the burst smaller
			}
			return err
		}
		n -= part
	}
	return nil
}
