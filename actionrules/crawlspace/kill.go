package crawlspace

import (
	"bytes"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// Lacking returns the lines to append to a file of entries so that it contains each of them once. Entries are compared
// verbatim.
func (f *File) Lacking(entries []string) []byte {
	has := map[string]bool{}
	for raw := range strings.Lines(string(f.Content)) {
		for _, w := range words(strings.TrimRight(raw, "\n")) {
			has[w.text] = true
		}
	}
	var lines bytes.Buffer
	if n := len(f.Content); n > 0 && f.Content[n-1] != '\n' {
		lines.WriteByte('\n')
	}
	for _, e := range entries {
		if !has[e] {
			has[e] = true
			lines.WriteString(e + "\n")
		}
	}
	return lines.Bytes()
}

// killList holds the URLs that are kept out of the index.
type killList struct {
	exact    map[string]Reason // by canonical URL
	patterns patternList
}

// killList reads both files. URLs are compared as they are known, that is, after
// the query filter.
func (c *compiler) killList() killList {
	k := killList{exact: map[string]Reason{}, patterns: newPatternList(c.entries(parseList(c.s.settings.KillPatterns, GateKill)))}
	f := c.s.settings.KillExact
	if f == nil {
		return k
	}
	p := faults{file: f.Name}
	p.readLines(f.Content, func(l line) {
		if len(l.words) > 1 {
			p.add(l.number, l.words[1].column, "%s is one word too many; write one URL a line, and %%20 for a blank", clip(l.words[1].text))
			return
		}
		text := l.words[0].text
		u, err := weburl.Parse(text)
		switch {
		case err != nil && !isHTTP(text):
			p.add(l.number, l.words[0].column, "%s", noScheme(text))
			return
		case err != nil:
			p.add(l.number, l.words[0].column, "%w; write an absolute URL, such as http://www.example.com/", err)
			return
		}
		key := c.s.Rewrite(u).String()
		if _, known := k.exact[key]; !known {
			k.exact[key] = Reason{Gate: GateKill, File: f.Name, Line: l.number, Rule: text}
		}
	})
	c.errs = append(c.errs, p.errs...)
	return k
}

func (k *killList) killed(u weburl.URL) (Reason, bool) {
	if r, ok := k.exact[u.String()]; ok {
		return r, true
	}
	if e := k.patterns.first(u.String()); e != nil {
		return e.reason, true
	}
	return Reason{}, false
}
