package feeds

import (
	"bufio"
	"fmt"
	"strings"
)

// walker iterates over the elements of a file. It produces one end tag for each open element, whatever the file has.
type walker struct {
	*scanner
	open    []string // names in lower case, outermost first
	closing int      // end tags still to return
	begun   bool     // there was a root
	// prefixes maps the root's prefixes to usual ones, see known.
	prefixes map[string]string
	own      string // the root's prefix
	// rssPrefix is the prefix of RSS 1.0 or 0.9, whose root is that of RDF; "" for none.
	rssPrefix string
}

func newWalker(r *bufio.Reader) *walker { return &walker{scanner: newScanner(r)} }

// next returns the scanner's next token. The file ends with its root.
func (w *walker) next() (token, error) {
	if w.closing > 0 {
		return w.close(), nil
	}
	for {
		if w.begun && len(w.open) == 0 {
			return token{kind: endOfFile, line: w.line, column: w.column}, nil
		}
		t, err := w.scanner.next()
		if err != nil {
			return t, err
		}
		switch t.kind {
		case startTag:
			if len(w.open) == maxDepth {
				return t, w.fault(t.line, t.column, "elements are nested deeper than %d", maxDepth)
			}
			w.begun = true
			w.open = append(w.open, strings.ToLower(t.name))
			if t.closed {
				w.closing = 1
			}
		case endTag:
			if w.closing = w.ended(strings.ToLower(t.name)); w.closing == 0 {
				continue
			}
			return w.close(), nil
		case endOfFile:
			if len(w.open) > 0 {
				return t, w.fault(t.line, t.column, "the file ends inside <%s>", w.open[len(w.open)-1])
			}
		case characters:
		}
		return t, nil
	}
}

// ended returns how many open elements an end tag ends, 0 if its own is not open.
func (w *walker) ended(name string) int {
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i] == name {
			return len(w.open) - i
		}
	}
	return 0
}

func (w *walker) close() token {
	w.closing--
	last := len(w.open) - 1
	t := token{kind: endTag, name: w.open[last], line: w.line, column: w.column}
	w.open = w.open[:last]
	return t
}

// within reports whether the element that is the depth-th open one is still open.
func (w *walker) within(depth int) bool { return len(w.open) >= depth }

// text reads the rest of the element just begun and returns its text, with blanks around that of inner elements. Text
// beyond most bytes is dropped.
func (w *walker) text(most int) (string, error) {
	var b strings.Builder
	depth := len(w.open)
	for w.within(depth) {
		w.most = max(most-b.Len(), 0)
		t, err := w.next()
		w.most = 0
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch t.kind {
		case characters:
			b.WriteString(t.text)
		case endOfFile:
			return strings.TrimSpace(b.String()), nil
		case startTag, endTag:
			if w.within(depth) && b.Len() < most {
				b.WriteByte(' ')
			}
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// words returns text with white space collapsed, for titles.
func (w *walker) words(most int) (string, error) {
	s, err := w.text(most)
	return strings.Join(strings.Fields(s), " "), err
}

// skip reads the rest of the element just begun.
func (w *walker) skip() error {
	_, err := w.text(0)
	return err
}

// root reads up to the first tag. kind is endOfFile if there is none.
func (w *walker) root() (token, error) {
	for {
		t, err := w.next()
		if err != nil || t.kind == endOfFile {
			return t, err
		}
		if t.kind != startTag {
			continue
		}
		w.declare(&t)
		w.own, _ = split(t.name)
		return t, nil
	}
}

// declare records the root's prefixes of known namespaces.
func (w *walker) declare(root *token) {
	w.prefixes, w.rssPrefix = map[string]string{}, ""
	for _, a := range root.attrs {
		prefix, ok := strings.CutPrefix(strings.ToLower(a.name), "xmlns:")
		if ok && isRSS(a.value) {
			w.rssPrefix = prefix
		}
		if known := namespace(a.value); ok && known != "" {
			w.prefixes[prefix] = known
		}
	}
}

// namespace returns the usual prefix of a namespace, "" if it is unsupported.
func namespace(uri string) string {
	switch strings.TrimSuffix(strings.ToLower(uri), "/") {
	case "http://purl.org/rss/1.0/modules/content":
		return "content"
	case "http://purl.org/dc/elements/1.1":
		return "dc"
	case "http://purl.org/dc/terms":
		return "dcterms"
	case "http://www.w3.org/2005/atom":
		return "atom"
	case "http://www.w3.org/1999/xhtml":
		return "xhtml"
	}
	return ""
}

// isRSS reports whether a namespace is that of RSS 1.0, 0.9 or 0.91 as RDF.
func isRSS(uri string) bool {
	switch strings.TrimSuffix(strings.ToLower(uri), "/") {
	case "http://purl.org/rss/1.0", "http://my.netscape.com/rdf/simple/0.9", "http://channel.netscape.com/rdf/simple/0.9":
		return true
	}
	return false
}

// split splits a name in lower case.
func split(name string) (prefix, local string) {
	prefix, local, ok := strings.Cut(strings.ToLower(name), ":")
	if !ok {
		return "", prefix
	}
	return prefix, local
}

// known returns a name in its usual form: elements of the format itself without prefix, those of known extensions with
// their usual one.
func (w *walker) known(name string) string {
	prefix, local := split(name)
	if prefix == w.own {
		return local
	}
	if usual, ok := w.prefixes[prefix]; ok {
		prefix = usual
	}
	if prefix == "" {
		return local
	}
	return prefix + ":" + local
}

// wrongRoot returns the error for a file with another root.
func (w *walker) wrongRoot(root *token, want string) error {
	words := fmt.Sprintf("its outermost element is <%s>, not %s", root.name, want)
	if _, local := split(root.name); local == "html" {
		words = "it is an HTML page, not " + want
	}
	return w.fault(root.line, root.column, "%s", words)
}
