package papi

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
	"github.com/sextant-crawler/sextant/push/wire"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// TestModel pushes random orders while the server fails and restarts and the
// relay is stopped and started at random. In the end the server has safely the
// newest order of each URL, except for documents that it refuses.
func TestModel(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newModel(t, seed).run() })
		})
	}
}

type model struct {
	t      *testing.T
	rnd    *rand.Rand
	server *server
	outbox *pushtest.Outbox
	set    Settings
	want   pushtest.Index
	refuse map[string]bool // the newest order is one that the server refuses
}

func newModel(t *testing.T, seed uint64) *model {
	s := newServer(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	s.syncTakes = time.Duration(rnd.IntN(20)) * time.Second
	return &model{
		t: t, rnd: rnd, server: s, outbox: pushtest.NewOutbox(),
		set: Settings{
			Server:    wire.Settings{URL: "http://indexer", Transport: s.serve(), Timeout: 30 * time.Second},
			Connector: "web pages", SyncTimeout: 15 * time.Second, DeletionsInURL: seed%5 == 0,
		},
		want: pushtest.Index{}, refuse: map[string]bool{},
	}
}

func (m *model) run() {
	relay, stop := m.start()
	for range 60 {
		for range m.rnd.IntN(30) {
			m.order()
		}
		switch m.rnd.IntN(8) {
		case 0:
			m.server.with(m.server.restart)
		case 1:
			m.server.with(func() { m.server.down = !m.server.down })
		case 2, 3:
			m.server.with(func() { m.server.script = append(m.server.script, m.fault()) })
		case 4:
			stop()
			relay, stop = m.start()
		}
		time.Sleep(time.Duration(m.rnd.IntN(5000)) * time.Millisecond)
	}
	m.server.with(func() { m.server.down, m.server.script = false, nil })
	ctx, cancel := context.WithTimeout(m.t.Context(), 24*time.Hour)
	defer cancel()
	if err := relay.Drained(ctx); err != nil {
		m.t.Errorf("Drained: %v; %+v", err, relay.Status())
	}
	m.check()
	stop()
}

func (m *model) start() (*push.Relay, func()) {
	p, err := New(m.set)
	if err != nil {
		m.t.Fatal(err)
	}
	relay, err := push.NewRelay(m.outbox, []push.TargetSettings{{Target: p, BatchCount: 20, CheckpointEvery: 100}}, slog.New(slog.DiscardHandler))
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	return relay, func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Errorf("Run: %v", err)
		}
	}
}

func (m *model) order() {
	url := fmt.Sprintf("http://h/%d", m.rnd.IntN(60))
	if m.rnd.IntN(20) == 0 {
		url += "/bad"
	}
	delete(m.want, url)
	m.refuse[url] = false
	if m.rnd.IntN(3) == 0 {
		m.outbox.PutDeletion(url)
		return
	}
	text := fmt.Sprint("version ", m.rnd.Uint64())
	m.outbox.PutDocument("", url, text)
	if strings.Contains(url, "bad") {
		m.refuse[url] = true
	} else {
		m.want[url] = text
	}
}

func (m *model) fault() fault {
	return [...]fault{
		{restart: true},
		{status: 500},
		{status: 503, header: "Retry-After: 3"},
		{stall: time.Minute},
		{loseAnswer: true},
		{restart: true, status: 502},
		{restart: true, loseAnswer: true},
	}[m.rnd.IntN(7)]
}

func (m *model) check() {
	if diff := cmp.Diff(m.want, m.server.safe()); diff != "" {
		m.t.Errorf("the server's documents (-want +got):\n%s", diff)
	}
	if n := m.outbox.Len(); n != 0 {
		m.t.Errorf("%d entries are left", n)
	}
	dead := map[string]bool{}
	for _, d := range m.outbox.Dead("papi") {
		dead[d.URL] = true
	}
	maps.DeleteFunc(m.refuse, func(_ string, refused bool) bool { return !refused })
	if diff := cmp.Diff(m.refuse, dead); diff != "" {
		m.t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}
