package badgerstore

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// queueKeysAtOnce is how many keys upgradeQueues changes in one transaction, and a chunk
// more: less than Badger takes with the smallest memtable.
const queueKeysAtOnce = 1000

// queueUpgrade gathers the chunks of one transaction.
type queueUpgrade struct {
	s      *Store
	most   int // keys in a transaction
	chunk  record.Chunk
	key    []byte   // of chunk; nil: none
	single [][]byte // keys of URLs that are in it now
	edits  []edit   // finished chunks, and the keys that they replace
	urls   int
}

// upgradeQueues puts the queues of a store that has a key for each URL into chunks. A URL
// keeps its number, so its record stays as it is. A chunk and the keys that it replaces
// change in one transaction, so that it can end anywhere, and be done again. It returns how
// many URLs wait.
func (s *Store) upgradeQueues(most int) (int, error) {
	u := queueUpgrade{s: s, most: most}
	txn := s.db.NewTransaction(false)
	defer txn.Discard()
	err := s.walk(context.Background(), txn, []byte{record.KindQueue}, []byte{record.KindQueue}, false, u.take)
	if err == nil {
		u.end()
		err = u.commit()
	}
	return u.urls, err
}

// take reads an entry, or a chunk that an upgrade before has made, of which entries are
// left if the older program had the store in between.
func (u *queueUpgrade) take(item *badger.Item) error {
	v, err := copyValue(item)
	c := record.Chunk(v)
	single := len(v) == record.KeyLen
	if err == nil && (len(item.Key()) != record.QueueKeyLen || !single && !c.Valid()) {
		err = record.ErrLength
	}
	if err != nil {
		return u.s.damaged(fmt.Sprintf("key %x", item.Key()), err)
	}
	p, seq := record.SplitQueueKey(item.Key())
	key := record.QueueKey(p, seq)
	if string(key) != string(u.key) {
		u.end()
		if len(u.edits) >= u.most {
			if err := u.commit(); err != nil {
				return err
			}
		}
		u.key = key
	}
	if !single {
		u.chunk = c
		u.urls += c.Len()
		return nil
	}
	u.urls++
	u.chunk = u.chunk.With(seq, weburl.Key(v))
	u.single = append(u.single, item.KeyCopy(nil))
	return nil
}

// end finishes a chunk; one that was there before, and has got nothing more, stays.
func (u *queueUpgrade) end() {
	if len(u.single) > 0 {
		for _, key := range u.single {
			if string(key) != string(u.key) {
				u.edits = append(u.edits, edit{key: key})
			}
		}
		u.edits = append(u.edits, edit{key: u.key, value: u.chunk})
	}
	u.chunk, u.key, u.single = nil, nil, nil
}

func (u *queueUpgrade) commit() error {
	if len(u.edits) == 0 {
		return nil
	}
	err := u.s.db.Update(func(txn *badger.Txn) error {
		for _, e := range u.edits {
			var err error
			if e.value == nil {
				err = txn.Delete(e.key)
			} else {
				err = txn.Set(e.key, e.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	u.edits = u.edits[:0]
	u.s.reach(atUpgradeQueues)
	return err
}
