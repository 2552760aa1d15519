package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/weburl"
)

// The names of crawl space rules beside the configuration, which are read without CrawlSpace (IBM, "Global Web crawl
// space configuration").
const (
	CrawlRulesName  = "crawl.rules"
	GlobalRulesName = "global.rules"
)

// readList returns a function that reads a reject list, for Space.WithRejectList.
func readList(path string) func() (*crawlspace.File, error) {
	return func() (*crawlspace.File, error) {
		raw, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("reject list %s: %w", path, withoutPath(err))
		}
		return TextFile(path, raw)
	}
}

// appendList returns a function that adds entries to the list at path, which several processes and Crawlers may share.
// The entries are durable when it returns; after an error none of them is in the file.
func appendList(path string) func(entries []string) error {
	return func(entries []string) error {
		if err := appendTo(path, entries); err != nil {
			return fmt.Errorf("kill list %s: %w", path, withoutPath(err))
		}
		return nil
	}
}

func appendTo(path string, entries []string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, errors.New("it is not a regular file"))
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil { //nolint:gosec // a file descriptor; closing the file unlocks it
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxFileBytes))
	if err != nil {
		return err
	}
	list, err := TextFile(path, raw)
	if err == nil && !utf8.Valid(raw) {
		err = errors.New("it is UTF-16: save it as UTF-8")
	}
	if err != nil {
		return err
	}
	n, err := f.Write(list.Lacking(entries))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		return nil
	}
	// Half a URL may be another URL. Bytes that other processes appended stay.
	end, _ := f.Seek(0, io.SeekCurrent)
	if info, _ := f.Stat(); info != nil && info.Size() == end {
		err = errors.Join(err, f.Truncate(end-int64(n)))
	}
	return err
}

// TextFile converts a file of lines to UTF-8 with line feeds. The file may be UTF-8 or, with a byte order mark, UTF-16,
// and end lines by LF, CR LF or CR. The error reports where it is not text.
func TextFile(name string, raw []byte) (*crawlspace.File, error) {
	p := &parser{report: &Report{}}
	file, _ := p.lines(name, raw)
	return file, p.report.Err()
}

// space reads the gates of a Crawler; alone is set if it is the file's only one.
func (p *parser) space(crawler *node, c *Crawler, alone bool) {
	s := &c.Space
	named := func(attribute string) bool {
		return slices.ContainsFunc(crawler.children, func(n *node) bool {
			return n.spec.Name == "CrawlSpace" && !n.missing(attribute)
		})
	}
	if alone && !named("rules") {
		s.CrawlRules = p.beside(CrawlRulesName)
	}
	if !named("global") {
		s.GlobalRules = p.beside(GlobalRulesName)
	}
	for _, n := range crawler.children {
		p.gate(n, c)
	}
	for _, n := range crawler.children { // overrides a written maxLinkDepth
		if n.spec.Name == "Discovery" {
			p.discovery(crawler, n, c)
		}
	}
	s.Proxy = slices.ContainsFunc(crawler.children, func(n *node) bool { return n.spec.Name == "Fetch" && n.written("proxy") })
	include := crawler.str("mimeTypesMode") == "include"
	switch {
	case s.MIME != nil:
		s.MIME.Include = include
	case include:
		p.errorf(crawler.valueAt("mimeTypesMode"), "mimeTypesMode=\"include\" requires <MimeTypes>: list the types to index there, such as <MimeType type=\"text/html\"/>")
	}
}

// discovery reads whether links are followed, and when the start URLs and lists are fetched again.
func (p *parser) discovery(crawler, n *node, c *Crawler) {
	switch interval := n.attr("intervalS"); {
	case !n.boolean("enabled"):
		c.Space.MaxLinkDepth = &crawlspace.Limit{At: p.position(n.valueAt("enabled"))}
		switch {
		case interval == nil:
		case isListed(crawler):
			c.Rounds, c.ListsOnly = n.duration("intervalS"), true
		default:
			p.warnf(interval.name, "intervalS has no effect with enabled=\"false\" and no <Sitemap>, <Feed> or <XMLDocuments>: there is nothing to discover")
		}
	case interval != nil:
		c.Rounds = n.duration("intervalS")
	}
}

// compileSpace compiles the gates, whose errors have positions in their own files, and sets the start state as the
// crawl space requires.
func (p *parser) compileSpace(c *Crawler) {
	if p.quick {
		return
	}
	roots := make([]weburl.URL, len(c.Rules.Roots))
	for i, r := range c.Rules.Roots {
		roots[i] = r.URL
	}
	gates, errs := crawlspace.Compile(c.Space, roots)
	c.Gates = gates
	for _, err := range errs {
		var fault *actionrules.Error
		if errors.As(err, &fault) {
			p.report.errorf(fault.At, "%v", fault.Err)
		} else {
			p.errorf(0, "%v", err)
		}
	}
}

// isLimited reports whether crawl.rules, Patterns or StartURLMatch limit the space. Then the start state is accepted,
// indexed and followed by default (IBM: the crawler accepts any URL that it discovers unless a rule forbids it).
func isLimited(s *crawlspace.Settings) bool {
	return s.CrawlRules != nil || s.Include.Value != "" || s.Exclude.Value != "" ||
		s.StartURLMatch != nil && (s.StartURLMatch.Host || s.StartURLMatch.Scheme)
}

// isListed reports whether all crawled URLs are listed: as start URLs, in sitemaps, feeds or files. That has the same
// default (Smartsite: discovery is switched off for such tasks).
func isListed(crawler *node) bool {
	off := slices.ContainsFunc(crawler.children, func(n *node) bool { return n.spec.Name == "Discovery" && !n.boolean("enabled") })
	return off && slices.ContainsFunc(crawler.children, func(n *node) bool {
		return n.spec.Name == "Sitemap" || n.spec.Name == "Feed" || n.spec.Name == "XMLDocuments"
	})
}

// beside reads the file of that name beside the configuration; nil if there is none.
func (p *parser) beside(name string) *crawlspace.File {
	path := filepath.Join(filepath.Dir(p.src.file), name)
	if !p.lookups.Exists(path) {
		return nil
	}
	raw, err := p.lookups.ReadFile(path)
	if err != nil {
		p.report.errorf(actionrules.Position{File: path}, "the file cannot be read: %v", cause(err))
		return nil
	}
	file, _ := p.lines(path, raw)
	return file
}

// unusedRules warns of a crawl.rules that belongs to none of several Crawlers.
func (p *parser) unusedRules(crawlers []Crawler) {
	path := filepath.Join(filepath.Dir(p.src.file), CrawlRulesName)
	used := func(c Crawler) bool { return c.Space.CrawlRules != nil && c.Space.CrawlRules.Name == path }
	if len(crawlers) > 1 && p.lookups.Exists(path) && !slices.ContainsFunc(crawlers, used) {
		p.report.warnf(actionrules.Position{File: path},
			"the file is not used, because there are several Crawlers: write <CrawlSpace rules=%q/> in the one it is for", CrawlRulesName)
	}
}

// gate reads one element of the crawl space into the settings.
func (p *parser) gate(n *node, c *Crawler) {
	s := &c.Space
	switch n.spec.Name {
	case "CrawlSpace":
		p.crawlSpace(n, s)
	case "Patterns":
		s.Include, s.Exclude = p.value(n, "include"), p.value(n, "exclude")
	case "RejectList":
		s.RejectList = p.fileOf(n, "file")
		if a := n.attr("file"); a != nil {
			c.ReadRejectList, c.RejectListEvery = readList(p.resolvePath(a.text)), n.duration("checkpointS")
		}
	case "Kill":
		s.KillExact, s.KillPatterns = p.fileOf(n, "exact"), p.fileOf(n, "patterns")
		if a := n.attr("exact"); a != nil {
			c.AddKilled = appendList(p.resolvePath(a.text))
		}
	case "StartURLMatch":
		s.StartURLMatch = &crawlspace.StartURLMatch{Host: n.boolean("host"), Scheme: n.boolean("scheme"), At: p.position(n.at)}
	case "MustContain":
		s.MustContain = append(s.MustContain, p.inside(n))
	case "MustNotContain":
		s.MustNotContain = append(s.MustNotContain, p.inside(n))
	case "CanonicalURL":
		s.Canonical = &crawlspace.Canonical{At: p.position(n.at), Options: weburl.Options{
			DropWWW: n.boolean("dropWWW"), DropSessionIDs: n.boolean("dropSessionIDs"),
			DropTracking: n.boolean("dropTracking"), SortQuery: n.boolean("sortQuery"),
		}}
	case "QueryFilter":
		keep := p.value(n, "keep")
		s.QueryFilter = &keep
	case "IgnoredExtensions":
		s.Extensions = p.extensions(n)
	case "Traps":
		c.Traps = &crawlspace.TrapSettings{
			MaxRepeats: int(n.number("maxRepeats")), MaxURLsPerPattern: int(n.number("maxURLsPerPattern")), At: p.position(n.at),
		}
		if n.written("maxURLsPerHost") {
			c.Traps.MaxURLsPerHost = int(n.number("maxURLsPerHost"))
		}
	case "MimeTypes":
		s.MIME = &crawlspace.MIMETypes{At: p.position(n.at)}
		for _, m := range n.children {
			if m.written("type") {
				s.MIME.Types = append(s.MIME.Types, p.value(m, "type"))
			}
		}
	}
}

func (p *parser) crawlSpace(n *node, s *crawlspace.Settings) {
	if n.written("rules") {
		s.CrawlRules = p.fileOf(n, "rules")
	}
	if n.written("global") {
		s.GlobalRules = p.fileOf(n, "global")
	}
	s.FoldHost = n.str("hostCase") == "fold"
	limit := func(name string) *crawlspace.Limit {
		if !n.written(name) {
			return nil
		}
		return &crawlspace.Limit{Max: int(n.number(name)), At: p.position(n.valueAt(name))}
	}
	s.MaxPathDepth, s.MaxLinkDepth = limit("maxPathDepth"), limit("maxLinkDepth")
}

func (p *parser) extensions(n *node) *crawlspace.Extensions {
	x := &crawlspace.Extensions{
		List: p.value(n, "list"), Extra: p.value(n, "extra"), Always: p.value(n, "always"), At: p.position(n.at),
	}
	if n.written("list") && strings.Trim(x.List.Value, " ,;") == "" {
		p.warnf(n.valueAt("list"), "an empty list stands for the default list (%s): to ignore no extensions, remove <IgnoredExtensions>", "7z, asf, avi ... xml, zip")
	}
	for _, m := range n.children {
		switch {
		case m.missing("extension"):
			p.errorf(m.at, "<MimeType> in <IgnoredExtensions> needs the attribute extension")
			continue
		case !m.written("extension") || !m.written("type"):
			continue
		}
		x.Pairs = append(x.Pairs, crawlspace.Pair{Type: p.value(m, "type"), Extension: p.value(m, "extension")})
	}
	return x
}

// value returns an attribute's value with its position; empty if it is not written.
func (p *parser) value(n *node, name string) crawlspace.Text {
	return crawlspace.Text{Value: n.str(name), At: p.position(n.valueAt(name))}
}

func (p *parser) inside(n *node) crawlspace.Text {
	return crawlspace.Text{Value: n.text, At: p.position(n.textAt)}
}

// fileOf reads the file that an attribute names; nil if it is not written, or unreadable, which is reported.
func (p *parser) fileOf(n *node, name string) *crawlspace.File {
	path, raw, ok := p.named(n, name)
	if !ok {
		return nil
	}
	file, _ := p.lines(path, raw)
	return file
}

// named reads the file that an attribute names.
func (p *parser) named(n *node, name string) (path string, raw []byte, ok bool) {
	a := n.attr(name)
	if a == nil {
		return "", nil, false
	}
	path = p.resolvePath(a.text)
	raw, err := p.lookups.ReadFile(path)
	if err != nil {
		p.errorf(a.value, "%s cannot be read: %v", quote(path), cause(err))
	}
	return path, raw, err == nil
}

// lines converts a file to UTF-8 with line feeds; false if it is not text, which is reported.
func (p *parser) lines(path string, raw []byte) (*crawlspace.File, bool) {
	src, ok := p.decode(path, raw, lineFile)
	if !ok {
		return nil, false
	}
	p.lineAllowances(src)
	return &crawlspace.File{Name: path, Content: lineFeeds(src.data)}, true
}
