package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

func (s *Server) pushVerify(c *call) (any, error) {
	o := compare.Options{Samples: 10}
	if err := c.read(&o); err != nil {
		return nil, err
	}
	if o.Samples < 0 || o.Samples > maxSamples {
		return nil, wrong("samples is a number from 0 to %d", maxSamples)
	}
	if o.Repair || o.DeleteForeign {
		c.change = "push verify, with changes"
	}
	index, err := s.service.IndexOf(c.crawler, o.Target)
	if err != nil {
		return nil, err
	}
	defer index.Close()
	report, err := compare.Verify(c.r.Context(), index, crawlerPushed{c.crawler}, o)
	if err != nil {
		return nil, err
	}
	c.target, c.result = report.Target, []any{"requeued", report.Requeued, "deleted", report.Deleted}
	return report, nil
}

// crawlerPushed gives access to the pushed documents of a Crawler of the service.
type crawlerPushed struct{ Crawler }

// Stored implements compare.Pushed.
func (p crawlerPushed) Stored(ctx context.Context, fn func(report.StoredURL) error) error {
	return report.EachURL(ctx, p.Reports(), report.Filter{}, fn)
}

// Requeue implements compare.Pushed.
func (p crawlerPushed) Requeue(ctx context.Context, urls []string) (int, error) {
	done, err := p.Refresh(ctx, crawl.Selection{URLs: urls, Full: true})
	return done.URLs + done.Waiting, err
}

// Waiting implements compare.Pushed.
func (p crawlerPushed) Waiting(ctx context.Context, target string) (map[string]bool, error) {
	urls := map[string]bool{}
	err := p.Reports().Orders(ctx, push.Selection{State: push.Waiting, Target: target}, func(l push.Listed) error {
		urls[l.URL] = true
		return nil
	})
	if _, unknown := errors.AsType[*push.UnknownTarget](err); unknown {
		err = nil // nothing waits for a target that was never opened
	}
	return urls, err
}

// Still implements compare.Pushed.
func (p crawlerPushed) Still(ctx context.Context) error {
	s, err := p.Status(ctx)
	if n := s.Outbox.Waiting; err == nil && s.Idle != NotRunning && (!s.Paused || n > 0) {
		err = &Declined{Err: fmt.Errorf("--delete-foreign could delete documents that are being pushed: pause the crawl and wait until its outbox is empty (%d are waiting), or stop the service", n)}
	}
	return err
}
