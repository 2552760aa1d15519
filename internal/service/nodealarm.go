package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/notices"
)

// nodealarm.go: who tells an operator that nobody crawls. All else is told by the node that crawls, as its own conditions. alarm.mu guards
// what was found out at the last look, which each receiver's goroutine may make.

const (
	// alarmFile remembers in the data directory what a node told that did not crawl.
	alarmFile = "notices-node.json"
	// desertedBeats is after how many beats without anybody who crawls a person is needed: far more than a take-over takes, or a node that starts.
	desertedBeats = 30
	// knockFor bounds the question whether the process of the node that crawls is there.
	knockFor = 2 * time.Second
)

// alarm is what a node that does not crawl tells.
type alarm struct {
	node     *clusterNode
	notifier *notices.Notifier

	mu       sync.Mutex
	by       *config.File // whose receivers are told
	since    time.Time    // nobody crawls, or the engine is silent and the node that crawls is not there
	told     string       // the state of affairs of which it is known who tells it
	mine     bool         // this node does
	observed notices.Observation
	looked   time.Time
}

// alarms are the notices of a node that does not crawl.
func (c *clusterNode) alarms() (*notices.Notifier, error) {
	a := &alarm{node: c, by: c.File}
	n, err := notices.New(notices.Settings{
		Receivers: Receivers(c.File), Kept: notices.File(filepath.Join(c.Data, alarmFile)), Log: c.Log, Observe: a.observe,
	})
	a.notifier = n // before it runs
	return n, err
}

// observe says whether nobody crawls. One look serves all receivers.
func (a *alarm) observe(ctx context.Context) notices.Observation {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); now.Sub(a.looked) >= a.node.of.times.Beat {
		a.observed, a.looked = a.look(ctx), now
		if by := a.node.common.inForce(); by != nil && by != a.by {
			a.by = by
			a.notifier.Replace(Receivers(by))
		}
	}
	return a.observed
}

func (a *alarm) look(ctx context.Context) notices.Observation {
	crawler := a.node.Crawlers[0].Name
	unsure := notices.Observation{Unsure: []notices.Scope{{Event: notices.Cluster, Crawler: crawler}}}
	what, subject, known := a.node.deserted(ctx)
	switch {
	case !known:
		return unsure
	case what == "":
		a.since = time.Time{}
		return notices.Observation{}
	case a.since.IsZero():
		a.since = time.Now()
	}
	if time.Since(a.since) < desertedBeats*a.node.of.times.Beat {
		return unsure
	}
	if mine, err := a.tells(ctx, subject); err != nil {
		return unsure
	} else if !mine {
		return notices.Observation{}
	}
	return notices.Observation{Conditions: []notices.Condition{{Event: notices.Cluster, Crawler: crawler, Subject: "nobody", Since: a.since, Words: what}}}
}

// tells reports whether this node is the one to tell of a state of affairs, "" for one of which nodes cannot speak with each other.
func (a *alarm) tells(ctx context.Context, of string) (mine bool, err error) {
	if of == "" || of == a.told {
		return of == "" || a.mine, nil
	}
	if a.mine, err = shared.Once(ctx, a.node.of.Engine, "deserted "+of, a.node.of.Name); err == nil {
		a.told = of
	}
	return a.mine, err
}

// deserted is desertion as this node sees it, of the first partition of which it has a copy and that nobody crawls; it is not known before it is a
// member, and has looked at the others.
func (c *clusterNode) deserted(ctx context.Context) (words, of string, known bool) {
	c.mu.Lock()
	members, seen := maps.Clone(c.members), c.known.seen
	c.mu.Unlock()
	if seen == nil {
		return "", "", false
	}
	for i := range seen.States {
		p := &seen.States[i]
		member := members[p.Partition]
		if member == nil {
			continue
		}
		c.mu.Lock()
		address := c.known.others[p.Owner.Node]
		c.mu.Unlock()
		there := func() bool { return address == "" || knocks(ctx, address) }
		words, of, known = desertion(c.of.Name, member.Standing(), seen, p, c.common.Unfit(), there)
		if words != "" || !known {
			break
		}
	}
	return words, of, known
}

// desertion says in words that nobody crawls a partition, "" if somebody does, who then tells all else. of is the state of affairs that all nodes see. there
// reports whether the process of the node that crawled is there.
func desertion(name string, at cluster.Standing, seen *cluster.State, owner *cluster.PartitionState, unfit string, there func() bool) (words, of string, known bool) {
	switch {
	case at.Role == cluster.Active:
		return "", "", true
	case at.Role == cluster.TakingOver:
		return "", "", false
	case !at.Silent.IsZero():
		if there() {
			return "", "", true // it tells that the engine is silent
		}
		return fmt.Sprintf("%s; nor does %s answer, which crawled", silence(at.Silent), owner.Owner.Node), "", true
	case !owner.Released && seen.Alive(owner.Owner.Node) || !seen.Alive(name):
		return "", "", true // who does not see itself has looked once only
	}
	gone := owner.Owner.Node + ", which did, gives no sign of life"
	if owner.Released {
		gone = owner.Owner.Node + ", which did, gave it up: " + owner.Why
	}
	what := ""
	if seen.Partitions > 1 {
		what = " partition " + owner.Partition.String()
	}
	why := cmp.Or(unfit, at.Unprotected, "it has not claimed it yet")
	return fmt.Sprintf("nobody crawls%s: %s; %s cannot take over: %s", what, gone, name, why), fmt.Sprint(owner.Epoch), true
}

// knocks reports whether something listens at an address.
func knocks(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, knockFor)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}
