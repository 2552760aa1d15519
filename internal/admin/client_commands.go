package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sextant-crawler/sextant/crawl"
)

// postBatches posts the bodies for some URLs. Many URLs go in several requests: add is called with the response to
// each.
func postBatches[A any](ctx context.Context, c *Client, path string, query url.Values, urls []string,
	body func(batch []string) any, add func(A),
) error {
	for batch := range batches(urls) {
		var done A
		if err := c.Post(ctx, path, query, body(batch), &done); err != nil {
			return err
		}
		add(done)
	}
	return nil
}

// batch returns the selection with other URLs.
func (s Selection) batch(urls []string) any { s.URLs = urls; return s }

// Refresh queues the selected URLs again. With an error the counts are those of the requests before.
func (c *Client) Refresh(ctx context.Context, s Selection) (all crawl.Refreshed, err error) {
	err = postBatches(ctx, c, "/refresh", nil, s.URLs, s.batch, func(done crawl.Refreshed) {
		all.URLs, all.Waiting, all.Excluded = all.URLs+done.URLs, all.Waiting+done.Waiting, all.Excluded+done.Excluded
		all.HeldUp += done.HeldUp
	})
	return all, err
}

// CountSelected counts the selected URLs that Remove would remove.
func (c *Client) CountSelected(ctx context.Context, s Selection) (all crawl.SelectedCount, err error) {
	err = postBatches(ctx, c, "/selected", nil, s.URLs, s.batch, func(n crawl.SelectedCount) {
		all.URLs, all.Documents, all.Roots = all.URLs+n.URLs, all.Documents+n.Documents, all.Roots+n.Roots
	})
	return all, err
}

// Remove removes the selected URLs, regardless of their number. Its errors are those of Refresh.
func (c *Client) Remove(ctx context.Context, s Selection) (all crawl.Removed, err error) {
	err = postBatches(ctx, c, "/remove", withYes(), s.URLs, s.batch, func(done crawl.Removed) {
		all.URLs, all.Deletions, all.Unknown = all.URLs+done.URLs, all.Deletions+done.Deletions, all.Unknown+done.Unknown
		all.Roots = append(all.Roots, done.Roots...)
	})
	return all, err
}

// withYes confirms large changes.
func withYes() url.Values { return url.Values{"yes": {"true"}} }

// Backup writes a copy of the store to w. After an error it is incomplete.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	answer, err := c.Ask(ctx, http.MethodGet, apiPath+"/backup", nil, nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w, answer.Body); err != nil {
		return fmt.Errorf("the backup was cut off: %w", err)
	}
	return nil
}
