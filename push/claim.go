package push

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
)

// Claim is the right by which a relay pushes, if other processes could push the same orders. The zero Claim is that of
// a single process.
type Claim struct {
	// Permit is requested before each request to a target, which ends with the permit. An interrupted push is repeated,
	// and does not count as a failure. nil means that no permit is needed.
	Permit permit.Permit
	// Repeat, if not zero, is until when a request of the process that pushed before may still take effect, after newer
	// ones. The stored cursors stay until then; then all that follows them is pushed once
	// more, so that the newest order of each URL is the last that its indexer gets.
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
	leave, err := d.relay.turns.begin(under, d.name)
	if err == nil {
		err = ask(under)
		leave()
	}
	if permit.Ended(ctx, under, err) {
		err = errors.Join(permit.ErrEnded, err)
	}
	return err
}

// endedPause is how long a delivery waits after its permit ended: if that is permanent, Run's context ends a moment
// later.
const endedPause = 100 * time.Millisecond

// failed records an error, and returns how long to wait. A permit that ended before a push or a checkpoint is no fault
// of the target.
func (d *delivery) failed(err error) time.Duration {
	if !errors.Is(err, permit.ErrEnded) {
		return d.fail(err)
	}
	d.known = d.known && !errors.Is(err, ErrRewind)
	d.dropBatch()
	return endedPause
}

// repeats goes back to the stored cursor if the time of late requests is over.
func (d *delivery) repeats() {
	if d.repeat.IsZero() || time.Now().Before(d.repeat) {
		return
	}
	d.repeat, d.known = time.Time{}, false
	d.relay.log.Info("pushing once more what followed the cursor when this process took over: requests of the last one may have come late", "target", d.name)
}
