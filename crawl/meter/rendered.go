package meter

import (
	"sync/atomic"
	"time"
)

// Rendered counts pages that a browser made, since the process started. All workers share it; it is made of atomic
// counters, and the zero value counts none.
type Rendered struct {
	pages, failed, nanoseconds atomic.Int64
}

// RenderedStatus tells of pages that a browser made.
type RenderedStatus struct {
	Pages   int64   `json:"pages"`
	Failed  int64   `json:"failed"`
	Seconds float64 `json:"seconds"` // that all of them took together
}

// Add counts a page that took so long; err says that nothing came of it.
func (r *Rendered) Add(took time.Duration, err error) {
	if err != nil {
		r.failed.Add(1)
	} else {
		r.pages.Add(1)
	}
	r.nanoseconds.Add(int64(took))
}

// Status is nil while there was none.
func (r *Rendered) Status() *RenderedStatus {
	s := &RenderedStatus{r.pages.Load(), r.failed.Load(), time.Duration(r.nanoseconds.Load()).Seconds()}
	if s.Pages+s.Failed == 0 {
		return nil
	}
	return s
}
