// Package storetest holds the conformance and model suites that every
// scheduler.Store must pass, a Store in memory that is their reference, and a
// wrapper that fails. Only tests import it.
package storetest
