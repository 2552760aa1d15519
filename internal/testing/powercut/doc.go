// Package powercut is a file system for tests that tracks what a disk must hold after a power failure, and what it may
// have lost.
//
// A Disk is in memory and is mounted through FUSE, so that a program under test uses it like any directory, including
// memory maps: a page that was written through a map arrives as a write, and msync as a sync. Synced data is durable.
// Everything else is uncertain, and Image decides about it by a seed.
//
// A Disk owns all contents, behind one mutex.
package powercut
