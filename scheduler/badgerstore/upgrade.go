package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// Format 1 had no queue states (p), no notes of removals (g) and no fingerprints; format
// 2 no segments of bodies; format 3 nothing of hosts' documents (k), and of deletions only
// held ones, of which records did not tell, in the place of what else a URL had in the
// outbox; format 4 a key for each URL in a queue. Values of them are read as they are and written in the new form when they
// change. So the upgrade makes what is missing, in steps that can be done again, and the
// format is stored last, when the store is marked as open: a process that dies before
// leaves a store of the old format, and the next one does all of it again.

// upgrade makes a store of an older format one of this format, except for the format itself.
func (s *Store) upgrade(from byte) error {
	begin := time.Now()
	s.log.Info("the store is upgraded", "dir", s.dir, "from", from, "to", format)
	waiting, err := s.upgradeQueues(queueKeysAtOnce)
	if err != nil {
		return err
	}
	queues, held, hosts := 0, 0, 0
	if from == formatFirst {
		if err := s.db.DropPrefix([]byte{record.KindPlace}); err != nil { // of an upgrade that ended early
			return err
		}
		if queues, err = s.upgradePlaces(); err != nil {
			return err
		}
		s.reach(atUpgradePlaces)
	}
	if from <= formatHeld {
		if held, err = s.upgradeHeld(); err != nil {
			return err
		}
		s.reach(atUpgradeHeld)
		if err := s.db.DropPrefix([]byte{record.KindDocs}); err != nil {
			return err
		}
		if hosts, err = s.upgradeDocuments(hostsAtOnce); err != nil {
			return err
		}
	}
	s.reach(atUpgraded)
	s.log.Info("the store is upgraded", "waiting", waiting, "queues", queues, "held deletions", held, "hosts with documents", hosts, "took", time.Since(begin))
	return nil
}

// upgradePlaces walks over all queues and stores the state of each.
func (s *Store) upgradePlaces() (int, error) {
	batch := s.db.NewWriteBatch() // as many transactions as it takes
	defer batch.Cancel()          // does nothing after Flush
	places := 0
	var at scheduler.Place
	var q record.Queue
	end := func() error {
		if q.Count == 0 {
			return nil
		}
		places++
		err := batch.Set(record.PlaceKey(at), q.Append(nil))
		q = record.Queue{}
		return err
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{record.KindQueue}, []byte{record.KindQueue}, false, func(item *badger.Item) error {
		if len(item.Key()) != record.QueueKeyLen {
			return s.damaged(fmt.Sprintf("key %x", item.Key()), record.ErrLength)
		}
		p, _ := record.SplitQueueKey(item.Key())
		if p != at {
			if err := end(); err != nil {
				return err
			}
			at = p
		}
		return s.eachQueued(item, &record.Queue{}, func(seq uint64, _ weburl.Key) error {
			if q.Count == 0 {
				q.Floor = seq
			}
			q.Count++
			return nil
		})
	})
	if err == nil {
		err = end()
	}
	if err == nil {
		err = batch.Flush()
	}
	return places, err
}

// upgradeHeld brings held deletions into their new form, and has the records of their URLs
// say that there are any. Those of URLs that are forgotten, or have no document, go.
func (s *Store) upgradeHeld() (int, error) {
	batch := s.db.NewWriteBatch()
	defer batch.Cancel()
	held, dropped := 0, 0
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{record.KindHeld}, []byte{record.KindHeld}, false, func(item *badger.Item) error {
		stays, err := s.upgradeDeletion(txn, batch, item)
		if stays {
			held++
		} else {
			dropped++
		}
		return err
	})
	if err == nil {
		err = batch.Flush()
	}
	if err != nil {
		return 0, err
	}
	if dropped > 0 {
		s.log.Warn("held deletions are dropped: their URLs are forgotten, or have no document", "deletions", dropped)
	}
	c := *s.committed.Load()
	c.Held = uint64(held)
	s.committed.Store(&c)
	return held, nil
}

// upgradeDeletion does so with one; it says whether that stays.
func (s *Store) upgradeDeletion(txn *badger.Txn, batch *badger.WriteBatch, item *badger.Item) (bool, error) {
	seq, k, o, err := s.order(item)
	if err != nil {
		return false, err
	}
	key := item.KeyCopy(nil)
	v, err := read(txn, record.WaitingKey(k))
	if err != nil {
		return false, err
	}
	if p, ok, err := s.orderPlace(k, v); err != nil {
		return false, err
	} else if ok && p.Kind == record.KindHeld {
		if err := batch.Delete(record.WaitingKey(k)); err != nil {
			return false, err
		}
	}
	rec, err := s.lookup(txn, k)
	switch {
	case errors.Is(err, scheduler.ErrNotFound) || err == nil && !rec.Indexed:
		return false, errors.Join(batch.Delete(key), batch.Delete(record.DeletionKey(k)))
	case err != nil:
		return false, err
	}
	o.Rest = record.Rest{Hold: scheduler.HeldByBrake, Reason: rec.Reason, Text: rec.LastError}
	o.Body = bytes.Clone(o.Body)
	p := record.OrderPlace{Kind: record.KindHeld}.Numbered(seq, &o)
	rec.Deletion = scheduler.DeletionHeld
	return true, errors.Join(batch.Set(key, o.Append(nil)), batch.Set(record.DeletionKey(k), p.Append(nil)), batch.Set(record.URLKey(k), record.Append(nil, &rec)))
}

// hostsAtOnce is of how many hosts upgradeDocuments keeps what it has found in memory:
// some 30 MiB.
const hostsAtOnce = 100_000

// upgradeDocuments counts the documents of all hosts and gives of how many hosts there are
// any. Keys come in ascending order, so the first of a host are its sample.
func (s *Store) upgradeDocuments(most int) (int, error) {
	hosts := 0
	found := map[weburl.HostKey]record.Documents{}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{record.KindURL}, []byte{record.KindURL}, true, func(item *badger.Item) error {
		rec, err := s.recordOf(item)
		if err != nil || !rec.Indexed {
			return err
		}
		d, ok := found[rec.Host]
		if !ok && len(found) == most {
			n, err := s.mergeDocuments(found)
			if err != nil {
				return err
			}
			hosts += n
			clear(found)
		}
		d.Count++
		found[rec.Host] = d.Offer(weburl.Key(item.Key()[1:]))
		return nil
	})
	if err != nil {
		return hosts, err
	}
	n, err := s.mergeDocuments(found)
	return hosts + n, err
}

// mergeDocuments adds what was found of hosts to what is stored of them. It returns how many
// there was nothing of.
func (s *Store) mergeDocuments(found map[weburl.HostKey]record.Documents) (int, error) {
	batch := s.db.NewWriteBatch()
	defer batch.Cancel()
	txn := s.db.NewTransaction(false) // sees what was merged before
	defer txn.Discard()
	hosts := 0
	for h, d := range found {
		v, err := read(txn, record.DocumentsKey(h))
		if err != nil {
			return hosts, err
		}
		before, err := record.DecodeDocuments(v)
		if err != nil {
			return hosts, s.damaged(fmt.Sprintf("documents of host %x", h), err)
		}
		if before.Count == 0 {
			hosts++
		}
		for i := range d.Len() {
			before = before.Offer(weburl.Key(d.At(i)))
		}
		before.Count += d.Count
		if err := batch.Set(record.DocumentsKey(h), before.Append(nil)); err != nil {
			return hosts, err
		}
	}
	return hosts, batch.Flush()
}
