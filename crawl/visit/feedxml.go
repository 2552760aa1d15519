package visit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"maps"
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

// What a list had is stored in the form of keys, one behind the other, and what it misses as keys, each with a time in
// seconds since 1970 as 8 bytes, big endian. A mutex in miss guards the keys that the store finds missing: it may call
// back after the caller gave up.

// goneElement is the reason for deleting a document that left its XML file.
const goneElement = "the XML file no longer contains its element"

// xmlFields returns the paths in the order of xmlPage's values.
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

// xmlPage returns an element as a page, with its URL.
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

// readXML creates a document for each element, as readItems does for items. The file is a complete list: if it was read
// to its end, documents that left it are deleted.
func (v *visit) readXML(ctx context.Context, response *fetcher.Response, x *policy.XMLDocuments, result *scheduler.Result) error {
	r, options, err := v.newItems(ctx, response)
	if err != nil {
		return err
	}
	summary, readErr := feeds.Elements(bytes.NewReader(response.Body), options, x.Path, xmlFields(x), func(values [][]string, cut []bool) error {
		r.unsure = false
		for i, m := range x.Metas {
			r.unsure = r.unsure || cut[3+i] && policy.IsPermission(m.Name)
		}
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

// listedIn returns the key of the stored value with the documents of an XML file at its last reading.
func listedIn(file weburl.Key) scheduler.ValueName { return scheduler.URLValue(file, "crawl.xml") }

// sweep deletes the documents of earlier readings that this one lacks: each such reading counts as a visit. It reports
// whether deletions are pending.
func (r *items) sweep() (pending bool, err error) {
	listed, missing := listedIn(r.v.lease.Key), scheduler.URLValue(r.v.lease.Key, "crawl.xml.missing")
	since, err := r.missingSince(listed, missing)
	if err != nil {
		return false, err
	}
	for _, k := range r.out { // an edit of the rules takes these out, not the list
		if _, was := since[k]; was {
			r.keys = append(r.keys, k)
		}
	}
	slices.SortFunc(r.keys, weburl.Key.Compare)
	r.keys = slices.Compact(r.keys)
	for _, k := range r.keys {
		delete(since, k)
	}
	if len(since) > 0 {
		if err := r.miss(since); err != nil {
			return false, err
		}
	}
	var keys, times []byte
	for _, k := range r.keys {
		keys = append(keys, k[:]...)
	}
	for _, k := range slices.SortedFunc(maps.Keys(since), weburl.Key.Compare) {
		times = binary.BigEndian.AppendUint64(append(times, k[:]...), uint64(since[k].Unix())) //nolint:gosec // after 1970
	}
	// What is missing first: a reading that is cut short here finds it again.
	err = errors.Join(r.v.store.SetValue(r.ctx, missing, times), r.v.store.SetValue(r.ctx, listed, keys))
	return len(since) > 0, err
}

// missingSince returns the documents of the last reading, in their present state, and those that it lacked.
func (r *items) missingSince(listed, missing scheduler.ValueName) (map[weburl.Key]time.Time, error) {
	keys, err := r.v.store.Value(r.ctx, listed)
	if err != nil {
		return nil, err
	}
	times, err := r.v.store.Value(r.ctx, missing)
	if err != nil {
		return nil, err
	}
	since := map[weburl.Key]time.Time{}
	size := len(weburl.Key{})
	for ; len(keys) >= size; keys = keys[size:] {
		since[weburl.Key(keys[:size])] = r.at
	}
	for ; len(times) >= size+8; times = times[size+8:] {
		since[weburl.Key(times[:size])] = time.Unix(int64(binary.BigEndian.Uint64(times[size:])), 0) //nolint:gosec // as it was written
	}
	return since, nil
}

// miss deletes documents that have been missing since a time, and removes from the list those that no longer belong to
// the file. Their class counts documents that went missing within about a day, so a list that replaces some items each
// day does not add them up.
func (r *items) miss(since map[weburl.Key]time.Time) error {
	set := r.v.policy.Settings.Frontier.Deletions
	window, n := set.Confirm*5/6, 0 // readings a day apart are not a day apart to the second
	for _, at := range since {
		if r.at.Sub(at) < window {
			n++
		}
	}
	class := deletion.Class(n, len(r.keys)+len(since))
	others, err := r.others(since)
	if err != nil {
		return err
	}
	var mu sync.Mutex // the store may continue after the caller has returned
	is := map[weburl.Key]bool{}
	// Not cancelled half-way: the store calls the function until it returns.
	_, err = r.v.frontier.Revise(context.WithoutCancel(r.ctx), slices.Collect(maps.Keys(since)), func(k weburl.Key, rec scheduler.Record) *scheduler.Change {
		if rec.Kind != scheduler.KindItem || rec.Referrer != r.v.lease.URL.String() || !rec.Indexed {
			return nil
		}
		if other := others[k]; other != "" {
			rec.Referrer = other
			back := rec.LossPending && rec.Reason == scheduler.ReasonItemGone // losses of edits stay pending
			if back {
				rec.Reason, rec.LastError = scheduler.NoReason, ""
			}
			return &scheduler.Change{Next: rec, CancelDeletion: back}
		}
		mu.Lock()
		is[k] = true
		mu.Unlock()
		rec.Reason, rec.LastError = scheduler.ReasonItemGone, goneElement
		return &scheduler.Change{Next: rec, Delete: goneElement, Least: class, NotExplicit: len(r.keys) == 0}
	})
	mu.Lock()
	defer mu.Unlock()
	maps.DeleteFunc(since, func(k weburl.Key, _ time.Time) bool { return !is[k] })
	return err
}

// others returns the other XML files of the configuration that listed some of the documents at their last reading: a
// record knows only the file that was read last.
func (r *items) others(missing map[weburl.Key]time.Time) (map[weburl.Key]string, error) {
	in := map[weburl.Key]string{}
	for _, s := range r.v.policy.Settings.Sources {
		if s.XML == nil || s.URL.Key() == r.v.lease.Key {
			continue
		}
		keys, err := r.v.store.Value(r.ctx, listedIn(s.URL.Key()))
		if err != nil {
			return nil, err
		}
		for size := len(weburl.Key{}); len(keys) >= size; keys = keys[size:] {
			if k := weburl.Key(keys[:size]); !missing[k].IsZero() {
				in[k] = s.URL.String()
			}
		}
	}
	return in, nil
}
