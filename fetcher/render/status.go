package render

import (
	"context"
	"time"
)

// A lock guards the status of a Renderer, which its goroutines and its callers change.

// Status describes the state of a Renderer.
type Status struct {
	Program   string `json:"program"`           // its path, or unix: and the path of the socket
	Version   string `json:"version,omitempty"` // of the last browser, such as HeadlessChrome/156.0.8078.79
	Limit     int    `json:"limit"`             // browsers at once
	Running   int    `json:"running"`           // browsers
	Rendering int    `json:"rendering"`         // pages with a browser, or with one that is starting
	Waiting   int    `json:"waiting"`           // pages without a free browser
	Started   int64  `json:"started"`           // browsers, since the process started
	// Trouble is the reason why the last start of a browser, at Since, failed; "" if it succeeded.
	Trouble string     `json:"trouble,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// Status returns the present status.
func (r *Renderer) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Program, s.Limit = r.settings.Command[0], r.pages
	return s
}

// note changes the status.
func (r *Renderer) note(change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
}

// started records how the start of a browser ended, unless the service is stopping.
func (r *Renderer) started(ctx context.Context, b *browser, err error) {
	r.note(func(s *Status) {
		switch {
		case err == nil:
			s.Running, s.Started, s.Trouble, s.Since = s.Running+1, s.Started+1, "", nil
			s.Version = b.product
		case ctx.Err() == nil:
			now := time.Now().UTC()
			s.Trouble, s.Since = err.Error(), &now
		}
	})
}
