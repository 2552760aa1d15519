package store

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/store/kv"
	"github.com/sextant-crawler/sextant/scheduler/store/record"
	"github.com/sextant-crawler/sextant/weburl"
)

// documented follows a change of a URL's record; next is nil if it is forgotten. A document that stays one is offered
// to the sample if that lacks some and is in memory.
func (g *group) documented(k weburl.Key, old, next *scheduler.Record) error {
	is := next != nil && next.Indexed
	lost := next != nil && !next.LostAt.IsZero()
	if old.Indexed == is && !old.LostAt.IsZero() == lost {
		if is {
			g.offerDocument(k, old.Host)
		}
		return nil
	}
	key := record.DocumentsKey(old.Host)
	d, err := g.documents(old.Host, key)
	if err != nil {
		return err
	}
	g.nextCount.Pooled -= d.Pooled()
	if !old.LostAt.IsZero() {
		d.Lost -= min(d.Lost, 1)
	}
	if lost {
		d.Lost++
	}
	switch {
	case old.Indexed == is:
	case is:
		g.nextCount.Entered++
		d.Count++
		d = d.Offer(k)
	case d.Count == 0:
		return g.s.damaged(fmt.Sprintf("documents of host %x", old.Host), fmt.Errorf("%s is one, but the count is 0", old.URL))
	default:
		g.nextCount.Left++
		d.Count--
		d = d.Drop(k)
	}
	g.nextCount.Pooled += d.Pooled()
	g.setDocuments(key, d)
	return nil
}

// documents returns a host's documents as seen by this write.
func (g *group) documents(h weburl.HostKey, key []byte) (record.Documents, error) {
	return remembered(g, &g.docs, h, key, "documents of host", record.DecodeDocuments)
}

func (g *group) setDocuments(key []byte, d record.Documents) {
	if d.Count == 0 && d.Lost == 0 {
		g.remove(key)
		return
	}
	g.scratch = d.Append(g.scratch[:0])
	g.set(key, g.scratch)
}

// offerDocument offers a document to the sample of its host, if that costs no read.
func (g *group) offerDocument(k weburl.Key, h weburl.HostKey) {
	d, ok := g.docs.find(h)
	if !ok || !d.Lacks() {
		return
	}
	key := record.DocumentsKey(h)
	d, err := g.documents(h, key) // the newest
	if err != nil || !d.Lacks() {
		return // the next caller gets the error
	}
	if more := d.Offer(k); more.Len() > d.Len() {
		g.setDocuments(key, more)
	}
}

// learnDocuments remembers a host's documents from a durable batch.
func (g *group) learnDocuments(key, value []byte) {
	if d, err := record.DecodeDocuments(bytes.Clone(value)); err == nil {
		g.docs.put(weburl.HostKey(key[1:]), d)
	}
}

// Documents implements scheduler.Store.
func (s *Store) Documents(ctx context.Context, h weburl.HostKey) (docs scheduler.HostDocuments, err error) {
	err = s.view(ctx, func(view kv.View) error {
		v, err := view.Get(record.DocumentsKey(h))
		if err == nil {
			var d record.Documents
			d, err = record.DecodeDocuments(v)
			docs = d.Host()
		}
		if err != nil {
			return s.damaged(fmt.Sprintf("documents of host %x", h), err)
		}
		return nil
	})
	return docs, err
}
