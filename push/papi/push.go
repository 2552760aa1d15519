package papi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// maxURIQuery limits the query of one delete_documents, which contains the URIs: servers commonly refuse request lines
// of 8 KiB.
const maxURIQuery = 6 << 10

// Push sends each run of documents and of deletions as one request, in order.
// Two documents of one URI are never in one request. When the server refuses a
// request for its content, halves of it are sent until what is refused is one
// entry, which is given back. After a restart of the server it fails with
// push.ErrRewind.
func (t *Target) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(entries) > 0 {
		t.mark = mark{} // a checkpoint set before does not cover these
	}
	var refused []push.Refusal
	for len(entries) > 0 {
		n := t.runLength(entries)
		send := t.delete
		if entries[0].Op == push.Add {
			send = t.add
		}
		r, err := send(ctx, entries[:n])
		if err != nil {
			return nil, err
		}
		refused = append(refused, r...)
		entries = entries[n:]
	}
	return refused, nil
}

// runLength returns how many of the first entries fit into one request.
func (t *Target) runLength(entries []push.Entry) int {
	op := entries[0].Op
	seen := make(map[string]bool, len(entries))
	query := 0
	for i, e := range entries {
		if e.Op != op || seen[e.URL] {
			return i
		}
		if op == push.Delete && t.set.DeletionsInURL {
			query += len("&PAPI_uri=") + len(url.QueryEscape(e.URL))
			if query > maxURIQuery && i > 0 {
				return i
			}
		}
		seen[e.URL] = true
	}
	return len(entries)
}

func (t *Target) add(ctx context.Context, run []push.Entry) ([]push.Refusal, error) {
	form := newForm()
	items := make([]wire.Item, 0, len(run))
	var refused []push.Refusal
	for _, e := range run {
		b, err := form.document(len(items), e, &t.set)
		if err != nil {
			refused = append(refused, push.Refusal{Seq: e.Seq, Words: err.Error()})
			continue
		}
		items = append(items, wire.Item{Entry: e, Wire: b})
	}
	if len(items) == 0 {
		return refused, nil
	}
	more, err := wire.Halve(ctx, items, func(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
		return t.change(ctx, request{method: http.MethodPost, command: "add_documents", contentType: form.contentType(), body: form.body(items)})
	})
	return append(refused, more...), err
}

func (t *Target) delete(ctx context.Context, run []push.Entry) ([]push.Refusal, error) {
	items := make([]wire.Item, len(run))
	for i, e := range run {
		items[i].Entry = e
	}
	return wire.Halve(ctx, items, func(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
		uris := make([]string, len(items))
		for i, item := range items {
			uris[i] = item.URL
		}
		v := url.Values{"PAPI_uri": uris}
		r := request{method: http.MethodPost, command: "delete_documents"}
		if t.set.DeletionsInURL {
			r.query = v
		} else {
			r.contentType, r.body = "application/x-www-form-urlencoded", []byte(v.Encode())
		}
		return t.change(ctx, r)
	})
}

// change sends a command that the server refuses either for its content, which makes
// it unfit, or because it restarted.
func (t *Target) change(ctx context.Context, r request) ([]push.Refusal, error) {
	_, err := t.do(ctx, r)
	status, ok := errors.AsType[*wire.StatusError](err)
	if !ok || !status.OfContent() {
		return nil, err
	}
	if err := t.sameSession(ctx); err != nil {
		return nil, err
	}
	return nil, status.Unfit("")
}

// sameSession fails with push.ErrRewind if the server restarted meanwhile, and
// adopts its new session.
func (t *Target) sameSession(ctx context.Context) error {
	session, err := t.currentSession(ctx)
	if err != nil || session == t.session {
		return err
	}
	old := t.session
	t.session, t.mark = session, mark{}
	return fmt.Errorf("the server restarted (session %s became %s): %w", old, session, push.ErrRewind)
}

// mark is a checkpoint that was set and not yet read back.
type mark struct {
	seq   uint64
	value string
}

// Checkpoint sets a checkpoint with sync and waits until it can be read back. If
// that takes longer than SyncTimeout it fails, and the next call for the same seq
// goes on waiting for the checkpoint that was set, so a sync of any length ends.
func (t *Target) Checkpoint(ctx context.Context, seq uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := t.checkpoint(ctx, seq)
	if status, ok := errors.AsType[*wire.StatusError](err); ok && status.OfContent() {
		if changed := t.sameSession(ctx); changed != nil {
			return changed
		}
	}
	return err
}

func (t *Target) checkpoint(ctx context.Context, seq uint64) error {
	if t.mark.value == "" || t.mark.seq != seq {
		// The server remembers checkpoints for ever: a value that another run
		// set, before it lost its store or pushed something again, proves nothing.
		value := strconv.FormatUint(seq, 10) + "-" + rand.Text()
		_, err := t.do(ctx, request{method: http.MethodPost, command: "set_checkpoint", query: url.Values{
			"PAPI_checkpoint": {value}, "PAPI_name": {t.set.CheckpointName}, t.set.SyncParameter: {"true"},
		}})
		if err != nil {
			return err
		}
		t.mark = mark{seq, value}
	}
	deadline := time.Now().Add(t.set.SyncTimeout)
	for pause := t.set.SyncFirstPoll; ; pause = min(2*pause, 64*t.set.SyncFirstPoll) {
		synced, err := t.do(ctx, request{method: http.MethodGet, command: "get_checkpoint", query: url.Values{
			"PAPI_name": {t.set.CheckpointName},
		}})
		if err != nil {
			return err
		}
		if synced == t.mark.value {
			t.mark = mark{}
			return nil
		}
		if time.Until(deadline) < pause {
			return fmt.Errorf("get_checkpoint: after %s the server has not synced %q, but %q", t.set.SyncTimeout, t.mark.value, wire.Clip(synced, 100))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}
