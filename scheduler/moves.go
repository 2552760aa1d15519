package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// A document leaves a target when the rules give it a source that the target does not take. That is a loss of the edit,
// with ReasonTarget and no body. While it is pending, the document stays under its source and is kept current there:
// visits, and readings of its list, push new content. Carrying it out sends nothing; the record then allows the
// document to leave (the same reason, and no loss), and its page is fetched, or its list read, in full.

// moving returns the order for a document that leaves a target because the rules give it another source: a loss of the
// edit, without a body. Until it is carried out the document stays under its source and is kept current there. After
// that, Settings.Leaves returns false.
func moving(next, old *Record, source string, edit uint64, set *Settings, now time.Time) *Order {
	loss := NewLoss(true, now)
	next.keepMove(old, movingTo(source))
	return &Order{
		Op: OrderDelete, Source: source, Reason: ReasonTarget, Text: next.LastError, Edit: edit,
		Loss: &loss, Day: set.Deletions.Confirm,
	}
}

// keepMove keeps old's document while its move off a target is pending.
func (n *Record) keepMove(old *Record, text string) {
	keep(n, old)
	n.LossPending, n.Reason, n.LastError = true, ReasonTarget, text
}

// movingTo returns the text for a move to a source. Equal sources have equal texts.
func movingTo(source string) string {
	return fmt.Sprintf("its new source is %q, which a target that has it does not accept", source)
}

// SourceOf returns the source under which to push a document now if the rules give it this source, and its
// Document.MovesTo.
func (s *Settings) SourceOf(old *Record, source string) (now string, movesTo *string) {
	if s.Leaves(old, source) {
		return old.PushedSource, &source
	}
	return source, nil
}

// Leaves reports whether pushing a document under a source would remove it from a target without a release that allows
// it.
func (s *Settings) Leaves(old *Record, source string) bool {
	return s.LeavesTarget != nil && !s.Deletions.Off && old.Indexed && s.LeavesTarget(old.PushedSource, source) &&
		(old.LossPending || old.Reason != ReasonTarget || old.LastError != movingTo(source))
}

// MovePending reports whether a move off a target is pending.
func (n *Record) MovePending() bool { return n.LossPending && n.Reason == ReasonTarget }

// MovesTo reports whether a move off a target to this source is pending.
func (n *Record) MovesTo(source string) bool {
	return n.MovePending() && n.LastError == movingTo(source)
}

// allowLeaving completes a Revision that allows a document to leave a target.
func (v *Revision) allowLeaving(d *StoredDeletion) {
	v.Move, v.CancelDeletion = KeepDeletion, true
	n := &v.Next
	n.LossPending, n.Reason, n.LastError = false, d.Reason, d.Text
	n.Hash, n.ETag, n.LastModified, n.Date = [16]byte{}, "", "", ""
	if n.Kind == KindPage && n.State != Waiting {
		n.State, n.Source, n.NextAt = Waiting, n.Fifo, time.Time{}
	}
}

// listsName names the value that holds the lists to read again in full: a JSON list of URLs.
var listsName = CrawlValue("scheduler.moves.lists")

const listsWhat = "the lists to read again"

// NoteLists stores the lists of documents that leave a target, before their losses are carried out. ReadLists queues
// them. Call the two from one goroutine at a time.
func (f *Frontier) NoteLists(ctx context.Context, keys []weburl.Key) error {
	if f.Settings().LeavesTarget == nil {
		return nil
	}
	var lists []string
	if err := LoadValue(ctx, f.store, listsName, listsWhat, &lists); err != nil {
		return err
	}
	noted := len(lists)
	for _, k := range keys {
		r, err := Find(ctx, f.store, k)
		if err != nil {
			return err
		}
		if r != nil && r.MovePending() && r.Kind == KindItem && !slices.Contains(lists, r.Referrer) {
			lists = append(lists, r.Referrer)
		}
	}
	if len(lists) == noted {
		return nil
	}
	f.noLists.Store(false)
	return SaveValue(ctx, f.store, listsName, listsWhat, lists)
}

// ReadLists queues the noted lists. A list that already waits or is in flight stays noted: that reading may have begun
// before its documents were allowed to leave.
func (f *Frontier) ReadLists(ctx context.Context) error {
	if f.Settings().LeavesTarget == nil || f.noLists.Load() {
		return nil
	}
	var lists []string
	if err := LoadValue(ctx, f.store, listsName, listsWhat, &lists); err != nil || len(lists) == 0 {
		f.noLists.Store(err == nil)
		return err
	}
	left := map[weburl.Key]string{}
	for _, list := range lists {
		if u, ok := weburl.FromCanonical(list); ok {
			left[u.Key()] = list
		}
	}
	// The store calls the function until it returns, so it must not be cancelled.
	_, err := f.Revise(context.WithoutCancel(ctx), slices.Collect(maps.Keys(left)), func(k weburl.Key, r Record) *Change {
		delete(left, k)
		r.State, r.Source, r.NextAt = Waiting, r.Fifo, time.Time{}
		r.ETag, r.LastModified, r.Date = "", "", ""
		return &Change{Next: r}
	})
	if err != nil {
		return err
	}
	for k := range left {
		if r, err := Find(ctx, f.store, k); err != nil {
			return err
		} else if r == nil {
			delete(left, k)
		}
	}
	return SaveValue(ctx, f.store, listsName, listsWhat, slices.Sorted(maps.Values(left)))
}
