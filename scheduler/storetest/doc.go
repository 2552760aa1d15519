// Package storetest holds the conformance suite and the model test that every scheduler.Store must pass, and wrappers
// that fail or hold back. Only tests import it. Package teststore opens stores in memory.
//
// Tests that call a store at once start their goroutines, and wait for them. A Held has a mutex, which guards what it
// holds back.
package storetest
