package cluster

import (
	"context"
	"fmt"
	"sync/atomic"
)

// guard stops appends long before the engine is full: a full etcd raises an alarm, refuses
// every put, the ones that would free space included, and waits for a person.
type guard struct {
	why  atomic.Pointer[string]
	last atomic.Pointer[Usage]
}

// usage is how full the engine was when it was last asked; zero if it has not answered yet.
func (g *guard) usage() Usage {
	if u := g.last.Load(); u != nil {
		return *u
	}
	return Usage{}
}

// fullness asks the engine how full it is, each Times.Sync, and more often while appends wait
// for it. It is not asked in their way: a machine of the engine that is dead answers late.
func (n *Node) fullness(ctx context.Context) error {
	for {
		if u, err := n.engine.engine.Usage(ctx); err == nil {
			n.guard.last.Store(&u)
			n.hold(overfull(u))
		}
		pause := n.times.Sync
		if n.Held() != "" {
			pause = n.times.Beat
		}
		if err := n.clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// overfull says in words why nothing may be appended, "" if it may.
func overfull(u Usage) string {
	switch {
	case u.Quota <= 0:
		return ""
	case u.InUse > u.Quota/2:
		return fmt.Sprintf("the engine holds %d MiB, more than half of its quota of %d MiB: a node that follows too slowly keeps the log from being trimmed, or something else fills it", u.InUse>>20, u.Quota>>20)
	case u.File > u.Quota/100*85:
		return fmt.Sprintf("the engine's file has %d MiB, more than 85 %% of its quota of %d MiB, most of it free: etcdctl defrag, one machine after the other", u.File>>20, u.Quota>>20)
	}
	return ""
}

// Held is why nothing is appended at the moment, "" if all is well: the engine is nearly full.
func (n *Node) Held() string {
	if why := n.guard.why.Load(); why != nil {
		return *why
	}
	return ""
}

func (n *Node) hold(why string) {
	switch was := n.Held(); {
	case why == was:
		return
	case why != "":
		n.log.Warn("nothing is appended to the log: the engine is nearly full", "reason", why)
	default:
		n.log.Info("the log is appended to again: the engine has room")
	}
	n.guard.why.Store(&why)
}
