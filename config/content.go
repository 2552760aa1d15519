package config

import (
	"mime"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/weburl"
)

// content reads the settings for page content.
func (p *parser) content(crawler *node, c *Crawler) {
	for _, n := range crawler.children {
		switch n.spec.Name {
		case "RemoveElements":
			p.removeElements(n, c)
		case "Converter":
			p.converter(n, c)
		case "Field":
			p.pageField(n, crawler, c)
		case "MainContent":
			if match, ok := p.where(n, &c.mains); ok {
				c.inside().Main = append(c.inside().Main, match)
			}
		case "Chunks":
			if match, ok := p.where(n, &c.chunked); ok {
				c.inside().Chunks = append(c.inside().Chunks, policy.Chunks{Match: match, Words: int(n.number("words"))})
			}
		case "MetadataMapping":
			c.Mapping = &policy.Mapping{KeepUnmapped: n.boolean("keepUnmapped")}
			for _, m := range n.children {
				p.mapping(m, c.Mapping)
			}
		}
	}
}

// removeElements puts names, classes and selectors into one list.
func (p *parser) removeElements(n *node, c *Crawler) {
	for _, list := range [...]struct{ attribute, before string }{{"names", ""}, {"classes", "."}, {"selectors", ""}} {
		for item := range strings.SplitSeq(n.str(list.attribute), ",") {
			item = strings.TrimSpace(item)
			if item == "" {
				continue
			}
			if _, err := extract.NewRemoval([]string{list.before + item}); err != nil {
				p.errorf(n.valueAt(list.attribute), "%s: %v", list.attribute, err)
				continue
			}
			if list.attribute == "names" && strings.ContainsAny(item, ".#") {
				p.errorf(n.valueAt("names"), "names=%s is not the name of an element: write it in selectors", quote(item))
				continue
			}
			c.Remove = append(c.Remove, list.before+item)
		}
	}
}

func (p *parser) mapping(n *node, to *policy.Mapping) {
	m := policy.Map{To: strings.TrimSpace(n.str("to")), Join: n.str("join"), Default: n.str("default")}
	if n.spec.Name == "MapHeader" {
		m.Header = n.str("field")
		if n.written("field") && !httpguts.ValidHeaderFieldName(m.Header) {
			p.errorf(n.valueAt("field"), "field=%s is not the name of a header field: write one such as Content-Language", quote(m.Header))
		}
	} else {
		m.From = strings.ToLower(strings.TrimSpace(n.str("from")))
	}
	if n.written("to") && m.To == "" && (m.Join != "" || m.Default != "") {
		p.errorf(n.valueAt("to"), "to is empty, which drops the meta: remove join and default, or write the name of a meta")
	}
	to.Maps = append(to.Maps, m)
}

// converter reads one external program. Its media type must not be that of pages.
func (p *parser) converter(n *node, c *Crawler) {
	made := extract.Converter{
		MediaType: strings.ToLower(strings.TrimSpace(n.str("mediaType"))), Command: strings.Fields(n.str("command")),
		Timeout: n.duration("timeoutS"), MaxMemory: n.number("maxMemoryMB") << 20, MaxOutput: n.number("maxOutputBytes"),
		HTML: n.str("output") == "html", OnlyWithoutText: n.str("when") == "no-text",
	}
	if n.written("mediaType") {
		p.checkConverted(n, c, made.MediaType)
	}
	if command := n.attr("command"); command != nil && !slices.Contains(n.faulty, "command") {
		p.checkProgram(command)
		p.checkPlaceholder(command, made.Command)
	}
	c.Converters, c.converters = append(c.Converters, made), append(c.converters, p.position(n.at))
}

// checkConverted checks the media type of a converter.
func (p *parser) checkConverted(n *node, c *Crawler, mediaType string) {
	at := n.valueAt("mediaType")
	top, sub, _ := strings.Cut(mediaType, "/")
	parsed, parameters, err := mime.ParseMediaType(mediaType)
	switch {
	case sub == "*" && top != "" && !strings.ContainsAny(top, "* "):
		if top == "text" {
			p.errorf(at, "mediaType=%s includes text/html, which Sextant reads itself: write one type, such as text/markdown", quote(mediaType))
		}
	case err != nil || parsed != mediaType || len(parameters) > 0 || sub == "" || strings.Contains(mediaType, "*"):
		p.errorf(at, "mediaType=%s is not a media type: write one such as image/tiff, or image/* for all image types", quote(mediaType))
	case slices.Contains([]string{"text/html", "application/xhtml+xml"}, mediaType):
		p.errorf(at, "mediaType=%s: Sextant reads pages itself: write another type", quote(mediaType))
	}
	if earlier := extract.ConverterOf(c.Converters, mediaType); earlier != nil {
		p.warnf(at, "this Converter is never used: the one for %s above reads its documents", earlier.MediaType)
	}
}

// checkProgram checks a command, as far as possible without running it.
func (p *parser) checkProgram(command *attr) {
	words := strings.Fields(command.text)
	switch {
	case len(words) == 0 || !filepath.IsAbs(words[0]):
		p.errorf(command.value, "command=%s does not begin with an absolute path: write one, such as /usr/local/bin/program", quote(command.text))
	case strings.ContainsAny(command.text, "\"'`|<>;&$"):
		p.warnf(command.value, "command=%s is run without a shell, so quotes, | and the like are passed to the program as they are: write a script, and its path here", quote(command.text))
	case !p.lookups.Exists(words[0]):
		p.warnf(command.value, "command=%s: the file %s does not exist: nothing is run until it does", quote(command.text), words[0])
	default:
		if why := p.lookups.Unrunnable(words[0]); why != "" {
			p.warnf(command.value, "command=%s cannot be run: %s %s", quote(command.text), words[0], why)
		}
	}
}

// misspeltFile matches an argument that was probably meant for the file with the document.
var misspeltFile = regexp.MustCompile(`(?i)^\{+[\w-]+\}*$|^[\w-]+\}+$|\{ *file\b|\bfile *\}`)

// checkPlaceholder warns of arguments that resemble extract.ConverterFile but are passed unchanged.
func (p *parser) checkPlaceholder(command *attr, words []string) {
	for _, word := range words[min(1, len(words)):] {
		if misspeltFile.MatchString(word) && !strings.Contains(word, extract.ConverterFile) {
			p.warnf(command.value, "%s in command=%s is passed to the program as it is: write %s for the file with the document",
				quote(word), quote(command.text), extract.ConverterFile)
		}
	}
}

// idleConverters warns of converters whose documents are excluded before conversion.
func (p *parser) idleConverters(c *Crawler) {
	for i, converter := range c.Converters {
		if len(c.Rules.Roots) == 0 || strings.HasSuffix(converter.MediaType, "*") {
			continue
		}
		root := crawlspace.Link{URL: c.Rules.Roots[0].URL}
		if v := c.Gates.JudgeMIME(root, converter.MediaType); !v.Allowed {
			p.report.warnf(c.converters[i], "this Converter is never used: documents of its type are left out (%s)", v.Reason)
		}
	}
}

// pageField reads a value to extract from pages.
func (p *parser) pageField(n, crawler *node, c *Crawler) {
	if !n.written("name") || !n.written("select") {
		return
	}
	f := policy.Field{
		Name: strings.TrimSpace(n.str("name")), Selector: n.str("select"), Attribute: strings.TrimSpace(n.str("attribute")),
		Multiple: n.boolean("multiple"), Split: n.str("split"),
	}
	s, err := tree.Parse(f.Selector)
	if err != nil {
		return // already reported
	}
	f.Kind, f.Key = s.Kind, s.Name
	f.Multiple = f.Multiple || policy.IsPermission(f.Name)
	if f.Attribute != "" && !f.Kind.HasAttribute() {
		p.errorf(n.attr("attribute").name, "attribute has no meaning for %s: remove it", f.Kind)
	}
	if f.Kind == tree.Content {
		f.MaxBytes = int(n.number("maxBytes"))
	} else if n.written("maxBytes") {
		p.warnf(n.attr("maxBytes").name, "maxBytes has no effect for %s: it is for content", f.Kind)
	}
	for _, name := range []string{"multiple", "split"} {
		if a := n.attr(name); a != nil && f.Kind == tree.Content {
			p.warnf(a.name, "%s has no effect for %s: a page has only one", name, f.Kind)
		}
	}
	var ok bool
	if f.Match, ok = p.where(n, &c.fields); !ok {
		return
	}
	if why := s.FindsNothing(f.Attribute); why != "" {
		p.warnf(n.valueAt("select"), "select=%s finds nothing: %s", quote(f.Selector), why)
	}
	p.fieldInTargets(n, crawler, &f)
	c.inside().Fields = append(c.inside().Fields, f)
}

// where reads the optional condition of an element; the result is nil for all URLs.
func (p *parser) where(n *node, all *[]choice) (match func(weburl.URL) bool, ok bool) {
	if len(n.children) == 0 && !n.lost {
		return nil, true
	}
	condition, matcher := p.onlyCondition(n)
	if condition == nil {
		return nil, false
	}
	*all = append(*all, choice{condition, p.position(n.at)})
	return matcher.Match, true
}

// inside returns the values to extract from pages.
func (c *Crawler) inside() *policy.Inside {
	if c.Inside == nil {
		c.Inside = &policy.Inside{}
	}
	return c.Inside
}
