package scheduler

import (
	"context"

	"github.com/sextant-crawler/sextant/weburl"
)

// DeletionOwner owns the deletions that rest: the Frontier tells it what happened, and it alone
// lets them leave or holds them (scheduler/deletion). Its methods may be called at once and do
// not wait for a judgement.
type DeletionOwner interface {
	// Edit is the number of the edit of the rules that deletions for the operator's reasons
	// belong to now, 0 if there is none. It may ask the store.
	Edit(ctx context.Context) (uint64, error)
	// Completed takes in a stored outcome, and what it tells of its host.
	Completed(l *Lease, c *Completion, t Tells)
	// Rested takes in that deletions rest that no visit found: of which hosts, with their origins.
	Rested(origins map[weburl.HostKey]string)
	// HealthChanged takes in that a host became ill or well. The Frontier's mutex is held: the
	// Frontier must not be asked for anything.
	HealthChanged(k weburl.HostKey, origin string)
	// BrakeOff takes in that the brake was switched off: nothing needs to rest any longer.
	BrakeOff()
}

// SetOwner has the Frontier tell o. Call it before anything is completed or revised; without an
// owner deletions rest until there is one.
func (f *Frontier) SetOwner(o DeletionOwner) { f.owner = o }

// noOwner lets nothing leave: deletions rest until there is an owner.
type noOwner struct{}

// Edit is 0: none.
func (noOwner) Edit(context.Context) (uint64, error) { return 0, nil }

// Completed does nothing.
func (noOwner) Completed(*Lease, *Completion, Tells) {}

// Rested does nothing.
func (noOwner) Rested(map[weburl.HostKey]string) {}

// HealthChanged does nothing.
func (noOwner) HealthChanged(weburl.HostKey, string) {}

// BrakeOff does nothing.
func (noOwner) BrakeOff() {}

// Settings are those in force. They are replaced by Apply, never changed.
func (f *Frontier) Settings() *Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}

// Brake is the brake of the whole index.
func (f *Frontier) Brake() *IndexBrake { return &f.brake }
