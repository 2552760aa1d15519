package clustertest

// copy.go: Disk.mu guards what is on the disk; the copy's callers and the test take it.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
)

// Step is one step that a copy has applied.
type Step struct {
	Behind entry.Position
	Bytes  []byte
}

// Disk is what is left of a copy when its process dies: every step, and up to where they
// were synced. Its zero value is not ready; NewDisk makes one.
type Disk struct {
	Store string

	mu     sync.Mutex
	from   entry.Position
	steps  []Step
	synced int // steps
}

// NewDisk is the disk of a store that begins at a position: a genesis.
func NewDisk(store string, from entry.Position) *Disk { return &Disk{Store: store, from: from} }

// Copied is a disk with the same steps, as a rebuild makes it.
func (d *Disk) Copied(store string) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Disk{Store: store, from: d.from, steps: slices.Clone(d.steps), synced: len(d.steps)}
}

// Crash takes from the disk what was not synced, all but the first kept of it.
func (d *Disk) Crash(kept int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = d.steps[:min(d.synced+kept, len(d.steps))]
	d.synced = len(d.steps)
}

// Steps are all steps.
func (d *Disk) Steps() []Step {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.steps)
}

// At is the position behind the last step.
func (d *Disk) At() entry.Position {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.end(len(d.steps))
}

func (d *Disk) end(n int) entry.Position {
	if n == 0 {
		return d.from
	}
	return d.steps[n-1].Behind
}

func (d *Disk) apply(step []byte, behind entry.Position) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := d.end(len(d.steps)); behind.Seq <= at.Seq {
		return fmt.Errorf("a step at %d was applied behind %d", behind.Seq, at.Seq)
	}
	d.steps = append(d.steps, Step{behind, bytes.Clone(step)})
	return nil
}

// Copy is a cluster.Copy on a Disk. Write is what it does while it leads; nil: it waits.
type Copy struct {
	*Disk
	Write func(ctx context.Context, l *cluster.Lead, add func(step []byte) error) error
	// Fail makes the next Apply or Sync fail.
	Fail error
}

// Applied is the position behind the last step.
func (c *Copy) Applied() entry.Position { return c.At() }

// Apply stores a step.
func (c *Copy) Apply(_ context.Context, step []byte, behind entry.Position) error {
	if c.Fail != nil {
		return c.Fail
	}
	return c.apply(step, behind)
}

// Sync makes all steps safe.
func (c *Copy) Sync(context.Context) (entry.Position, error) {
	if c.Fail != nil {
		return entry.Position{}, c.Fail
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.synced = len(c.steps)
	return c.end(c.synced), nil
}

// Lead runs Write.
func (c *Copy) Lead(ctx context.Context, l *cluster.Lead) error {
	if c.Write == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.Write(ctx, l, func(step []byte) error {
		behind, err := l.Append(ctx, step)
		if err != nil {
			return err
		}
		return c.apply(step, behind)
	})
}

// Equal says where two disks differ, "" if they hold the same.
func Equal(a, b *Disk) string {
	x, y := a.Steps(), b.Steps()
	for i := range min(len(x), len(y)) {
		if x[i].Behind != y[i].Behind || !bytes.Equal(x[i].Bytes, y[i].Bytes) {
			return fmt.Sprintf("step %d: %q at %d, and %q at %d", i, x[i].Bytes, x[i].Behind.Seq, y[i].Bytes, y[i].Behind.Seq)
		}
	}
	if len(x) != len(y) {
		return fmt.Sprintf("%d steps, and %d", len(x), len(y))
	}
	return ""
}

// ErrDisk is an error for Copy.Fail.
var ErrDisk = errors.New("the disk is full")
