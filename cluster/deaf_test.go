package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
)

// narrow is a way to the engine on which only small steps arrive.
type narrow struct {
	cluster.Engine
	on atomic.Bool
}

func (n *narrow) Commit(ctx context.Context, s cluster.Step) (cluster.Outcome, error) {
	for _, w := range s.Then {
		if n.on.Load() && strings.HasPrefix(w.Key, "log/") {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			return cluster.Outcome{}, cluster.ErrInDoubt
		}
	}
	return n.Engine.Commit(ctx, s)
}

// TestDeafOwnerGivesUp: an owner that beats and cannot append gives the partition to a node that can, and
// follows it.
func TestDeafOwnerGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		way := &narrow{}
		w, d := newWorld(t, 1)
		defer w.stopAll()
		a := w.start("n1", 1, d, func(p *process) { way.Engine, p.line.Engine = p.line.Engine, way })
		w.until("active", 10*time.Second, a.is(cluster.Active))
		b := w.start("n2", 2, d.Copied("s2"))
		w.until("in the set", time.Minute, b.inSync(w))
		a.send(w, 5)
		way.on.Store(true)
		a.work <- []byte("in doubt")
		w.until("the other leads", time.Minute, b.is(cluster.Active))
		b.send(w, 5)
		w.until("it follows", time.Minute, a.is(cluster.Standby))
		w.equal(a.disk, b.disk)
		if a.acked() != 5 {
			t.Errorf("%d steps are acknowledged, want 5", a.acked())
		}
		way.on.Store(false)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		w.until("it leads again", time.Minute, a.is(cluster.Active))
		if a.err != nil && !errors.Is(a.err, context.Canceled) {
			t.Errorf("it has ended: %v", a.err)
		}
	})
}
