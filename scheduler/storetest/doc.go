// Package storetest holds the conformance suite and the model test that every scheduler.Store must pass, and wrappers
// that fail or hold completions back. Only tests import it. Package teststore opens stores in memory.
//
// Tests that call a store concurrently start their goroutines, and wait for them. A Held has a mutex, which guards the
// completions that it holds.
package storetest
