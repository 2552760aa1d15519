//go:build !linux

package testdir

// InMemory is for TestMain. It does nothing.
func InMemory() {}
