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

// browserWait is how long a URL waits that no browser can be started for.
const browserWait = 10 * time.Minute

// pageOf reads the body of a 200, as a browser makes it where its Fetch says so. With a fault in the result nothing was
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
		v.visitor.trial.readPlain(&p)
	}
	sent := *r
	failed, err := v.render(ctx, how, r, result)
	if err != nil || result.Fault != fault.None {
		return extract.Page{}, false, err
	}
	p, read, err = v.extract(ctx, r)
	switch {
	case err != nil:
	case p.Shell && failed > 0:
		return extract.Page{}, false, wroteNothing(failed, result)
	case p.Text == "" && p.Refresh == "" && r.Header.Get("Refresh") == "":
		return v.asSent(ctx, &sent, r, &p, failed, result)
	}
	return p, read, err
}

// wroteNothing is what a page comes to whose scripts wrote nothing, maybe because their requests failed: what is
// indexed of it stays.
func wroteNothing(failed int, result *scheduler.Result) error {
	result.Fault, result.Words = fault.Render, fmt.Sprintf("its scripts wrote nothing, and %d of their requests failed", failed)
	return nil
}

// asSent reads a page that is empty once its scripts ran, such as one that throws an error, as its server sent it, if
// that had something to say. Failed requests may be why it is empty.
func (v *visit) asSent(ctx context.Context, sent, r *fetcher.Response, empty *extract.Page, failed int, result *scheduler.Result) (extract.Page, bool, error) {
	p, read, err := v.extract(ctx, sent)
	switch nothing := p.Text == "" || p.Shell; {
	case err == nil && nothing && failed > 0:
		return extract.Page{}, false, wroteNothing(failed, result)
	case err != nil || nothing:
		return *empty, true, err
	}
	v.log.Warn("a page is empty once its scripts ran: it is read as its server sent it", "url", v.lease.URL.String())
	*r = *sent
	result.Directives &^= scheduler.Rendered
	v.visitor.trial.emptied()
	return p, read, nil
}

// render puts what a browser makes of an answer in its place, and returns how many requests of the page
// failed. Status and headers stay what they were.
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
	v.visitor.trial.rendered(&out)
	r.Header = r.Header.Clone()
	r.Header.Set("Content-Type", "text/html; charset=utf-8")
	r.Body, r.Truncated = out.HTML, r.Truncated || out.Cut
	result.Directives |= scheduler.Rendered
	if u, err := BaseOf(v.lease.URL, extract.Page{}).Resolve(out.Location); out.Location != "" && err == nil && u.Key() != v.lease.Key {
		r.Header.Set("Refresh", "0; url="+u.String())
	}
	return out.Failed, nil
}

// notRendered is what a page comes to whose rendering failed: an error of its own kind, or the wait for a browser.
func (v *visit) notRendered(ctx context.Context, err error, result *scheduler.Result) error {
	result.Fault, result.Words = fault.Render, err.Error()
	if known, ok := errors.AsType[*render.Error](err); ok {
		switch known.Kind {
		case render.Unavailable:
			v.log.Warn("a page that is to be rendered waits: no browser can be started", "url", v.lease.URL.String(), "error", err)
			return v.wait(context.WithoutCancel(ctx), time.Now().Add(browserWait), scheduler.ReasonNoBrowser, err.Error())
		case render.TimedOut:
			result.Fault = fault.RenderTimeout
		case render.Crashed, render.Incomplete:
		}
	}
	return nil
}

// refreshes reports whether a page is to be fetched whole each time: that its answer is what it was says
// nothing of what its scripts make of it.
func (a *Access) refreshes() bool { return a.render != nil }

// sent are the headers that a page's own request adds to those of the crawler.
func sent(to, page http.Header) {
	for name, values := range page {
		if name == "Accept" || to[name] == nil {
			to[name] = values
		}
	}
}
