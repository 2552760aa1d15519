package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/config"
)

// ClusterState is a cluster with how its configuration stands.
type ClusterState struct {
	*cluster.State
	Configuration shared.Overview `json:"configuration"`
}

// ObserveCluster looks at a cluster.
func ObserveCluster(ctx context.Context, e cluster.Engine) (*ClusterState, error) {
	if err := e.Check(ctx); err != nil {
		return nil, err
	}
	state, err := cluster.Observe(ctx, e, cluster.SystemClock{}, cluster.DefaultTimes())
	if err != nil {
		return nil, err
	}
	s := &ClusterState{State: state}
	s.Configuration, err = shared.Look(ctx, e)
	return s, err
}

// Unprotected says why the loss of the owner would stop a partition, "" if it would not.
func (s *ClusterState) Unprotected(p *cluster.PartitionState) string {
	why := s.State.Unprotected(p)
	if why == "" {
		why = unfitAll(s.Configuration, p.Owner.Node, p.InSync)
	}
	return why
}

// unfitAll says so if no node of an in-sync set but the owner can use the configuration in force. Those that do not run keep none from taking over.
func unfitAll(o shared.Overview, owner string, set []cluster.Seat) string {
	why := ""
	for _, seat := range set {
		if seat.Node == owner {
			continue
		}
		unfit := o.UnfitOf(seat.Node)
		if unfit == "" {
			return ""
		}
		why = fmt.Sprintf("%s cannot use the configuration in force: %s", seat.Node, unfit)
	}
	return why
}

// Applied is what became of a configuration for all nodes.
type Applied struct {
	Version int64 `json:"version"` // in force now
	Changed bool  `json:"changed"` // by this, or with trial: it would be
}

// ApplyCluster makes a text the configuration of all nodes, whatever it was made from, and waits until it is in force. With trial the
// nodes only say whether they can use it. A recovery is not waited for: it changes what is in force.
func ApplyCluster(ctx context.Context, e cluster.Engine, t peer.Token, text []byte, by string, word, trial bool) (Applied, error) {
	if err := e.Check(ctx); err != nil {
		return Applied{}, err
	}
	o, err := shared.Look(ctx, e)
	if err != nil {
		return Applied{}, err
	}
	a := Applied{Version: o.Active.Number}
	switch {
	case a.Version == 0:
		return a, errors.New("the cluster has no configuration yet: the file of the node that crawls first becomes its first version; start the nodes, or sextant cluster init makes a cluster")
	case o.Active.Sum == digestOf(text):
		return a, nil
	}
	a.Changed = true
	err = shared.Apply(ctx, e, cluster.SystemClock{}, cluster.DefaultTimes(), shared.Proposal{Base: a.Version, Content: text, By: by, Word: word, Trial: trial, Seal: t.Seal})
	if err == nil && !trial {
		a.Version++
	}
	return a, err
}

// ClusterConfiguration is the text in force in a cluster.
func ClusterConfiguration(ctx context.Context, e cluster.Engine) (shared.Version, []byte, error) {
	v, text, err := shared.Active(ctx, e)
	if err == nil && v.Number == 0 {
		err = errors.New("the cluster has no configuration yet: the file of the node that crawls first becomes its first version")
	}
	return v, text, err
}

// keepConfiguration puts in force after a recovery what was in force last at the node that the cluster goes on from, if it remembers: the engine's
// may be older, or gone.
func keepConfiguration(ctx context.Context, f *Founding) error {
	last := recall(keptPath(f.Data), f.Log)
	if last.Version.Number == 0 {
		return nil
	}
	token, err := NodeToken(f.Token)
	if err != nil {
		return err
	}
	o, err := shared.Look(ctx, f.Engine)
	if err != nil || o.Active.ID == last.Version.ID || slices.Contains(o.Active.Former, last.Version.ID) {
		return err // the engine's is the same, or a later one
	}
	f.Log.Info("the configuration that was in force at this node last is put in force", "version", last.Version.Number, "by", last.Version.By)
	return shared.Begin(ctx, f.Engine, cluster.SystemClock{}, o.Active, shared.Proposal{
		Base: max(last.Version.Number, o.Active.Number), Content: last.Text, By: last.Version.By + ", after a recovery from " + f.Node, Seal: token.Seal,
	})
}

// fitsPartitions refuses what cannot be kept where several nodes crawl at once.
func fitsPartitions(ctx context.Context, e cluster.Engine, c *config.Crawler) error {
	if !c.Frontier.PerAddress {
		return nil
	}
	meta, err := cluster.MetaOf(ctx, e)
	if err != nil || meta.Partitions <= 1 {
		return err
	}
	return fmt.Errorf("of Crawler %q, perAddress=\"true\" cannot be kept: this cluster has %d partitions, and two nodes could ask hosts of one address at the same time: leave perAddress out, and give these hosts a longer throttleTimeMS in a Throttle element; or crawl with one partition", c.Name, meta.Partitions)
}
