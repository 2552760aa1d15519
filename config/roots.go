package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// rootList collects the roots of a Crawler.
type rootList struct {
	roots []actionrules.Root
	seen  map[string]actionrules.Position
}

// roots reads Root and Roots elements in the order of the file.
func (p *parser) roots(crawler *node) []actionrules.Root {
	list := rootList{seen: make(map[string]actionrules.Position)}
	for _, n := range crawler.children {
		switch n.spec.Name {
		case "Root":
			p.root(n, &list)
		case "Roots":
			p.rootsFile(n, &list)
		}
	}
	return list.roots
}

func (p *parser) root(n *node, list *rootList) {
	kvs := p.keyValues(n.attr("kvs"))
	a := n.attr("url")
	if a == nil {
		return
	}
	raw := string(p.src.data[a.value:a.end])
	shown := a.text
	if strings.Contains(raw, "${") {
		shown = raw
	}
	p.addRoot(list, actionrules.Root{
		Site: n.boolean("site"), Priority: int(n.number("priority")),
		Group: n.str("group"), KVs: kvs, At: p.position(a.value),
	}, a.text, shown)
}

// addRoot parses a root's URL; shown is its name in messages.
func (p *parser) addRoot(list *rootList, r actionrules.Root, raw, shown string) {
	u, err := weburl.Parse(strings.TrimSpace(raw))
	if err != nil {
		if !p.report.full() {
			p.report.errorf(r.At, "root %s %s", quote(shown), rootComplaint(strings.TrimSpace(raw), err))
		}
		return
	}
	if first, twice := list.seen[u.String()]; twice {
		p.report.warnf(r.At, "root %s is written twice (first at %s)", quote(shown), first)
		return
	}
	list.seen[u.String()] = r.At
	r.URL = u
	list.roots = append(list.roots, r)
}

// rootComplaint describes an invalid root and what to write.
func rootComplaint(raw string, err error) string {
	if errors.Is(err, weburl.ErrTooLong) {
		return fmt.Sprintf("is longer than %d bytes", weburl.MaxLength)
	}
	if !strings.Contains(raw, "://") && !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") {
		host, _, _ := strings.Cut(strings.TrimPrefix(raw, "//"), "/")
		guess, guessErr := weburl.Parse("http://" + strings.TrimPrefix(raw, "//"))
		if guessErr == nil && (strings.ContainsAny(host, ".:") || host == "localhost") && !strings.Contains(host, "@") {
			return "has no scheme: write " + clip(guess.String())
		}
	}
	if errors.Is(err, weburl.ErrScheme) {
		return "is not an http or https URL"
	}
	return "is not an absolute URL: write one with scheme and host, such as http://www.example.com/"
}

// rootsFile reads a file with one URL a line.
func (p *parser) rootsFile(n *node, list *rootList) {
	path, raw, ok := p.named(n, "file")
	if !ok {
		return
	}
	src, ok := p.decode(path, raw, lineFile)
	if !ok {
		return
	}
	p.lineAllowances(src)
	for start := 0; start < len(src.data); {
		end := len(src.data)
		if i := bytes.IndexAny(src.data[start:], "\r\n"); i >= 0 {
			end = start + i
		}
		line := src.data[start:end]
		text := string(bytes.TrimSpace(line))
		if text != "" && text[0] != '#' {
			at := src.position(start + len(line) - len(bytes.TrimLeft(line, " \t")))
			p.addRoot(list, actionrules.Root{Site: true, Group: "default", At: at}, text, text)
		}
		start = end + 1
	}
}

// maxKeyValues bounds the metas of a root, in bytes, like its URL.
const maxKeyValues = weburl.MaxLength

// keyValues parses k1=v1;k2=v2.
func (p *parser) keyValues(a *attr) []actionrules.Meta {
	if a == nil {
		return nil
	}
	if len(a.text) > maxKeyValues {
		p.errorf(a.value, "kvs is longer than %d bytes, and every document below the root would repeat it", maxKeyValues)
		return nil
	}
	var out []actionrules.Meta
	raw := p.src.data[a.value:a.end]
	expanded := bytes.Contains(raw, []byte("${")) // positions in the value are then unknown
	at := 0                                       // in raw
	for pair := range strings.SplitSeq(a.text, ";") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		switch {
		case strings.TrimSpace(pair) == "": // a trailing ;
		case !ok || key == "":
			p.errorf(a.value+at, "kvs: %s is not of the form key=value: write k1=v1;k2=v2", quote(pair))
		default:
			out = append(out, actionrules.Meta{Name: key, Value: strings.TrimSpace(value)})
		}
		if !expanded {
			at += rawLength(raw[at:], len(pair)+1)
		}
	}
	return out
}
