package scheduler

import "github.com/sextant-crawler/sextant/weburl"

// DeletionOwner owns the pending losses: the Frontier reports events to it, and it alone carries losses out
// (scheduler/deletion). Its methods may be called concurrently and do not wait for a decision.
type DeletionOwner interface {
	// Edit returns the number of the current edit, which losses by the operator's rules belong to, or 0.
	Edit() uint64
	// Completed receives a stored outcome, and the effect of its response on the host's health.
	Completed(l *Lease, c *Completion, response Response)
	// Standing returns about how many losses of a host are pending, and whether no document of the host has given a
	// good response for deletionConfirmS.
	Standing(k weburl.HostKey) (pending int, silent bool)
	// Lost receives the hosts, with their origins, of losses that became pending without a visit.
	Lost(origins map[weburl.HostKey]string)
	// HealthChanged reports that a host became ill or well. The Frontier's mutex is held: do not call the Frontier.
	HealthChanged(k weburl.HostKey, origin string)
	// SwitchedOff reports that losses no longer need confirmation.
	SwitchedOff()
}

// SetOwner makes the Frontier report to o. Call it before anything is completed or revised. Without an owner, losses
// stay pending.
func (f *Frontier) SetOwner(o DeletionOwner) { f.owner = o }

// noOwner is the owner until SetOwner is called. It carries nothing out.
type noOwner struct{}

// Edit returns 0.
func (noOwner) Edit() uint64 { return 0 }

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

// Settings returns those in force. Apply replaces them; they never change in place.
func (f *Frontier) Settings() *Settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}
