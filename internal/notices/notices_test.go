package notices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what holds, and what receivers were told.
type world struct {
	mu    sync.Mutex
	holds Observation
	told  []string
	fails error
}

func (w *world) set(cs ...Condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holds = Observation{Conditions: cs}
}

func (w *world) observe(context.Context) Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.holds
}

func (w *world) send(_ context.Context, n Notice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fails != nil {
		w.told = append(w.told, "tried")
		return w.fails
	}
	w.told = append(w.told, fmt.Sprintf("%s %s %s", n.Event, n.State, time.Duration(n.LastedS)*time.Second))
	return nil
}

// take returns what was told since it was last called.
func (w *world) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(w.told, ", ")
	w.told = nil
	return out
}

// start runs a notifier with one receiver whose notices the world gets.
func (w *world) start(t *testing.T, path string, r Receiver) (n *Notifier, stop func()) {
	t.Helper()
	r.Command = []string{"/told"}
	n, err := New(Settings{Receivers: []Receiver{r}, Observe: w.observe, Path: path, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	n.at[0].send = w.send
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	time.Sleep(time.Second) // so that nothing happens in the moment of a look
	return n, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func (w *world) want(t *testing.T, when, told string) {
	t.Helper()
	synctest.Wait()
	if got := w.take(); got != told {
		t.Errorf("%s: told %q, want %q", when, got, told)
	}
}

var brake = Condition{Event: Brake, Crawler: "docs", Words: "holds"}

// TestOnce: a restart tells nothing twice, and knows how long it lasted.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "notices.json")
		var w world
		_, stop := w.start(t, path, Receiver{})
		time.Sleep(time.Minute)
		w.want(t, "nothing holds", "")
		w.set(brake)
		time.Sleep(time.Minute)
		w.want(t, "it begins", "brake problem 0s")
		stop()
		time.Sleep(time.Hour)
		_, stop = w.start(t, path, Receiver{})
		time.Sleep(time.Hour)
		w.want(t, "it still holds after a restart", "")
		w.set()
		time.Sleep(time.Minute)
		w.want(t, "it may come back", "")
		time.Sleep(2 * time.Minute)
		w.want(t, "it is over", "brake resolved 2h1m1s")
		stop()
		_, stop = w.start(t, path, Receiver{})
		time.Sleep(time.Hour)
		w.want(t, "long over", "")
		stop()
	})
}

// TestFlapping: what comes and goes for an hour is told a few times.
func TestFlapping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		_, stop := w.start(t, "", Receiver{})
		for range 60 { // each minute: away for less than settle
			w.set(brake)
			time.Sleep(30 * time.Second)
			w.set()
			time.Sleep(30 * time.Second)
		}
		w.want(t, "away for moments", "brake problem 0s")
		time.Sleep(10 * time.Minute)
		w.want(t, "over", "brake resolved 59m30s")
		for range 12 { // five minutes each
			w.set(brake)
			time.Sleep(time.Minute)
			w.set()
			time.Sleep(4 * time.Minute)
		}
		synctest.Wait()
		if got := strings.Count(w.take(), "problem"); got < 2 || got > 4 {
			t.Errorf("told %d times in an hour", got)
		}
		stop()
	})
}

// TestFailing: a receiver that takes nothing is tried again while the trouble lasts.
func TestFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{fails: errors.New("no")}
		n, stop := w.start(t, "", Receiver{})
		w.set(brake)
		time.Sleep(40 * time.Minute)
		w.want(t, "it fails", "tried, tried, tried")
		if s := n.Status()[0]; s.Failed != 3 || s.LastError != "no" || len(s.Told) != 0 {
			t.Errorf("%+v", s)
		}
		w.mu.Lock()
		w.fails = nil
		w.mu.Unlock()
		time.Sleep(15 * time.Minute)
		w.want(t, "it works again", "brake problem 0s")
		if s := n.Status()[0]; s.Sent != 1 || s.LastError != "" || len(s.Told) != 1 {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

func TestUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		_, stop := w.start(t, "", Receiver{})
		w.set(Condition{Event: Host, Crawler: "docs", Subject: "http://a"}, Condition{Event: Host, Crawler: "news", Subject: "http://a"})
		time.Sleep(time.Minute)
		w.want(t, "two", "host problem 0s, host problem 0s")
		w.mu.Lock()
		w.holds = Observation{Unsure: []Scope{{Host, "docs"}}}
		w.mu.Unlock()
		time.Sleep(time.Hour)
		w.want(t, "one may hold", "host resolved 1m0s")
		w.set()
		time.Sleep(time.Hour)
		w.want(t, "none holds", "host resolved 1h1m0s")
		stop()
	})
}

// TestEnd: the end of the crawl is told at once, and the next start.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "notices.json")
		for _, end := range []error{nil, fmt.Errorf("stopping: %w", context.Canceled)} {
			var w world
			n, stop := w.start(t, path, Receiver{})
			n.End(end)
			stop()
			w.want(t, "an end as asked for", "")
		}
		var w world
		n, stop := w.start(t, path, Receiver{})
		n.End(errors.New("disk full"))
		stop()
		w.want(t, "an end with an error", "stop problem 0s")
		time.Sleep(time.Hour)
		_, stop = w.start(t, path, Receiver{})
		time.Sleep(10 * time.Second)
		w.want(t, "the next start", "stop resolved 1h0m5s")
		stop()
	})
}

// TestRounds: a receiver that names the event gets one notice of a round, also as the process ends.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []Receiver{{}, {On: []Event{Round}}} {
			var w world
			n, stop := w.start(t, "", r)
			n.Tell("docs", "discovery: 3 added")
			time.Sleep(time.Minute)
			want := map[bool]string{true: "round done 0s"}[len(r.On) > 0]
			w.want(t, "a round", want)
			n.Tell("docs", "run --once: 3 added")
			stop()
			w.want(t, "the end", want)
		}
	})
}

// TestWants: events and the time of an indexer are the receiver's choice.
func TestWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		w.set(brake, Condition{Event: Indexer, Subject: "papi", Since: time.Now()}, Condition{Event: Disk})
		_, stop := w.start(t, "", Receiver{On: []Event{Indexer, Disk, Stop}, IndexerDown: 15 * time.Minute})
		time.Sleep(14 * time.Minute)
		w.want(t, "before its time", "disk problem 0s")
		time.Sleep(2 * time.Minute)
		w.want(t, "after it", "indexer problem 0s")
		stop()
	})
}

// TestMany: the number of notices in an hour is bounded, and nothing is forgotten.
func TestMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		_, stop := w.start(t, "", Receiver{})
		var all []Condition
		for i := range 100 {
			all = append(all, Condition{Event: Host, Subject: fmt.Sprint("http://", i)})
		}
		w.set(all...)
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if got := strings.Count(w.take(), "problem"); got != perHour {
			t.Errorf("told %d in an hour", got)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if got := strings.Count(w.take(), "problem"); got != 100-perHour {
			t.Errorf("told %d in the next", got)
		}
		stop()
	})
}

// TestReplace: other receivers come into force, and know what they were told.
func TestReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		n, stop := w.start(t, filepath.Join(t.TempDir(), "notices.json"), Receiver{})
		w.set(brake)
		time.Sleep(time.Minute)
		w.want(t, "it begins", "brake problem 0s")
		n.Replace([]Receiver{{Command: []string{"/never"}, On: []Event{Stop}}})
		n.Replace([]Receiver{{Command: []string{"/told"}}, {Webhook: secret.New("https://hooks.example.com/key"), On: []Event{Stop}}})
		synctest.Wait()
		got := n.Status()
		if len(got) != 2 || len(got[0].Told) != 1 || got[1].Receiver != "webhook https://hooks.example.com" {
			t.Errorf("%+v", got)
		}
		n.Replace([]Receiver{{Webhook: secret.New("no address")}})
		synctest.Wait()
		if len(n.Status()) != 2 {
			t.Error("a receiver that cannot be replaced those that can")
		}
		stop()
	})
}

// TestReplaceKeeps: a reload changes nothing for a receiver that stays: what fails is not
// tried at once, and is still counted.
func TestReplaceKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{fails: errors.New("down")}
		n, stop := w.start(t, filepath.Join(t.TempDir(), "notices.json"), Receiver{})
		w.set(brake)
		time.Sleep(time.Minute)
		w.want(t, "it begins", "tried")
		same := Receiver{Command: []string{"/told"}}
		n.Replace([]Receiver{same, same})
		synctest.Wait()
		time.Sleep(time.Minute) // /told is not a program: each attempt fails and counts
		synctest.Wait()
		for _, s := range n.Status() {
			if s.Failed != 1 || s.LastError != "down" {
				t.Errorf("after a reload %+v", s)
			}
		}
		stop()
	})
}

func TestEventsAreSorted(t *testing.T) {
	if !slices.IsSorted(Events()) {
		t.Error(Events())
	}
}
