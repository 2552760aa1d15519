package render

import (
	"context"
	"time"
)

// The status of a Renderer is guarded by its lock, and changed by its goroutines and its callers.

// Status tells what a Renderer does.
type Status struct {
	Program   string `json:"program"`           // its path, or unix: and that of the socket
	Version   string `json:"version,omitempty"` // of the last that was started, such as HeadlessChrome/156.0.8078.79
	Limit     int    `json:"limit"`             // browsers at once
	Running   int    `json:"running"`           // browsers
	Rendering int    `json:"rendering"`         // pages that have a browser, or one that starts
	Waiting   int    `json:"waiting"`           // pages for which none is free
	Started   int64  `json:"started"`           // browsers, since the process started
	// Trouble says why no browser could be started the last time, which was at Since; "" if one could.
	Trouble string     `json:"trouble,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
}

// Status tells what the Renderer does at this moment.
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

// started notes how the start of a browser ended. What ends with the service says nothing.
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
