// Package clusterfigures measures what several nodes of a cluster are worth: the program as it is built, on real etcd, against hundreds of hosts
// that answer late. make cluster-figures runs it; in a usual test run all of it is skipped.
//
// It has no code of its own besides its tests.
package clusterfigures
