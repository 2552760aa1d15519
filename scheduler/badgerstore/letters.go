package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// A store that is one partition of several: scheduler.Partition. Letters and what is kept of them
// are keys like any other, so that copies and backups have them.

var _ scheduler.Partition = (*Store)(nil)

// removeAtOnce is how many delivered letters one step removes.
const removeAtOnce = 500

// piles reads what is kept of the letters, as this write must see it.
func (g *group) piles() (record.Piles, error) {
	v, err := g.get(record.PilesKey())
	if err != nil {
		return record.Piles{}, err
	}
	p, err := record.DecodePiles(v)
	if err != nil {
		return p, g.s.damaged("what is kept of letters", err)
	}
	return p, nil
}

// write leaves a letter for another partition.
func (g *group) write(to scheduler.Home, n *scheduler.Letter) error {
	piles, err := g.piles()
	if err != nil {
		return err
	}
	piles.Last = max(piles.Last, g.s.numbers.first) + 1
	value := record.AppendLetter(nil, n)
	pile := piles.Of(to)
	pile.Count++
	pile.Bytes += uint64(len(value))
	g.set(record.LetterKey(to, piles.Last), value)
	g.set(record.PilesKey(), piles.Append(nil))
	return nil
}

// Leave implements scheduler.Partition. Many letters may be kept in several steps: what is repeated arrives twice, and changes nothing.
func (s *Store) Leave(ctx context.Context, links []scheduler.Link, homes []scheduler.Home) error {
	return s.change(ctx, func(g *group) error {
		for i := range links {
			if err := g.write(homes[i], &scheduler.Letter{Link: links[i]}); err != nil {
				return err
			}
			if err := g.seal(); err != nil {
				return err
			}
		}
		return nil
	})
}

// notes stores named values, or leaves letters for them.
func (g *group) notes(notes []scheduler.Note) error {
	for i := range notes {
		n := &notes[i]
		if n.Home != scheduler.Here {
			if err := g.write(n.Home, &scheduler.Letter{Note: n}); err != nil {
				return err
			}
			continue
		}
		g.set(record.ValueKey(n.Name), bytes.Clone(n.Value)) // nil removes it
	}
	return nil
}

// Piles implements scheduler.Partition.
func (s *Store) Piles(ctx context.Context) (all []scheduler.Pile, err error) {
	err = s.view(ctx, func(txn *badger.Txn) error {
		p, err := s.pilesOf(txn)
		all = p.To
		return err
	})
	return all, err
}

func (s *Store) pilesOf(txn *badger.Txn) (record.Piles, error) {
	v, err := read(txn, record.PilesKey())
	if err != nil {
		return record.Piles{}, s.damaged("what is kept of letters", err)
	}
	p, err := record.DecodePiles(v)
	if err != nil {
		return p, s.damaged("what is kept of letters", err)
	}
	return p, nil
}

// Letters implements scheduler.Partition. It begins behind what was removed.
func (s *Store) Letters(ctx context.Context, to scheduler.Home, after uint64, n, most int) (all []scheduler.Letter, err error) {
	err = s.eachLetter(ctx, to, after, func(seq uint64, v []byte) error {
		l, err := record.DecodeLetter(v)
		if err != nil {
			return s.damaged(fmt.Sprintf("letter %d", seq), err)
		}
		l.Seq = seq
		all = append(all, l)
		if most -= len(v); len(all) >= n || most <= 0 {
			return errEnough
		}
		return nil
	})
	return all, err
}

// eachLetter calls fn for the letters for a home behind a number, in order. v is valid during the call.
func (s *Store) eachLetter(ctx context.Context, to scheduler.Home, after uint64, fn func(seq uint64, v []byte) error) error {
	if after == math.MaxUint64 {
		return ctx.Err()
	}
	return s.view(ctx, func(txn *badger.Txn) error {
		piles, err := s.pilesOf(txn)
		if err != nil {
			return err
		}
		pile := piles.Of(to)
		if pile.Count == 0 {
			return nil
		}
		seek := record.LetterKey(to, max(after, pile.Removed)+1)
		return s.walk(ctx, txn, record.LetterPrefix(to), seek, true, func(item *badger.Item) error {
			if len(item.Key()) != record.LetterKeyLen {
				return s.damaged(fmt.Sprintf("key %x", item.Key()), record.ErrLength)
			}
			_, seq := record.SplitLetterKey(item.Key())
			v, err := copyValue(item)
			if err != nil {
				return s.damaged(fmt.Sprintf("letter %d", seq), err)
			}
			return fn(seq, v)
		})
	})
}

// delivered is a letter that is to be removed.
type delivered struct{ seq, size uint64 }

// Delivered implements scheduler.Partition. Many letters are removed in several steps.
func (s *Store) Delivered(ctx context.Context, to scheduler.Home, upTo uint64) error {
	for {
		var list []delivered
		err := s.eachLetter(ctx, to, 0, func(seq uint64, v []byte) error {
			if seq > upTo || len(list) == removeAtOnce {
				return errEnough
			}
			list = append(list, delivered{seq, uint64(len(v))})
			return nil
		})
		if err != nil || len(list) == 0 {
			return err
		}
		if err := s.change(ctx, func(g *group) error { return g.removeLetters(to, list) }); err != nil {
			return err
		}
	}
}

func (g *group) removeLetters(to scheduler.Home, list []delivered) error {
	piles, err := g.piles()
	if err != nil {
		return err
	}
	pile := piles.Of(to)
	for _, n := range list {
		if n.seq <= pile.Removed {
			continue // another caller was quicker
		}
		g.remove(record.LetterKey(to, n.seq))
		pile.Removed = n.seq
		pile.Count--
		pile.Bytes -= n.size
	}
	g.set(record.PilesKey(), piles.Append(nil))
	return nil
}

// Receive implements scheduler.Partition. Many letters may be stored in several steps, each with how
// far it got.
func (s *Store) Receive(ctx context.Context, p scheduler.Post) (scheduler.Receipt, error) {
	var ps places
	var arrived uint64
	err := s.change(ctx, func(g *group) (err error) {
		arrived, err = g.receive(&p, &ps)
		return err
	})
	if err != nil {
		return scheduler.Receipt{}, err
	}
	return scheduler.Receipt{Arrived: arrived, Places: ps.list}, nil
}

func (g *group) receive(p *scheduler.Post, ps *places) (arrived uint64, err error) {
	key := record.ArrivedKey(p.From)
	v, err := g.get(key)
	if err == nil && v != nil {
		arrived, err = record.DecodeSeq(v)
	}
	if err != nil || p.After > arrived {
		return arrived, err
	}
	for i := range p.Letters {
		n := &p.Letters[i]
		if n.Seq <= arrived {
			continue
		}
		switch {
		case n.Note != nil:
			err = g.notes([]scheduler.Note{{Name: n.Note.Name, Value: n.Note.Value}})
		case n.Link.Item != nil:
			_, err = g.addLink(n.Link.URL.Key(), &n.Link, false, true, ps)
		default:
			err = g.link(n.Link.URL.Key(), &n.Link, n.Depths, ps)
		}
		if err != nil {
			return arrived, err
		}
		arrived = n.Seq
		g.set(key, record.EncodeSeq(arrived))
		if err := g.seal(); err != nil {
			return arrived, err
		}
	}
	return arrived, nil
}

// Origin implements scheduler.Partition.
func (s *Store) Origin(ctx context.Context, h weburl.HostKey) (origin string, err error) {
	err = s.view(ctx, func(txn *badger.Txn) error {
		v, err := read(txn, record.OriginKey(h))
		if err != nil {
			return s.damaged(fmt.Sprintf("host %x", h), err)
		}
		origin = string(v)
		return nil
	})
	return origin, err
}

// Timed implements scheduler.Partition. It reads keys alone, behind those that Due has removed.
func (s *Store) Timed(ctx context.Context, until time.Time, n int) (list []time.Time, err error) {
	last := record.SortableTime(until)
	err = s.changeAlone(ctx, func(g *group) error {
		txn := s.db.NewTransaction(false)
		defer txn.Discard()
		seek := record.OrderSeek(record.KindTimed, s.dueFloor)
		return s.walk(ctx, txn, []byte{record.KindTimed}, seek, false, func(item *badger.Item) error {
			if len(item.Key()) != record.TimedKeyLen {
				return s.damaged(fmt.Sprintf("key %x", item.Key()), record.ErrLength)
			}
			at, _ := record.SplitTimedKey(item.Key())
			if at > last || len(list) >= n {
				return errEnough
			}
			list = append(list, time.Unix(0, int64(at))) //nolint:gosec // SortableTime holds it in range
			return nil
		})
	})
	return list, err
}

// letters verifies the letters for other partitions.
func (v *verification) letter(item *badger.Item) error {
	if len(item.Key()) != record.LetterKeyLen {
		return record.ErrLength
	}
	to, seq := record.SplitLetterKey(item.Key())
	return valueOf(item, func(b []byte) error {
		pile := v.piles.Of(to)
		pile.Count++
		pile.Bytes += uint64(len(b))
		if v.piles.Last = max(v.piles.Last, seq); pile.Removed == 0 || seq < pile.Removed {
			pile.Removed = seq // the lowest that is there
		}
		_, err := record.DecodeLetter(b)
		return err
	})
}

// post verifies what is kept of letters; those that are there were met before.
func (v *verification) post(item *badger.Item) error {
	if len(item.Key()) == 1+record.HomeLen {
		return valueOf(item, func(b []byte) error { _, err := record.DecodeSeq(b); return err })
	}
	if len(item.Key()) != 1 {
		return record.ErrLength
	}
	return valueOf(item, func(b []byte) error {
		kept, err := record.DecodePiles(b)
		if err != nil {
			return err
		}
		if v.piles.Last > kept.Last {
			v.fault("", "letter %d is above the highest number, %d", v.piles.Last, kept.Last)
		}
		for _, n := range kept.To {
			met := v.piles.Of(n.To)
			if met.Count != n.Count || met.Bytes != n.Bytes {
				v.fault("", "%d letters (%d bytes) should wait for partition %d, but there are %d (%d bytes)", n.Count, n.Bytes, n.To.Partition(), met.Count, met.Bytes)
			}
			if met.Count > 0 && met.Removed <= n.Removed {
				v.fault("", "letter %d for partition %d should have been removed", met.Removed, n.To.Partition())
			}
			met.Count = 0
		}
		for _, met := range v.piles.To {
			if met.Count > 0 && kept.Of(met.To).Count == 0 {
				v.fault("", "%d letters wait for partition %d, which is not told of", met.Count, met.To.Partition())
			}
		}
		return nil
	})
}

// endPost finds letters that nothing is kept of.
func (v *verification) endPost() error {
	if len(v.piles.To) == 0 {
		return nil
	}
	_, err := v.txn.Get(record.PilesKey())
	if errors.Is(err, badger.ErrKeyNotFound) {
		v.fault("", "there are letters for other partitions, but how many is not stored")
		return nil
	}
	return err
}
