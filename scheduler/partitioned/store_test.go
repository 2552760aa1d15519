package partitioned_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of a far guards what has arrived there.

// far is the owner of all partitions that are elsewhere. While it is away, nothing arrives.
type far struct {
	mu      sync.Mutex
	away    bool
	arrived map[[2]int]uint64
	links   []string
	items   int // among them
}

func (f *far) Carry(_ context.Context, to int, p scheduler.Post) (scheduler.Receipt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return scheduler.Receipt{}, errors.New("away")
	}
	at := [2]int{p.From, to}
	for _, n := range p.Letters {
		f.arrived[at] = n.Seq
		f.links = append(f.links, n.Link.URL.String())
		if n.Link.Kind == scheduler.KindItem {
			f.items++
		}
	}
	return scheduler.Receipt{Arrived: f.arrived[at]}, nil
}

func (f *far) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

// hostIn is a host of a partition.
func hostIn(partition, of int) string {
	for i := 0; ; i++ {
		if h := fmt.Sprintf("h%d.test", i); partitioned.Of(h, of) == partition {
			return h
		}
	}
}

// one is a store of two partitions, of which the first is here.
func one(t *testing.T, o partitioned.Options) *partitioned.Store {
	t.Helper()
	o.Partitions, o.Values = 2, storetest.NewMemory()
	s, err := partitioned.New(o)
	if err == nil {
		err = s.Adopt(0, storetest.NewMemory())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// complete completes a page here with links.
func complete(ctx context.Context, t *testing.T, s *partitioned.Store, path string, links ...scheduler.Link) error {
	t.Helper()
	l := storetest.Link("http://"+hostIn(0, 2)+path, scheduler.Index)
	if _, _, err := s.Add(t.Context(), []scheduler.Link{l}, false); err != nil {
		t.Fatal(err)
	}
	p := scheduler.Place{Source: l.Fifo, Host: l.URL.HostKey()}
	q, err := s.Queue(t.Context(), p, 0, 10)
	if err != nil || len(q) == 0 {
		t.Fatal(q, err)
	}
	w := q[len(q)-1]
	next := w.Record
	next.State = scheduler.AtRest
	_, err = scheduler.CompleteAndWait(ctx, s, scheduler.Completion{Key: w.Key, Seq: w.Seq, Taken: p, Next: next, Links: links})
	return err
}

// TestFullPile: pages with links to a partition that takes none wait once too much does; others go on, and all do when it
// is back.
func TestFullPile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{away: true, arrived: map[[2]int]uint64{}}
		s := one(t, partitioned.Options{Carrier: f, MaxPile: 200}) // two letters in memory
		foreign := func(i int) scheduler.Link {
			return storetest.Link(fmt.Sprintf("http://%s/%d", hostIn(1, 2), i), scheduler.Index)
		}
		if err := complete(t.Context(), t, s, "/1", foreign(1), foreign(2)); err != nil {
			t.Fatal(err)
		}
		piles, err := s.Piles(t.Context())
		if err != nil || piles[1].Count != 2 || piles[1].Bytes != 200 {
			t.Errorf("Piles = %v, %v", piles, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := complete(ctx, t, s, "/2", foreign(3)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a page with a link more = %v, want it to wait", err)
		}
		if err := complete(t.Context(), t, s, "/3", storetest.Link("http://"+hostIn(0, 2)+"/own", scheduler.Index)); err != nil {
			t.Errorf("a page without such links = %v", err)
		}
		waits := make(chan error, 1)
		go func() { waits <- complete(t.Context(), t, s, "/4", foreign(4)) }()
		synctest.Wait()
		select {
		case err := <-waits:
			t.Errorf("it does not wait: %v", err)
		default:
		}
		f.set(false)
		if err := <-waits; err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		f.mu.Lock()
		if want := []string{foreign(1).URL.String(), foreign(2).URL.String(), foreign(4).URL.String()}; !slices.Equal(f.links, want) {
			t.Errorf("%q arrived, want %q", f.links, want)
		}
		f.mu.Unlock()
		if piles, err := s.Piles(t.Context()); err != nil || len(piles) > 0 {
			t.Errorf("Piles = %v, %v, want none", piles, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestAddElsewhere: a link that no page's completion brings goes to its partition as a letter, once what is here is stored; nothing is left behind when
// none is there that could keep it.
func TestAddElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{arrived: map[[2]int]uint64{}}
		s := one(t, partitioned.Options{Carrier: f})
		here := storetest.Link("http://"+hostIn(0, 2)+"/", scheduler.Index)
		there := storetest.Link("http://"+hostIn(1, 2)+"/", scheduler.Index)
		places, n, err := s.Add(t.Context(), []scheduler.Link{here, there}, false)
		if err != nil || n != 1 || len(places) != 1 {
			t.Errorf("Add = %v, %d, %v, want the link that is here", places, n, err)
		}
		time.Sleep(5 * time.Second)
		f.mu.Lock()
		if want := []string{there.URL.String()}; !slices.Equal(f.links, want) {
			t.Errorf("%q arrived, want %q", f.links, want)
		}
		f.mu.Unlock()
		item := there
		item.Kind = scheduler.KindItem
		if _, _, err := s.Add(t.Context(), []scheduler.Link{item}, false); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		f.mu.Lock()
		if f.items > 0 || len(f.links) != 2 {
			t.Errorf("%d items without their documents arrived, %d links", f.items, len(f.links))
		}
		f.mu.Unlock()
		for _, c := range []struct {
			what  string
			item  scheduler.Item
			all   bool // all can read it
			items int  // have arrived then
		}{
			{"not all nodes could read it", scheduler.Item{}, false, 0},
			{"too large", scheduler.Item{Document: scheduler.Document{Body: make([]byte, scheduler.ItemMost+1)}}, true, 0},
			{"of an XML file", scheduler.Item{Stays: true}, true, 0},
			{"with its document", scheduler.Item{Document: scheduler.Document{Body: make([]byte, scheduler.ItemMost)}}, true, 1},
		} {
			if item.Item = &c.item; c.all {
				s.LettersHaveItems()
			}
			if _, _, err := s.Add(t.Context(), []scheduler.Link{item}, false); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			f.mu.Lock()
			if f.items != c.items {
				t.Errorf("%s: %d items arrived, want %d", c.what, f.items, c.items)
			}
			f.mu.Unlock()
		}
		p, err := s.Release(0)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Add(t.Context(), []scheduler.Link{there}, false); !errors.Is(err, scheduler.ErrElsewhere) {
			t.Errorf("with no partition here: %v", err)
		}
		if err := errors.Join(p.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestMoveIsNoNews: a partition that nobody owns for some seconds is no matter for people; one that stays away is, once, and again the next time.
func TestMoveIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log testlog.Buffer
		f := &far{arrived: map[[2]int]uint64{}}
		s := one(t, partitioned.Options{Carrier: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		there := storetest.Link("http://"+hostIn(1, 2)+"/", scheduler.Index)
		for _, c := range []struct {
			away time.Duration
			told int
		}{{10 * time.Second, 0}, {time.Minute, 1}, {10 * time.Second, 1}, {time.Minute, 2}} {
			f.set(true)
			if _, _, err := s.Add(t.Context(), []scheduler.Link{there}, false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.away)
			f.set(false)
			time.Sleep(5 * time.Second)
			if told := strings.Count(log.String(), "are not delivered"); told != c.told {
				t.Errorf("after %v it was told %d times, want %d:\n%s", c.away, told, c.told, log.String())
			}
		}
		f.mu.Lock()
		if len(f.links) != 4 {
			t.Errorf("%d links arrived, want 4", len(f.links))
		}
		f.mu.Unlock()
		p, err := s.Release(0)
		if err := errors.Join(err, p.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestElsewhere: what is asked of a partition that is not here is an error, and says so.
func TestElsewhere(t *testing.T) {
	s := one(t, partitioned.Options{})
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	there := storetest.Link("http://"+hostIn(1, 2)+"/", scheduler.Index)
	here := storetest.Link("http://"+hostIn(0, 2)+"/", scheduler.Index)
	if s.Owns(there.URL) || !s.Owns(here.URL) {
		t.Error("Owns is wrong")
	}
	ctx, k := t.Context(), there.URL.Key()
	_, _, addErr := s.Add(ctx, []scheduler.Link{here, there}, true)
	_, lookupErr := s.Lookup(ctx, k)
	_, hostErr := s.Host(ctx, there.URL.HostKey())
	_, queueErr := s.Queue(ctx, scheduler.Place{Host: there.URL.HostKey()}, 0, 1)
	_, valueErr := s.Value(ctx, "robots/"+there.URL.Origin())
	_, releaseErr := s.Release(1)
	_, receiveErr := s.Receive(ctx, 1, scheduler.Post{From: 0})
	for what, err := range map[string]error{
		"Add": addErr, "Lookup": lookupErr, "Host": hostErr, "Queue": queueErr, "Value": valueErr, "Release": releaseErr, "Receive": receiveErr,
		"Forget": s.Forget(ctx, k, nil), "SetValue": s.SetValue(ctx, "robots/"+there.URL.Origin(), []byte("x")),
	} {
		if !errors.Is(err, scheduler.ErrElsewhere) {
			t.Errorf("%s = %v, want ErrElsewhere", what, err)
		}
	}
	if c, err := s.Counts(ctx); err != nil || c.Known != 0 {
		t.Errorf("an Add that was refused has added %d URLs, %v", c.Known, err)
	}
	if s.Adopt(0, storetest.NewMemory()) == nil || s.Adopt(2, storetest.NewMemory()) == nil {
		t.Error("a partition that is here, or that does not exist, was adopted")
	}
	if _, err := s.Receive(ctx, 7, scheduler.Post{}); err == nil || errors.Is(err, scheduler.ErrElsewhere) {
		t.Errorf("letters for a partition that does not exist: %v", err)
	}
}

// TestReleaseEndsWalks: a walk ends when a partition is released, which does not wait for the rest of it.
func TestReleaseEndsWalks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := one(t, partitioned.Options{})
		var links []scheduler.Link
		for i := range 10 {
			links = append(links, storetest.Link(fmt.Sprintf("http://%s/%d", hostIn(0, 2), i), scheduler.Index))
		}
		if _, _, err := s.Add(t.Context(), links, false); err != nil {
			t.Fatal(err)
		}
		released := make(chan error, 1)
		seen := 0
		err := s.Inspect(t.Context(), scheduler.Filter{}, func(weburl.Key, scheduler.Record) error {
			if seen++; seen == 1 {
				go func() { _, err := s.Release(0); released <- err }()
				synctest.Wait() // it waits for this walk
			}
			return nil
		})
		if !errors.Is(err, scheduler.ErrElsewhere) || seen != 1 {
			t.Errorf("Inspect = %v after %d records", err, seen)
		}
		if err := errors.Join(<-released, s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestOf: a host is where its name says, for ever.
func TestOf(t *testing.T) {
	for host, want := range map[string]int{"a.test": 6, "b.test": 21, "example.com": 13, "127.0.0.1": 20} {
		if got := partitioned.Of(host, 24); got != want {
			t.Errorf("Of(%s) = %d, want %d: stores lie by it", host, got, want)
		}
	}
	if partitioned.Of("www.example.com", 24) != partitioned.Of("example.com", 24) {
		t.Error("a host and its www are apart")
	}
}

// TestNames: whoever stores a named value says in names.go whose it is.
func TestNames(t *testing.T) {
	table, err := os.ReadFile("names.go")
	if err != nil {
		t.Fatal(err)
	}
	stores := regexp.MustCompile(`(?:\.SetValue|SaveValue|LoadValue|\.Value)\(\S*[cC]tx\S*, |Note\{Name:`)
	literal := regexp.MustCompile(`(?m)(?:\b(?:[a-zA-Z]*Name|[a-zA-Z]*Value)\s*=|func (?:name|nameOf|ledgerName|frameValue)\(.*return|name :=)\s*(?:fmt\.Sprintf\()?"([a-z][^"%]*)`)
	names := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "storetest") {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(code, []byte("Value(")) && !bytes.Contains(code, []byte("Note{")) || !stores.Match(code) {
			return err
		}
		for _, m := range literal.FindAllSubmatch(code, -1) {
			names++
			if !strings.Contains(string(table), `"`+string(m[1])) {
				t.Errorf("%s stores %q: say in names.go whose it is", path, m[1])
			}
		}
		return nil
	})
	if err != nil || names < 15 {
		t.Errorf("%d names were found, %v", names, err)
	}
}
