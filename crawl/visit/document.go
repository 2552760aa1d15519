package visit

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/copies"
	"github.com/sextant-crawler/sextant/crawl/copies/near"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// index adds the page's document to the result, or the reason why there is none.
func (v *visit) index(ctx context.Context, response *fetcher.Response, p extract.Page, read bool,
	directives extract.Directives, result *scheduler.Result,
) error {
	other, link, err := v.canonical(ctx, p)
	if err != nil {
		return err
	}
	if other != "" {
		result.DuplicateOf, result.Reason, result.NoDocument = other, scheduler.ReasonCanonical, "its canonical is "+other
		link.Referrer = v.lease.URL.String()
		result.Links = append(result.Links, link)
		return nil
	}
	var in inside
	if v.policy.Settings.Inside != nil {
		if in, err = v.extractFields(ctx, response, &p, result); err != nil {
			return err
		}
		if v.machineFailed != nil && v.lease.Record.Indexed && !lastAttempt(v) { // its whole text would take the place of its main content
			return readAgain(ctx, v, result)
		}
	}
	source, movesTo := v.policy.Settings.Frontier.SourceOf(&v.lease.Record, v.verdict.Decision.Source)
	document := v.document(response, p, &in, directives)
	document.Source = source
	var unread []byte
	if !read {
		unread = response.Body
	}
	sum := v.visitor.hasher.document(&document, unread)
	sketchOf := near.SketchOf
	if v.visitor.copies != nil {
		c := v.visitor.copies.Compare(v.lease, compared(&document), ownTitle(p), v.lease.Record.Host, sum)
		original, why, overlap, err := v.visitor.copies.Original(ctx, v.lease, c)
		if err != nil {
			return err
		}
		result.Signature, result.Overlap, result.Notes = c.Stored(), overlap, v.visitor.copies.Notes(v.lease.Record.Host)
		sketchOf = c.Sketch
		if original != nil {
			result.Sketch = sketchOf(ownTitle(p), document.Text)
			result.DuplicateOf, result.Reason, result.NoDocument = original.URL, why, copies.Detail(why, original.URL)
			v.learn(original.URL)
			return nil
		}
		v.learn("")
	}
	document.Hash = hex.EncodeToString(sum[:])
	body, err := document.Encode()
	if err != nil {
		return err
	}
	result.Document = &scheduler.Document{
		Body: body, Hash: sum, Source: source, MovesTo: movesTo, Reading: v.policy.Reading, Sketch: v.lease.Record.Sketch,
		MetasHash: policy.MetasHash(v.verdict.Decision.Metas),
	}
	if r := &v.lease.Record; !r.Indexed || r.Hash != sum || r.Reading != v.policy.Reading {
		result.Document.Sketch = sketchOf(ownTitle(p), document.Text)
	}
	return nil
}

// document returns the page as the indexer gets it, without its hash and source.
func (v *visit) document(response *fetcher.Response, p extract.Page, in *inside, directives extract.Directives) push.Document {
	own := v.policy.Settings.Mapping.Apply(policy.WithoutPermissions(p.Metas), response.Header)
	document := push.Document{
		URL: v.lease.URL.String(), Title: in.title(p, v.lease.URL), Text: p.Text,
		ContentType: mediaType(response.Header.Get("Content-Type")), Charset: p.Charset, Language: p.Language,
		FetchedAt: time.Now().UTC().Truncate(time.Second), Depth: int(v.lease.Record.Depth), Referrer: v.lease.Record.Referrer,
		Chunks: in.chunks,
		Metas:  metas(v.lease, v.verdict.Decision, in.over(own), directives),
	}
	if v.policy.Settings.DetectLanguage {
		detectLanguage(&document)
	}
	if in.incompleteField != "" {
		allowNone(document.Metas)
	}
	if v.policy.Settings.Collapse {
		if site := siteAt(v.lease.URL, v.policy.Settings.CollapseDepth); site != "" {
			document.Metas[collapseKey] = []string{site}
		}
	}
	if response.Truncated {
		document.Metas["truncated"] = []string{"true"}
	}
	if at, err := http.ParseTime(response.Header.Get("Last-Modified")); err == nil {
		document.LastModified = at.UTC().Format(time.RFC3339)
	}
	if v.policy.Settings.PushContent && !directives.NoArchive {
		document.Content = response.Body
		if p.Content != nil { // without the parts that must not be searched
			document.Content, document.Charset = p.Content, p.ContentCharset
		}
	}
	return document
}

// metas returns the page's metas, then those of rules and roots, then those of directives and redirects; each value of
// a name once.
func metas(lease *scheduler.Lease, d actionrules.Decision, own []extract.Meta, directives extract.Directives) map[string][]string {
	m := map[string][]string{}
	add := func(name, value string) {
		if name != "" && value != "" && !slices.Contains(m[name], value) {
			m[name] = append(m[name], value)
		}
	}
	for _, meta := range own {
		add(meta.Name, meta.Content)
	}
	for _, meta := range d.Metas {
		add(meta.Name, meta.Value)
	}
	if directives.NoSnippet {
		add("nosnippet", "true")
	}
	if directives.NoArchive {
		add("noarchive", "true")
	}
	for _, alias := range lease.Record.Aliases {
		add(aliasMeta, alias)
	}
	return m
}

// titleMetas are the metas that replace a missing title, in order of preference.
var titleMetas = []string{"dcterms.title", "dc.title", "og:title", "title"}

// title returns the title from the head, otherwise from a meta, otherwise the last segment of the path.
func title(p extract.Page, u weburl.URL) string {
	if t := ownTitle(p); t != "" {
		return t
	}
	segments := strings.FieldsFunc(u.Path(), func(r rune) bool { return r == '/' })
	if len(segments) == 0 {
		return u.Host()
	}
	last := segments[len(segments)-1]
	if plain, err := url.PathUnescape(last); err == nil {
		last = strings.ToValidUTF8(plain, "\uFFFD")
	}
	return strings.NewReplacer("-", " ", "_", " ").Replace(last)
}

// ownTitle returns the page's own title, or "".
func ownTitle(p extract.Page) string {
	if p.Title != "" {
		return p.Title
	}
	for _, name := range titleMetas {
		for _, m := range p.Metas {
			if m.Name == name && m.Content != "" {
				return m.Content
			}
		}
	}
	return ""
}
