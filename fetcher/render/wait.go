package render

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// The goroutine of a page waits here. One more ends the page when it takes too long.

const (
	// quiet is the time without a request in flight after which a page is at rest.
	quiet = 500 * time.Millisecond
	// lookAgain is the interval at which an awaited element is looked for.
	lookAgain = 100 * time.Millisecond
	// readTime is the time limit for reading a page once its time is over.
	readTime = 3 * time.Second
	// wallFactor times its timeout is the most that a page may take by the clock, if its browser waits for a processor.
	wallFactor = 10
)

// wait waits for the awaited state of the page, at most until its time is over.
func (t *tab) wait(ctx context.Context) error {
	switch {
	case t.page.Selector != "":
		return t.waitForElement(ctx)
	case t.page.After > 0:
		if err := t.until(ctx, t.end, t.isLoaded); err != nil {
			return err
		}
		at := time.Now().Add(t.page.After)
		if at.After(t.end) {
			at = t.end
		}
		return t.until(ctx, at, func() bool { return false })
	}
	for !t.isOver() {
		var at time.Time
		rests := func() bool {
			at = t.restAt.Add(quiet)
			return t.isLoaded() && t.inFlight == 0
		}
		if err := t.until(ctx, t.end, rests); err != nil {
			return err
		}
		asks := func() bool { return !t.isLoaded() || t.inFlight > 0 || t.restAt.Add(quiet).After(at) }
		if err := t.until(ctx, at, asks); err != nil {
			return err
		}
		if t.holds(asks) {
			continue
		}
		// The result does not matter: a page that does not respond now cannot be read either.
		_ = t.evaluate(ctx, settle, nil)
		if !t.holds(asks) {
			return nil
		}
	}
	t.change(func() { t.counts.Restless = true }) // the page is read as it is
	return nil
}

// holds calls what while it holds the lock.
func (t *tab) holds(what func() bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return what()
}

// settle resolves after two frames and an idle moment of the page: on a busy machine it may not yet have requested
// more. The timeout is for pages without frames.
const settle = `new Promise(done => { setTimeout(done, 5000);
requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(done, {timeout: 1000}))); })`

// isLoaded reports whether the page has loaded as far as it will: one that navigates elsewhere is not loaded to its
// end. The caller holds mu.
func (t *tab) isLoaded() bool { return t.loaded || t.leads != "" }

// waitForElement waits until the selector matches an element.
func (t *tab) waitForElement(ctx context.Context) error {
	wanted, err := json.Marshal(t.page.Selector)
	if err != nil {
		return err
	}
	for {
		var is bool
		err := t.evaluate(ctx, "document.querySelector("+string(wanted)+") !== null", &is)
		if wrong := (*scriptError)(nil); errors.As(err, &wrong) {
			return failed(TimedOut, "the selector %s is invalid: %v", wanted, err)
		}
		switch {
		case err == nil && is:
			return nil
		case t.browser.lost():
			return errGone
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case t.isOver():
			return failed(TimedOut, "the element %s did not appear in time", wanted)
		}
		if err := t.until(ctx, time.Now().Add(lookAgain), func() bool { return false }); err != nil {
			return err
		}
	}
}

// until waits until holds, called under the lock, returns true, or until end if that is not zero.
func (t *tab) until(ctx context.Context, end time.Time, holds func() bool) error {
	var over <-chan time.Time
	if !end.IsZero() {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		over = timer.C
	}
	for {
		t.mu.Lock()
		is, err := holds(), t.failed
		t.mu.Unlock()
		switch {
		case err != nil:
			return err
		case is:
			return nil
		}
		select {
		case <-t.changed:
		case <-t.browser.pipe.ended:
			return errGone
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// limit cancels the page readTime after it is due.
func (t *tab) limit() {
	for left := t.timeout + readTime; left > 0; left = time.Until(t.due().Add(readTime)) {
		select {
		case <-time.After(left):
		case <-t.ctx.Done():
			return
		}
	}
	t.cancel(errSlow)
}

// due returns when the page's time is over. Time for which a process of the browser waited for a processor does not
// count.
func (t *tab) due() time.Time {
	waited := time.Duration(0)
	for pid, n := range t.delays() {
		waited = max(waited, n-t.before[pid])
	}
	return t.began.Add(t.timeout + min(waited, (wallFactor-1)*t.timeout))
}

// isOver reports whether the page's time is over.
func (t *tab) isOver() bool {
	if !time.Now().Before(t.end) {
		t.end = t.due()
	}
	return !time.Now().Before(t.end)
}
