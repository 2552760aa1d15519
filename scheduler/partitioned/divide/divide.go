// Package divide makes backups of several partitions out of that of a crawl that is not divided, so that it goes on as a crawl over partitions.
//
// Each key of the backup goes where the host that it belongs to does; nothing is fetched, decided or numbered anew. It needs 9 bytes for each URL, and
// the backup is read twice. There is no goroutine and no lock here.
package divide

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/backupfile"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// Part is what a partition has got.
type Part struct {
	URLs, Orders uint64
	Bytes        int64
}

// Backup divides a backup, and writes that of each partition. It returns the named values that are of the whole crawl.
func Backup(ctx context.Context, from io.ReadSeeker, to []io.Writer) ([]Part, map[string][]byte, error) {
	d := division{ctx: ctx, hosts: map[weburl.HostKey]uint8{}, orders: map[weburl.Key]uint8{}, counts: make([]record.Counters, len(to)), values: map[string][]byte{}}
	if err := d.each(from, d.learn); err != nil {
		return nil, nil, err
	}
	for i, w := range to {
		c := &d.counts[i]
		c.Seq, c.Order, c.Removals = d.whole.Seq, d.whole.Order, d.whole.Removals
		d.out = append(d.out, part{Writer: backupfile.NewWriter(w)})
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	if err := d.each(from, d.write); err != nil {
		return nil, nil, err
	}
	parts := make([]Part, len(to))
	for i := range d.out {
		c := &d.counts[i]
		if err := d.out[i].End(d.out[i].keys); err != nil {
			return nil, nil, err
		}
		parts[i] = Part{URLs: c.Known, Orders: c.Waiting + c.Resting + c.Held, Bytes: d.out[i].Written}
	}
	return parts, d.values, d.complete()
}

// part is the backup of one partition.
type part struct {
	*backupfile.Writer
	keys uint64
}

// division is a Backup under way.
type division struct {
	ctx    context.Context
	hosts  map[weburl.HostKey]uint8
	urls   index
	orders map[weburl.Key]uint8 // of URLs that are not known any more
	whole  record.Counters
	counts []record.Counters
	values map[string][]byte
	out    []part
}

// each calls fn for all keys of a backup, in order.
func (d *division) each(from io.Reader, fn func(key, value []byte) error) error {
	for b := backupfile.NewReader(from); ; {
		key, value, err := b.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = d.ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := fn(key, value); err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
	}
}

// ErrParted says that a backup is of a crawl that is divided already.
var ErrParted = errors.New("it is of a partition of a crawl, which is not divided again")

// ErrOld says that a backup was written by an older version.
var ErrOld = errors.New("an older version of the program wrote it: restore it, start that store once, and back it up again")

// learn notes where hosts and URLs belong, and counts.
func (d *division) learn(key, value []byte) (err error) {
	switch key[0] {
	case record.FormatKey()[0]:
		if len(value) != 1 || value[0] != badgerstore.Format {
			return ErrOld
		}
	case record.CountersKey()[0]:
		d.whole, err = record.DecodeCounters(value)
	case record.KindPosition, record.KindLetter, record.KindPost:
		return ErrParted
	case record.KindOrigin:
		if len(key) != record.HostKeyLen {
			return record.ErrLength
		}
		n := partitioned.ByOrigin(string(value), len(d.counts))
		d.hosts[weburl.HostKey(key[1:])] = uint8(n) //nolint:gosec // there are few
		d.counts[n].Hosts++
	case record.KindURL:
		return d.learnURL(key, value)
	case record.KindDead:
		n, err := d.ofDead(value)
		if err != nil {
			return err
		}
		d.counts[n].Dead++
	case record.KindOrder, record.KindHeld, record.KindResting, record.KindEdit:
		return d.learnOrder(key, value)
	}
	return err
}

func (d *division) learnURL(key, value []byte) error {
	if len(key) != record.URLKeyLen {
		return record.ErrLength
	}
	rec, err := record.Decode(value)
	if err != nil {
		return err
	}
	n, known := d.hosts[rec.Host]
	if !known {
		return errHost
	}
	d.counts[n].Add(&rec)
	d.urls.add(weburl.Key(key[1:]), n)
	return nil
}

// errHost says that a key belongs to a host that is not in the list of hosts.
var errHost = errors.New("its host is not in the list of hosts: sextant verify tells what is wrong with that store")

func (d *division) learnOrder(key, value []byte) error {
	if len(key) < record.KeyLen {
		return record.ErrLength
	}
	o, err := record.DecodeOrder(value)
	if err != nil {
		return err
	}
	n, err := d.ofURL(o.URL)
	if err != nil {
		return err
	}
	if k := weburl.Key(key[len(key)-record.KeyLen:]); !d.urls.has(k) {
		d.orders[k] = n
	}
	switch c := &d.counts[n]; key[0] {
	case record.KindHeld:
		c.Held++
	case record.KindOrder:
		c.Waiting++
		c.Bytes += o.Size()
	default:
		c.Resting++
	}
	return nil
}

// ofURL is the partition of a URL.
func (d *division) ofURL(raw string) (uint8, error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return 0, err
	}
	return uint8(partitioned.Of(u.Host(), len(d.counts))), nil //nolint:gosec // there are few
}

func (d *division) ofDead(value []byte) (uint8, error) {
	dead, err := record.DecodeDead(value)
	if err != nil {
		return 0, err
	}
	return d.ofURL(dead.URL)
}

// complete wants nothing to be lost.
func (d *division) complete() error {
	var sum record.Counters
	fields := sum.Fields()
	for i := range d.counts {
		for f, n := range d.counts[i].Fields() {
			*fields[f] += *n
		}
	}
	for _, c := range []struct {
		what string
		is   uint64
		was  uint64
	}{
		{"URLs", sum.Known, d.whole.Known}, {"hosts", sum.Hosts, d.whole.Hosts}, {"waiting orders", sum.Waiting, d.whole.Waiting}, {"resting deletions", sum.Resting, d.whole.Resting},
		{"held deletions", sum.Held, d.whole.Held}, {"dead letters", sum.Dead, d.whole.Dead}, {"documents", sum.Indexed, d.whole.Indexed},
	} {
		if c.is != c.was {
			return fmt.Errorf("%w: the partitions have %d %s, and the backup says %d", scheduler.ErrDamaged, c.is, c.what, c.was)
		}
	}
	return nil
}

// hostKey reads that of a host in hexadecimal.
func hostKey(text string) (h weburl.HostKey, ok bool) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(h) {
		return h, false
	}
	return weburl.HostKey(b), true
}
