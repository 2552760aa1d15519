// Package whole has any node of a cluster answer for all of them. Who asks one node gets what all nodes together have, or
// is told which are missing: in the header Missing, whatever the answer's form is.
//
// A node asks the others, each over one connection, with the rights of who asks; each answers for its own partitions, by the same code
// as it answers people. Three forms cover all that is asked: lists are merged line by line in their order, with the cursors that they have on
// one machine; figures are added; what is about one URL or host is asked of its owner. Orders go to all, and what they did is added.
//
// Other nodes have the cluster's token, and are not trusted to be well: what a node says is bounded in time, in the length of a line and as
// a whole, must be in order and must say where it ends. One that does not keep to that is missing.
//
// Goroutines: one for each node that is asked, which ends before the answer does. No locks.
package whole
