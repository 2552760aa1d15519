package crawl

import (
	"context"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// Submitted says what became of one URL that a user submitted.
type Submitted struct {
	URL       string `json:"url"`
	Canonical string `json:"canonical,omitempty"`
	Fifo      string `json:"fifo,omitempty"`
	Result    string `json:"result"` // SubmitQueued, SubmitWaiting, SubmitIgnored or SubmitInvalid
	Words     string `json:"words,omitempty"`
}

// What can become of a submitted URL.
const (
	SubmitQueued  = "queued"
	SubmitWaiting = "waiting" // it waits already
	SubmitIgnored = "ignored" // the rules exclude it
	SubmitInvalid = "invalid"
)

// queueing puts submitted URLs where they wait, in a frontier or in a store that no
// crawl has open, and gives how many were new or re-queued.
type queueing func(ctx context.Context, links []scheduler.Link) (int, error)

// Submit puts URLs into the fifo of the user's roots, known ones too. They pass
// the rules like links.
func (c *Crawl) Submit(ctx context.Context, urls []string) ([]Submitted, error) {
	return submit(ctx, c.judge.current.Load(), func(ctx context.Context, links []scheduler.Link) (int, error) {
		return c.frontier.Add(ctx, links, true)
	}, urls)
}

// Submit does what Crawl.Submit does with a store that no crawl has open. Of the
// settings only rules and crawl space count.
func Submit(ctx context.Context, s Settings, store scheduler.Store, urls []string) ([]Submitted, error) {
	p, err := storedPolicy(ctx, s, store)
	if err != nil {
		return nil, err
	}
	return submit(ctx, p, func(ctx context.Context, links []scheduler.Link) (int, error) {
		_, n, err := store.Add(ctx, links, true)
		return n, err
	}, urls)
}

func submit(ctx context.Context, p *policy, add queueing, urls []string) ([]Submitted, error) {
	out := make([]Submitted, 0, len(urls))
	for _, raw := range urls {
		s := Submitted{URL: raw}
		u, err := weburl.Parse(raw)
		if err != nil {
			s.Result, s.Words = SubmitInvalid, err.Error()
			out = append(out, s)
			continue
		}
		l, v, ok := p.link(crawlspace.Link{URL: u, Host: hostIn(raw)})
		s.Canonical = v.url.String()
		if !ok {
			s.Result, s.Words = SubmitIgnored, p.words(&v)
			out = append(out, s)
			continue
		}
		d := &v.decision
		l.Root, l.Fifo = true, scheduler.SourceFor(d.Index, d.Follow, d.Shift, true)
		n, err := add(ctx, []scheduler.Link{l})
		if err != nil {
			return out, err
		}
		s.Fifo, s.Result = l.Fifo.String(), SubmitQueued
		if n == 0 {
			s.Result = SubmitWaiting
		}
		out = append(out, s)
	}
	return out, nil
}

// Store is the store that the crawl works on.
func (c *Crawl) Store() scheduler.Store { return c.store }

// Name is the Crawler's.
func (c *Crawl) Name() string { return c.name }
