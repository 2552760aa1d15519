package meter

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/render"
)

// Rendered counts pages that a browser made, since the process started. All workers share it; it is made of atomic
// counters, and the zero value counts none.
type Rendered struct {
	pages, failed, timedOut, noBrowser, nanoseconds atomic.Int64
}

// RenderedStatus describes the pages made by a browser.
type RenderedStatus struct {
	Pages    int64 `json:"pages"`
	Failed   int64 `json:"failed"`
	TimedOut int64 `json:"timed_out"` // of those that failed
	// NoBrowser counts visits whose URL waits because no browser could be started; they are no failures of their pages.
	NoBrowser int64   `json:"no_browser"`
	Seconds   float64 `json:"seconds"` // that all of them took together
}

// Add counts a page and its time; err is the error of render.Renderer.
func (r *Rendered) Add(took time.Duration, err error) {
	known, _ := errors.AsType[*render.Error](err)
	switch {
	case err == nil:
		r.pages.Add(1)
	case known != nil && known.Kind == render.Unavailable:
		r.noBrowser.Add(1)
	case known != nil && known.Kind == render.TimedOut:
		r.timedOut.Add(1)
		r.failed.Add(1)
	default:
		r.failed.Add(1)
	}
	r.nanoseconds.Add(int64(took))
}

// Status returns nil if there was none.
func (r *Rendered) Status() *RenderedStatus {
	s := &RenderedStatus{
		Pages: r.pages.Load(), Failed: r.failed.Load(), TimedOut: r.timedOut.Load(), NoBrowser: r.noBrowser.Load(),
		Seconds: time.Duration(r.nanoseconds.Load()).Seconds(),
	}
	if s.Pages+s.Failed+s.NoBrowser == 0 {
		return nil
	}
	return s
}
