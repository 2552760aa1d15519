package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/scheduler/store"
	"github.com/sextant-crawler/sextant/weburl"
)

// What renders the page runs in a goroutine of runBeside, whose end it waits for; a browser is tried in one of
// tryBrowser.

// DryRun fetches one page as a crawl would, and returns the predicted result.
func DryRun(ctx context.Context, crawler config.Crawler, known admin.Knowledge, raw string, u weburl.URL, agent string, log *slog.Logger) (*admin.Fetched, error) {
	explainer, err := admin.NewExplainer(Settings(crawler, agent), known)
	if err != nil {
		return nil, err
	}
	x, err := explainer.Explain(raw, u)
	if err != nil {
		return nil, err
	}
	x.Stored = nil // what would become of it counts
	t, err := try(ctx, crawler, crawl.TrialOf{Raw: raw, URL: u, Moved: known.Moved, Trap: explainer.Trap}, agent, log)
	if err != nil {
		return nil, err
	}
	return admin.NewFetched(raw, u, t, x), nil
}

// try makes a dry run in a temporary store.
func try(ctx context.Context, crawler config.Crawler, of crawl.TrialOf, agent string, log *slog.Logger) (t *crawl.Trial, err error) {
	dir, err := os.MkdirTemp("", "sextant-fetch-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pool := documents.NewPool(crawler.Reading, log)
	defer pool.Close()
	pages := documents.NewPool(crawler.Reading.ForPages(), log)
	defer pages.Close()
	renderer := render.New(crawler.Browser, log)
	defer runBeside(ctx, renderer)()
	settings := (&running{documents: pool, pages: pages, renderer: renderer, agent: agent}).settings(crawler)
	own := Offline{Home: Home{Dir: dir}, Store: store.Options{Durability: store.OS}, Log: slog.New(slog.DiscardHandler)}
	err = own.withStored(ctx, func(ctx context.Context, own stored) error {
		t, err = crawl.Try(ctx, settings, own.store, of, log)
		return err
	})
	return t, err
}

// runBeside runs a renderer until end is called.
func runBeside(ctx context.Context, r *render.Renderer) (end func()) {
	return beside(ctx, func(ctx context.Context) { _ = r.Run(ctx) })
}

// tryBrowser tests in the background whether the browser can be used, and logs the result; if not, pages to be rendered
// wait. The returned function waits for the test, which ends with ctx.
func (r *running) tryBrowser(ctx context.Context) (end func()) {
	return beside(ctx, func(ctx context.Context) {
		version, err := r.renderer.Try(ctx)
		switch {
		case errors.Is(err, context.Canceled) || errors.Is(err, render.ErrEnded):
		case err != nil:
			r.log.Warn("cannot use the browser; pages to be rendered wait", "program", r.renderer.Status().Program, "error", err)
		default:
			r.log.Info("the browser for rendering pages works", "version", version)
		}
	})
}

// browserTrial limits the time of TryBrowser.
const browserTrial = 30 * time.Second

// TryBrowser returns why an installed browser cannot be used on this machine, by this user.
func TryBrowser(ctx context.Context, s render.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, browserTrial)
	defer cancel()
	renderer := render.New(s, slog.New(slog.DiscardHandler))
	program := renderer.Status().Program
	path := cmp.Or(render.Socket([]string{program}), program)
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // that has a warning of its own
	}
	defer runBeside(ctx, renderer)()
	_, err := renderer.Try(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("the browser %s did not render the test page within %s: it is not Chromium, or the machine is too busy", program, browserTrial)
	}
	return err
}

// Fetch implements admin.Service.
func (s *Service) Fetch(ctx context.Context, c admin.Crawler, raw string, u weburl.URL) (*admin.Fetched, error) {
	r, err := s.crawlOf(c)
	if err != nil {
		return nil, err
	}
	known, err := admin.KnowledgeOf(ctx, r)
	if err != nil {
		return nil, err
	}
	return DryRun(ctx, *r.inForce.Load(), known, raw, u, s.config.agent, s.log.With("dry run", c.Name()))
}
