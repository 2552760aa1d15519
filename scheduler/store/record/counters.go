package record

import (
	"encoding/binary"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Form: version, whether the store was closed, and the numbers of Fields as uvarints.

const classes = int(scheduler.Permanent) + 1

// Counters holds the store's counters. It is written with every commit, so that opening needs no scan.
type Counters struct {
	Clean   bool   // the last writer closed the store
	Seq     uint64 // highest queue number assigned
	Order   uint64 // highest outbox number assigned
	Known   uint64
	Pending [scheduler.Sources]uint64
	Timed   uint64
	Class   [classes]uint64
	Indexed uint64
	Hosts   uint64
	Waiting uint64
	Pends   uint64 // losses
	Dead    uint64
	Bytes   uint64 // of bodies of waiting orders

	Lost   uint64 // documents lost before they were sent
	Pooled uint64 // documents of hosts with fewer than scheduler.PoolBelow

	Removals uint64 // URLs ever removed, which is the number of the last note

	Segment    uint64 // the one that bodies are appended to; 0: none yet
	SegmentEnd uint64 // where the next body goes

	Movements
}

// Movements count documents since the store was opened; they are not stored.
type Movements struct{ Entered, Changed, Left uint64 }

// Fields returns all stored numbers, in the order of storing.
func (c *Counters) Fields() []*uint64 {
	f := []*uint64{&c.Seq, &c.Order, &c.Known, &c.Timed, &c.Indexed, &c.Hosts, &c.Waiting, &c.Pends, &c.Dead, &c.Bytes}
	for i := range c.Pending {
		f = append(f, &c.Pending[i])
	}
	for i := range c.Class {
		f = append(f, &c.Class[i])
	}
	return append(f, &c.Removals, &c.Segment, &c.SegmentEnd, &c.Lost, &c.Pooled)
}

// Encode returns the value of c.
func (c *Counters) Encode() []byte {
	b := make([]byte, 2, 64)
	b[0] = valueVersion
	if c.Clean {
		b[1] = 1
	}
	for _, f := range c.Fields() {
		b = binary.AppendUvarint(b, *f)
	}
	return b
}

// DecodeCounters reads what Encode wrote.
func DecodeCounters(b []byte) (Counters, error) {
	var c Counters
	r := newReader(b)
	c.Clean = r.enum("close mark", 2) == 1
	for _, f := range c.Fields() {
		*f = r.uvarint()
	}
	return c, r.end()
}

// Add counts rec.
func (c *Counters) Add(rec *scheduler.Record) { c.count(rec, 1) }

// Remove subtracts rec.
func (c *Counters) Remove(rec *scheduler.Record) { c.count(rec, ^uint64(0)) }

func (c *Counters) count(rec *scheduler.Record, by uint64) {
	c.Known += by
	c.Class[rec.Class] += by
	switch rec.State {
	case scheduler.Waiting:
		c.Pending[rec.Source] += by
	case scheduler.Timed:
		c.Timed += by
	case scheduler.AtRest:
	}
	if rec.Indexed {
		c.Indexed += by
	}
	if rec.BodyLost() {
		c.Lost += by
	}
}

// Counts returns c in the form of a scheduler.Store.
func (c *Counters) Counts() scheduler.Counts {
	n := scheduler.Counts{
		Known: c.Known, Pending: c.Pending, Timed: c.Timed, Indexed: c.Indexed, Lost: c.Lost, Pooled: c.Pooled, Hosts: c.Hosts,
		ByClass: make(map[scheduler.Class]uint64, classes),
		Outbox:  scheduler.OutboxCounts{Waiting: c.Waiting, Pending: c.Pends, Dead: c.Dead},
	}
	for i, v := range c.Class {
		if v > 0 {
			n.ByClass[scheduler.Class(i)] = v
		}
	}
	return n
}
