package main

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
)

// counted is a site that counts its requests, so that tests do something at one of them
// rather than after some time.
type counted struct {
	url  string
	site http.Handler

	mu       sync.Mutex
	requests int
	waiting  map[int]chan struct{} // by the count that they wait for
}

func newCounted(t *testing.T, site http.Handler) *counted {
	t.Helper()
	c := &counted{site: site, waiting: map[int]chan struct{}{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.url = server.URL + "/"
	return c
}

// ServeHTTP implements http.Handler.
func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.requests++
	if reached, ok := c.waiting[c.requests]; ok {
		close(reached)
		delete(c.waiting, c.requests)
	}
	c.mu.Unlock()
	c.site.ServeHTTP(w, r)
}

func (c *counted) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

// after is closed when so many more requests have come.
func (c *counted) after(n int) <-chan struct{} {
	reached := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	if n <= 0 {
		close(reached)
	} else {
		c.waiting[c.requests+n] = reached
	}
	return reached
}

// killAt starts a process and kills it when reached is closed, if it has not ended before,
// in long runs a while later. Before the kill it does what is to be done meanwhile.
func killAt(t *testing.T, victim *exec.Cmd, reached <-chan struct{}, r *rand.Rand, meanwhile func()) {
	t.Helper()
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = victim.Wait() // it is killed, or ends before
	}()
	select {
	case <-reached:
	case <-ended:
	}
	seeded.Pause(r, 200*time.Millisecond)
	if meanwhile != nil {
		meanwhile()
	}
	_ = victim.Process.Kill() // it may have ended
	<-ended
}
