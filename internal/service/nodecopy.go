package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// nodeRetry is how long a node waits before it asks the engine, or for a copy, again.
const nodeRetry = 2 * time.Second

// awaitEngine returns when the engine answers, can be trusted, and nobody else runs as this node.
func (c *clusterNode) awaitEngine(ctx context.Context) error {
	defer c.notify.patience()()
	for {
		err := c.of.Engine.Check(ctx)
		if err == nil {
			err = cluster.Alone(ctx, c.of.Engine, c.of.Name, cluster.SystemClock{}, c.of.times)
		}
		if !errors.Is(err, cluster.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		c.wait("the engine does not answer: " + err.Error())
		if err := (cluster.SystemClock{}).Sleep(ctx, nodeRetry); err != nil {
			return err
		}
	}
}

// haveCopy gets a copy of the store from another node where there is none.
func (c *clusterNode) haveCopy(ctx context.Context) error {
	dir := c.home.Store()
	if badgerstore.Exists(dir) {
		return c.isCopy(dir)
	}
	for {
		err := c.fetchCopy(ctx, dir)
		switch {
		case err == nil:
			c.Log.Info("this node has a copy of the store now", "store", dir)
			return os.RemoveAll(c.behind())
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, cluster.ErrNoCluster) || errors.Is(err, peer.ErrProof):
			return err
		}
		c.wait("it has no copy of the store yet: " + err.Error())
		if err := (cluster.SystemClock{}).Sleep(ctx, nodeRetry); err != nil {
			return err
		}
	}
}

// isCopy refuses a store that is of one machine.
func (c *clusterNode) isCopy(dir string) error {
	if !badgerstore.Exists(dir) || badgerstore.IsReplica(dir) {
		return nil
	}
	return fmt.Errorf("%s is a store of one machine: sextant cluster init --from-store makes it the first copy of a new cluster; or move it away, and this node gets its copy from another one", dir)
}

func (c *clusterNode) fetchCopy(ctx context.Context, dir string) error {
	state, err := cluster.Observe(ctx, c.of.Engine, cluster.SystemClock{}, c.of.times)
	if err != nil {
		return err
	}
	peers := slices.DeleteFunc(state.Peers(), func(address string) bool { return address == c.of.Advertise })
	if len(peers) == 0 {
		return fmt.Errorf("no other node is alive (%s had it last): start it, or sextant cluster recover", state.States[0].Owner.Node)
	}
	if half, ok := badgerstore.HalfRestored(dir); ok { // of a copy that was cut short: the socket keeps others away
		if err := os.RemoveAll(half); err != nil {
			return err
		}
	}
	c.wait("it gets a copy of the store from another node")
	o, others := c.storeOptions()
	return node.Fetch(ctx, others.Client, peers, state.Meta, dir, o)
}

// copyAnew puts a copy aside that cannot follow any more, so that haveCopy gets another one; it returns every other error.
func (c *clusterNode) copyAnew(ctx context.Context, why error) error {
	dir := c.home.Store()
	switch {
	case errors.Is(why, cluster.ErrRebuild):
	case errors.Is(why, cluster.ErrStranger):
		self, _, err := badgerstore.MembershipOf(dir)
		if err != nil {
			return why
		}
		state, err := cluster.Observe(ctx, c.of.Engine, cluster.SystemClock{}, c.of.times)
		if err != nil || state.Cluster != self.Cluster || state.Incarnation == self.Incarnation {
			return why
		}
	default:
		return why
	}
	c.Log.Warn("this node's copy is put aside, and made anew from another node", "reason", why)
	if err := os.RemoveAll(c.behind()); err != nil {
		return errors.Join(why, err)
	}
	if err := os.Rename(dir, c.behind()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(why, err)
	}
	return nil
}

// advertised is where a listener is reached, if nothing is said.
func advertised(a net.Addr) (string, error) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String(), nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("%w: name where other nodes reach this one", err)
	}
	return net.JoinHostPort(name, strconv.Itoa(tcp.Port)), nil
}
