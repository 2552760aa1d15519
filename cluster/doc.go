// Package cluster owns the ground floor of several machines working on one crawl: a
// replicated log for each partition of the store, who may append to it, and how a node
// follows, takes over and gives up.
//
// The log lies in an Engine, a small strictly serializable store of which cluster/etcd is the
// real one. All that decides anything is here, on top of the Engine, so that what the tests
// try with an engine in memory is what runs on etcd. A Node is one process: it sends beats and
// appends for all partitions that it holds. A Member is its part in one partition: it keeps a
// Copy, the store, equal to the log, claims the partition when its owner is gone, and lets
// the Copy lead while it holds it. docs/decisions/0038 has the reasons and the arithmetic.
//
// A cluster of several partitions has a map of who should have which, and a leader that changes it (cluster/placement);
// Node.Serve has a Member for each copy that the map gives to this node. docs/decisions/0070 is about that.
//
// Goroutines: Node.Run, three: beats, appends, how full the engine is, and with several partitions one for the map; Node.Serve, one for each
// partition; Member.Run, one, and while it leads one more for
// chores, one that watches the right to act and one that looks whether to hand over. Each ends before the Run that started it returns. Locks: Node.mu
// guards what the node holds, right.mu one right, session.mu the highest revision seen, chart.mu the map. None is held while
// the engine or a Copy is called.
package cluster
