package node

import (
	"context"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
)

var _ permit.Permit = (*Active)(nil)

// lateFor is how long a request that a node sent before its right ended may take to be in force at an indexer: it may wait
// in a proxy, or in the indexer's own queue.
const lateFor = 2 * time.Minute

// repeatName is the value that keeps Claim's Repeat for the node that leads next.
const repeatName = "orders repeated at"

// Claim is by what right a relay pushes while this node leads. When the node that led before did not give up in
// order, or the one before that and less than two minutes ago, the relay repeats what was not safe then.
func (a *Active) Claim(ctx context.Context) (push.Claim, error) {
	const what = "until when requests of an earlier node may arrive"
	c, now := push.Claim{Permit: a.Lead}, time.Now()
	if !a.Store.ClosedCleanly() {
		c.Repeat = now.Add(lateFor)
		return c, scheduler.SaveValue(ctx, a.Store, repeatName, what, c.Repeat)
	}
	var until time.Time
	err := scheduler.LoadValue(ctx, a.Store, repeatName, what, &until)
	if until.After(now) {
		// By this node's clock, which may be behind the other's.
		c.Repeat = now.Add(min(until.Sub(now), lateFor))
	}
	return c, err
}
