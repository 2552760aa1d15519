// Package storetest holds the conformance and model suites that every
// scheduler.Store must pass, a Store in memory that is their reference, and a
// wrapper that fails. Only tests import it.
//
// Tests that call a store at once start their goroutines, and wait for them. Memory has
// one mutex.
package storetest
