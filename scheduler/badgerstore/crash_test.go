package badgerstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/seeded"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// crashChildEnv gives a seed and the store's directory to a child process of TestCrash.
const crashChildEnv = "SEXTANT_CRASH_CHILD"

// crashOptions makes memtables small, so that tables are written and compacted,
// and saves fingerprints often.
var crashOptions = Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1, saveAfter: 200}

// TestCrash kills a process that crawls, again and again, and looks each time
// whether all that was acknowledged is there. SEXTANT_CRASH_ROUNDS sets how often.
func TestCrash(t *testing.T) {
	rounds := 5
	if testing.Short() {
		rounds = 3
	}
	if s, ok := os.LookupEnv("SEXTANT_CRASH_ROUNDS"); ok {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("SEXTANT_CRASH_ROUNDS=%s: %v", s, err)
		}
		rounds = n
	}
	r := seeded.Rand(t)
	dir := t.TempDir()
	want := acknowledged{known: map[string]bool{}, crawled: map[string]int{}, ordered: map[string]int{}, delivered: map[string]int{}}
	for round := range rounds {
		lines := r.IntN(1500)
		if round%4 == 3 {
			lines = r.IntN(3) // hardly open
		}
		said := killAfter(t, dir, r.Uint64(), lines, &want)
		s := openStore(t, dir, Options{Durability: OS, MemtableBytes: MinMemtableBytes, MinFree: -1, ReadOnly: round%2 == 1})
		if s.ClosedCleanly() && said > 0 { // else it may have died before it opened the store
			t.Errorf("round %d: a killed process counts as closed cleanly", round)
		}
		want.check(t, s)
		report := mustVerify(t, s)
		closeStore(t, s)
		if t.Failed() {
			t.Fatalf("round %d, killed after %d lines", round, lines)
		}
		t.Logf("round %d: killed after %d lines: %+v", round, lines, report)
	}
}

// killAfter runs a child until it has acknowledged so many things, and returns how
// many it had when it died.
func killAfter(t *testing.T, dir string, seed uint64, lines int, want *acknowledged) int {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), fmt.Sprint(crashChildEnv, "=", seed, " ", dir))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	r, n := bufio.NewReader(out), 0
	for ; ; n++ {
		if n == lines {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		line, err := r.ReadString('\n')
		if err == io.EOF { // what was in the pipe when it died counts too
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		want.take(t, strings.TrimSuffix(line, "\n"))
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
	return n
}

// acknowledged is what a store must hold.
type acknowledged struct {
	known     map[string]bool
	crawled   map[string]int // how often, by URL
	ordered   map[string]int // the crawl that the newest order is of
	delivered map[string]int // the crawl of the newest order that a target saw
	safe      uint64
}

func (a *acknowledged) take(t *testing.T, line string) {
	t.Helper()
	f := strings.Fields(line)
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		return n
	}
	switch f[0] {
	case "known":
		for _, u := range f[1:] {
			a.known[u] = true
		}
	case "crawled":
		a.crawled[f[1]] = max(a.crawled[f[1]], number(f[2]))
	case "ordered":
		a.ordered[f[1]] = max(a.ordered[f[1]], number(f[2]))
	case "delivered":
		a.delivered[f[1]] = max(a.delivered[f[1]], number(f[2]))
	case "safe":
		a.safe = max(a.safe, uint64(number(f[1])))
	default:
		t.Fatalf("line %q", line)
	}
}

func (a *acknowledged) check(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	crawled := map[string]int{}
	err := s.Inspect(ctx, scheduler.Filter{}, func(_ weburl.Key, rec scheduler.Record) error {
		crawled[rec.URL] = rec.Status
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for u := range a.known {
		if _, ok := crawled[u]; !ok {
			t.Errorf("link is missing: %s", u)
		}
	}
	for u, n := range a.crawled {
		if crawled[u] < n {
			t.Errorf("%s: crawl %d is stored, %d was acknowledged", u, crawled[u], n)
		}
	}
	waiting := map[string]int{}
	for after, done := uint64(0), false; !done; {
		entries, err := s.Outbox().Entries(ctx, after, 100, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			after, waiting[e.URL] = e.Seq, crawlOf(t, e)
		}
		done = len(entries) == 0
	}
	for u, n := range a.ordered {
		if waiting[u] < n && a.delivered[u] < n {
			t.Errorf("%s: the order of crawl %d is lost (waiting %d, delivered %d)", u, n, waiting[u], a.delivered[u])
		}
	}
	if c, err := s.Outbox().Cursor(ctx, "target"); a.safe > 0 && (err != nil || c < a.safe) {
		t.Errorf("cursor is %d, want %d: %v", c, a.safe, err)
	}
}

func crawlOf(t *testing.T, e push.Entry) int {
	t.Helper()
	digits, _, _ := strings.Cut(string(e.Body), " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("order %d of %s: %v", e.Seq, e.URL, err)
	}
	return n
}

// crashChild crawls an invented web until it is killed. It writes a line to stdout
// for each thing that the store has acknowledged.
func crashChild(orders string) {
	err := func() error {
		var seed uint64
		var dir string
		if _, err := fmt.Sscanf(orders, "%d %s", &seed, &dir); err != nil {
			return err
		}
		s, err := Open(dir, crashOptions)
		if err != nil {
			return err
		}
		ctx := context.Background()
		if err := s.Outbox().Open(ctx, []string{"target"}); err != nil {
			return err
		}
		roots := drawer(seed, crashWorkers).links(hostCount)
		if _, _, err := s.Add(ctx, roots, false); err != nil {
			return err
		}
		say("known", names(roots)...)
		failed := make(chan error)
		for part := range crashWorkers {
			go func() { failed <- crashWorker(ctx, s, part, drawer(seed, part)) }()
		}
		go func() { failed <- crashRelay(ctx, s, drawer(seed, crashWorkers+1)) }()
		go func() { failed <- crashReviser(ctx, s, drawer(seed, crashWorkers+2)) }()
		return <-failed
	}()
	fmt.Fprintln(os.Stderr, "crash child:", err)
	os.Exit(1)
}

const (
	hostCount    = 16
	crashWorkers = 4
)

// say writes a line with one system call.
func say(word string, rest ...string) {
	if _, err := os.Stdout.WriteString(word + " " + strings.Join(rest, " ") + "\n"); err != nil {
		os.Exit(1)
	}
}

// drawn are the random numbers of one goroutine.
type drawn struct{ *rand.Rand }

func drawer(seed uint64, part int) drawn { return drawn{rand.New(rand.NewPCG(seed, uint64(part)))} }

func (r drawn) links(n int) []scheduler.Link {
	links := make([]scheduler.Link, n)
	for i := range links {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.test/%d", r.IntN(hostCount), r.IntN(500)))
		if err != nil {
			panic(err)
		}
		links[i] = scheduler.Link{URL: u, Fifo: scheduler.Source(r.IntN(5)), Depth: uint16(r.IntN(9))}
	}
	return links
}

func names(links []scheduler.Link) []string {
	urls := make([]string, len(links))
	for i := range links {
		urls[i] = links[i].URL.String()
	}
	return urls
}

// crashWorker crawls the hosts of one part, so that no URL is taken twice.
func crashWorker(ctx context.Context, s *Store, part int, r drawn) error {
	for {
		var ps []scheduler.Place
		if err := s.Places(ctx, func(p scheduler.Place, _ uint64) error {
			if int(p.Host[0])%crashWorkers == part {
				ps = append(ps, p)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, p := range ps {
			urls, err := s.Queue(ctx, p, 0, 5)
			if err != nil {
				return err
			}
			for _, w := range urls {
				if err := crashComplete(ctx, s, p, w, r); err != nil {
					return err
				}
			}
		}
		if _, _, err := s.Due(ctx, time.Now(), scheduler.Refresh, 20); err != nil {
			return err
		}
	}
}

func crashComplete(ctx context.Context, s *Store, p scheduler.Place, w scheduler.WaitingURL, r drawn) error {
	n := 1 + r.IntN(12)
	if r.IntN(100) == 0 {
		n = 2000 // more than one transaction
	}
	c := scheduler.Completion{Key: w.Key, Taken: p, Seq: w.Seq, Next: w.Record, Links: r.links(n)}
	c.Next.Status++ // counts the crawls
	c.Next.Class = scheduler.OK
	switch r.IntN(4) {
	case 0:
		c.Next.Source = scheduler.Source(r.IntN(scheduler.Sources))
	case 1:
		c.Next.State = scheduler.AtRest
	default:
		c.Next.State, c.Next.NextAt = scheduler.Timed, time.Now()
	}
	if r.IntN(2) == 0 {
		c.Next.Indexed = true
		length := r.IntN(4000)
		if r.IntN(20) == 0 {
			length = 2 * int(crashOptions.longValue())
		}
		body := strconv.Itoa(c.Next.Status) + " " + strings.Repeat("x", length)
		c.Order = &scheduler.Order{Body: []byte(body)}
		if r.IntN(4) == 0 {
			c.Order = pendingText(body)
		}
	}
	if _, err := scheduler.CompleteAndWait(ctx, s, c); err != nil {
		return err
	}
	status := strconv.Itoa(c.Next.Status)
	say("crawled", w.Record.URL, status)
	if c.Order != nil && c.Order.Loss == nil {
		say("ordered", w.Record.URL, status)
	}
	say("known", names(c.Links[:min(len(c.Links), 50)])...)
	return nil
}

// crashReviser puts URLs that rest back into a queue and lets others rest.
func crashReviser(ctx context.Context, s *Store, r drawn) error {
	for {
		_, _, err := s.Revise(ctx, keysOf(r.links(200)), func(_ weburl.Key, old scheduler.Record) *scheduler.Revision {
			v := &scheduler.Revision{Next: old, CancelDeletion: true}
			v.Next.State, v.Next.Source = scheduler.Waiting, scheduler.Source(r.IntN(scheduler.Sources))
			if old.State == scheduler.Timed {
				v.Next.State = scheduler.AtRest
			}
			return v
		})
		if err != nil {
			return err
		}
	}
}

// crashRelay delivers orders and says so before it moves the cursor.
func crashRelay(ctx context.Context, s *Store, r drawn) error {
	for range s.Outbox().Changed() {
		cursor, err := s.Outbox().Cursor(ctx, "target")
		if err != nil {
			return err
		}
		entries, err := s.Outbox().Entries(ctx, cursor, 1+r.IntN(200), 1<<20)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			continue
		}
		for _, e := range entries {
			status, _, _ := strings.Cut(string(e.Body), " ")
			say("delivered", e.URL, status)
			cursor = e.Seq
		}
		if err := s.Outbox().Safe(ctx, "target", cursor); err != nil {
			return err
		}
		say("safe", strconv.FormatUint(cursor, 10))
	}
	return nil
}
