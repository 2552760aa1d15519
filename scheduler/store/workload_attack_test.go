package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// attackEnv gives an attack to a child process, as JSON.
const attackEnv = "SEXTANT_ATTACK"

// attack is what a child process does to a store.
type attack struct {
	Dir  string
	Seed uint64
	// First is the number of the first act; all acts of one store differ.
	First      uint64
	Durability Durability
	MinFree    int64
	// Acts is after how many acts the store is closed and the process ends; 0: never.
	Acts uint64
	// Point and Nth say where the process kills itself: at the nth passing of the
	// store's point.
	Point string
	Nth   int64
	// Bodies is the usual length of an order's body at most.
	Bodies int
	// Reopen lets one worker open and close the store again and again.
	Reopen bool
}

// act is one change that a child makes.
type act struct {
	ID     uint64
	Kind   string
	URL    int   `json:",omitempty"` // of a page, a forgotten or a delivered one
	URLs   []int `json:",omitempty"` // links of a page, what is added or revised, or whose deletions are
	Alias  string
	Forget bool            `json:",omitempty"`
	State  scheduler.State `json:",omitempty"`
	Gone   bool            `json:",omitempty"`
	Order  string          `json:",omitempty"` // orderAdd, orderDelete, orderLeaving, orderReplacing
	Edit   uint64          `json:",omitempty"` // of a pending loss
	Cancel bool            `json:",omitempty"`
	Seq    uint64          `json:",omitempty"`
	Of     uint64          `json:",omitempty"` // the act that made the order which is delivered or buried

	// Of the ledger, when the act began: page.epoch of the linked URLs, page.moves.
	epochs map[int]int
	moves  int
	// Of the child: links may bring the page's URL back while it is in flight.
	back bool
}

// The kinds of acts.
const (
	actPage, actRevise, actForget = "page", "revise", "forget"
	actAdd, actRequeue            = "add", "requeue"
	actMark                       = "mark"
	actRelease, actDrop           = "release", "drop"
	actDeliver, actBury, actSafe  = "deliver", "bury", "safe"
	actNote                       = "note"
)

// The kinds of orders; "" is none.
const orderAdd, orderDelete, orderLeaving, orderReplacing = "add", "delete", "leaving", "replacing"

// line is what a child tells of an act: when it begins, and when the store has
// acknowledged it.
type line struct {
	Begin *act   `json:",omitempty"`
	Done  uint64 `json:",omitempty"`
	Hit   []int  `json:",omitempty"` // the URLs that a revision met
	// Refused says that a page's URL was not there any more: a link had brought it back.
	Refused bool `json:",omitempty"`
	// Full says that the disk is full and the child tries again, Going that it goes on.
	Full, Going bool
}

// The invented web: webURLs pages, webHosts hosts.
const (
	webHosts = 12
	webURLs  = 1200
	parts    = 4 // workers, each with hosts of its own
)

func webURL(i int) string { return fmt.Sprintf("http://h%d.test/%d", i%webHosts, i/webHosts) }

func webKey(i int) weburl.Key { return webLink(i).URL.Key() }

func webLink(i int) scheduler.Link {
	u, err := weburl.Parse(webURL(i))
	if err != nil {
		panic(err)
	}
	return scheduler.Link{URL: u, Fifo: scheduler.Source(i % 5), Depth: uint16(i % 7)}
}

func webLinks(is []int, alias string) []scheduler.Link {
	links := make([]scheduler.Link, len(is))
	for n, i := range is {
		links[n] = webLink(i)
		links[n].Alias = alias
	}
	return links
}

// webIndex returns the number of a URL of the web, -1 if it is none.
func webIndex(raw string) int {
	var h, n int
	if _, err := fmt.Sscanf(raw, "http://h%d.test/%d", &h, &n); err != nil {
		return -1
	}
	return n*webHosts + h
}

// stamp makes all fields of a record tell the act that wrote them, so that halves
// of two acts do not go together.
func stamp(r *scheduler.Record, id uint64, i int) {
	r.ETag = fmt.Sprint(id)
	r.Status = int(id % 999)
	r.LastError = strings.Repeat(fmt.Sprint(id, " ", i, ";"), int(id%20))
	r.Hash = hashOf(id)
	r.FetchedAt = time.Unix(int64(id), int64(i)).UTC()
	r.Class = scheduler.OK + scheduler.Class(id%5)
	r.Errors = int(id % 2)
}

func hashOf(id uint64) [16]byte { return [16]byte(fmt.Appendf(nil, "%016d", id)) }

// lossOf returns the loss that act id gave, of a text or a document.
func lossOf(id uint64, replaces bool) scheduler.Loss {
	loss := scheduler.NewLoss(id%2 == 0, time.Unix(int64(id), 0))
	if replaces {
		loss.Hash, loss.Sketch.Title = hashOf(id), uint32(id)
	}
	return loss
}

// bodyOf returns the body of the order that act id gave for URL i.
func bodyOf(id uint64, i, bodies int) []byte {
	n := int(id*2654435761%uint64(max(bodies, 1))) + 1
	if id%50 == 0 {
		n = MinMemtableBytes/13 + int(id%1000) // into Badger's value log
	}
	b := fmt.Appendf(make([]byte, 0, n+40), `{"act":%d,"url":%d,"fill":"`, id, i)
	return append(append(b, bytes.Repeat([]byte{'a' + byte(id%26)}, n)...), `"}`...)
}

func actOfBody(body []byte) (uint64, int, error) {
	var b struct {
		Act uint64
		URL int
	}
	err := json.Unmarshal(body, &b)
	return b.Act, b.URL, err
}

// attacker is a child process at work.
type attacker struct {
	attack
	s    *Store
	next atomic.Uint64
	mu   sync.Mutex // guards out and full
	out  io.Writer
	full bool
}

// errEnd ends a child that has made all its acts.
var errEnd = errors.New("all acts are made")

// beAttacker returns the child: it works until it is killed, or has made its acts. It
// returns false in a process that is not a child.
func beAttacker(t *testing.T) bool {
	orders, ok := os.LookupEnv(attackEnv)
	if !ok {
		return false
	}
	w := &attacker{out: os.Stdout}
	if err := json.Unmarshal([]byte(orders), &w.attack); err != nil {
		t.Fatal(err)
	}
	if err := w.run(t); err != nil {
		fmt.Fprintln(os.Stderr, "attacker:", err)
		os.Exit(3)
	}
	os.Exit(0)
	return true
}

func (w *attacker) options() Options {
	o := Options{Durability: w.Durability, MemtableBytes: MinMemtableBytes, MinFree: w.MinFree}
	if w.Point != "" {
		var passed atomic.Int64
		o.at = func(point string) {
			if point == w.Point && passed.Add(1) == w.Nth {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
		o.Logger = slog.New(slog.NewTextHandler(compactions(o.at), &slog.HandlerOptions{Level: slog.LevelDebug - 4}))
	}
	return o
}

// atCounted is a point in Badger: a compaction has counted what it drops of the value
// log, and is not done.
const atCounted = "counted"

// compactions reads in Badger's log when it is at atCounted.
type compactions func(point string)

func (at compactions) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("Discard stats: map[")) && !bytes.Contains(b, []byte("map[]")) {
		at(atCounted)
	}
	return len(b), nil
}

// reopen works on the store a little, closes it, and opens it again, until it is killed.
func (w *attacker) reopen(t *testing.T) error {
	w.next.Store(w.First)
	p := &worker{attacker: w, ctx: t.Context(), r: rand.New(rand.NewPCG(w.Seed, 0))}
	for {
		s, err := Open(w.Dir, w.options())
		if err != nil {
			return err
		}
		w.s = s
		if err := s.Outbox().Open(p.ctx, []string{"target"}); err != nil {
			return err
		}
		for p.part = range parts {
			if err := p.step(); err != nil {
				return err
			}
		}
		if err := s.Close(); err != nil {
			return err
		}
	}
}

func (w *attacker) run(t *testing.T) error {
	if w.Reopen {
		return w.reopen(t)
	}
	s, err := Open(w.Dir, w.options())
	if err != nil {
		return err
	}
	w.s = s
	w.next.Store(w.First)
	ctx := t.Context()
	// So that fingerprints are saved while the attack goes on.
	if err := s.changeAlone(ctx, func(g *group) error { g.s.saveAfter = 50; return nil }); err != nil && !errors.Is(err, scheduler.ErrFull) {
		return err
	}
	for {
		if err = s.Outbox().Open(ctx, []string{"target"}); !w.again(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	failed := make(chan error)
	var workers sync.WaitGroup
	for part := range parts {
		workers.Go(func() {
			p := &worker{attacker: w, ctx: ctx, part: part, r: rand.New(rand.NewPCG(w.Seed, uint64(part)))}
			failed <- p.run()
		})
	}
	workers.Go(func() {
		p := &worker{attacker: w, ctx: ctx, r: rand.New(rand.NewPCG(w.Seed, parts))}
		failed <- p.relay()
	})
	go func() { workers.Wait(); close(failed) }()
	var errs []error
	for err := range failed {
		if !errors.Is(err, errEnd) {
			return err // and end at once: the others would go on
		}
	}
	return errors.Join(append(errs, s.Close())...)
}

// say writes a line with one system call.
func (w *attacker) say(l line) {
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(append(b, '\n')); err != nil {
		os.Exit(4)
	}
}

// begin reports whether an act begins and gives it its number. With acts that count it
// fails when all are made.
func (w *attacker) begin(a act) (act, error) {
	a.ID = w.next.Add(1)
	if w.Acts > 0 && a.ID >= w.First+w.Acts {
		return a, errEnd
	}
	w.say(line{Begin: &a})
	return a, nil
}

// do makes an act, again and again while the disk is full. hit, if there is one, says
// which URLs it met.
func (w *attacker) do(a act, change func() error, hit ...func() ([]int, error)) error {
	for {
		err := change()
		if w.again(err) {
			continue
		}
		refused := a.Kind == actPage && errors.Is(err, scheduler.ErrNotFound) && a.back
		if err != nil && !refused {
			return fmt.Errorf("%+v: %w", a, err)
		}
		l := line{Done: a.ID, Refused: refused}
		for _, ask := range hit {
			if l.Hit, err = ask(); err != nil {
				return err
			}
		}
		w.say(l)
		return nil
	}
}

// again reports whether a change failed for a full disk, after a pause, and tells the
// parent when that begins and ends.
func (w *attacker) again(err error) bool {
	full := errors.Is(err, scheduler.ErrFull)
	if err != nil && !full {
		return false
	}
	w.mu.Lock()
	changed := w.full != full
	w.full = full
	w.mu.Unlock()
	if changed {
		w.say(line{Full: full, Going: !full})
	}
	if full {
		time.Sleep(5 * time.Millisecond)
	}
	return full
}
