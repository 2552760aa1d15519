package scheduler

import (
	"context"

	"github.com/sextant-crawler/sextant/weburl"
)

// DeletionOwner owns the pending losses: the Frontier tells it what happened, and it alone carries them out
// (scheduler/deletion). Its methods may be called at once and do not wait for a judgement.
type DeletionOwner interface {
	// Edit is the number of the edit of the rules that losses for the operator's reasons
	// belong to now, 0 if there is none. It may ask the store.
	Edit(ctx context.Context) (uint64, error)
	// Completed takes in a stored outcome, and what it says of its host.
	Completed(l *Lease, c *Completion, told Response)
	// Standing is about how many losses of a host are pending, and whether no document of it has given a good response
	// for deletionConfirmS.
	Standing(k weburl.HostKey) (pending int, silent bool)
	// Lost takes in that losses are pending that no visit found: of which hosts, with their origins.
	Lost(origins map[weburl.HostKey]string)
	// HealthChanged takes in that a host became ill or well. The Frontier's mutex is held: the
	// Frontier must not be asked for anything.
	HealthChanged(k weburl.HostKey, origin string)
	// SwitchedOff takes in that losses need no confirmation any longer.
	SwitchedOff()
}

// SetOwner has the Frontier tell o. Call it before anything is completed or revised; without an
// owner losses are pending until there is one.
func (f *Frontier) SetOwner(o DeletionOwner) { f.owner = o }

// noOwner carries nothing out.
type noOwner struct{}

// Edit returns 0.
func (noOwner) Edit(context.Context) (uint64, error) { return 0, nil }

// Completed does nothing.
func (noOwner) Completed(*Lease, *Completion, Response) {}

// Standing returns 0 and false.
func (noOwner) Standing(weburl.HostKey) (_ int, _ bool) { return 0, false }

// Lost does nothing.
func (noOwner) Lost(map[weburl.HostKey]string) {}

// HealthChanged does nothing.
func (noOwner) HealthChanged(weburl.HostKey, string) {}

// SwitchedOff does nothing.
func (noOwner) SwitchedOff() {}

// Settings are those in force. They are replaced by Apply, never changed.
func (f *Frontier) Settings() *Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}
