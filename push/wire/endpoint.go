package wire

import (
	"context"
	"fmt"
)

// Endpoint is what targets over one Client have in common. Embedded, it implements Name,
// Close, and the Checkpoint of a target for which safe is what was answered.
type Endpoint struct {
	name   string
	Client *Client
	trust  int // see maxTrust; of the goroutine that calls Spread
}

// NewEndpoint makes the client of a target; the error names the target.
func NewEndpoint(name string, s Settings) (Endpoint, error) {
	c, err := New(s)
	if err != nil {
		return Endpoint{}, fmt.Errorf("the %s target: %w", name, err)
	}
	return Endpoint{name: name, Client: c}, nil
}

// Name is the target's name.
func (e *Endpoint) Name() string { return e.name }

// Close drops idle connections.
func (e *Endpoint) Close() error {
	e.Client.Close()
	return nil
}

// Checkpoint does nothing: everything that Push did not refuse is safe.
func (e *Endpoint) Checkpoint(ctx context.Context, _ uint64) error { return ctx.Err() }
