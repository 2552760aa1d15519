// Package scheduler is the frontier: it decides which URL is fetched next and
// what follows from each outcome (Exalead CloudView, "How Priorities Work" and
// "Error Handling").
//
// It owns what waits, and when a host may be asked again. Frontier.Run and Deletions.Run
// are a goroutine each; all other methods run on the caller's. One mutex guards the
// Frontier, another what rests (Deletions), and neither is held while the store is asked.
package scheduler
