package divide

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/partitioned"
	"github.com/sextant-crawler/sextant/weburl"
)

// write writes a key to the partition that it belongs to.
func (d *division) write(key, value []byte) error {
	n, err := uint8(0), error(nil)
	switch key[0] {
	case record.FormatKey()[0], record.KindCursor:
		return d.all(func(int) []byte { return value }, key)
	case record.CountersKey()[0]:
		return d.all(func(i int) []byte { return d.counts[i].Encode() }, key)
	case record.KindRemoval:
		return nil // it is a note for a file that no backup has
	case record.KindValue:
		return d.value(string(key[1:]), value)
	case record.KindOrigin, record.KindHost, record.KindDocs:
		n, err = d.ofHost(key[1:])
	case record.KindPlace, record.KindQueue:
		n, err = d.ofHost(key[min(2, len(key)):])
	case record.KindGone:
		left, bad := record.DecodeGone(value)
		if bad != nil {
			return bad
		}
		n, err = d.ofURL(left.URL)
	case record.KindDead:
		n, err = d.ofDead(value)
	case record.KindURL, record.KindLinks, record.KindWaiting, record.KindDeletion, record.KindTimed, record.KindOrder, record.KindHeld, record.KindResting, record.KindEdit:
		n, err = d.ofKey(key)
	default:
		return fmt.Errorf("this program does not know what it belongs to")
	}
	if err != nil {
		return err
	}
	return d.put(int(n), key, value)
}

func (d *division) put(n int, key, value []byte) error {
	d.out[n].keys++
	return d.out[n].Add(key, value)
}

// all writes a key to all partitions.
func (d *division) all(value func(int) []byte, key []byte) error {
	for i := range d.out {
		if err := d.put(i, key, value(i)); err != nil {
			return err
		}
	}
	return nil
}

// ofHost is the partition of a host whose key b begins with.
func (d *division) ofHost(b []byte) (uint8, error) {
	if len(b) < len(weburl.HostKey{}) {
		return 0, record.ErrLength
	}
	n, known := d.hosts[weburl.HostKey(b)]
	if !known {
		return 0, errHost
	}
	return n, nil
}

// ofKey is the partition of a URL with whose key another one ends.
func (d *division) ofKey(key []byte) (uint8, error) {
	if len(key) <= record.KeyLen {
		return 0, record.ErrLength
	}
	k := weburl.Key(key[len(key)-record.KeyLen:])
	n, known := d.urls.find(k)
	if !known {
		n, known = d.orders[k]
	}
	if !known {
		return 0, fmt.Errorf("it is of a URL that is not known: sextant verify tells what is wrong with that store")
	}
	return n, nil
}

// rootsName is the value of the roots that records call such, as keys of URLs. Each partition has a list of its own, with its number behind the name.
const rootsName = "crawl.roots"

// dropped are values that say nothing to a crawl over partitions: they are found again, or are of a run that has ended.
func dropped() []string {
	return []string{"alive", "crawl.refreshes", "crawl.rounds", "crawl.rules", "orders repeated at", "scheduler.rests", "word for version"}
}

// value writes a named value to where it belongs. What is said of a host or a URL that is not known is not kept.
func (d *division) value(name string, value []byte) error {
	of, rest := partitioned.ScopeOf(name)
	n, known := uint8(0), false
	switch of {
	case partitioned.OfOrigin:
		n, known = uint8(partitioned.ByOrigin(rest, len(d.out))), true //nolint:gosec // there are few
	case partitioned.OfHost:
		if h, ok := hostKey(rest); ok {
			n, known = d.hosts[h]
		}
	case partitioned.OfURL:
		if b, err := hex.DecodeString(rest); err == nil && len(b) == record.KeyLen {
			n, known = d.urls.find(weburl.Key(b))
		}
	case partitioned.OfPartition:
		return ErrParted
	case partitioned.OfCrawl:
		if name == rootsName {
			return d.roots(value)
		}
		if !slices.Contains(dropped(), name) {
			d.values[name] = bytes.Clone(value)
		}
		return nil
	}
	if !known {
		return nil
	}
	return d.put(int(n), record.ValueKey(name), value)
}

// roots gives each partition the list of its roots.
func (d *division) roots(value []byte) error {
	lists := make([][]byte, len(d.out))
	for k := range slices.Chunk(value, record.KeyLen) {
		if len(k) != record.KeyLen {
			return record.ErrLength
		}
		if n, known := d.urls.find(weburl.Key(k)); known {
			lists[n] = append(lists[n], k...)
		}
	}
	for n, list := range lists {
		if len(list) == 0 {
			continue
		}
		if err := d.put(n, record.ValueKey(rootsName+"."+strconv.Itoa(n)), list); err != nil {
			return err
		}
	}
	return nil
}
