package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
)

// NodeTokenPath is where a node looks for the cluster's token if no other file is named.
func NodeTokenPath(data string) string { return filepath.Join(data, "node.token") }

// NodeToken reads the cluster's token.
func NodeToken(path string) (peer.Token, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return peer.Token{}, fmt.Errorf("the cluster's token: %w: copy that file from the machine on which sextant cluster init made it", err)
	}
	if err != nil {
		return peer.Token{}, fmt.Errorf("the cluster's token: %w", err)
	}
	token, err := peer.ParseToken(string(text))
	if err != nil {
		return token, fmt.Errorf("%s: %w", path, err)
	}
	return token, nil
}

// ensureNodeToken makes a token where there is none.
func ensureNodeToken(path, data string) (made bool, err error) {
	if made, err = admin.WriteToken(path, data, peer.NewToken); err == nil && !made {
		_, err = NodeToken(path)
	}
	return made, err
}

// Founding is what a cluster is made from.
type Founding struct {
	Engine  cluster.Engine
	Node    string // the first one
	Data    string // its data directory
	Home    Home   // of its store
	Crawler config.Crawler
	// From is the store, or the data directory, that is to become the first copy; "": there is none yet.
	From  string
	Token string // its file, which is made if it is not there
	// Partitions are how many the crawl is divided into for good, 0 for one, and Replicas how many copies there should be of each, if there are several.
	Partitions, Replicas int
	Log                  *slog.Logger
}

// FoundCluster makes a cluster. made says whether the token's file is new.
func FoundCluster(ctx context.Context, f Founding) (m cluster.Meta, made bool, err error) {
	if err := f.checkStore(ctx); err != nil {
		return m, false, err
	}
	if f.Partitions <= 1 {
		f.Replicas = 0 // each node has a copy
	}
	dir := f.Home.Store()
	if err := f.Engine.Check(ctx); err != nil { // before anything is written
		return m, false, err
	}
	if err := os.MkdirAll(f.Home.Dir, 0o750); err != nil {
		return m, false, err
	}
	if made, err = ensureNodeToken(f.Token, f.Home.Dir); err != nil {
		return m, made, err
	}
	m, err = node.FoundDivided(ctx, f.Engine, f.Node, dir, max(f.Partitions, 1), f.Replicas, StoreOptions(f.Crawler, f.Log))
	if made && (errors.Is(err, cluster.ErrFounded) || errors.Is(err, cluster.ErrRefused)) {
		return m, false, errors.Join(err, os.Remove(f.Token))
	}
	if err == nil {
		err = tellRestored(ctx, f.Engine, dir)
	}
	return m, made, err
}

// checkStore judges what is there already, and counts the partitions of a backup that was restored.
func (f *Founding) checkStore(ctx context.Context) error {
	dir := f.Home.Store()
	if f.From != "" {
		return f.checkFrom(dir)
	}
	restored, err := readRestored(dir)
	switch {
	case err != nil:
		return err
	case restored.Partitions > 0:
		return fmt.Errorf("there are the partitions of a backup in %s: --from-store %s makes them the first copies; or name another --data", dir, f.Home.Dir)
	case hasParts(dir) && f.Partitions <= 1:
		return fmt.Errorf("%s: %w: start it as a node of that cluster, or name another --data", dir, errParts)
	case !badgerstore.Exists(dir) || badgerstore.IsReplica(dir):
		return nil
	}
	empty, err := hasNothing(ctx, dir) // one that a try which failed has left
	if err != nil || empty {
		return err
	}
	return fmt.Errorf("there is a store in %s: make a backup of it, then --from-store %s makes it the first copy; or name another --data", dir, f.Home.Dir)
}

// checkFrom judges the store, or the partitions of a backup that was restored, that are to become the first copies.
func (f *Founding) checkFrom(dir string) error {
	here := partsIn(dir)
	switch {
	case !HoldsStore(dir) || !sameFolder(f.From, dir) && !sameFolder(f.From, f.Home.Dir):
		return fmt.Errorf("--from-store %s: the first copy lies in %s: move the store there, or name its --data", f.From, dir)
	case len(here) == 0 && f.Partitions > 1:
		return fmt.Errorf("--from-store %s: that is the store of a crawl that is not divided: sextant cluster split divides it into a folder; restore that into a new data directory, and make the cluster from there", f.From)
	case len(here) == 0:
		return nil
	}
	n, err := partitionsOf(dir, here)
	if err == nil && f.Partitions != 0 && f.Partitions != n {
		err = fmt.Errorf("--from-store %s has %d partitions, which a crawl keeps for as long as it lives: leave out --partitions %d", f.From, n, f.Partitions)
	}
	f.Partitions = n
	return err
}

// hasNothing reports whether the store in dir knows no URL.
func hasNothing(ctx context.Context, dir string) (bool, error) {
	s, err := badgerstore.Open(dir, badgerstore.Options{ReadOnly: true})
	if err != nil {
		return false, err
	}
	n, err := s.Counts(ctx)
	return n.Known == 0, errors.Join(err, s.Close())
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// handOverFor is how long pages in flight may take to end before a release is given up; they are
// finished all the same.
const handOverFor = 10 * time.Minute

// ReleaseCluster has the node that crawls hand over to another one, and waits for that.
func ReleaseCluster(ctx context.Context, e cluster.Engine, t peer.Token) (from, to string, err error) {
	state, err := ObserveCluster(ctx, e)
	if err != nil {
		return "", "", err
	}
	if state.Partitions > 1 {
		return "", "", errSeveral
	}
	before := &state.States[0]
	from = before.Owner.Node
	if before.Released || !state.Alive(from) {
		return from, "", fmt.Errorf("no node crawls now (%s did last): there is nothing to hand over", from)
	}
	for _, n := range state.Nodes {
		if n.Node != from {
			continue
		}
		answer, err := (&peer.Client{Token: t}).Do(ctx, http.MethodPost, n.Peer, node.ReleasePath)
		if err != nil {
			return from, "", fmt.Errorf("%s does not hand over: %w", from, err)
		}
		if err := answer.Close(); err != nil {
			return from, "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, handOverFor)
	defer cancel()
	for {
		now, err := cluster.Observe(ctx, e, cluster.SystemClock{}, cluster.DefaultTimes())
		if err == nil && now.States[0].Epoch != before.Epoch && !now.States[0].Released {
			return from, now.States[0].Owner.Node, nil
		}
		if ctx.Err() != nil {
			return from, "", fmt.Errorf("%s still finishes pages in flight, and hands over then: sextant cluster status", from)
		}
	}
}

// RecoverCluster begins a cluster anew from the copy in a home: it is for when the engine was lost or set back, or
// nobody is left who may take over. All other copies are void, and are made anew from this one.
func RecoverCluster(ctx context.Context, f Founding) (cluster.Meta, error) {
	if err := f.Engine.Check(ctx); err != nil {
		return cluster.Meta{}, err
	}
	m, err := node.Recover(ctx, f.Engine, f.Node, f.Home.Store(), StoreOptions(f.Crawler, f.Log))
	if err == nil {
		err = keepConfiguration(ctx, &f)
	}
	return m, err
}
