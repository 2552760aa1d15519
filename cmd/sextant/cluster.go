package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/etcd"
	"github.com/sextant-crawler/sextant/internal/service"
)

// engineFlags say where a cluster's log is, and who this node is.
func engineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "engine", EnvVars: env("engine"), Usage: "run as a node of a cluster, on the etcd at `URL`: etcd://HOST:PORT,HOST:PORT,HOST:PORT/PREFIX, etcds:// with TLS"},
		&cli.StringFlag{Name: "engine-ca", EnvVars: env("engine-ca"), Usage: "PEM `FILE` of the authority that signs etcd's certificates (default: the system's)"},
		&cli.StringFlag{Name: "engine-cert", EnvVars: env("engine-cert"), Usage: "PEM `FILE` with the certificate that names this node's user to etcd"},
		&cli.StringFlag{Name: "engine-key", EnvVars: env("engine-key"), Usage: "PEM `FILE` with its key"},
		&cli.StringFlag{Name: "node", EnvVars: env("node"), Usage: "this node's `NAME` in the cluster (default: the machine's host name)"},
		&cli.StringFlag{Name: "node-token-file", EnvVars: env("node-token-file"), Usage: "`FILE` with the token that all nodes share (default: node.token in the data directory)"},
	}
}

// nodeFlags are those of a node that runs.
func nodeFlags() []cli.Flag {
	return append(engineFlags(),
		&cli.StringFlag{Name: "node-listen", Value: ":7371", EnvVars: env("node-listen"), Usage: "`ADDR` at which the other nodes reach this one"},
		&cli.StringFlag{Name: "node-advertise", EnvVars: env("node-advertise"), Usage: "`HOST:PORT` that they are told (default: the host name, with the port of --node-listen)"},
	)
}

// openEngine opens the log of the cluster that the flags name.
func openEngine(c *cli.Context) (cluster.Engine, error) {
	s, err := etcd.ParseURL(c.String("engine"))
	if err == nil {
		err = s.Secure(etcd.Files{CA: c.String("engine-ca"), Certificate: c.String("engine-cert"), Key: c.String("engine-key")})
	}
	if err != nil {
		return nil, wrongUse("--engine: %w", err)
	}
	return etcd.Open(s)
}

func nodeName(c *cli.Context) (string, error) {
	if name := c.String("node"); name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", wrongUse("--node: the machine has no name: %w", err)
	}
	name, _, _ := strings.Cut(host, ".")
	return name, nil
}

func nodeToken(c *cli.Context) string {
	if path := c.String("node-token-file"); path != "" {
		return path
	}
	return service.NodeTokenPath(c.String("data"))
}

// checkNode says what is wrong in the flags of a node.
func checkNode(c *cli.Context) error {
	if c.String("engine") == "" {
		for _, f := range nodeFlags()[1:] {
			if c.IsSet(f.Names()[0]) {
				return wrongUse("--%s is of use to a node of a cluster: name its --engine too", f.Names()[0])
			}
		}
		return nil
	}
	if c.Int64("max-pages") > 0 {
		return wrongUse("--max-pages is for a crawl on one machine: leave out --engine, or stop the node when you have seen enough")
	}
	for _, flag := range []string{"node-listen", "node-advertise"} {
		if _, _, err := net.SplitHostPort(c.String(flag)); err != nil && c.String(flag) != "" {
			return wrongUse("--%s %q: write HOST:PORT, for example 10.0.0.1:7371", flag, c.String(flag))
		}
	}
	return nil
}

// runNode runs the service as a node of a cluster.
func runNode(c *cli.Context, o service.Options, start service.Start) (err error) {
	token, err := service.NodeToken(nodeToken(c))
	if err != nil {
		return err
	}
	name, err := nodeName(c)
	if err != nil {
		return err
	}
	engine, err := openEngine(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	summary, err := service.RunNode(c.Context, o, service.NodeOptions{
		Name: name, Engine: engine, Token: token, Listen: c.String("node-listen"), Advertise: c.String("node-advertise"),
	}, start)
	return tellSummary(c, start, summary, err)
}

func clusterCommand() *cli.Command {
	return &cli.Command{
		Name:      "cluster",
		Usage:     "make a cluster, look at it, configure it, hand the crawl over, back it up (cluster init, status, config, apply, release, drain, backup, split, recover)",
		ArgsUsage: "init|status|config|apply|release|drain|backup|split|recover [ARG]",
		Description: "init makes a cluster, with this node as its first: a new store, or with --from-store the one that is there, or the partitions that were restored. It also " +
			"makes the token that all nodes share. Each other node gets its copy by itself when it is started with sextant run --engine. " +
			"With --partitions the hosts of a new crawl are divided, for good, and all nodes crawl.\n" +
			"status shows who crawls, who follows, and how far behind; the exit code is 1 if no node crawls, or none could take over.\n" +
			"config prints the configuration that is in force at all nodes.\n" +
			"apply FILE makes FILE that configuration, once every node that runs can use it; with --check they only say whether they can.\n" +
			"release has the node that crawls finish its pages in flight and hand over to another one, and waits for that.\n" +
			"drain NODE has NODE hand over its partitions, where the crawl has several, and own none until drain --back; with --leave its copies are made elsewhere, too.\n" +
			"backup DIR has the nodes that crawl write their stores into the new folder DIR, with the configuration in force: sextant restore DIR.\n" +
			"split B DIR makes the new folder DIR, with the backup of a crawl over --partitions N, out of B, which sextant backup or cluster backup made of a crawl that is not divided.\n" +
			"recover begins anew from this node's copy, for when etcd has lost its data or no node may take over. Stop all nodes first.",
		Flags: flags(append(engineFlags(),
			&cli.StringFlag{Name: "from-store", Usage: "init: the data directory `DIR` whose store becomes the first copy"},
			&cli.IntFlag{Name: "partitions", Value: 1, Usage: "init, split: divide the hosts of a crawl into `N` partitions, 1 to 24, for as long as the cluster lives; 24 divide evenly among 2, 3, 4, 6, 8 and 12 nodes"},
			&cli.IntFlag{Name: "replicas", Value: cluster.MinReplicas, Usage: "init: have `R` copies of each partition, 2 or 3, where there are several and as many nodes"},
			&cli.BoolFlag{Name: "leave", Usage: "drain: have the node's copies made elsewhere, too, so that it can be taken away"},
			&cli.BoolFlag{Name: "back", Usage: "drain: let the node own partitions again"},
			&cli.BoolFlag{Name: "check", Usage: "apply: ask all nodes, and change nothing"},
			&cli.BoolFlag{Name: "yes", Usage: "recover: give up what only other nodes have; apply: let changed rules delete, however many documents that are"},
		)...),
		Action: clusterAction,
	}
}

func clusterAction(c *cli.Context) (err error) {
	actions := map[string]func(*cli.Context, cluster.Engine) error{
		"init": clusterInit, "status": clusterStatus, "config": clusterText, "apply": clusterApply, "release": clusterRelease, "drain": clusterDrain,
		"backup": clusterBackup, "recover": clusterRecover,
	}
	name := c.Args().First()
	if name == "split" {
		return clusterSplit(c) // which needs no engine
	}
	action := actions[name]
	what, more := map[string]string{"apply": "one FILE", "backup": "one new folder", "drain": "one NODE"}[name]
	switch {
	case action == nil:
		return wrongUse("cluster: write cluster init, status, config, apply FILE, release, drain NODE, backup DIR, split BACKUP DIR or recover, followed by options only")
	case (c.NArg() == 2) != more || c.NArg() > 2:
		return wrongUse("cluster %s: name %s, followed by options only", name, cmp.Or(what, "nothing else"))
	case c.String("engine") == "":
		return wrongUse("cluster %s: name the cluster's --engine, or set SEXTANT_ENGINE as the service has it", name)
	}
	engine, err := openEngine(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	return action(c, engine)
}

// founding is this node as the first of a cluster.
func founding(c *cli.Context, e cluster.Engine) (f service.Founding, err error) {
	f = service.Founding{Engine: e, Data: c.String("data"), From: c.String("from-store"), Token: nodeToken(c), Replicas: c.Int("replicas")}
	if c.IsSet("partitions") {
		f.Partitions = c.Int("partitions")
	}
	if f.Log, err = newLogger(c); err != nil {
		return f, err
	}
	if f.Crawler, f.Home, err = oneCrawler(c); err != nil {
		return f, err
	}
	f.Node, err = nodeName(c)
	return f, err
}

func clusterInit(c *cli.Context, e cluster.Engine) error {
	if err := checkDivision(c); err != nil {
		return err
	}
	f, err := founding(c, e)
	if err != nil {
		return err
	}
	meta, made, err := service.FoundCluster(c.Context, f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(map[string]any{"cluster": meta.Cluster, "partitions": meta.Partitions, "node": f.Node, "token_file": f.Token, "token_made": made})
	}
	fmt.Fprintf(c.App.Writer, "the cluster is made: %s is its first node\n", f.Node)
	fmt.Fprintf(c.App.Writer, "copy %s to the other machines, readable for the service only\n", f.Token)
	_, err = fmt.Fprintln(c.App.Writer, "then start each node, this one first: sextant run --engine "+c.String("engine")+" --node NAME")
	return err
}

func clusterRelease(c *cli.Context, e cluster.Engine) error {
	token, err := service.NodeToken(nodeToken(c))
	if err != nil {
		return err
	}
	from, to, err := service.ReleaseCluster(c.Context, e, token)
	if err != nil {
		return no(err)
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(map[string]string{"from": from, "to": to})
	}
	if from == to {
		return no(fmt.Errorf("%s crawls again: no other node took over in time", from))
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s has handed over to %s\n", from, to)
	return err
}

func clusterRecover(c *cli.Context, e cluster.Engine) error {
	if !c.Bool("yes") {
		return wrongUse("cluster recover makes this node's copy the only one, and what other nodes have beyond it is lost: stop all nodes, choose the one that is furthest (sextant cluster status, or seq in its store/REPLICA), then add --yes")
	}
	f, err := founding(c, e)
	if err != nil {
		return err
	}
	if _, err := service.RecoverCluster(c.Context, f); err != nil {
		return err
	}
	return saidDone(c, "recovered: start this node, then the others, which get new copies")
}

func clusterStatus(c *cli.Context, e cluster.Engine) error {
	state, err := service.ObserveCluster(c.Context, e)
	if err != nil {
		return err
	}
	well := true
	for i := range state.States {
		p := &state.States[i]
		well = well && !p.Released && state.Alive(p.Owner.Node) && state.Unprotected(p) == ""
	}
	if c.Bool("json") {
		err = json.NewEncoder(c.App.Writer).Encode(state)
	} else {
		err = printCluster(c.App.Writer, state, painter(c), time.Now())
	}
	if err == nil && !well {
		err = no(nil)
	}
	return err
}

// printCluster shows a cluster to a person.
func printCluster(w io.Writer, s *service.ClusterState, paint paint, now time.Time) error {
	if s.Partitions > 1 {
		return printParts(w, s, paint, now)
	}
	p := &s.States[0]
	switch {
	case p.Released:
		fmt.Fprintf(w, "%s; %s gave it up: %s\n", paint(bad, "no node crawls"), p.Owner.Node, p.Why)
	case !s.Alive(p.Owner.Node):
		fmt.Fprintf(w, "%s: %s, which did, gives no sign of life\n", paint(bad, "no node crawls"), p.Owner.Node)
	default:
		fmt.Fprintf(w, "%s crawls since %s (%s)\n", paint(good, p.Owner.Node), clock(p.Since), p.Why)
	}
	if !slices.ContainsFunc(s.Nodes, func(n cluster.NodeState) bool { return n.Alive }) {
		fmt.Fprintf(w, "%s: start them; %s or another one of the in-sync set goes on. Only if the disks of all of these are lost or their stores are damaged: sextant cluster recover\n", paint(bad, "no node runs"), p.Owner.Node)
	}
	if why := s.Unprotected(p); why != "" {
		fmt.Fprintf(w, "%s: %s\n", paint(bad, "unprotected"), why)
	}
	for _, n := range s.Parts(p) {
		n.Unfit = s.Configuration.UnfitOf(n.Node)
		fmt.Fprintln(w, "  "+nodeWords(&n, n.Does(), now))
	}
	printConfiguration(w, s, paint)
	printLevel(w, s)
	_, err := fmt.Fprintf(w, "log: entries %d to %d; cluster %s\n", p.First, p.Entries, s.Cluster)
	return err
}

// printLevel says why a cluster is not at the level of its newest nodes.
func printLevel(w io.Writer, s *service.ClusterState) {
	if words := s.Upgrading(); words != "" {
		fmt.Fprintln(w, words)
	}
}

// nodeWords say how a node stands.
func nodeWords(n *cluster.Part, does string, now time.Time) string {
	if !n.Alive && !n.Wall.IsZero() {
		does = "gave its last sign of life at " + n.Wall.Local().Format(time.DateTime)
	}
	words := n.Node + " " + does
	if !n.InSync {
		words += ", not in the in-sync set"
	}
	if n.Copied != nil && !n.Crawls {
		words += ", " + humanize.IBytes(n.Copied.Behind) + " of the log not safe on its disk yet"
	}
	if apart := n.Wall.Sub(now).Abs(); n.Alive && apart > 3*time.Second {
		words += fmt.Sprintf(", its clock is %s from this machine's", apart.Round(time.Second))
	}
	if n.Alive && n.Console != "" {
		words += ", console " + n.Console
	}
	return words
}
