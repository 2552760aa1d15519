package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/service"
)

// clusterparts.go: a crawl that is divided into several partitions.

// checkDivision judges how a crawl is to be divided.
func checkDivision(c *cli.Context) error {
	n, replicas := c.Int("partitions"), c.Int("replicas")
	switch {
	case n < 1 || n > cluster.MaxPartitions:
		return wrongUse("--partitions %d: write a number from 1 to %d", n, cluster.MaxPartitions)
	case replicas < cluster.MinReplicas || replicas > cluster.MaxReplicas:
		return wrongUse("--replicas %d: write %d or %d", replicas, cluster.MinReplicas, cluster.MaxReplicas)
	case n == 1 && c.IsSet("replicas") && c.String("from-store") == "":
		return wrongUse("--replicas is for several --partitions: of the only one each node has a copy")
	}
	return nil
}

// clusterSplit divides a backup.
func clusterSplit(c *cli.Context) error {
	n := c.Int("partitions")
	switch {
	case c.NArg() != 3:
		return wrongUse("cluster split: name a backup and one new folder, followed by options only")
	case !c.IsSet("partitions") || n < 2 || n > cluster.MaxPartitions:
		return wrongUse("cluster split: write --partitions, with a number from 2 to %d", cluster.MaxPartitions)
	}
	dir := c.Args().Get(2)
	m, err := service.SplitBackup(c.Context, c.Args().Get(1), dir, n)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(m)
	}
	urls, orders := 0, 0
	for i := range m.Parts {
		urls += int(m.Parts[i].URLs)     //nolint:gosec // they fit
		orders += int(m.Parts[i].Orders) //nolint:gosec // they fit
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s and %s in %d partitions in %s: restore that into a new data directory, then sextant cluster init --from-store\n",
		count(urls, "URL"), count(orders, "order"), n, dir)
	return err
}

// clusterDrain has a node own nothing, or again.
func clusterDrain(c *cli.Context, e cluster.Engine) error {
	d := service.Draining{Node: c.Args().Get(1), Leave: c.Bool("leave"), Back: c.Bool("back")}
	if d.Leave && d.Back {
		return wrongUse("cluster drain: write --leave or --back, not both")
	}
	done, err := service.DrainCluster(c.Context, e, d)
	switch {
	case err != nil:
		return no(err)
	case c.Bool("json"):
		return json.NewEncoder(c.App.Writer).Encode(done)
	case d.Back:
		return saidDone(c, d.Node+" may own partitions again")
	case d.Leave:
		return saidDone(c, d.Node+" has no partition and no copy that is needed: stop it, and take it away")
	}
	return saidDone(c, fmt.Sprintf("%s owns no partition; sextant cluster drain %s --back lets it", d.Node, d.Node))
}

// printParts shows a cluster of several partitions.
func printParts(w io.Writer, s *service.ClusterState, paint paint, now time.Time) error {
	var nobody, alone []string
	for i := range s.States {
		p := &s.States[i]
		why := s.Unprotected(p)
		switch {
		case p.Released:
			nobody = append(nobody, fmt.Sprintf("%s (%s gave it up: %s)", p.Partition, p.Owner.Node, p.Why))
		case !s.Alive(p.Owner.Node):
			nobody = append(nobody, fmt.Sprintf("%s (%s, which did, gives no sign of life)", p.Partition, p.Owner.Node))
		case why != "":
			alone = append(alone, fmt.Sprintf("%s (%s)", p.Partition, why))
		}
	}
	if len(nobody) == 0 {
		fmt.Fprintf(w, "%s\n", paint(good, fmt.Sprintf("all %d partitions are crawled", s.Partitions)))
	} else {
		fmt.Fprintf(w, "%s: %s\n", paint(bad, fmt.Sprintf("no node crawls %d of %d partitions", len(nobody), s.Partitions)), strings.Join(nobody, ", "))
	}
	if len(alone) > 0 {
		fmt.Fprintf(w, "%s: %s\n", paint(bad, "unprotected"), strings.Join(alone, ", "))
	}
	for _, n := range s.AllParts() {
		n.Unfit = s.Configuration.UnfitOf(n.Node)
		fmt.Fprintln(w, "  "+nodeWords(&n, s.Does(&n), now))
	}
	printConfiguration(w, s, paint)
	printLevel(w, s)
	replicas := cluster.MinReplicas
	if s.Aim != nil {
		replicas = s.Aim.Replicas
	}
	_, err := fmt.Fprintf(w, "%d copies of each partition are wanted; cluster %s\n", replicas, s.Cluster)
	return err
}
