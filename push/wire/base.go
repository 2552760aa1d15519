package wire

import (
	"context"
	"fmt"
)

// Base is what targets over one Client have in common. Embedded, it implements Name,
// Close, and the Checkpoint of a target for which safe is what was answered.
type Base struct {
	name   string
	Client *Client
}

// NewBase makes the client of a target; the error names the target.
func NewBase(name string, s Settings) (Base, error) {
	c, err := New(s)
	if err != nil {
		return Base{}, fmt.Errorf("the %s target: %w", name, err)
	}
	return Base{name, c}, nil
}

// Name is the target's name.
func (b Base) Name() string { return b.name }

// Close drops idle connections.
func (b Base) Close() error {
	b.Client.Close()
	return nil
}

// Checkpoint has nothing to do: what Push was not refused is safe.
func (b Base) Checkpoint(ctx context.Context, _ uint64) error { return ctx.Err() }
