package visit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/sextant-crawler/sextant/crawl/meter"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/scheduler"
)

// browserWait is the time that a URL waits if no browser can be started.
const browserWait = 10 * time.Minute

// pageOf reads the body of a 200, after rendering if its Fetch requires it. If the result has a fault, nothing was
// read; an error may be leaseEnded.
func (v *visit) pageOf(ctx context.Context, r *fetcher.Response, result *scheduler.Result) (p extract.Page, read bool, err error) {
	how := v.access.render
	if how == nil || !extract.IsHTML(r.Header.Get("Content-Type"), r.Body) {
		return v.extract(ctx, r)
	}
	if !how.Always || v.visitor.trial != nil {
		p, read, err = v.extract(ctx, r)
		if err != nil || !how.Always && !p.Shell {
			return p, read, err
		}
		v.visitor.trial.record(func(t *Recording) {
			plain := p
			t.Plain = &plain
		})
	}
	sent := *r
	failed, err := v.render(ctx, how, r, result)
	if err != nil || result.Fault != fault.None {
		return extract.Page{}, false, err
	}
	if p, read, err = v.extract(ctx, r); err == nil && p.IsBare() && p.Refresh == "" && r.Header.Get("Refresh") == "" {
		return v.handleBare(ctx, &sent, r, &p, failed, result)
	}
	return p, read, err
}

// handleBare decides about a page that has hardly any text after its scripts ran. If the scripts wrote nothing and some
// of their requests failed, the page's indexed document stays. If they emptied the page, for example by an error, it is
// read as it was sent. If its text may be missing, it counts as an application shell.
func (v *visit) handleBare(ctx context.Context, sent, r *fetcher.Response, bare *extract.Page, failed int, result *scheduler.Result) (extract.Page, bool, error) {
	p, read, err := v.extract(ctx, sent)
	if err != nil {
		return *bare, true, err
	}
	nothing := p.Text == "" || p.Shell
	wrote := bare.Text != "" && !bare.EqualContent(&p)
	switch {
	case nothing && !wrote && failed > 0:
		result.Fault, result.Words = fault.Render, fmt.Sprintf("its scripts added no text, and %d of their requests failed", failed)
		return extract.Page{}, false, nil
	case nothing || bare.Text != "":
		bare.Shell = p.Shell && !wrote || nothing && len(v.refusedData) > 0
		return *bare, true, nil
	}
	v.log.Warn("a page is empty after its scripts ran; reading it as its server sent it", "url", v.lease.URL.String())
	*r = *sent
	result.Directives &^= scheduler.Rendered
	v.visitor.trial.record(func(t *Recording) { t.Emptied = true })
	return p, read, nil
}

// render replaces the body of a response by the rendered page, and returns how many of the page's requests failed.
// Status and headers stay.
func (v *visit) render(ctx context.Context, how *policy.Render, r *fetcher.Response, result *scheduler.Result) (failed int, err error) {
	v.slot.Now(meter.WaitsForFetch)
	defer v.slot.Now(meter.Working)
	q := newPageRequests(v, r)
	out, err := v.policy.Settings.Renderer.Render(ctx, render.Page{
		URL: v.lease.URL.String(), Status: r.Status, Header: r.Header, Body: r.Body,
		Selector: how.Selector, After: how.After, Partition: fmt.Sprintf("%p %t", v.access, q.public), Fetch: q.fetch,
	})
	result.Requests = q.end()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	v.meter.Rendered.Add(out.Took, err)
	v.meter.HostPages.AddRendered(v.lease.Place.Host, err == nil)
	if err != nil {
		return 0, v.notRendered(ctx, err, result)
	}
	v.visitor.trial.record(func(t *Recording) { t.Rendered = &out })
	v.refusedData = out.RefusedData
	r.Header = r.Header.Clone()
	r.Header.Set("Content-Type", "text/html; charset=utf-8")
	r.Body, r.Truncated = out.HTML, r.Truncated || out.Cut
	result.Directives |= scheduler.Rendered
	if u, err := BaseOf(v.lease.URL, extract.Page{}).Resolve(out.Location); out.Location != "" && err == nil && u.Key() != v.lease.Key {
		r.Header.Set("Refresh", "0; url="+u.String())
	}
	return out.Failed, nil
}

// notRendered returns the outcome of a page whose rendering failed: a specific error, or a wait for a browser.
func (v *visit) notRendered(ctx context.Context, err error, result *scheduler.Result) error {
	result.Fault, result.Words = fault.Render, err.Error()
	if known, ok := errors.AsType[*render.Error](err); ok {
		switch known.Kind {
		case render.Unavailable:
			v.log.Warn("cannot start a browser; a page to be rendered waits", "url", v.lease.URL.String(), "error", err)
			return v.wait(context.WithoutCancel(ctx), time.Now().Add(browserWait), scheduler.ReasonNoBrowser, err.Error())
		case render.TimedOut:
			result.Fault = fault.RenderTimeout
		case render.Crashed, render.Incomplete:
		}
	}
	return nil
}

// refreshes reports whether a page is always fetched in full, because an unchanged response can still render
// differently.
func (a *Access) refreshes() bool { return a.render != nil }

// sent returns the headers that a page's own request adds to those of the crawler.
func sent(to, page http.Header) {
	for name, values := range page {
		if name == "Accept" || to[name] == nil {
			to[name] = values
		}
	}
}
