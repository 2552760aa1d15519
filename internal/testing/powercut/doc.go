// Package powercut is a file system for tests that remembers what a disk is bound
// to hold after a power failure, and what it may have lost.
//
// A Disk lives in memory and is mounted through FUSE, so that a program under test
// uses it as it uses any directory, memory maps included: a page that was written
// through a map arrives as a write, and msync as a sync. What was synced is
// durable. Everything else is in doubt, and Image draws by a seed what becomes of it.
//
// A Disk owns all contents, behind one mutex.
package powercut
