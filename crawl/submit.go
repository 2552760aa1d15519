package crawl

import (
	"context"
	"errors"
	"slices"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/crawl/visit"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Submitted is the result for one submitted URL.
type Submitted struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical,omitempty"`
	Fifo      string `json:"fifo,omitempty"`
	// Result is SubmitQueued, SubmitWaiting, SubmitIgnored or SubmitInvalid.
	Result string `json:"result"`
	Words  string `json:"words,omitempty"`
}

// The results for a submitted URL.
const (
	SubmitQueued  = "queued"
	SubmitWaiting = "waiting" // it waits already
	SubmitIgnored = "ignored" // the rules exclude it
	SubmitInvalid = "invalid"
)

// queueing queues submitted URLs, in a frontier or in a store that no crawl has open.
type queueing func(ctx context.Context, links []scheduler.Link) error

// submitBatch is the number of URLs that are stored together, so that they share the cost of a commit without waiting
// long.
const submitBatch = 2000

// Submit puts URLs into the fifo of the user's roots, known ones too. They pass
// the rules like links.
func (c *Crawl) Submit(ctx context.Context, urls []string) ([]Submitted, error) {
	return submit(ctx, c.policy(), c.store, func(ctx context.Context, links []scheduler.Link) error {
		_, err := c.frontier.Add(ctx, links, true)
		return err
	}, urls)
}

// Submit is Crawl.Submit for a store that no crawl has open. It uses only the rules and crawl space of the settings.
func Submit(ctx context.Context, s policy.Settings, store scheduler.Store, urls []string) ([]Submitted, error) {
	p, err := policy.Stored(ctx, s, store)
	if err != nil {
		return nil, err
	}
	return submit(ctx, p, store, func(ctx context.Context, links []scheduler.Link) error {
		_, _, err := store.Add(ctx, links, true)
		return err
	}, urls)
}

// submit also returns the results of URLs that were stored before an error.
func submit(ctx context.Context, p *policy.Policy, store scheduler.Store, add queueing, urls []string) ([]Submitted, error) {
	out := make([]Submitted, 0, len(urls))
	for batch := range slices.Chunk(urls, submitBatch) {
		submitted, links, err := judgeSubmitted(ctx, p, store, batch)
		if err == nil && len(links) > 0 {
			err = add(ctx, links)
		}
		if err != nil {
			return out, err
		}
		out = append(out, submitted...)
	}
	return out, nil
}

// judgeSubmitted judges URLs and returns links for those to store.
func judgeSubmitted(ctx context.Context, p *policy.Policy, store scheduler.Store, urls []string) ([]Submitted, []scheduler.Link, error) {
	out, links := make([]Submitted, 0, len(urls)), make([]scheduler.Link, 0, len(urls))
	seen := make(map[weburl.Key]bool, len(urls))
	for _, raw := range urls {
		s := Submitted{URL: raw}
		u, err := weburl.Parse(raw)
		if err != nil {
			s.Result, s.Words = SubmitInvalid, err.Error()
			out = append(out, s)
			continue
		}
		l, v, ok := p.Link(crawlspace.Link{URL: u, Host: visit.HostIn(raw)})
		s.Canonical = v.URL.String()
		if !ok {
			s.Result, s.Words = SubmitIgnored, p.Detail(&v)
			out = append(out, s)
			continue
		}
		d := &v.Decision
		l.Root, l.Fifo = true, scheduler.SourceFor(d.Index, d.Follow, d.Shift, true)
		s.Fifo, s.Result = l.Fifo.String(), SubmitQueued
		waits, err := waitsInFifo(ctx, store, l.URL.Key())
		if err != nil {
			return nil, nil, err
		}
		if waits || seen[l.URL.Key()] {
			s.Result = SubmitWaiting
		}
		if !seen[l.URL.Key()] { // one that waits is left where it is
			seen[l.URL.Key()] = true
			links = append(links, l)
		}
		out = append(out, s)
	}
	return out, links, nil
}

// waitsInFifo reports whether a URL is already in a fifo from which submitting does not move it.
func waitsInFifo(ctx context.Context, store scheduler.Reader, k weburl.Key) (bool, error) {
	r, err := store.Lookup(ctx, k)
	if errors.Is(err, scheduler.ErrNotFound) {
		return false, nil
	}
	return err == nil && r.State == scheduler.Waiting && r.Source != scheduler.Refresh, err
}

// Name returns the Crawler's name.
func (c *Crawl) Name() string { return c.name }
