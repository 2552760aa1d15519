package push

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// Claim is a relay's right to push orders that other processes could also push. The zero Claim is that of a single
// process.
type Claim struct {
	// Permit is called before each request to a target; the request is cancelled when the permit ends. An interrupted push
	// is repeated, and does not count as a failure. nil means that no permit is needed.
	Permit permit.Permit
	// Repeat, if not zero, is the time until which a request of the previous process may still take effect, possibly after
	// newer ones. Until then the stored cursors do not move; then all orders after them are pushed again, so that the
	// newest order of each URL is the last one that its indexer receives.
	Repeat time.Time
}

// Under sets the claim of the relay. It must be called before Run.
func (r *Relay) Under(c Claim) {
	r.claim = c
	for _, d := range r.deliveries {
		d.repeat = c.Repeat
	}
}

// permitted makes a request to the target under the relay's permit.
func (d *delivery) permitted(ctx context.Context, ask func(context.Context) error) error {
	under, end, err := permit.Begin(ctx, d.relay.claim.Permit)
	if err != nil {
		return err
	}
	defer end()
	err = ask(under)
	if permit.Ended(ctx, under, err) {
		err = errors.Join(permit.ErrEnded, err)
	}
	return err
}

// endedPause is the time for which a delivery waits after its permit ended. If the end is permanent, Run's context ends
// shortly after.
const endedPause = 100 * time.Millisecond

// failed records an error, and returns how long to wait. A permit that ended before a push or a checkpoint is not a
// failure of the target.
func (d *delivery) failed(err error) time.Duration {
	if !errors.Is(err, permit.ErrEnded) {
		return d.fail(err)
	}
	d.known = d.known && !errors.Is(err, ErrRewind)
	d.dropBatch()
	return endedPause
}

// repeats returns to the stored cursor once late requests can no longer take effect.
func (d *delivery) repeats() {
	if d.repeat.IsZero() || time.Now().Before(d.repeat) {
		return
	}
	d.repeat, d.known = time.Time{}, false
	d.relay.log.Info("repeating the orders after the cursor because this process took over; requests of the previous one may have arrived late", "target", d.name)
}
