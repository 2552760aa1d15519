package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// allowMark begins a comment that silences warnings and notes: a part of the message
// follows.
const allowMark = "sextant:allow"

// allowance is a comment that silences what is said of a part of a file.
type allowance struct {
	file string
	at   actionrules.Position // of the comment
	text string               // the part of the message
	// What it covers: from and to are places in the file; all that is said of the file as
	// a whole, too, where whole is set.
	from, to actionrules.Position
	whole    bool
	used     bool
}

// allowText returns the part of a message that a comment names; ok is false if it is another comment.
func allowText(comment string) (text string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(comment), allowMark)
	return strings.Join(strings.Fields(text), " "), ok
}

// covers reports whether a problem is silenced.
func (a *allowance) covers(p Problem) bool {
	if a.text == "" || p.At.File != a.file || !strings.Contains(p.Message, a.text) {
		return false
	}
	if p.At.Line == 0 {
		return a.whole
	}
	return !before(p.At, a.from) && before(p.At, a.to)
}

func before(a, b actionrules.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

// silent reports whether a comment silences a problem.
func (r *Report) silent(p Problem) bool {
	for _, a := range r.allowed {
		if a.covers(p) {
			a.used = true
			return true
		}
	}
	return false
}

// silence takes out of the report what comments allow.
func (r *Report) silence(allowed []*allowance) {
	if len(allowed) == 0 {
		return
	}
	r.allowed = allowed
	count := len(r.Warnings) + len(r.Notes)
	r.Warnings, r.Notes = slices.DeleteFunc(r.Warnings, r.silent), slices.DeleteFunc(r.Notes, r.silent)
	r.Silenced = count - len(r.Warnings) - len(r.Notes)
	for _, a := range allowed {
		switch {
		case a.text == "":
			r.notef(a.at, "write behind %s a part of the message that is to be silenced", allowMark)
		case !a.used && !strings.HasPrefix(a.text, storedMark):
			r.notef(a.at, "%s silences nothing: no message here holds %s", allowMark, quote(a.text))
		}
	}
}

// storedMark begins the message that needs a store, so that a comment about it may be idle without one.
const storedMark = "this rule matches none"

// xmlAllowances gives those that were read in the tree of a file their places.
func (p *parser) xmlAllowances(e *Markup) {
	for _, a := range e.allowed {
		p.allowed = append(p.allowed, &allowance{
			file: p.src.file, at: p.position(a.at), text: a.text, from: p.position(e.Start), to: p.position(e.Last),
		})
	}
	for _, child := range e.Children {
		p.xmlAllowances(child)
	}
}

// lineAllowances finds those of a file of lines: each covers the next line that is a rule, and what is
// said of the file as a whole.
func (p *parser) lineAllowances(src *source) {
	if slices.ContainsFunc(p.allowed, func(a *allowance) bool { return a.file == src.file }) {
		return // another Crawler names the file, too
	}
	var pending []*allowance
	for i, start := range src.starts {
		end := len(src.data)
		if i+1 < len(src.starts) {
			end = src.starts[i+1]
		}
		text := bytes.TrimSpace(src.data[start:end])
		switch comment, isComment := bytes.CutPrefix(text, []byte("#")); {
		case isComment:
			if words, ok := allowText(string(comment)); ok {
				pending = append(pending, &allowance{file: src.file, at: src.position(start), text: words, whole: true})
			}
		case len(text) > 0:
			for _, a := range pending {
				a.from, a.to = actionrules.Position{Line: i + 1}, actionrules.Position{Line: i + 2}
			}
			p.allowed, pending = append(p.allowed, pending...), nil
		}
	}
	p.allowed = append(p.allowed, pending...)
}
