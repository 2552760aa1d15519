package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/sextant-crawler/sextant/crawl"
)

// postSelection sends a selection. Many URLs go in several requests: add is called with the
// answer to each.
func postSelection[A any](ctx context.Context, c *Client, path string, query url.Values, s Selection, add func(A)) error {
	for batch := range batches(s.URLs) {
		s.URLs = batch
		var done A
		if err := c.postWith(ctx, path, query, s, &done); err != nil {
			return err
		}
		add(done)
	}
	return nil
}

// Refresh queues the selected URLs once more. With an error the counts are those of the
// requests before.
func (c *Client) Refresh(ctx context.Context, s Selection) (all crawl.Refreshed, err error) {
	err = postSelection(ctx, c, "/api/v1/refresh", nil, s, func(done crawl.Refreshed) {
		all.URLs, all.Waiting, all.Excluded = all.URLs+done.URLs, all.Waiting+done.Waiting, all.Excluded+done.Excluded
		all.HeldUp += done.HeldUp
	})
	return all, err
}

// CountSelected counts the selected URLs that Remove would remove.
func (c *Client) CountSelected(ctx context.Context, s Selection) (all crawl.SelectedCount, err error) {
	err = postSelection(ctx, c, "/api/v1/selected", nil, s, func(n crawl.SelectedCount) {
		all.URLs, all.Documents = all.URLs+n.URLs, all.Documents+n.Documents
	})
	return all, err
}

// Remove removes the selected URLs, however many they are. Its errors are those of Refresh.
func (c *Client) Remove(ctx context.Context, s Selection) (all crawl.Removed, err error) {
	err = postSelection(ctx, c, "/api/v1/remove", withYes(), s, func(done crawl.Removed) {
		all.URLs, all.Deletions, all.Unknown = all.URLs+done.URLs, all.Deletions+done.Deletions, all.Unknown+done.Unknown
		all.Roots = append(all.Roots, done.Roots...)
	})
	return all, err
}

// withYes is the operator's word.
func withYes() url.Values { return url.Values{"yes": {"true"}} }

// decide sends the dead letters that are decided about, many URLs in several requests, and returns how many there were.
func (c *Client) decide(ctx context.Context, path string, urls []string, body func(batch []string) any) (n int, err error) {
	for batch := range batches(urls) {
		var done DecidedLetters
		if err := c.post(ctx, path, body(batch), &done); err != nil {
			return n, err
		}
		n += done.DeadLetters
	}
	return n, nil
}

// Pause takes no new URL until Resume.
func (c *Client) Pause(ctx context.Context) error {
	var out struct{}
	return c.post(ctx, "/api/v1/pause", struct{}{}, &out)
}

// Resume goes on after Pause.
func (c *Client) Resume(ctx context.Context) error {
	var out struct{}
	return c.post(ctx, "/api/v1/resume", struct{}{}, &out)
}

// Backup writes a copy of the store to w. After an error it is not whole.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	answer, err := c.ask(ctx, http.MethodGet, "/api/v1/backup", nil, nil)
	if err != nil {
		return err
	}
	defer answer.Close()
	if _, err := io.Copy(w, answer); err != nil {
		return fmt.Errorf("the backup broke off: %w", err)
	}
	return nil
}
