package badgerstore

import (
	"encoding/binary"

	"github.com/sextant-crawler/sextant/scheduler"
)

const classes = int(scheduler.Permanent) + 1

// counters is what the store knows without looking. It is written with every
// commit, so that opening scans nothing.
type counters struct {
	clean   bool   // the last writer closed the store
	seq     uint64 // highest queue number given out
	order   uint64 // highest outbox number given out
	known   uint64
	pending [scheduler.Sources]uint64
	timed   uint64
	class   [classes]uint64
	indexed uint64
	hosts   uint64
	waiting uint64
	resting uint64
	held    uint64
	dead    uint64
	bytes   uint64 // of bodies of waiting orders

	removals uint64 // URLs ever removed: the number of the last note

	segment    uint64 // that bodies are appended to; 0: there was none yet
	segmentEnd uint64 // where the next one goes
}

// Numbers that were stored in the first formats.
const (
	fieldsOfFormat1 = 10 + int(scheduler.Sources) + classes
	fieldsOfFormat2 = fieldsOfFormat1 + 1
	fieldsOfFormat3 = fieldsOfFormat2 + 2
)

// fields are all numbers, in the order in which they are stored.
func (c *counters) fields() []*uint64 {
	f := []*uint64{&c.seq, &c.order, &c.known, &c.timed, &c.indexed, &c.hosts, &c.waiting, &c.held, &c.dead, &c.bytes}
	for i := range c.pending {
		f = append(f, &c.pending[i])
	}
	for i := range c.class {
		f = append(f, &c.class[i])
	}
	return append(f, &c.removals, &c.segment, &c.segmentEnd, &c.resting)
}

func (c *counters) encode() []byte {
	b := make([]byte, 2, 64)
	b[0] = valueVersion
	if c.clean {
		b[1] = 1
	}
	for _, f := range c.fields() {
		b = binary.AppendUvarint(b, *f)
	}
	return b
}

func decodeCounters(b []byte) (counters, error) {
	var c counters
	r := newReader(b)
	c.clean = r.enum("close mark", 2) == 1
	fields := c.fields()
	for i, f := range fields {
		if len(r.b) == 0 && (i == fieldsOfFormat1 || i == fieldsOfFormat2 || i == fieldsOfFormat3) {
			break
		}
		*f = r.uvarint()
	}
	return c, r.end()
}

// add counts rec, remove takes it out again.
func (c *counters) add(rec *scheduler.Record)    { c.count(rec, 1) }
func (c *counters) remove(rec *scheduler.Record) { c.count(rec, ^uint64(0)) }

func (c *counters) count(rec *scheduler.Record, by uint64) {
	c.known += by
	c.class[rec.Class] += by
	switch rec.State {
	case scheduler.Waiting:
		c.pending[rec.Source] += by
	case scheduler.Timed:
		c.timed += by
	}
	if rec.Indexed {
		c.indexed += by
	}
}

func (c *counters) counts() scheduler.Counts {
	n := scheduler.Counts{
		Known: c.known, Pending: c.pending, Timed: c.timed, Indexed: c.indexed, Hosts: c.hosts,
		ByClass: make(map[scheduler.Class]uint64, classes),
		Outbox:  scheduler.OutboxCounts{Waiting: c.waiting, Resting: c.resting, Held: c.held, Dead: c.dead},
	}
	for i, v := range c.class {
		if v > 0 {
			n.ByClass[scheduler.Class(i)] = v
		}
	}
	return n
}
