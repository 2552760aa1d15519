package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// clusterPages are those of a node of a cluster.
func clusterPages() []page {
	return []page{{pattern: "GET /cluster", role: admin.Reader, nav: "Cluster", title: "Cluster", template: "cluster", data: clusterView}}
}

// clusterData is what the page shows.
type clusterData struct {
	admin.ClusterStatus
	Head     string // empty if something needs a person
	Troubles []trouble
	Rows     []*clusterRow
	Parts    []*partRow // where there are several partitions
	Moves    int        // of them are on their way to another node
}

// partRow is a partition.
type partRow struct {
	admin.ClusterPartition
	Kind string // of its tag
}

// clusterRow is one node, and what to do about it.
type clusterRow struct {
	admin.ClusterNode
	Kind, Advice string
	several      bool // it may follow in one partition and crawl another
}

func clusterView(v *visit) (any, error) {
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d := &clusterData{Troubles: clusterTroubles(status.Cluster)}
	if status.Cluster == nil { // the node is on its way
		return d, nil
	}
	d.ClusterStatus = *status.Cluster
	crawls, ready := "", 0
	for _, n := range d.Nodes {
		row := &clusterRow{ClusterNode: n, several: d.ClusterMap != nil}
		row.Kind, row.Advice = adviceFor(&n)
		d.Rows = append(d.Rows, row)
		switch {
		case n.Crawls:
			crawls = n.Node
		case n.Alive && n.InSync && n.Unfit == "":
			ready++
		}
	}
	if d.ClusterMap != nil {
		d.addParts()
		return d, nil
	}
	if len(d.Troubles) == 0 && crawls != "" && ready > 0 {
		d.Head = crawls + " crawls. If it is lost, " + plural(ready, "other node", "other nodes") + " could take over."
	}
	return d, nil
}

// addParts adds the partitions, those that need a person first.
func (d *clusterData) addParts() {
	for _, p := range d.Partitions {
		row := &partRow{p, "good"}
		switch {
		case p.Owner == "":
			row.Kind = "bad"
		case p.Unprotected != "":
			row.Kind = "warn"
		}
		if p.MovesTo != "" {
			d.Moves++
		}
		d.Parts = append(d.Parts, row)
	}
	rank := map[string]int{"bad": 0, "warn": 1, "good": 2}
	slices.SortStableFunc(d.Parts, func(a, b *partRow) int { return cmp.Compare(rank[a.Kind], rank[b.Kind]) })
	if len(d.Troubles) == 0 {
		d.Head = "All " + plural(len(d.Parts), "partition is", "partitions are") + " crawled, and each could be taken over by another node."
	}
}

// adviceFor is the kind of a node's tag, and what to do about the node.
func adviceFor(n *admin.ClusterNode) (kind, advice string) {
	switch {
	case n.Alive && n.Unfit != "":
		return "bad", "It cannot use the configuration in force: mend that there. It says: " + n.Unfit
	case n.Crawls, n.Alive && n.InSync:
		return "good", ""
	case n.Alive:
		return "warn", "Nothing: it gets a copy, or what it lacks, by itself while it runs."
	case n.InSync:
		return "bad", "Start it. If its disk is lost, give it the configuration and node.token again: it gets a new copy of the store."
	}
	return "warn", "Start it if it still belongs to the cluster: it gets what it lacks by itself."
}

// clusterTroubles are what needs a person in a cluster; none without one.
func clusterTroubles(c *admin.ClusterStatus) (all []trouble) {
	if c == nil {
		return nil
	}
	say := func(id, kind, words string) {
		all = append(all, trouble{ID: id, Kind: kind, Words: words})
	}
	if since := c.EngineSilentSince; since != nil {
		say("engine", "bad", "The cluster's engine (etcd) has not answered since "+since.UTC().Format(minutes)+
			": nothing is fetched, pushed or stored until a majority of its machines answers. Ask them by etcdctl endpoint health --cluster, and start those that are down.")
	}
	if c.Held != "" {
		say("engine-full", "bad", "Nothing is stored: "+c.Held+".")
	}
	if c.ClusterMap != nil {
		var nobody []string
		for _, p := range c.Partitions {
			if p.Owner == "" {
				nobody = append(nobody, p.Partition)
			}
		}
		if len(nobody) > 0 {
			say("ownerless", "bad", plural(len(nobody), "partition is", "partitions are")+" crawled by no node: "+strings.Join(nobody[:min(len(nobody), partsTold)], ", ")+
				". Within seconds another node takes over what it has a copy of; start the nodes below that give no sign of life.")
		}
		if c.Leader == "" {
			say("leaderless", "warn", "No node says who shall have which partition, so none moves. Within seconds another node does; if this stays, look at the engine.")
		}
		if len(c.Drained)+len(c.Leaving) > 0 {
			say("drained", "warn", "Drained, so that they get no partition: "+strings.Join(slices.Concat(c.Drained, c.Leaving), ", ")+". sextant cluster drain NODE --back ends that.")
		}
	}
	if c.Unprotected != "" {
		say("unprotected", "bad", "Unprotected: "+c.Unprotected+".")
	}
	if c.ConfigDiffers != "" {
		say("files", "warn", "The configuration: "+c.ConfigDiffers+". Copy the right file to that machine, or put the other one in force: sextant cluster apply FILE.")
	}
	return all
}

// partsTold is how many partitions a text names.
const partsTold = 10

// Lag is what a node's copy lacks, in words; none where that says nothing.
func (r *clusterRow) Lag() string {
	if r.Crawls && !r.several || r.BehindBytes == nil {
		return "–"
	}
	return byteWords(*r.BehindBytes)
}

// Last is the last sign of life of a node that gives none any more.
func (r *clusterRow) Last() *time.Time {
	if r.Alive {
		return nil
	}
	return r.LastSignOfLife
}
