package node_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster/clustertest"
)

// repeat is until when the relay of the node that leads waits for late requests, from now; 0: it does not.
func (p *pair) repeat(n int) time.Duration {
	p.Helper()
	c, err := p.nodes[n].active.Claim(p.Context())
	p.must(err)
	if c.Permit == nil || !c.Permit.May() {
		p.Errorf("n%d leads without a permit", n)
	}
	if c.Repeat.IsZero() {
		return 0
	}
	return time.Until(c.Repeat)
}

// TestClaimRepeats: late requests of a node that died are waited for, also by who takes over from its
// successor in order, and by nobody when their time is over.
func TestClaimRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t)
		if d := p.repeat(0); d != 0 {
			t.Errorf("after a release in order: %v, want none", d)
		}
		p.nodes[0].line.Set(clustertest.Faults{Dead: true})
		p.until("the other leads", p.leading(1))
		if d := p.repeat(1); d != 2*time.Minute {
			t.Errorf("after a kill: %v, want 2m", d)
		}
		_ = p.stopOne(0, true)
		p.start(0)
		p.until("the first follows", func() bool { return len(p.standing(1).InSync) == 2 && p.standing(0).Role.String() == "standby" })
		time.Sleep(30 * time.Second)
		p.must(p.stopOne(1, false))
		p.until("the first leads", p.leading(0))
		if d := p.repeat(0); d > 90*time.Second || d < 30*time.Second {
			t.Errorf("after a release soon after a kill: %v, want what is left of 2m", d)
		}
		time.Sleep(2 * time.Minute)
		if d := p.repeat(0); d != 0 {
			t.Errorf("later: %v, want none", d)
		}
		p.start(1)
		p.settle()
	})
}
