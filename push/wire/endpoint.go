package wire

import (
	"context"
	"fmt"
)

// Endpoint contains the common parts of targets over one Client. Embedded, it implements Name and Close, and Checkpoint
// for targets whose successful responses mean that entries are safe.
type Endpoint struct {
	name   string
	Client *Client
	trust  int // see maxTrust; owned by the goroutine that calls Spread
}

// NewEndpoint creates the client of a target; the error names the target.
func NewEndpoint(name string, s Settings) (Endpoint, error) {
	c, err := New(s)
	if err != nil {
		return Endpoint{}, fmt.Errorf("the %s target: %w", name, err)
	}
	return Endpoint{name: name, Client: c}, nil
}

// Name returns the target's name.
func (e *Endpoint) Name() string { return e.name }

// Close drops idle connections.
func (e *Endpoint) Close() error {
	e.Client.Close()
	return nil
}

// Checkpoint does nothing: everything that Push did not refuse is safe.
func (e *Endpoint) Checkpoint(ctx context.Context, _ uint64) error { return ctx.Err() }
