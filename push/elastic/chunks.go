package elastic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Fields of the documents of chunks, besides those of their page: its URL, the headings, and the anchor. chunkCount is
// a field of the page: an upper bound of the number of chunks that the index has of it.
const (
	chunkPage     = "page"
	chunkHeadings = "headings"
	chunkAnchor   = "anchor"
	chunkCount    = "chunk_count"
)

// maxChunkMeta bounds a value of a chunk's metas, in bytes. Only forms of the page's content are longer: they would be
// repeated in each of its chunks.
const maxChunkMeta = 16 << 10

// ChunkID returns the _id of a chunk of the document of a URL. Numbers begin at 0.
func ChunkID(url string, number int) string { return fmt.Sprintf("%s-%d", ID(url), number) }

// chunked is an entry with its page and chunks.
type chunked struct {
	push.Entry
	page   map[string]any
	chunks []map[string]any
}

// sendChunked sends pages with a document for each chunk.
//
// The page has the highest number of chunks that it ever had in the index, and is written before its chunks, and
// deleted after them. So after any interruption the number is not too low, and a repetition deletes the others.
func (t *Target) sendChunked(ctx context.Context, items []wire.Item) ([]push.Refusal, error) {
	pages := make([]chunked, len(items))
	for i, item := range items {
		pages[i].Entry = item.Entry
		if err := t.divide(&pages[i]); err != nil {
			return nil, err
		}
	}
	counts, err := t.counts(ctx, pages)
	if err != nil {
		return nil, err
	}
	parts, err := t.actions(pages, counts)
	if err != nil {
		return nil, err
	}
	var refused []push.Refusal
	for _, part := range parts {
		part = slices.DeleteFunc(part, func(item wire.Item) bool { return isRefused(refused, item.Seq) })
		for _, request := range t.set.Limits.Split(part) {
			r, err := t.send(ctx, request)
			if err != nil {
				return nil, err
			}
			for _, refusal := range r {
				if !isRefused(refused, refusal.Seq) {
					refused = append(refused, refusal)
				}
			}
		}
	}
	return refused, nil
}

// actions returns those on pages, on chunks, and the deletions of pages.
func (t *Target) actions(pages []chunked, counts []int) (parts [3][]wire.Item, err error) {
	add := func(part int, p *chunked, id string, fields map[string]any) {
		op := push.Add
		if fields == nil {
			op = push.Delete
		}
		item, failed := p.item(op, id, fields)
		err = errors.Join(err, failed)
		parts[part] = append(parts[part], item)
	}
	for i := range pages {
		p := &pages[i]
		count := max(counts[i], len(p.chunks))
		if p.Op == push.Delete {
			add(2, p, ID(p.URL), nil)
		} else {
			p.page[chunkCount] = count
			add(0, p, ID(p.URL), p.page)
		}
		for n := range count {
			if n < len(p.chunks) {
				add(1, p, ChunkID(p.URL, n), p.chunks[n])
			} else {
				add(1, p, ChunkID(p.URL, n), nil)
			}
		}
	}
	return parts, err
}

func isRefused(refused []push.Refusal, seq uint64) bool {
	return slices.ContainsFunc(refused, func(r push.Refusal) bool { return r.Seq == seq })
}

// divide reads the page and the chunks of an entry.
func (t *Target) divide(p *chunked) error {
	if p.Op == push.Delete {
		return nil
	}
	d, err := wire.Document(p.Entry)
	if err != nil {
		return err
	}
	chunks := d.Chunks
	d.Chunks = nil
	p.page = t.set.Fields.Fields(d, nil)
	page := d.URL
	d.Content = nil
	maps.DeleteFunc(d.Metas, func(_ string, values []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return len(v) > maxChunkMeta })
	})
	for _, c := range chunks {
		d.URL, d.Text = page, c.Text
		if c.Anchor != "" {
			d.URL += "#" + (&url.URL{Fragment: c.Anchor}).EscapedFragment()
		}
		fields := t.set.Fields.Fields(d, nil)
		fields[chunkPage] = page
		if len(c.Headings) > 0 {
			fields[chunkHeadings] = c.Headings
		}
		if c.Anchor != "" {
			fields[chunkAnchor] = c.Anchor
		}
		p.chunks = append(p.chunks, fields)
	}
	return nil
}

// item returns an action on a document of the entry.
func (p *chunked) item(op push.Op, id string, fields map[string]any) (wire.Item, error) {
	var b bytes.Buffer
	action(&b, op, id, p.Seq)
	item := wire.Item{Entry: push.Entry{Seq: p.Seq, Op: op, URL: p.URL}}
	if op == push.Add {
		if err := json.NewEncoder(&b).Encode(fields); err != nil {
			return item, err
		}
	}
	item.Wire = b.Bytes()
	return item, nil
}

// counts reads the number of chunks that the index may have of each page. A GET by id sees everything that was written.
func (t *Target) counts(ctx context.Context, pages []chunked) ([]int, error) {
	ids := make([]string, len(pages))
	for i := range pages {
		ids[i] = ID(pages[i].URL)
	}
	body, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(pages))
	answer, err := t.Client.Do(ctx, wire.Request{
		Name: "_mget", Method: http.MethodPost, Path: t.countPath, Query: url.Values{"_source_includes": {chunkCount}},
		ContentType: "application/json", Body: body, MaxAnswer: int64(answerBytes + itemBytes*len(pages)),
	})
	if status, ok := errors.AsType[*wire.StatusError](err); ok && status.Status == http.StatusNotFound {
		return counts, nil // there is no index yet
	}
	if err != nil {
		return nil, err
	}
	var found struct {
		Docs []struct {
			Source map[string]int `json:"_source"`
			Error  failure        `json:"error"`
		} `json:"docs"`
	}
	if err := json.Unmarshal(answer, &found); err != nil || len(found.Docs) != len(pages) {
		return nil, fmt.Errorf("_mget: the answer is about %d documents, not %d: %w", len(found.Docs), len(pages), err)
	}
	for i, d := range found.Docs {
		if d.Error.Type != "" && d.Error.Type != "index_not_found_exception" {
			return nil, fmt.Errorf("_mget: %s", d.Error.words())
		}
		counts[i] = d.Source[chunkCount]
	}
	return counts, nil
}
