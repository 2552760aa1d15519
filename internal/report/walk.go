package report

import (
	"context"
	"errors"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Store is the part of a store that reports read. They hold no snapshot for long, so concurrent changes may or may not
// be included.
type Store interface {
	scheduler.Reader
	// Outlinks calls fn for the links of each page from a key on, in order of keys. fn
	// must not keep them.
	Outlinks(ctx context.Context, from weburl.Key, fn func(page weburl.Key, links scheduler.LinkPrints) error) error
	// Gone calls fn for the trace of each URL that was forgotten after an error.
	Gone(ctx context.Context, from weburl.Key, fn func(weburl.Key, scheduler.Gone) error) error
	// Orders calls fn for the selected orders of the outbox.
	Orders(ctx context.Context, sel push.Selection, fn func(push.Listed) error) error
}

// errEnough ends a walk over the store.
var errEnough = errors.New("enough was read")

// eachRecord calls fn for the records that keep accepts; during the call no read of the store is in progress.
func eachRecord(ctx context.Context, store Store, keep func(*scheduler.Record) bool, fn func(weburl.Key, *scheduler.Record) error) error {
	return scheduler.Walk(ctx, store, weburl.Key{}, keep, func(batch []scheduler.KeyedRecord) error {
		for i := range batch {
			if err := fn(batch[i].Key, &batch[i].Record); err != nil {
				return err
			}
		}
		return nil
	})
}

// goneURL is the trace of a forgotten URL, under its key.
type goneURL struct {
	key  weburl.Key
	host weburl.HostKey
	scheduler.Gone
}

// eachGone calls fn for what is left of the URLs on a host (as Filter.Host names one) that
// keep accepts and that are still unknown. The store is not being read then.
func eachGone(ctx context.Context, store Store, host string, keep func(*scheduler.Gone) bool, fn func(*goneURL) error) error {
	var from weburl.Key
	for last := false; !last; {
		var batch []goneURL
		read := 0
		last = true
		err := store.Gone(ctx, from, func(k weburl.Key, g scheduler.Gone) error {
			if len(batch) == scheduler.WalkBatch || read == scheduler.WalkRead {
				from, last = k, false
				return errEnough
			}
			read++
			if !keep(&g) {
				return nil
			}
			if u, ok := weburl.FromCanonical(g.URL); ok && isOn(host, u.Origin(), g.URL) {
				batch = append(batch, goneURL{k, u.HostKey(), g})
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		for i := range batch {
			_, err := store.Lookup(ctx, batch[i].key)
			if errors.Is(err, scheduler.ErrNotFound) {
				err = fn(&batch[i])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
