package papi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/push/wire"
)

// maxLine bounds a line of an enumeration: a URI may be 32 KiB, and three times that
// when it is escaped, with its stamp.
const maxLine = 256 << 10

// Enumerate calls fn for each synced document of the connector whose URI is below root, or all if root is empty, while
// the response arrives. A line of it is the escaped URI, a space and the stamp (ours: the vendor documents this form
// for another command). It fails where the answer ends within a line.
func (t *Target) Enumerate(ctx context.Context, root string, fn func(uri, stamp string) error) error {
	const command = "enumerate_synced_entries"
	r, err := t.inSession(ctx, request{method: http.MethodGet, command: command, query: url.Values{
		"PAPI_rootPath": {root}, "PAPI_mode": {"RECURSIVE_DOCUMENTS"},
	}})
	if err != nil {
		return err
	}
	body, err := t.Client.Open(ctx, t.wire(r))
	if err != nil {
		return t.refreshed(ctx, err)
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 4096), maxLine)
	line, held := "", false // the last line counts when the answer ended well
	for lines.Scan() {
		if held {
			if err := entry(line, fn); err != nil {
				return err
			}
		}
		line, held = lines.Text(), true
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: reading the answer: %w", command, err)
	}
	if !held {
		return nil
	}
	return entry(line, fn)
}

// entry reads one line of an enumeration.
func entry(line string, fn func(uri, stamp string) error) error {
	escaped, stamp, _ := strings.Cut(line, " ")
	uri, err := url.QueryUnescape(escaped)
	if err != nil || uri == "" {
		return fmt.Errorf("enumerate_synced_entries: the line %q is not a URI with its stamp", wire.Clip(wire.Plain(line), 200))
	}
	return fn(uri, stamp)
}

// Count returns the number of synced documents of the connector below root.
func (t *Target) Count(ctx context.Context, root string) (uint64, error) {
	const command = "count_synced_entries"
	answer, err := t.do(ctx, request{method: http.MethodGet, command: command, query: url.Values{
		"PAPI_rootPath": {root}, "PAPI_mode": {"RECURSIVE_DOCUMENTS"},
	}})
	if err != nil {
		return 0, t.refreshed(ctx, err)
	}
	n, err := strconv.ParseUint(answer, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: the answer %q is not a number", command, wire.Clip(answer, 100))
	}
	return n, nil
}

// Present returns which of uris the server has, pushed or synced.
func (t *Target) Present(ctx context.Context, uris []string) (map[string]bool, error) {
	const command = "get_documents_status"
	out := make(map[string]bool, len(uris))
	for len(uris) > 0 {
		n, size := 0, 0
		for n < len(uris) {
			size += len("&PAPI_uri=") + len(url.QueryEscape(uris[n]))
			if size > maxURIQuery && n > 0 {
				break
			}
			n++
		}
		answer, err := t.do(ctx, request{method: http.MethodGet, command: command, query: url.Values{"PAPI_uri": uris[:n]}})
		if err != nil {
			return nil, t.refreshed(ctx, err)
		}
		if err := statuses(answer, uris[:n], out); err != nil {
			return nil, fmt.Errorf("%s: %w", command, err)
		}
		uris = uris[n:]
	}
	return out, nil
}

// Sync makes the pushed documents safe, without a checkpoint.
func (t *Target) Sync(ctx context.Context) error {
	_, err := t.do(ctx, request{method: http.MethodPost, command: "sync"})
	return t.refreshed(ctx, err)
}

// statuses reads a line "URI true|false STAMP" for each of uris, in their order.
func statuses(answer string, uris []string, out map[string]bool) error {
	lines := strings.Split(answer, "\n")
	if len(lines) != len(uris) {
		return fmt.Errorf("%d lines for %d URIs", len(lines), len(uris))
	}
	for i, line := range lines {
		escaped, rest, _ := strings.Cut(line, " ")
		word, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		uri, err := url.QueryUnescape(escaped)
		there, boolErr := strconv.ParseBool(word)
		if err != nil || boolErr != nil || uri != uris[i] {
			return fmt.Errorf("the line %q does not say of %s whether it is there", wire.Clip(wire.Plain(line), 200), wire.Clip(uris[i], 200))
		}
		out[uri] = there
	}
	return nil
}

// refreshed is err; where the server may have meant the session, the next command
// asks for a new one.
func (t *Target) refreshed(ctx context.Context, err error) error {
	if status, ok := errors.AsType[*wire.StatusError](err); ok && status.OfContent() && ctx.Err() == nil {
		t.session = ""
	}
	return err
}
