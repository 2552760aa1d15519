package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/sextant-crawler/sextant/crawl/policy"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/permit"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore"
	"github.com/sextant-crawler/sextant/weburl"
)

// What renders the page runs in a goroutine of runBeside, whose end it waits for.

// DryRun fetches one page as a crawl would, and tells what would become of it. The sites
// that moved and the traps that are known count; what is stored of the URL does not.
func DryRun(ctx context.Context, crawler config.Crawler, known admin.Knowledge, raw string, u weburl.URL, agent string, log *slog.Logger) (*admin.Fetched, error) {
	explainer, err := admin.NewExplainer(Settings(crawler, agent), admin.Knowledge{Moved: known.Moved, Traps: known.Traps})
	if err != nil {
		return nil, err
	}
	x, err := explainer.Explain(raw, u)
	if err != nil {
		return nil, err
	}
	t, err := try(ctx, crawler, known.Moved, raw, u, agent, log)
	if err != nil {
		return nil, err
	}
	return admin.NewFetched(raw, u, t, x), nil
}

// try makes a dry run in a store of its own.
func try(ctx context.Context, crawler config.Crawler, moved policy.Moves, raw string, u weburl.URL, agent string, log *slog.Logger) (t *crawl.Trial, err error) {
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
	options := badgerstore.Options{Logger: slog.New(slog.DiscardHandler), Durability: badgerstore.OS}
	err = WithStore(ctx, Home{Dir: dir}, options, func(ctx context.Context, store *badgerstore.Store) error {
		t, err = crawl.Try(ctx, settings, moved, store, raw, u, log)
		return err
	})
	return t, err
}

// runBeside runs a renderer until the returned function is called, which waits for its end.
func runBeside(ctx context.Context, r *render.Renderer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// Fetch implements admin.Service.
func (s *Service) Fetch(ctx context.Context, c admin.Crawler, raw string, u weburl.URL) (*admin.Fetched, error) {
	for _, r := range s.crawls {
		if r.Name() != c.Name() {
			continue
		}
		known, err := admin.KnowledgeOf(ctx, r.store)
		if err != nil {
			return nil, err
		}
		under, end, err := permit.Begin(ctx, r.permit)
		if err != nil {
			return nil, err
		}
		defer end()
		return DryRun(under, *r.inForce.Load(), known, raw, u, s.config.agent, s.log.With("dry run", c.Name()))
	}
	return nil, fmt.Errorf("no Crawler %q runs", c.Name())
}
