package etcd

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/entry"
	"github.com/sextant-crawler/sextant/internal/testetcd"
)

// forgetful is a Copy that remembers its place alone, and appends at a pace while it leads.
type forgetful struct {
	pages, bytes int           // that come at a time, and of a page
	pace         time.Duration // between two times
	random       *rand.ChaCha8

	mu       sync.Mutex
	at       entry.Position
	appended int // pages
}

func (f *forgetful) Applied() entry.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

func (f *forgetful) Apply(_ context.Context, _ []byte, behind entry.Position) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = behind
	return nil
}

func (f *forgetful) Sync(context.Context) (entry.Position, error) { return f.Applied(), nil }

// Lead appends what does not pack, as a store does: all that came while the step before was on its way, up to a batch.
func (f *forgetful) Lead(ctx context.Context, l *cluster.Lead) error {
	const batch = 1024
	step := make([]byte, batch*f.bytes)
	began, done := time.Now(), 0
	for {
		if err := (cluster.SystemClock{}).Sleep(ctx, time.Until(began.Add(time.Duration(done/f.pages+1)*f.pace))); err != nil {
			return err
		}
		pages := min(batch, int(time.Since(began)/f.pace)*f.pages-done)
		_, _ = f.random.Read(step[:pages*f.bytes]) // never fails
		behind, err := l.Append(ctx, step[:pages*f.bytes])
		if err != nil {
			return err
		}
		done += pages
		f.mu.Lock()
		f.at, f.appended = behind, done
		f.mu.Unlock()
	}
}

// TestFigureEngine: how large three etcd get at 4,000 pages a second of 400 bytes, as a page of 20 links packs at most, for ten minutes,
// SEXTANT_CLUSTER_MINUTES, with two copies that follow.
func TestFigureEngine(t *testing.T) {
	if !slices.Contains(strings.Fields(os.Getenv("SEXTANT_CLUSTER_FIGURES")), "engine") {
		t.Skip("make cluster-figures PARTS=engine runs it")
	}
	minutes := 10
	if s := os.Getenv("SEXTANT_CLUSTER_MINUTES"); s != "" {
		var err error
		if minutes, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SEXTANT_CLUSTER_MINUTES: %v", err)
		}
	}
	servers := testetcd.Start(t, 3)
	e := open(t, "", servers...)
	meta, err := cluster.Found(t.Context(), e, cluster.Founding{Seat: cluster.Seat{Node: "n1", Store: "s1"}, Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	at, err := meta.Genesis(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	leads := &forgetful{pages: 40, bytes: 400, pace: 10 * time.Millisecond, at: at, random: rand.NewChaCha8([32]byte{18})}
	defer live(t.Context(), t, "n1", "s1", leads, servers)()
	eventually(t, "it leads", func(context.Context) bool { return leads.Applied().Seq > at.Seq })
	follows := &forgetful{pages: 40, bytes: 400, pace: 10 * time.Millisecond, at: at, random: rand.NewChaCha8([32]byte{19})}
	defer live(t.Context(), t, "n2", "s2", follows, servers)()
	var file, used int64
	began := time.Now()
	for n := range minutes * 12 {
		time.Sleep(5 * time.Second)
		u, err := e.Usage(t.Context())
		if err != nil {
			t.Log(err)
			continue
		}
		file, used = max(file, u.File), max(used, u.InUse)
		if n%12 == 11 {
			leads.mu.Lock()
			rate := float64(leads.appended) / time.Since(began).Seconds()
			leads.mu.Unlock()
			t.Logf("after %.0f s: %.0f pages/s, file %d MiB, at most %d MiB in use", time.Since(began).Seconds(), rate, u.File>>20, used>>20)
		}
	}
	t.Logf("FIGURE engine: file of %d MiB at most, %d MiB in use at most", file>>20, used>>20)
}
