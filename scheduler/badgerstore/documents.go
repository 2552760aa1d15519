package badgerstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// documented follows a change of a URL's record: next is nil if it is forgotten. A document
// that stays one is offered to the sample if it lacks some and is at hand.
func (g *group) documented(k weburl.Key, old, next *scheduler.Record) error {
	is := next != nil && next.Indexed
	if old.Indexed == is {
		if is {
			g.offerDocument(k, old.Host)
		}
		return nil
	}
	key := documentsKey(old.Host)
	d, err := g.documents(old.Host, key)
	if err != nil {
		return err
	}
	switch {
	case is:
		d.count++
		d = d.offer(k)
	case d.count == 0:
		return g.s.damaged(fmt.Sprintf("documents of host %x", old.Host), fmt.Errorf("%s is one, but there are none", old.URL))
	default:
		d.count--
		d = d.drop(k)
	}
	g.setDocuments(key, d)
	return nil
}

// documents reads what is kept of a host's documents as this write must see it.
func (g *group) documents(h weburl.HostKey, key []byte) (documents, error) {
	v, ok := g.changed(key)
	if !ok {
		if d, ok := g.docs.find(h); ok {
			return d, nil
		}
		var err error
		if v, err = g.get(key); err != nil {
			return documents{}, err
		}
	}
	d, err := decodeDocuments(v)
	if err != nil {
		return d, g.s.damaged(fmt.Sprintf("documents of host %x", h), err)
	}
	if !ok {
		g.docs.put(h, d) // what get has read is a copy
	}
	return d, nil
}

func (g *group) setDocuments(key []byte, d documents) {
	if d.count == 0 {
		g.remove(key)
		return
	}
	g.scratch = d.append(g.scratch[:0])
	g.set(key, g.scratch)
}

// offerDocument offers a document to the sample of its host, if that costs no read.
func (g *group) offerDocument(k weburl.Key, h weburl.HostKey) {
	d, ok := g.docs.find(h)
	if !ok || !d.lacks() {
		return
	}
	key := documentsKey(h)
	d, err := g.documents(h, key) // the newest
	if err != nil || !d.lacks() {
		return // who needs it is told
	}
	if more := d.offer(k); more.len() > d.len() {
		g.setDocuments(key, more)
	}
}

// learnDocuments keeps in memory what a durable batch has stored of a host's documents.
func (g *group) learnDocuments(key, value []byte) {
	if d, err := decodeDocuments(bytes.Clone(value)); err == nil {
		g.docs.put(weburl.HostKey(key[1:]), d)
	}
}

// Documents implements scheduler.Store.
func (s *Store) Documents(ctx context.Context, h weburl.HostKey) (docs scheduler.HostDocuments, err error) {
	err = s.view(ctx, func(txn *badger.Txn) error {
		v, err := read(txn, documentsKey(h))
		if err == nil {
			var d documents
			d, err = decodeDocuments(v)
			docs = d.host()
		}
		if err != nil {
			return s.damaged(fmt.Sprintf("documents of host %x", h), err)
		}
		return nil
	})
	return docs, err
}
