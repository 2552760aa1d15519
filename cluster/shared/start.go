package shared

import (
	"context"
	"errors"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// Start is when something last began that begins once for all nodes, such as the run of a schedule. due is told when that was, zero if it never was, and
// says whether it is to begin again, and as of when; it may be called several times. The first node that asks begins it, and all others get the same time. Each
// partition does its part if it has not done that of this time, which its own store tells: so it is done once, also where the
// partition changes its owner in between.
func Start(ctx context.Context, e cluster.Engine, name string, due func(last time.Time) (at time.Time, again bool)) (time.Time, error) {
	const folder = "start/"
	for {
		var last struct {
			At time.Time `json:"at"`
		}
		revision, err := Value(ctx, e, folder+name, &last)
		if err != nil {
			return time.Time{}, err
		}
		at, again := due(last.At)
		if !again || !at.After(last.At) { // another node's clock may be ahead
			return last.At, nil
		}
		last.At = at.Round(0).UTC()
		err = SetValue(ctx, e, folder+name, revision, last)
		switch {
		case err == nil:
			return last.At, nil
		case !errors.Is(err, ErrChanged) && !errors.Is(err, cluster.ErrInDoubt): // what is in doubt is seen at the next look
			return time.Time{}, err
		}
	}
}
