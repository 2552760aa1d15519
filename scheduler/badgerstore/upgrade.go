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

// upgradeBatch is how many queues' states are stored at once.
const upgradeBatch = 5000

// upgrade makes a store of format 1 one of this format, but for the format itself,
// which is stored when the store is marked as open.
func (s *Store) upgrade() error {
	begin := time.Now()
	s.log.Info("the store is upgraded", "dir", s.dir, "from", 1, "to", format)
	if err := s.dropKind(kindPlace); err != nil { // of an upgrade that ended early
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
	var batch []edit
	flush := func() error {
		err := s.db.Update(func(txn *badger.Txn) error {
			for _, e := range batch {
				if err := txn.Set(e.key, e.value); err != nil {
					return err
				}
			}
			return nil
		})
		batch = batch[:0]
		return err
	}
	places := 0
	var at scheduler.Place
	var q queueState
	end := func() error {
		if q.count == 0 {
			return nil
		}
		places++
		batch = append(batch, edit{key: placeKey(at), value: q.append(nil)})
		q = queueState{}
		if len(batch) < upgradeBatch {
			return nil
		}
		return flush()
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
		err = flush()
	}
	return places, err
}

// dropKind removes all keys of a kind.
func (s *Store) dropKind(kind byte) error {
	for {
		n := 0
		err := s.db.Update(func(txn *badger.Txn) error {
			return s.walk(context.Background(), txn, []byte{kind}, []byte{kind}, false, func(item *badger.Item) error {
				if n++; n > upgradeBatch {
					return errEnough
				}
				return txn.Delete(item.KeyCopy(nil))
			})
		})
		if err != nil || n <= upgradeBatch {
			return err
		}
	}
}
