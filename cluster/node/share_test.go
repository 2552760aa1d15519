package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/node"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// TestFetch makes a copy over HTTPS while the crawl goes on, from whichever node leads.
func TestFetch(t *testing.T) {
	dir, engine := filepath.Join(t.TempDir(), "n0"), clustertest.NewMemory()
	meta, err := node.Found(t.Context(), engine, "n0", dir, options())
	if err != nil {
		t.Fatal(err)
	}
	times := cluster.DefaultTimes()
	times.Right, times.Silence = time.Hour, 2*time.Hour // however slow the machine
	ctx, stop := context.WithCancel(context.Background())
	leads, ended := make(chan *node.Active, 1), make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Settings{
			Name: "n0", Engine: engine, Dir: dir, Store: options(), Log: slog.New(slog.DiscardHandler), Clock: cluster.SystemClock{}, Times: times,
			Lead: func(ctx context.Context, a *node.Active) error {
				leads <- a
				<-ctx.Done()
				return ctx.Err()
			},
		})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	active := <-leads
	for i := range 300 {
		if _, _, err := active.Store.Add(t.Context(), storetest.Links(1, fmt.Sprintf("http://h.test/%d-%%d", i), scheduler.Index), false); err != nil {
			t.Fatal(err)
		}
	}
	secret := peer.NewToken()
	token, err := peer.ParseToken(secret)
	if err != nil {
		t.Fatal(err)
	}
	follows, leading := serve(t, token, nil), serve(t, token, active)
	c := &peer.Client{Token: token}
	other := filepath.Join(t.TempDir(), "n1")
	if err := node.Fetch(t.Context(), c, []string{follows}, meta, other, options()); !errors.Is(err, peer.ErrMissing) {
		t.Errorf("a node that follows: %v, want ErrMissing", err)
	}
	if err := node.Fetch(t.Context(), c, []string{follows, leading}, meta, other, options()); err != nil {
		t.Fatal(err)
	}
	s, err := badgerstore.Open(other, badgerstore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Verify(t.Context(), func(f badgerstore.Fault) { t.Errorf("%s %s", f.URL, f.Words) })
	if err = errors.Join(err, s.Close()); err != nil || found.URLs != 300 {
		t.Errorf("the copy has %d URLs, %v, want 300", found.URLs, err)
	}
	r, err := badgerstore.OpenReplica(other, options())
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Membership(); m.Cluster != meta.Cluster || m.Founder || m.Store == "" {
		t.Errorf("the copy remembers %+v", m)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// serve answers other nodes.
func serve(t *testing.T, token peer.Token, a *node.Active) string {
	t.Helper()
	config, err := peer.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(peer.Guard(token, node.Handler(func(cluster.Partition) *node.Active { return a }, slog.New(slog.DiscardHandler))))
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
