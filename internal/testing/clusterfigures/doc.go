// Package clusterfigures measures what several nodes of a cluster are worth: the program as it is built, on real etcd, against hundreds of hosts
// that answer late. make cluster-figures runs it; in a usual test run all of it is skipped.
//
// Besides its tests it has what tells all figures of a cluster whether they are asked for, and how large.
package clusterfigures
