package visit

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
	"github.com/sextant-crawler/sextant/weburl"
)

// The store may call back from a goroutine of its own, also after sweep gave up: a mutex in sweep guards what it
// gathers.

// goneElement is why a document is deleted that an XML file had.
const goneElement = "its element is gone from the XML file"

// xmlFields are the paths in the order of xmlPage's values.
func xmlFields(x *policy.XMLDocuments) []feeds.Path {
	fields := []feeds.Path{x.Link, x.Title, x.Text}
	for _, m := range x.Metas {
		fields = append(fields, m.Path)
	}
	if x.Date != nil {
		fields = append(fields, *x.Date)
	}
	return fields
}

// xmlPage is an element as a page, with its URL.
func xmlPage(x *policy.XMLDocuments, values [][]string) (href string, p extract.Page) {
	first := func(v []string) string {
		if len(v) == 0 {
			return ""
		}
		return v[0]
	}
	href, p.Title = first(values[0]), textOf(first(values[1]), false)
	for _, text := range values[2] {
		if text = textOf(text, x.HTML); p.Text != "" {
			text = "\n" + text
		}
		p.Text += text
	}
	for i, m := range x.Metas {
		for _, value := range values[3+i] {
			p.Metas = append(p.Metas, extract.Meta{Name: m.Name, Content: textOf(value, false)})
		}
	}
	if x.Date != nil {
		if at, _, ok := feeds.ParseTime(first(values[len(values)-1])); ok {
			p.Metas = append(p.Metas, extract.Meta{Name: "date", Content: at.Format(time.RFC3339)})
		}
	}
	return href, p
}

// readXML makes a document of each element, as readItems does of items. The file is
// the whole list: a document that is not in it any more is deleted, if it was read to
// its end.
func (v *visit) readXML(ctx context.Context, response *fetcher.Response, x *policy.XMLDocuments, result *scheduler.Result) error {
	r, options, err := v.newItems(ctx, response)
	if err != nil {
		return err
	}
	summary, readErr := feeds.Elements(bytes.NewReader(response.Body), options, x.Path, xmlFields(x), func(values [][]string) error {
		return r.document(xmlPage(x, values))
	})
	if readErr != nil && !isSyntax(readErr) {
		return readErr
	}
	if err := r.flush(); err != nil {
		return err
	}
	if readErr == nil && summary.Cut == "" {
		if result.Unsettled, err = r.sweep(); err != nil {
			return err
		}
	}
	result.LinksHash = r.sum
	v.sourceWords(result, "XML file", summary, readErr, "")
	return nil
}

// sweep deletes the documents that earlier readings had and this one has not. Their keys are
// stored, one after the other, those of pending deletions included: each reading that has not such a
// document is a visit to it. All that are missing belong to one group, the list. It reports whether
// some are pending.
func (r *items) sweep() (pending bool, err error) {
	name := scheduler.URLValue(r.v.lease.Key, "crawl.xml")
	stored, err := r.v.store.Value(r.ctx, name)
	if err != nil {
		return false, err
	}
	slices.SortFunc(r.keys, weburl.Key.Compare)
	var gone []weburl.Key
	size := len(weburl.Key{})
	for ; len(stored) >= size; stored = stored[size:] {
		k := weburl.Key(stored[:size])
		if _, there := slices.BinarySearchFunc(r.keys, k, weburl.Key.Compare); !there {
			gone = append(gone, k)
		}
	}
	keys := make([]byte, 0, size*(len(r.keys)+len(gone)))
	for _, k := range slices.Compact(r.keys) {
		keys = append(keys, k[:]...)
	}
	if len(gone) > 0 {
		class := deletion.Class(len(gone), len(keys)/size+len(gone))
		var mu sync.Mutex // the store may go on after the caller gave up
		missing := map[weburl.Key]bool{}
		// Not cancelled half-way: the store calls the function until it returns.
		_, err = r.v.frontier.Revise(context.WithoutCancel(r.ctx), gone, func(k weburl.Key, rec scheduler.Record) *scheduler.Change {
			if rec.Kind != scheduler.KindItem || rec.Referrer != r.v.lease.URL.String() || !rec.Indexed {
				return nil
			}
			mu.Lock()
			missing[k] = true
			mu.Unlock()
			rec.Reason, rec.LastError = scheduler.ReasonItemGone, goneElement
			return &scheduler.Change{Next: rec, Delete: goneElement, Least: class, NotExplicit: len(r.keys) == 0}
		})
		if err != nil {
			return false, err
		}
		mu.Lock()
		for _, k := range gone {
			if missing[k] {
				keys = append(keys, k[:]...)
			}
		}
		pending = len(missing) > 0
		mu.Unlock()
	}
	return pending, r.v.store.SetValue(r.ctx, name, keys)
}
