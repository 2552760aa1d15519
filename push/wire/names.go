package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/push"
)

// MetaPrefix precedes the name of a meta in Names.
const MetaPrefix = "meta:"

// Names say under which name a target gets a part of a document: from the part's
// name in the JSON of push.Document, or "meta:" and a meta's name, to the target's
// name; "" drops it. What it does not have keeps its name.
type Names map[string]string

// parts are the names of push.Document that have one value.
func parts() []string {
	return []string{
		"url", "source", "title", "text", "content", "content_type", "charset", "language",
		"last_modified", "fetched_at", "depth", "referrer", "hash",
	}
}

// Parts are the names that parts of a document have by themselves, metas included.
func Parts() []string { return append(parts(), "metas") }

// CheckName returns an error if no document can have a name of Names.
func CheckName(name string) error {
	if name == "metas" || slices.Contains(parts(), name) || strings.HasPrefix(name, MetaPrefix) && len(name) > len(MetaPrefix) {
		return nil
	}
	return fmt.Errorf("%q is not part of a document: write %s, metas, or %sNAME for one meta", name, strings.Join(parts(), ", "), MetaPrefix)
}

// Over returns the names of n, and those of base that n does not have.
func (n Names) Over(base Names) Names {
	out := maps.Clone(base)
	if out == nil {
		out = Names{}
	}
	maps.Copy(out, n)
	return out
}

// Name is the target's name of a part, "" if it is dropped.
func (n Names) Name(part string) string {
	if name, ok := n[part]; ok {
		return name
	}
	return part
}

func (n Names) of(part string) (string, bool) {
	name := n.Name(part)
	return name, name != ""
}

// Fields returns the fields of d under the names of n, without empty ones. The metas that n does not
// name are together under the name of "metas", or, where meta is not nil, each under
// the name that it gives; "" drops it. Two parts of one name share it as a list.
func (n Names) Fields(d *push.Document, meta func(name string) string) map[string]any {
	out := make(map[string]any, 16)
	n.put(out, "url", d.URL)
	n.put(out, "source", d.Source)
	n.put(out, "title", d.Title)
	n.put(out, "text", d.Text)
	n.put(out, "content_type", d.ContentType)
	n.put(out, "charset", d.Charset)
	n.put(out, "language", d.Language)
	n.put(out, "last_modified", d.LastModified)
	n.put(out, "referrer", d.Referrer)
	n.put(out, "hash", d.Hash)
	if name, ok := n.of("content"); ok && len(d.Content) > 0 {
		add(out, name, d.Content)
	}
	if name, ok := n.of("fetched_at"); ok && !d.FetchedAt.IsZero() {
		add(out, name, d.FetchedAt.UTC().Format(time.RFC3339Nano))
	}
	if name, ok := n.of("depth"); ok {
		add(out, name, d.Depth)
	}
	n.metas(out, d.Metas, meta)
	return out
}

func (n Names) put(out map[string]any, part, value string) {
	if name, ok := n.of(part); ok && value != "" {
		add(out, name, value)
	}
}

func (n Names) metas(out map[string]any, metas map[string][]string, meta func(string) string) {
	together, keep := n.of("metas")
	rest := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(metas)) {
		values := metas[key]
		name, named := n[MetaPrefix+key]
		switch {
		case len(values) == 0 || named && name == "":
		case named:
			add(out, name, values)
		case !keep:
		case meta == nil:
			rest[key] = values
		default:
			if name := meta(key); name != "" {
				add(out, name, values)
			}
		}
	}
	if len(rest) > 0 {
		add(out, together, rest)
	}
}

// add appends value to the values of name.
func add(out map[string]any, name string, value any) {
	before, there := out[name]
	if !there {
		out[name] = value
		return
	}
	out[name] = append(list(before), list(value)...)
}

func list(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []string:
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
		}
		return out
	}
	return []any{v}
}
