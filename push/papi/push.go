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
)

// maxURIQuery bounds the query of one delete_documents, where URIs stand in it:
// servers commonly refuse request lines of 8 KiB.
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

// runLength is how many of the first entries go into one request.
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
	a := newAddition()
	encoded := make([]push.Entry, 0, len(run))
	var refused []push.Refusal
	for _, e := range run {
		if err := a.add(e, &t.set); err != nil {
			refused = append(refused, push.Refusal{Seq: e.Seq, Words: err.Error()})
			continue
		}
		encoded = append(encoded, e)
	}
	if len(encoded) == 0 {
		return refused, nil
	}
	more, err := t.halve(ctx, encoded, 0, len(encoded), func(i, j int) request {
		return request{method: http.MethodPost, command: "add_documents", contentType: a.contentType(), body: a.body(i, j)}
	})
	if err != nil {
		return nil, err
	}
	return append(refused, more...), nil
}

func (t *Target) delete(ctx context.Context, run []push.Entry) ([]push.Refusal, error) {
	return t.halve(ctx, run, 0, len(run), func(i, j int) request {
		uris := make([]string, 0, j-i)
		for _, e := range run[i:j] {
			uris = append(uris, e.URL)
		}
		v := url.Values{"PAPI_uri": uris}
		r := request{method: http.MethodPost, command: "delete_documents"}
		if t.set.DeletionsInURL {
			r.query = v
		} else {
			r.contentType, r.body = "application/x-www-form-urlencoded", []byte(v.Encode())
		}
		return r
	})
}

// halve sends run[i:j] as one request, or in smaller ones if it is refused.
func (t *Target) halve(ctx context.Context, run []push.Entry, i, j int, build func(i, j int) request) ([]push.Refusal, error) {
	_, err := t.do(ctx, build(i, j))
	var status *statusError
	if err == nil || !errors.As(err, &status) || !status.ofContent() {
		return nil, err
	}
	if err := t.sameSession(ctx); err != nil {
		return nil, err
	}
	if j-i == 1 {
		words := status.words
		if words == "" {
			words = status.Error()
		}
		return []push.Refusal{{Seq: run[i].Seq, Words: words}}, nil
	}
	middle := i + (j-i)/2
	refused, err := t.halve(ctx, run, i, middle, build)
	if err != nil {
		return nil, err
	}
	more, err := t.halve(ctx, run, middle, j, build)
	if err != nil {
		return nil, err
	}
	return append(refused, more...), nil
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
	var status *statusError
	if errors.As(err, &status) && status.ofContent() {
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
			return fmt.Errorf("get_checkpoint: after %s the server has not synced %q, but %q", t.set.SyncTimeout, t.mark.value, clip(synced, 100))
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
