// Package clustertest is the contract of cluster.Engine as a suite that every engine must pass, an
// engine in memory, lines to it that fail as networks do, clocks that run at speeds of
// their own, and a copy in memory that knows what it was told.
//
// The suite and a Line that delivers late start goroutines; each ends before its test does. Memory, Line, Disk and
// Copy have a mutex each, which guards all of their fields: several nodes and the test share them.
package clustertest
