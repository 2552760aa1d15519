package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// standBy answers on the door for a node that does not lead, until the returned function is called.
func (c *clusterNode) standBy() (end func()) {
	tcp := admin.StandingBy(c.open, c.access, c.standby)
	socket := admin.StandingBy(c.owner, nil, c.standby)
	return func() { tcp(); socket() }
}

// standby is what a node that does not lead says of itself.
func (c *clusterNode) standby() admin.Standby {
	c.mu.Lock()
	waits, crawler := c.waits, c.Crawlers[0].Name
	c.mu.Unlock()
	at, known := c.standing()
	if !known {
		return admin.Standby{Words: fmt.Sprintf("node %s does not follow the crawl yet: %s", c.of.Name, waits)}
	}
	s := admin.Standby{Ready: at.Role == cluster.Standby && at.Silent.IsZero(), Crawler: crawler, Cluster: clusterStatusOf(at)}
	if why := silence(at.Silent); why != "" {
		s.Words = fmt.Sprintf("node %s: %s", c.of.Name, why)
		return s
	}
	s.Words = fmt.Sprintf("node %s is in the cluster (%s)", c.of.Name, at.Role)
	if why := c.common.Unfit(); why != "" {
		s.Ready = false
		s.Words += ", takes nothing over (" + why + ")"
	}
	if owner := at.Owner.Node; owner != "" && owner != c.of.Name {
		s.Words += ", and " + owner + " crawls"
		if c.reaches(at.OwnerAddresses) {
			s.Console = at.OwnerAddresses.Console
			s.Words += ": ask there (" + s.Console + ")"
		} else if at.OwnerAddresses.Machine != "" {
			s.Words += ": ask there (on " + at.OwnerAddresses.Machine + ")"
		}
	}
	return s
}

// reaches reports whether the console at these addresses can be reached from here.
func (c *clusterNode) reaches(a cluster.Addresses) bool {
	u, err := url.Parse(a.Console)
	if err != nil || u.Host == "" {
		return false
	}
	here, err := os.Hostname()
	return !IsLoopbackHost(u.Hostname()) || err == nil && here == a.Machine
}

// statusOften is how often systemd is told about a node that does not lead, nodesBeats after how many beats is looked how the
// others are, and nodeLook how often is looked at all.
const (
	statusOften = 30 * time.Second
	nodesBeats  = 5
	nodeLook    = time.Second
)

// lookForNodes notes how the nodes are, and where the others are. Those that stop take that back, and are remembered: they may
// still have what they wrote when they are started again.
func (c *clusterNode) lookForNodes(ctx context.Context) {
	c.mu.Lock()
	before := c.known.seen
	c.known.looked = time.Now()
	c.mu.Unlock()
	seen, err := cluster.Glance(ctx, c.of.Engine, before)
	if err != nil {
		c.Log.Debug("the other nodes are not known", "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.seen = seen
	if c.known.others == nil {
		c.known.others = map[string]string{}
	}
	for _, p := range seen.States {
		for _, one := range p.Copies { // what it says of itself while it runs is newer
			if one.Peer != "" && c.known.others[one.Node] == "" {
				c.known.others[one.Node] = one.Peer
			}
		}
	}
	for _, n := range seen.Nodes {
		if n.Peer != "" {
			c.known.others[n.Node] = n.Peer
		}
	}
	delete(c.known.others, c.of.Name)
}

// errNotLooked says that the engine has not told yet which nodes there are.
var errNotLooked = errors.New("where the other nodes are is not known yet")

// otherNodes are where all others are reached that have, or had, a copy.
func (c *clusterNode) otherNodes() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known.seen == nil {
		return nil, errNotLooked
	}
	return slices.Collect(maps.Values(c.known.others)), nil
}

// tell tells systemd how a node stands that does not lead, feeds its watchdog, and takes SIGHUP; while
// this node leads its Service does so.
func (c *clusterNode) tell(ctx context.Context) error {
	var told time.Time
	ready := false
	for {
		c.mu.Lock()
		leads, started, hangups, looked := c.leads, c.started, c.hangups, c.known.looked
		c.mu.Unlock()
		if started && time.Since(looked) > nodesBeats*c.of.times.Beat {
			c.lookForNodes(ctx)
		}
		if !leads && started {
			c.notify.alive()
			if words := c.standby().Words; !ready {
				c.notify.ready(words)
				ready = true
			} else if time.Since(told) > statusOften {
				told = time.Now()
				c.notify.status(words)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.start.Hangups:
			if !leads {
				c.hangUp()
				continue
			}
			select {
			case hangups <- struct{}{}:
			default: // one reload reads what all of them are about
			}
		case <-time.After(nodeLook):
		}
	}
}

// hangUp looks at the configuration's file, while another node leads.
func (c *clusterNode) hangUp() {
	c.notify.reloading()
	c.common.lookAtFile()
	if said := c.common.said(); said.File == shared.FileDiffers {
		c.notify.ready(fmt.Sprintf("the file on this machine is not what the cluster goes by (version %d): sextant cluster apply puts it in force", said.Version))
		return
	}
	c.notify.ready(c.standby().Words)
}

// standing is how this node stands, over all partitions of which it has a copy; known is false if it has none.
func (c *clusterNode) standing() (at cluster.Standing, known bool) {
	c.mu.Lock()
	members := maps.Clone(c.members)
	c.mu.Unlock()
	for _, p := range slices.Sorted(maps.Keys(members)) {
		if s := members[p].Standing(); known {
			at = joined(&at, &s)
		} else {
			at, known = s, true
		}
	}
	return at, known
}

// joined is how a node stands in two partitions: it crawls if it does so in one, and follows if it does in both.
func joined(a, b *cluster.Standing) cluster.Standing {
	both := *a
	switch {
	case a.Role == b.Role:
	case b.Role == cluster.Active:
		both.Role = b.Role
	case a.Role != cluster.Active && b.Role != cluster.Standby:
		both.Role = b.Role
	}
	if a.Owner.Node != b.Owner.Node && a.Role == cluster.Active && b.Role != cluster.Active {
		both.Owner, both.OwnerAddresses = b.Owner, b.OwnerAddresses // another node that crawls
	}
	for _, seat := range b.InSync {
		if !slices.ContainsFunc(both.InSync, func(s cluster.Seat) bool { return s.Node == seat.Node }) {
			both.InSync = append(slices.Clone(both.InSync), seat)
		}
	}
	both.Behind += b.Behind
	both.Kept += b.Kept
	both.Unprotected = cmp.Or(a.Unprotected, b.Unprotected)
	both.Held = cmp.Or(a.Held, b.Held)
	if b.TakenOver.After(a.TakenOver) {
		both.TakenOver, both.Why = b.TakenOver, b.Why
	}
	return both
}

// status is how this node stands, for the Crawler that it runs.
func (c *clusterNode) status() *admin.ClusterStatus {
	s, _ := c.standing()
	out := clusterStatusOf(s)
	if out.Unprotected == "" {
		out.Unprotected = c.common.unprotected(s.InSync)
	}
	out.ConfigVersion, out.ConfigDiffers = c.common.differs()
	out.Nodes = c.nodes()
	c.addMap(out)
	return out
}

// addMap adds who has which partition, where there are several, as last seen; none before the second look.
func (c *clusterNode) addMap(out *admin.ClusterStatus) {
	c.mu.Lock()
	seen, several := c.known.seen, c.parts != nil
	c.mu.Unlock()
	if !several {
		return
	}
	out.Unprotected = "" // is of the partitions, not of this node
	if seen == nil || !seen.Alive(c.of.Name) {
		return
	}
	out.ClusterMap = &admin.ClusterMap{Leader: seen.Leader}
	if seen.Aim != nil {
		out.Drained, out.Leaving = seen.Aim.Drained, seen.Aim.Leaving
	}
	var alone []string
	for i := range seen.States {
		p := partitionOf(seen, &seen.States[i])
		out.Partitions = append(out.Partitions, p)
		if p.Unprotected != "" {
			alone = append(alone, p.Partition+" ("+p.Unprotected+")")
		}
		if p.Since != nil && p.Owner != "" && (out.TakenOverAt == nil || p.Since.After(*out.TakenOverAt)) {
			out.TakenOverAt, out.TakenOverWhy = p.Since, fmt.Sprintf("%s by %s: %s", p.Partition, p.Owner, p.Why)
		}
	}
	if n := len(alone); n > unprotectedTold {
		alone = append(alone[:unprotectedTold], fmt.Sprintf("and %d more partitions", n-unprotectedTold))
	}
	out.Unprotected = strings.Join(alone, ", ")
}

// unprotectedTold is how many partitions are named that nobody could take over.
const unprotectedTold = 4

// partitionOf is how a partition is.
func partitionOf(s *cluster.State, p *cluster.PartitionState) admin.ClusterPartition {
	out := admin.ClusterPartition{Partition: p.Partition.String(), Owner: p.Owner.Node, Why: p.Why, Unprotected: s.Unprotected(p)}
	if !p.Since.IsZero() {
		at := p.Since.UTC()
		out.Since = &at
	}
	switch {
	case p.Released:
		out.Owner, out.Why = "", p.Owner.Node+" gave it up: "+p.Why
	case !s.Alive(p.Owner.Node):
		out.Owner, out.Why = "", p.Owner.Node+", which has it, gives no sign of life"
	}
	for _, one := range p.Copies {
		if one.Node != out.Owner {
			inSync := slices.ContainsFunc(p.InSync, func(seat cluster.Seat) bool { return seat.Node == one.Node })
			out.Followers = append(out.Followers, admin.ClusterFollower{Node: one.Node, InSync: inSync, BehindBytes: one.Behind})
		}
	}
	if len(p.Members) > 0 && p.Members[0] != p.Owner.Node {
		out.MovesTo = p.Members[0]
	}
	return out
}

// nodes are all nodes, as last seen; none before the second look: only from then on it is known who lives, this node itself before all.
func (c *clusterNode) nodes() (all []admin.ClusterNode) {
	c.mu.Lock()
	seen := c.known.seen
	c.mu.Unlock()
	if seen == nil || !seen.Alive(c.of.Name) {
		return nil
	}
	for _, p := range seen.AllParts() {
		p.Unfit = c.common.unfitOf(p.Node)
		n := admin.ClusterNode{Node: p.Node, Does: seen.Does(&p), Alive: p.Alive, Crawls: p.Crawls, InSync: p.InSync, Unfit: p.Unfit, Machine: p.Machine, Peer: p.Peer, Console: p.Console}
		if p.Copied != nil {
			n.BehindBytes = &p.Copied.Behind
		}
		if !p.Wall.IsZero() {
			at := p.Wall.UTC()
			n.LastSignOfLife = &at
		}
		all = append(all, n)
	}
	return all
}
