package admin

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/crawl"
)

func (s *Server) add(c *call, body urlList) (any, error) {
	submitted, err := c.crawler.Submit(c.r.Context(), body.URLs)
	c.result = []any{"count", len(submitted)}
	return append([]crawl.Submitted{}, submitted...), err
}

// selecting wraps a route whose body is a selection.
func selecting(answer func(*call, crawl.Selection) (any, error)) func(*call) (any, error) {
	return posted(func(c *call, written Selection) (any, error) {
		compiled, err := written.Compile()
		if err != nil {
			return nil, wrong("%v", err)
		}
		return answer(c, compiled)
	})
}

func (s *Server) refresh(c *call, selection crawl.Selection) (any, error) {
	done, err := c.crawler.Refresh(c.r.Context(), selection)
	c.result = []any{"urls", done.URLs, "waiting", done.Waiting, "excluded", done.Excluded}
	return done, soFar(err, "%d URLs were already queued", done.URLs)
}

func (s *Server) remove(c *call, selection crawl.Selection) (any, error) {
	if err := confirmed(c, selection); err != nil {
		return nil, err
	}
	done, err := c.crawler.Remove(c.r.Context(), selection)
	c.result = []any{"urls", done.URLs, "deletions", done.Deletions}
	return done, soFar(err, "%d URLs were already removed", done.URLs)
}

// RemovedUnasked is the maximum number of URLs that are removed without confirmation.
const RemovedUnasked = 100

// confirmed refuses a large removal that the caller has not confirmed.
func confirmed(c *call, s crawl.Selection) error {
	if c.says("yes") || len(s.URLs) > 0 && len(s.URLs) <= RemovedUnasked {
		return nil
	}
	n, err := crawl.CountSelected(c.r.Context(), c.crawler.Settings(), c.crawler.Reports(), s)
	if err != nil || n.URLs <= RemovedUnasked {
		return err
	}
	return newProblem(http.StatusConflict, codeUnconfirmed,
		"this removes %s and deletes %s: if that is intended, send it with yes=true in the query",
		Count(n.URLs, "URL"), Count(n.Documents, "document"))
}

// reloadOptions reads the options of a request that reloads the configuration.
func (c *call) reloadOptions() ReloadOptions {
	return ReloadOptions{Yes: c.says("yes"), Now: c.says("now")}
}

// selected counts what a selection selects.
func (s *Server) selected(c *call, selection crawl.Selection) (any, error) {
	return crawl.CountSelected(c.r.Context(), c.crawler.Settings(), c.crawler.Reports(), selection)
}

func (s *Server) pause(c *call) (any, error) { return nil, c.crawler.Pause(c.r.Context()) }

func (s *Server) resume(c *call) (any, error) { return nil, c.crawler.Resume(c.r.Context()) }

// soFar adds the work done before an error to its text.
func soFar(err error, format string, n int) error {
	if err == nil || IsDeclined(err) {
		return err
	}
	return fmt.Errorf("%w ("+format+")", err, n)
}

func (s *Server) backup(c *call) (any, error) {
	c.w.Header().Set("Content-Type", "application/octet-stream")
	begin := time.Now() // logged at once: an interrupted backup has no end
	s.log.Info("backup begins", "crawler", c.crawler.Name(), "who", c.caller.String())
	done, err := s.stream(c, "the backup", func(w io.Writer) error { return c.crawler.Backup(c.r.Context(), w) })
	c.result = []any{"took", time.Since(begin)}
	return done, err
}
