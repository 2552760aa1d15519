// Package scheduler is the frontier: it decides which URL is fetched next and
// what follows from each outcome (Exalead CloudView, "How Priorities Work" and
// "Error Handling").
package scheduler
