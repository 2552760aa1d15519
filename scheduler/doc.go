// Package scheduler is the frontier: it decides which URL is fetched next and what follows from each outcome (Exalead
// CloudView, "How Priorities Work" and "Error Handling").
//
// It owns the queues and the times at which a host may be contacted again. Frontier.Run and Deletions.Run are one
// goroutine each; all other methods run on the caller's. One mutex guards the Frontier, another the pending losses
// (Deletions). Neither is held during a call of the store.
package scheduler
