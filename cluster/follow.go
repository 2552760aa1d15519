package cluster

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/cluster/entry"
)

// reader is how far a member has read the log. It may be ahead of the copy by the parts of a step
// whose last is not there, or never will be.
type reader struct {
	at     entry.Position
	joiner entry.Joiner
}

// listed is how many entries are asked for at once; an engine may give fewer.
const listed = 32

// follow reads the log up to a head that was read, proves that it is the continuation of what
// the copy holds, and applies it.
func (m *Member) follow(ctx context.Context, meta, headKV, firstKV KeyValue) error {
	if meta.Revision != m.node.metaAt {
		return m.node.recovered()
	}
	var end place
	var low first
	if err := read(headKV, &end); err != nil {
		return err
	}
	if err := read(firstKV, &low); err != nil {
		return err
	}
	switch r := m.reader.at; {
	case r.Seq > end.Seq:
		return fmt.Errorf("%w (%s: the log ends at %d, the store is at %d)", ErrBehind, m.partition, end.Seq, r.Seq)
	case r.Seq+1 < low.Seq:
		return fmt.Errorf("%w (%s: the log begins at %d, the store is at %d)", ErrRebuild, m.partition, low.Seq, r.Seq)
	}
	m.stand(func(s *Standing) { s.Behind = end.Size - min(end.Size, m.reader.at.Size) })
	for m.reader.at.Seq < end.Seq {
		if err := m.readSome(ctx, end.Seq); err != nil {
			return err
		}
	}
	if m.reader.at.Hash.String() != end.Hash {
		return fmt.Errorf("%w: %s, entry %d: the log's end has another hash", ErrDiverged, m.partition, end.Seq)
	}
	m.stand(func(s *Standing) { s.Behind = 0 })
	return nil
}

// readSome reads and applies the next entries, up to the SEQ end.
func (m *Member) readSome(ctx context.Context, end uint64) error {
	next := m.reader.at.Seq + 1
	v, err := m.node.engine.list(ctx, logKey(m.partition, next), logKey(m.partition, end+1), listed)
	if err != nil {
		return err
	}
	if len(v.Keys) == 0 || v.Keys[0].Key != logKey(m.partition, next) {
		return m.missing(ctx, next)
	}
	for _, kv := range v.Keys {
		e, err := entry.Decode(kv.Value, m.node.levels.Newest)
		if err != nil {
			return fmt.Errorf("key %s: %w", kv.Key, err)
		}
		if kv.Key != logKey(m.partition, m.reader.at.Seq+1) || !e.Follows(m.reader.at) || e.Incarnation != m.node.incarnation {
			return fmt.Errorf("%w: %s, entry %d does not follow what the store was made from", ErrDiverged, m.partition, e.Seq)
		}
		step, whole, err := m.reader.joiner.Add(e)
		if err != nil {
			return err
		}
		if whole {
			if err := m.copy.Apply(ctx, step, e.At()); err != nil {
				return err
			}
		}
		m.reader.at = e.At()
	}
	return nil
}

// missing says why an entry below the log's end is not there: it was trimmed meanwhile, or the log has a hole.
func (m *Member) missing(ctx context.Context, seq uint64) error {
	v, err := m.node.engine.read(ctx, firstKey(m.partition))
	if err != nil {
		return err
	}
	var low first
	if err := read(v.Keys[0], &low); err != nil {
		return err
	}
	if seq < low.Seq {
		return fmt.Errorf("%w (%s: the log begins at %d, the store is at %d)", ErrRebuild, m.partition, low.Seq, seq-1)
	}
	return fmt.Errorf("%w: %s: entry %d is missing", entry.ErrDamaged, m.partition, seq)
}
