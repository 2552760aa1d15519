package etcd

import (
	"context"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testetcd"
)

// patience is how long a server may take to do what it must: far longer than on any machine.
const patience = 2 * time.Minute

func open(t *testing.T, prefix string, servers ...*testetcd.Server) *Engine {
	t.Helper()
	s := Settings{Prefix: prefix}
	for _, server := range servers {
		s.Endpoints = append(s.Endpoints, server.Client)
	}
	e, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// eventually calls until call says that it is done.
func eventually(t *testing.T, what string, call func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !call(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
