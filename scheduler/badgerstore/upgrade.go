package badgerstore

import (
	"context"
	"fmt"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
)

// Format 1 had no queue states (p), no notes of removals (g) and no fingerprints.
// Records and host states of it are read as they are and written in the new form when
// they change. So the upgrade makes the queue states, and the format last: a process
// that dies before leaves a store of format 1, and the next one does all of it again.

// upgrade makes a store of format 1 one of this format, but for the format itself,
// which is stored when the store is marked as open.
func (s *Store) upgrade() error {
	begin := time.Now()
	s.log.Info("the store is upgraded", "dir", s.dir, "from", 1, "to", format)
	if err := s.db.DropPrefix([]byte{kindPlace}); err != nil { // of an upgrade that ended early
		return err
	}
	n, err := s.upgradePlaces()
	if err != nil {
		return err
	}
	s.reach(atUpgradePlaces)
	s.log.Info("the store is upgraded; its queues are", "queues", n, "took", time.Since(begin))
	return nil
}

// upgradePlaces walks over all queues and stores the state of each.
func (s *Store) upgradePlaces() (int, error) {
	batch := s.db.NewWriteBatch() // as many transactions as it takes
	defer batch.Cancel()          // does nothing after Flush
	places := 0
	var at scheduler.Place
	var q queueState
	end := func() error {
		if q.count == 0 {
			return nil
		}
		places++
		err := batch.Set(placeKey(at), q.append(nil))
		q = queueState{}
		return err
	}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{kindQueue}, []byte{kindQueue}, false, func(item *badger.Item) error {
		if len(item.Key()) != queueKeyLen {
			return s.damaged(fmt.Sprintf("key %x", item.Key()), errLength)
		}
		source, host, seq := splitQueueKey(item.Key())
		if p := (scheduler.Place{Source: source, Host: host}); p != at {
			if err := end(); err != nil {
				return err
			}
			at, q.floor = p, seq
		}
		q.count++
		return nil
	})
	if err == nil {
		err = end()
	}
	if err == nil {
		err = batch.Flush()
	}
	return places, err
}
