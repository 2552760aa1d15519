package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv/bodyfiles"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/scheduler/store/segments"
)

// smallSegments lets a segment end after a few documents of these tests.
var smallSegments = Options{Durability: OS, MinFree: -1, MemtableBytes: MinMemtableBytes, segmentBytes: 1000}

func newSegmentBench(t *testing.T, dir string, targets ...string) bench {
	t.Helper()
	b := bench{T: t}
	b.s, b.gate = openGated(t, dir, smallSegments)
	b.o = b.s.Outbox()
	b.open(targets...)
	return b
}

func pageURL(i int) string { return fmt.Sprintf("http://a.test/%d", i) }

// long returns a body of 300 bytes: four fill a small segment.
func long(words string) string { return words + strings.Repeat(".", 300-len(words)) }

func segmentFiles(t *testing.T, dir string) (numbers []uint64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if n := bodyfiles.Number(f.Name()); n > 0 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// wantSegments waits for files to be removed, which happens in the background.
func (b bench) wantSegments(want ...uint64) {
	b.Helper()
	b.settle()
	if got := segmentFiles(b.T, b.s.dir); !slices.Equal(got, want) {
		b.Errorf("segments %v are there, want %v", got, want)
	}
}

// settle waits for what the store does in the background.
func (b bench) settle() {
	b.Helper()
	for range 4 { // what is done in the background may begin more
		b.must(b.s.changeAlone(b.Context(), func(*group) error { return nil }))
		b.s.background.Wait()
	}
}

// bodies returns the waiting orders' by URL.
func (b bench) bodies() map[string]string {
	b.Helper()
	entries, err := b.o.Entries(b.Context(), 0, 1000, 1<<30)
	b.must(err)
	all := map[string]string{}
	for _, e := range entries {
		all[e.URL] = strings.TrimRight(string(e.Body), ".")
		if e.Damage != "" {
			all[e.URL] = e.Damage
		}
	}
	return all
}

func TestSegmentsGoWithTheirOrders(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "fast", "slow")
	for i := range 10 {
		b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))))
	}
	b.crawl("http://a.test/gone", deletion())
	b.wantSegments(1, 2, 3)
	b.must(b.o.Safe(t.Context(), "fast", 11))
	b.wantSegments(1, 2, 3)
	b.must(b.o.Safe(t.Context(), "slow", 5))
	b.wantSegments(2, 3)
	if got := b.bodies(); len(got) != 6 || got[pageURL(7)] != "body 7" || got["http://a.test/gone"] != "gone" {
		t.Errorf("bodies: %q", got)
	}
	mustVerify(t, b.s)
	b.must(b.o.Safe(t.Context(), "slow", 11))
	b.wantSegments(3) // the current one stays
	for i := range 4 {
		b.crawl(pageURL(i), document(long("again")))
	}
	b.wantSegments(3, 4)
	b.open("fast") // a target that is not named any more holds nothing
	b.must(b.o.Safe(t.Context(), "fast", 100))
	b.wantSegments(4)
	mustVerify(t, b.s)
	closeStore(t, b.s)
	if got := segmentFiles(t, dir); !slices.Equal(got, []uint64{4}) {
		t.Errorf("after Close: segments %v", got)
	}
}

// A dead letter shares the body of its order, and keeps it after that.
func TestDeadLetterKeepsItsBody(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x", "y")
	for i := range 9 {
		b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))))
	}
	entries, err := b.o.Entries(t.Context(), 0, 3, 1<<20)
	b.must(err)
	for _, target := range []string{"x", "y"} {
		b.must(b.o.AddDead(t.Context(), target, entries[1], "bad", time.Unix(5, 0)))
	}
	mustVerify(t, b.s)
	b.must(b.o.Safe(t.Context(), "x", 9))
	b.must(b.o.Safe(t.Context(), "y", 9))
	b.wantSegments(1, 3)
	var dead []push.Dead
	b.must(b.s.Dead(t.Context(), func(d push.Dead) error { dead = append(dead, d); return nil }))
	if len(dead) != 2 || string(dead[0].Body) != long("body 1") || dead[1].Damage != "" || dead[1].At != time.Unix(5, 0).UTC() {
		t.Errorf("dead letters: %+v", dead)
	}
	n, err := b.s.RetryDead(t.Context(), push.Selection{})
	if err != nil || n != 2 {
		t.Errorf("RetryDead: %d, %v", n, err)
	}
	b.wantWaiting("10 add http://a.test/1 " + long("body 1"))
	b.wantCounts(scheduler.OutboxCounts{Waiting: 1})
	mustVerify(t, b.s)
	b.must(b.o.Safe(t.Context(), "x", 10))
	b.must(b.o.Safe(t.Context(), "y", 10))
	b.wantSegments(3)
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// Entries that nobody sends keep a few bytes, not a segment each.
func TestSegmentsAreEmptied(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x", "down")
	const n = 60
	for round := range 6 { // each replaces the one before, except for one in twenty
		for i := range n {
			if round > 0 && i%20 == round {
				continue
			}
			b.crawl(pageURL(i), document(long(fmt.Sprint(round, " of ", i))))
		}
	}
	entries, err := b.o.Entries(t.Context(), 0, 1000, 1<<30)
	b.must(err)
	b.must(b.o.AddDead(t.Context(), "down", entries[3], "bad", time.Unix(5, 0)))
	b.settle()
	for range 40 { // what is there is looked at after each batch
		b.must(b.s.SetValue(t.Context(), scheduler.CrawlValue("n"), nil))
		b.settle()
	}
	if got := len(segmentFiles(t, dir)); got > 2*n/4+segments.Slack+2 {
		t.Errorf("%d segments are there for %d bodies", got, n)
	}
	b.must(b.o.Safe(t.Context(), "x", 1000))
	b.open("x")
	b.settle()
	if got := len(segmentFiles(t, dir)); got > segments.Slack+2 {
		t.Errorf("%d segments are there for nothing", got)
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// What compactions move is what was stored.
func TestMovedBodies(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i := range 100 {
		b.crawl(pageURL(i%30), document(long(fmt.Sprint("body ", i))))
		if i == 20 {
			e, err := b.o.Entries(t.Context(), 0, 5, 1<<20)
			b.must(err)
			b.must(b.o.AddDead(t.Context(), "x", e[4], "bad", time.Unix(5, 0)))
		}
		b.settle()
	}
	all := map[uint64]bool{}
	for _, n := range segmentFiles(t, dir) {
		all[n] = n != b.s.committed.Load().Segment
	}
	want := b.bodies()
	b.must(b.s.compact(all))
	if got := b.bodies(); !maps.Equal(got, want) || len(got) != 30 {
		t.Errorf("bodies are %q, want %q", got, want)
	}
	b.settle()
	for _, n := range segmentFiles(t, dir) {
		if all[n] {
			t.Errorf("segment %d is there though all was moved", n)
		}
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// A reader keeps what its snapshot names.
func TestReaderKeepsSegments(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i := range 9 {
		b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))))
	}
	b.must(b.s.viewBodies(t.Context(), func(view kv.View, r *segments.Reader) error {
		b.must(b.o.Safe(t.Context(), "x", 9))
		b.wantSegments(1, 2, 3)
		n := 0
		return b.s.walk(t.Context(), view, []byte{record.KindOrder}, []byte{record.KindOrder}, true, func(key, value []byte) error {
			_, _, o, err := b.s.order(key, value)
			b.must(err)
			body, damage, err := r.Body(&o)
			if err != nil || damage != "" || string(body) != long(fmt.Sprint("body ", n)) {
				t.Errorf("body %d: %q, %q, %v", n, body, damage, err)
			}
			n++
			return nil
		})
	}))
	b.wantSegments(3)
	closeStore(t, b.s)
}

// What a crash leaves behind the last order belongs to nobody.
func TestSegmentsAfterCrash(t *testing.T) {
	dir := t.TempDir()
	b := newSegmentBench(t, dir, "x")
	for i := range 5 {
		b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))))
	}
	closeStore(t, b.s)
	name := filepath.Join(dir, bodyfiles.Name(2))
	whole, err := os.ReadFile(name)
	b.must(err)
	b.must(os.WriteFile(name, append(bytes.Clone(whole), "half a body"...), 0o600))
	b.must(os.WriteFile(filepath.Join(dir, bodyfiles.Name(3)), []byte("begun"), 0o600))
	b.must(os.WriteFile(filepath.Join(dir, "outbox-1.seg"), []byte("not ours"), 0o600))
	b = newSegmentBench(t, dir, "x")
	b.wantSegments(1, 2)
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("segment 2 has %d bytes, %v, want %d", len(got), err, len(whole))
	}
	b.crawl(pageURL(5), document(long("body 5")))
	if got := b.bodies(); len(got) != 6 || got[pageURL(4)] != "body 4" || got[pageURL(5)] != "body 5" {
		t.Errorf("bodies: %q", got)
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// Verify finds an unreadable body, which becomes a dead letter whose URL is fetched again; a part of it is never
// returned.
func TestDamagedBody(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"a bit": func(path string) error {
			b, err := os.ReadFile(path)
			b[310] ^= 1
			return errors.Join(err, os.WriteFile(path, b, 0o600))
		},
		"removed": os.Remove,
		"cut off": func(path string) error { return os.Truncate(path, 310) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := newSegmentBench(t, dir, "x")
			for i := range 6 {
				b.crawl(pageURL(i), document(long(fmt.Sprint("body ", i))), func(c *scheduler.Completion) { c.Next.Hash, c.Next.ETag = [16]byte{1}, "e" })
			}
			closeStore(t, b.s)
			b.must(damage(filepath.Join(dir, bodyfiles.Name(1))))
			b = newSegmentBench(t, dir, "x")
			if faults := faultsIn(t, b.s); len(faults) == 0 || !strings.Contains(faults[0].Words, segments.ErrDamaged.Error()) {
				t.Errorf("faults: %+v", faults)
			}
			if _, err := b.s.Backup(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "start the service") {
				t.Errorf("Backup: %v, want what to do", err)
			}
			entries, err := b.o.Entries(t.Context(), 0, 100, 1<<20)
			b.must(err)
			hurt := 0
			for _, e := range entries {
				switch {
				case e.Damage == "":
					if len(e.Body) != 300 {
						t.Errorf("%s has a body of %d bytes", e.URL, len(e.Body))
					}
				case e.Body != nil:
					t.Errorf("%s is damaged (%s) and has a body", e.URL, e.Damage)
				default:
					hurt++
					b.must(b.o.AddDead(t.Context(), "x", e, e.Damage, time.Unix(5, 0)))
				}
			}
			b.must(b.o.Safe(t.Context(), "x", 6))
			mustVerify(t, b.s)
			b.wantCounts(scheduler.OutboxCounts{Dead: uint64(hurt)})
			rec, err := b.s.Lookup(t.Context(), parse(t, pageURL(1)).Key())
			if err != nil || rec.State != scheduler.Waiting || rec.Source != scheduler.User || rec.ETag != "" || rec.Hash != [16]byte{} {
				t.Errorf("the URL is not fetched again: %+v, %v", rec, err)
			}
			if n, err := b.s.RetryDead(t.Context(), push.Selection{}); n != hurt || err != nil || hurt == 0 {
				t.Errorf("RetryDead: %d, %v, want %d", n, err, hurt)
			}
			b.wantCounts(scheduler.OutboxCounts{})
			mustVerify(t, b.s)
			closeStore(t, b.s)
		})
	}
}

// A failed write leaves no body, and one that does not fit moves its bodies to the next batch.
func TestBodiesOfSteps(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x")
	failed := errors.New("no")
	err := b.s.change(t.Context(), func(g *group) error {
		u := parse(t, pageURL(0))
		b.must(addOrder(g, u, document(long("lost"))))
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	big := strings.Repeat("x", groupBytes/3)
	const n = 10
	errs := make(chan error, n)
	for i := range n {
		go func() {
			errs <- b.s.change(context.Background(), func(g *group) error {
				u := parse(t, pageURL(i))
				return addOrder(g, u, document(fmt.Sprint(i, " ", big)))
			})
		}()
	}
	for range n {
		b.must(<-errs)
	}
	for url, body := range b.bodies() {
		if want := strings.TrimPrefix(url, "http://a.test/") + " " + big; body != want {
			t.Errorf("%s has a body of %d bytes, %.10q, want %d, %.10q", url, len(body), body, len(want), want)
		}
	}
	b.wantCounts(scheduler.OutboxCounts{Waiting: n})
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// What was sealed is there when the caller learns of the error behind it.
func TestSealedBeforeFailure(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x")
	failed := errors.New("no")
	err := b.s.changeAlone(t.Context(), func(g *group) error {
		for i := range 3000 {
			u := parse(t, pageURL(i))
			b.must(addOrder(g, u, document("x")))
			b.must(g.seal())
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n, err := b.s.Counts(t.Context()); err != nil || n.Outbox.Waiting == 0 {
		t.Errorf("%d orders wait, %v; some were sealed", n.Outbox.Waiting, err)
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}

// A backup holds the bodies, wherever they lie.
func TestBackupOfSegments(t *testing.T) {
	b := newSegmentBench(t, t.TempDir(), "x")
	for i := range 20 {
		b.crawl(pageURL(i%15), document(long(fmt.Sprint("body ", i))))
	}
	e, err := b.o.Entries(t.Context(), 0, 1, 0)
	b.must(err)
	b.must(b.o.AddDead(t.Context(), "x", e[0], "bad", time.Unix(5, 0)))
	var backup bytes.Buffer
	if _, err := b.s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	want := b.bodies()
	closeStore(t, b.s)
	dir := filepath.Join(t.TempDir(), "restored")
	if r, err := Restore(t.Context(), dir, &backup, smallSegments); err != nil || r.Faults > 0 {
		t.Fatalf("Restore: %+v, %v", r, err)
	}
	b = newSegmentBench(t, dir, "x")
	if got := b.bodies(); !maps.Equal(got, want) {
		t.Errorf("bodies %q, want %q", got, want)
	}
	if n, err := b.s.RetryDead(t.Context(), push.Selection{}); err != nil || n != 1 {
		t.Errorf("RetryDead: %d, %v", n, err)
	}
	mustVerify(t, b.s)
	closeStore(t, b.s)
}
