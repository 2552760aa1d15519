package service

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// stored is the part of admin.Crawler that needs only the store, whether the Crawler runs or not.
type stored struct {
	store *store.Store
	db    *pgkv.Engine // nil: the store is in the data directory
	node  *member      // nil without a node
	// permit is the node's right to send requests to sites and indexers; nil: always.
	permit permit.Permit
}

// openStore opens a store, that of a node if it has one.
func openStore(ctx context.Context, h Home, node *member, o store.Options) (own stored, err error) {
	if node == nil {
		own.store, err = openPatiently(ctx, h, o)
		return own, err
	}
	own.node, own.db, own.permit = node, &node.Engine, node.Right()
	own.store, err = store.On(node, h.name(), o)
	return own, err
}

// Reports implements admin.Crawler.
func (s stored) Reports() report.Store { return s.store }

// Backup implements admin.Crawler.
func (s stored) Backup(ctx context.Context, w io.Writer) error {
	_, err := s.store.Backup(ctx, w)
	return err
}

// Verify implements admin.Crawler.
func (s stored) Verify(ctx context.Context, fn func(string)) (uint64, error) {
	report, err := s.store.Verify(ctx, func(f store.Fault) {
		if f.URL != "" {
			f.Words = f.URL + ": " + f.Words
		}
		fn(f.Words)
	})
	return report.URLs, err
}

// Sent implements admin.Crawler.
func (s stored) Sent(ctx context.Context, url string) (*push.Listed, *push.Document, error) {
	var newest *push.Listed
	err := s.store.Orders(ctx, push.Selection{URLs: []string{url}}, func(l push.Listed) error {
		if newest == nil || l.Seq > newest.Seq {
			newest = &l
		}
		return nil
	})
	if err != nil || newest == nil || newest.State != push.Waiting || newest.Op != push.Add {
		return newest, nil, err
	}
	entries, err := s.store.Outbox().Entries(ctx, newest.Seq-1, 1, 1)
	if err != nil || len(entries) == 0 || entries[0].Seq != newest.Seq || entries[0].Damage != "" {
		return newest, nil, err // it was sent in the meantime, or its body is lost
	}
	document := new(push.Document)
	return newest, document, json.Unmarshal(entries[0].Body, document)
}

// RetryDead implements admin.Crawler.
func (s stored) RetryDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.store.RetryDead(ctx, sel)
}

// DropDead implements admin.Crawler.
func (s stored) DropDead(ctx context.Context, sel push.Selection) (int, error) {
	return s.store.DropDead(ctx, sel)
}

// addFigures adds the store's own figures, and those of its outbox, to a status.
func (s stored) addFigures(ctx context.Context, to *admin.Status) error {
	f, err := s.store.OutboxFigures(ctx)
	if err != nil {
		return err
	}
	maps.DeleteFunc(f.Behind, func(_ string, at time.Time) bool { return at.IsZero() })
	to.OutboxLag = &admin.OutboxDetails{Bytes: f.Bytes, Behind: f.Behind}
	if !f.Oldest.IsZero() {
		to.OutboxLag.Oldest = &f.Oldest
	}
	figures, err := s.store.Stats()
	figures.BodyBytes += figures.ValueBytes
	to.Store = &admin.StoreStatus{Stats: figures, LastCommitS: figures.LastCommit.Seconds(), LongestCommitS: figures.LongestCommit.Seconds()}
	if err == nil && s.db != nil {
		to.Store.Node, err = s.db.Holder(ctx, s.db.Part)
	}
	if err == nil && s.db != nil {
		var at time.Time
		at, err = s.db.SetBackAt(ctx)
		to.Store.SetBack(at)
	}
	return err
}
