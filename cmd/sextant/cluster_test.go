package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/placement"
	"github.com/sextant-crawler/sextant/cluster/shared"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

// TestClusterUse: a command line that makes no sense says what to write instead, before anything is asked.
func TestClusterUse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"cluster"}, "cluster init"},
		{[]string{"cluster", "join", "--engine", "etcd://a"}, "cluster init"},
		{[]string{"cluster", "status"}, "SEXTANT_ENGINE"},
		{[]string{"cluster", "apply", "--engine", "etcd://a"}, "one FILE"},
		{[]string{"cluster", "backup", "--engine", "etcd://a"}, "one new folder"},
		{[]string{"cluster", "config", "file", "--engine", "etcd://a"}, "nothing else"},
		{[]string{"cluster", "status", "--engine", "http://a:2379"}, "etcd://HOST:PORT"},
		{[]string{"cluster", "status", "--engine", "etcd://a", "--engine-ca", "ca.pem"}, "etcds://"},
		{[]string{"cluster", "recover", "--engine", "etcd://a"}, "--yes"},
		{[]string{"cluster", "drain", "--engine", "etcd://a"}, "one NODE"},
		{[]string{"cluster", "drain", "n1", "--engine", "etcd://a", "--leave", "--back"}, "not both"},
		{[]string{"cluster", "init", "--engine", "etcd://a", "--partitions", "25"}, "1 to 24"},
		{[]string{"cluster", "init", "--engine", "etcd://a", "--partitions", "6", "--replicas", "4"}, "2 or 3"},
		{[]string{"cluster", "init", "--engine", "etcd://a", "--replicas", "3"}, "several --partitions"},
		{[]string{"cluster", "split", "backup", "--partitions", "6"}, "one new folder"},
		{[]string{"cluster", "split", "backup", "new"}, "write --partitions"},
		{[]string{"run", "--node", "n1"}, "--engine"},
		{[]string{"run", "--engine", "etcd://a", "--max-pages", "3"}, "--max-pages"},
		{[]string{"run", "--engine", "etcd://a", "--node-listen", "7371"}, "HOST:PORT"},
	} {
		if code, _, stderr := said(t, tt.args...); code != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %swant %q", strings.Join(tt.args, " "), code, stderr, tt.want)
		}
	}
}

// TestPrintCluster: who crawls, who could take over, and what is wrong, in words.
func TestPrintCluster(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	n1, n2, n3 := cluster.Seat{Node: "n1", Store: "a"}, cluster.Seat{Node: "n2", Store: "b"}, "n3"
	state := service.ClusterState{State: &cluster.State{
		Meta: cluster.Meta{Cluster: "c0ffee", Partitions: 1},
		States: []cluster.PartitionState{{
			Owner: n1, Since: now.Add(-time.Hour), Why: "n2 gave no sign of life", InSync: []cluster.Seat{n1, n2}, First: 7, Entries: 12,
			Copies: []cluster.CopyState{{Node: "n1", Seq: 12}, {Node: "n2", Seq: 11, Behind: 2048}, {Node: n3, Seq: 2, Behind: 1 << 20}},
		}},
		Nodes: []cluster.NodeState{
			{Node: "n1", Alive: true, Wall: now, Addresses: cluster.Addresses{Console: "http://a:7370/"}},
			{Node: "n2", Alive: true, Wall: now.Add(-time.Minute)},
			{Node: n3, Alive: true, Wall: now},
		},
	}, Configuration: shared.Overview{
		Active: shared.Version{Number: 3, Sum: "0123456789abcdef", By: "n1, its file", At: now},
		Nodes: []shared.Said{
			{Node: "n1", Version: 3, File: shared.FileSame},
			{Node: "n2", Version: 3, File: shared.FileDiffers, FileVersion: 2, FileSum: "fedcba9876543210"},
			{Node: n3, Unfit: "CrawlConfig.xml:3:5: no such program", File: shared.FileOlder, FileVersion: 2, FileWords: "read-only file system"},
			{Node: "n4", Version: 1, File: shared.FileSame},
		},
	}}
	show := func() string {
		var out bytes.Buffer
		if err := printCluster(&out, &state, func(_ colour, s string) string { return s }, now); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	want := "n1 crawls since " + clock(now.Add(-time.Hour)) + ` (n2 gave no sign of life)
  n1 crawls, console http://a:7370/
  n2 follows, could take over, 2.0 KiB of the log not safe on its disk yet, its clock is 1m0s from this machine's
  n3 follows, takes nothing over, not in the in-sync set, 1.0 MiB of the log not safe on its disk yet
configuration: version 3 (0123456789ab) since ` + clock(now) + `, by n1, its file
  n1 goes by version 3, its file is the same
  n2 goes by version 3, its file differs (fedcba987654, made from version 2)
  n3 cannot use it: CrawlConfig.xml:3:5: no such program; its file is still version 2: read-only file system
log: entries 7 to 12; cluster c0ffee
`
	if diff := cmp.Diff(want, show()); diff != "" {
		t.Error(diff)
	}
	state.Nodes[2].Level = 1
	if got := show(); !strings.Contains(got, "\nlevel 0, until the version of n3 runs on n1, n2, too\nlog: ") {
		t.Errorf("n3 has a new version: %s", got)
	}
	state.Nodes[1].Alive = false
	if got := show(); !strings.Contains(got, "unprotected: no other node of the in-sync set is alive\n") || !strings.Contains(got, "n2 gave its last sign of life at ") {
		t.Errorf("n2 is dead: %s", got)
	}
	state.Nodes[0].Alive = false
	if got := show(); !strings.HasPrefix(got, "no node crawls: n1, which did, gives no sign of life\n") {
		t.Errorf("n1 is dead: %s", got)
	}
	state.Nodes[2].Alive = false
	if got := show(); !strings.Contains(got, "no node runs: start them; n1 or another one of the in-sync set goes on") {
		t.Errorf("nobody lives: %s", got)
	}
	state.States[0].Released, state.States[0].Why = true, "in order"
	if got := show(); !strings.HasPrefix(got, "no node crawls; n1 gave it up: in order\n") {
		t.Errorf("n1 gave up: %s", got)
	}
}

// TestPrintParts: of several partitions, how many each node has, which nobody crawls, and which nobody could take over.
func TestPrintParts(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	n1, n2 := cluster.Seat{Node: "n1", Store: "a"}, cluster.Seat{Node: "n2", Store: "b"}
	state := service.ClusterState{State: &cluster.State{
		Meta: cluster.Meta{Cluster: "c0ffee", Partitions: 3}, Aim: &placement.Aim{Replicas: 2, Drained: []string{"n2"}},
		States: []cluster.PartitionState{
			{Partition: 0, Owner: n1, InSync: []cluster.Seat{n1, n2}},
			{Partition: 1, Owner: n1, InSync: []cluster.Seat{n1, n2}},
			{Partition: 2, Owner: n2, InSync: []cluster.Seat{n2, n1}},
		},
		Nodes: []cluster.NodeState{{Node: "n1", Alive: true, Wall: now}, {Node: "n2", Alive: true, Wall: now}, {Node: "n3", Alive: true, Wall: now}},
	}}
	show := func() string {
		var out bytes.Buffer
		if err := printCluster(&out, &state, func(_ colour, s string) string { return s }, now); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	for _, want := range []string{
		"all 3 partitions are crawled\n  n1 crawls 2 partitions, could take over 1 more\n  n2 crawls 1 partitions, could take over 2 more, is drained\n  n3 crawls 0 partitions, could take over 0 more, not in the in-sync set\n",
		"2 copies of each partition are wanted; cluster c0ffee\n",
	} {
		if got := show(); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	state.Nodes[1].Alive = false
	state.States[0].InSync = state.States[0].InSync[:1]
	for _, want := range []string{
		"no node crawls 1 of 3 partitions: p02 (n2, which did, gives no sign of life)\n",
		"unprotected: p00 (no other node is in the in-sync set), p01 (no other node of the in-sync set is alive)\n",
	} {
		if got := show(); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestCheckBesideFollower: check --data of a node that follows judges its file, and says what it could not compare.
func TestCheckBesideFollower(t *testing.T) {
	dir, err := os.MkdirTemp("", "follower") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(config, []byte(`<CrawlConfig><Crawler name="c"><Root url="http://a.test/"/><Rules><Rule><Path val="/x/"/><Ignore/></Rule></Rules></Crawler></CrawlConfig>`), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", admin.SocketPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	lent, back := admin.Lend(socket)
	done := admin.StandingBy(lent, nil, func() admin.Standby {
		return admin.Standby{Words: "node n2 is in the cluster (standby), and n1 crawls: ask there"}
	})
	t.Cleanup(func() {
		done()
		back()
		_ = socket.Close() // lent out, it may be closed
	})
	code, out, errOut := sextant(t, "", "check", "-c", config, "-d", dir)
	if code != exitOK || !strings.Contains(out, "not compared with the stored URLs: node n2 is in the cluster (standby), and n1 crawls: ask there") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}
