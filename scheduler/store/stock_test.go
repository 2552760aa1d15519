package store

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/store/badgerkv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// stock is a large store for measurements: the first URLs wait in the index source, the others were fetched and are due
// in the next month.
type stock struct{ known, waiting, hosts int }

var stockTime = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (st stock) origin(host int) string { return "http://host" + strconv.Itoa(host) + ".example" }

func (st stock) url(i int) weburl.URL {
	n := strconv.Itoa(i)
	u, err := weburl.Parse(st.origin(i%st.hosts) + "/section-" + strconv.Itoa(i%97) + "/an-ordinary-page-" + n + ".html")
	if err != nil {
		panic(err)
	}
	return u
}

func (st stock) link(i int) scheduler.Link {
	return scheduler.Link{URL: st.url(i), Fifo: scheduler.Index, Depth: 3, Referrer: st.origin(i%st.hosts) + "/section-1/"}
}

func (st stock) record(i int) scheduler.Record {
	u := st.url(i)
	rec := scheduler.Record{URL: u.String(), Host: u.HostKey(), Origin: u.Origin(), Source: scheduler.Index, Fifo: scheduler.Index,
		Depth: 3, Referrer: st.origin(i%st.hosts) + "/section-1/"}
	if i < st.waiting {
		rec.State, rec.Seq = scheduler.Waiting, uint64(i+1)
		return rec
	}
	st.fetched(&rec, i)
	return rec
}

// fetched is what a fetch makes of a record.
func (st stock) fetched(rec *scheduler.Record, i int) {
	const month = 30 * 24 * time.Hour
	rec.State, rec.Class, rec.Status, rec.Settled = scheduler.Timed, scheduler.OK, 200, true
	rec.NextAt = stockTime.Add(month / time.Duration(st.known) * time.Duration(i))
	rec.FetchedAt, rec.CheckedAt, rec.Interval = stockTime, stockTime, month
	rec.ETag, rec.LastModified = `"5f3c-`+strconv.Itoa(i)+`"`, "Tue, 01 Jan 2030 00:00:00 GMT"
	rec.Hash, rec.RulesVersion = [16]byte{byte(i), 1}, 7
	rec.History = scheduler.History{Checks: 3, Changes: 1, Quiet: month, Busy: month}
}

// write writes the stock as a backup, in order of the keys.
func (st stock) write(w io.Writer) error {
	b := backupfile.NewWriter(w)
	var keys uint64
	add := func(key, value []byte) error {
		keys++
		return b.Add(key, value)
	}
	if err := add(record.FormatKey(), []byte{Format}); err != nil {
		return err
	}
	c := record.Counters{Seq: uint64(st.waiting), Known: uint64(st.known), Timed: uint64(st.known - st.waiting), Hosts: uint64(st.hosts)}
	c.Pending[scheduler.Index] = uint64(st.waiting)
	c.Class[scheduler.Pending], c.Class[scheduler.OK] = uint64(st.waiting), c.Timed
	if err := add(record.CountersKey(), c.Encode()); err != nil {
		return err
	}
	if err := st.writeQueues(add); err != nil {
		return err
	}
	for i := st.waiting; i < st.known; i++ {
		rec := st.record(i)
		if err := add(record.TimedKey(rec.NextAt, st.url(i).Key()), nil); err != nil {
			return err
		}
	}
	type numbered struct {
		key weburl.Key
		i   uint32
	}
	order := make([]numbered, st.known)
	for i := range order {
		order[i] = numbered{st.url(i).Key(), uint32(i)}
	}
	slices.SortFunc(order, func(a, b numbered) int { return bytes.Compare(a.key[:], b.key[:]) })
	var buf []byte
	for _, o := range order {
		rec := st.record(int(o.i))
		buf = record.Append(buf[:0], &rec, nil)
		if err := add(record.URLKey(o.key), buf); err != nil {
			return err
		}
	}
	return b.End(keys)
}

func (st stock) writeQueues(add func(key, value []byte) error) error {
	hosts := make([]int, st.hosts)
	for i := range hosts {
		hosts[i] = i
	}
	slices.SortFunc(hosts, func(a, b int) int {
		x, y := st.url(a).HostKey(), st.url(b).HostKey()
		return bytes.Compare(x[:], y[:])
	})
	waiting := func(host int) int { return (st.waiting - host + st.hosts - 1) / st.hosts }
	for _, kind := range []byte{record.KindOrigin, record.KindPlace, record.KindQueue} {
		for _, h := range hosts {
			p := scheduler.Place{Source: scheduler.Index, Host: st.url(h).HostKey()}
			n := waiting(h)
			var err error
			switch {
			case kind == record.KindOrigin:
				err = add(record.OriginKey(p.Host), []byte(st.origin(h)))
			case n <= 0:
			case kind == record.KindPlace:
				err = add(record.PlaceKey(p), record.Queue{Count: uint64(n), Floor: uint64(h + 1)}.Append(nil))
			}
			// Records have one number after the other, so a chunk has few URLs of its queue.
			var chunk record.Chunk
			for i := h; kind == record.KindQueue && i < st.waiting && err == nil; i += st.hosts {
				chunk = chunkWith(chunk, uint64(i+1), st.url(i).Key())
				if key := record.QueueKey(p, uint64(i+1)); i+st.hosts >= st.waiting || !bytes.Equal(key, record.QueueKey(p, uint64(i+1+st.hosts))) {
					err = add(key, chunk)
					chunk = nil
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// make makes the store and opens it, with all fingerprints loaded.
func (st stock) make(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	begin := time.Now()
	r, w := io.Pipe()
	go func() { w.CloseWithError(st.write(w)) }()
	o.MemtableBytes = DefaultMemtableBytes
	quiet := o
	quiet.Logger = slog.New(slog.DiscardHandler)
	if err := badgerkv.Build(dir, quiet.engine(), newRestored(t.Context(), r).next, func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	made := time.Since(begin)
	s := openStore(t, dir, o)
	loadAll(t, s)
	t.Logf("%d known URLs on %d hosts, %d waiting: made in %.0f s, fingerprints from the keys in %.0f s",
		st.known, st.hosts, st.waiting, made.Seconds(), (time.Since(begin) - made).Seconds())
	return s
}

// loadAll waits until the fingerprints are in memory.
func loadAll(t testing.TB, s *Store) {
	t.Helper()
	for {
		stats, err := s.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if !stats.FingerprintLoading {
			return
		}
		time.Sleep(10 * time.Millisecond) // nothing tells when, and only measurements wait here
	}
}

// rssAnon returns the process's anonymous memory in MiB.
func rssAnon(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		testneed.Missing(t, "no /proc: %v", err)
	}
	_, line, _ := strings.Cut(string(b), "RssAnon:")
	var kib int
	if _, err := fmt.Sscan(line, &kib); err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// measured returns how large a measurement is to be: the environment's number, or small.
func measured(t testing.TB, name string, small int) int {
	t.Helper()
	v := os.Getenv(name)
	if v == "" {
		return small
	}
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		t.Fatalf("%s=%q: write a whole number above 0", name, v)
	}
	return n
}

func TestStockIsRight(t *testing.T) {
	s := stock{known: 3000, waiting: 700, hosts: 40}.make(t, t.TempDir(), quick)
	if r := mustVerify(t, s); r.URLs != 3000 || r.Queued != 700 || r.Timed != 2300 || r.Hosts != 40 {
		t.Errorf("stock of %+v", r)
	}
}
