package push

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// refuse stores an entry as a dead letter. An entry that narrow turned into a deletion is stored as the original
// document: a retry reaches all targets, and each narrows it again.
func (d *delivery) refuse(ctx context.Context, r Refusal) error {
	i := slices.IndexFunc(d.batch, func(e Entry) bool { return e.Seq == r.Seq })
	if i < 0 {
		return fmt.Errorf("the target refused entry %d, which was not sent to it", r.Seq)
	}
	e := d.batch[i]
	if o, ok := d.moved[e.Seq]; ok {
		e = o
	}
	return d.addDead(ctx, e, r.Words)
}

func (d *delivery) addDead(ctx context.Context, e Entry, words string) error {
	if err := d.relay.outbox.AddDead(ctx, d.name, e, words, time.Now()); err != nil {
		return fmt.Errorf("storing the order for %s as a dead letter: %w", e.URL, err)
	}
	d.relay.log.Warn("an entry of the outbox becomes a dead letter", "target", d.name, "op", e.Op.String(), "url", e.URL, "seq", e.Seq,
		"bytes", len(e.Body), "words", words)
	return nil
}

// fail records a failure and returns how long to wait: 1 s doubling to 60 s, up to half of it by chance.
func (d *delivery) fail(err error) time.Duration {
	d.failures++
	d.times.failures.Add(1)
	rewound := errors.Is(err, ErrRewind)
	if rewound {
		d.known, d.doubtful = false, true
	} else {
		// Read the orders again that were not pushed: newer ones may have replaced them.
		d.dropBatch()
	}
	pause := min(firstBackoff<<min(d.failures-1, 6), maxBackoff)
	pause = pause/2 + rand.N(pause/2+1)
	d.report(func(s *TargetStatus) {
		s.LastError = err.Error()
		if s.DownSince.IsZero() {
			s.DownSince = time.Now()
		}
		if rewound {
			s.Rewinds++
		}
	})
	d.relay.log.Warn("push failed; retrying", "target", d.name, "error", err, "failures", d.failures, "in", pause)
	return pause
}

func (d *delivery) recover() {
	if d.failures == 0 {
		return
	}
	d.relay.log.Info("push works again", "target", d.name, "failures", d.failures)
	d.failures = 0
	d.report(func(s *TargetStatus) { s.DownSince = time.Time{} })
}

// report updates the status.
func (d *delivery) report(change func(*TargetStatus)) {
	d.relay.mu.Lock()
	defer d.relay.mu.Unlock()
	change(&d.status)
	d.status.Cursor, d.status.Pushed, d.status.Unsafe = d.cursor, d.sent, d.unsafe
}
