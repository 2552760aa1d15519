package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// allowMark begins a comment that silences warnings and notes; it is followed by a part of the message.
const allowMark = "sextant:allow"

// allowance is a comment that silences messages about a part of a file.
type allowance struct {
	file string
	at   actionrules.Position // of the comment
	text string               // the part of the message
	// The scope: positions between from and to and, if whole is set, messages about the file as a whole.
	from, to actionrules.Position
	whole    bool
	used     bool
}

// allowText returns the part of a message in a comment; ok is false for other comments.
func allowText(comment string) (text string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(comment), allowMark)
	return strings.Join(strings.Fields(text), " "), ok
}

// covers reports whether the comment silences a problem.
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

// silence removes the silenced problems from the report.
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
			r.notef(a.at, "write a part of the message to silence after %s", allowMark)
		case !a.used && !strings.HasPrefix(a.text, storedMark):
			r.notef(a.at, "%s silences nothing: no message here contains %s", allowMark, quote(a.text))
		}
	}
}

// storedMark begins the message that requires a store; a comment about it may be unused without one.
const storedMark = "this rule matches none"

// xmlAllowances sets the scopes of the comments in a file's tree.
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

// lineAllowances collects the comments of a file of lines: each covers the next line that is a rule, and messages about
// the file as a whole.
func (p *parser) lineAllowances(src *source) {
	if slices.ContainsFunc(p.allowed, func(a *allowance) bool { return a.file == src.file }) {
		return // read already for another Crawler
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
