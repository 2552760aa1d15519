package elastic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// createTemplate creates the index template unless one of that name exists, so that changes by an operator are kept.
func (t *Target) createTemplate(ctx context.Context) error {
	path := "/_index_template/" + url.PathEscape(t.templateName())
	_, err := t.Client.Do(ctx, wire.Request{Name: "_index_template", Method: http.MethodHead, Path: path})
	if status, ok := errors.AsType[*wire.StatusError](err); !ok || status.Status != http.StatusNotFound {
		return err
	}
	body, err := json.Marshal(t.template())
	if err != nil {
		return err
	}
	_, err = t.Client.Do(ctx, wire.Request{Name: "_index_template", Method: http.MethodPut, Path: path, ContentType: "application/json", Body: body})
	if status, ok := errors.AsType[*wire.StatusError](err); ok {
		return fmt.Errorf("creating the index template %q: %w", t.templateName(), status)
	}
	return err
}

// Long values of keywords are stored but not searchable: an indexer refuses terms of more than 32,766 bytes, and a
// character has up to four.
const longestKeyword = 8191

// chunkType returns the type of the field with chunks.
func (t *Target) chunkType() map[string]any {
	return map[string]any{"type": "nested", "properties": map[string]any{
		"headings": map[string]any{"type": "text"}, "text": map[string]any{"type": "text"},
		"anchor": map[string]any{"type": "keyword", "ignore_above": longestKeyword},
	}}
}

// template returns an index template for the fields of documents.
func (t *Target) template() map[string]any {
	keyword := map[string]any{"type": "keyword", "ignore_above": longestKeyword}
	metas := map[string]any{"type": "flattened", "ignore_above": longestKeyword}
	if t.set.OpenSearch {
		metas = map[string]any{"type": "flat_object"}
	}
	types := map[string]any{
		"url": keyword, "source": keyword, "referrer": keyword, "hash": keyword,
		"content_type": keyword, "charset": keyword, "language": keyword,
		"title": map[string]any{"type": "text", "fields": map[string]any{"keyword": keyword}},
		"text":  map[string]any{"type": "text"}, "content": map[string]any{"type": "binary"},
		"last_modified": map[string]any{"type": "date", "ignore_malformed": true},
		"fetched_at":    map[string]any{"type": "date"}, "depth": map[string]any{"type": "integer"},
		"metas": metas, wire.Chunks: t.chunkType(),
	}
	if t.set.ChunkDocuments {
		for _, name := range []string{chunkPage, chunkHeadings, chunkAnchor} {
			types[name] = keyword
		}
		types[chunkCount] = map[string]any{"type": "integer"}
	}
	for _, meta := range []string{push.MetaAllow, push.MetaDeny} {
		if part := wire.MetaPrefix + meta; t.set.Fields[part] != "" {
			types[part] = keyword
		}
	}
	properties := map[string]any{}
	for part, kind := range types {
		if name := t.set.Fields.Name(part); name != "" {
			properties[name] = kind
		}
	}
	return map[string]any{
		"index_patterns": []string{t.set.Index},
		"priority":       100,
		"template":       map[string]any{"mappings": map[string]any{"properties": properties}},
	}
}
