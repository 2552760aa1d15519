package extract

import "bytes"

// Limits of an application shell, and of the search.
const (
	shellText  = 160 // bytes of text
	shellLinks = 3
	shellBytes = 256 << 10
)

// mounts are the ids of elements that frameworks fill. It is constant.
var mounts = map[string]bool{
	"root": true, "app": true, "__next": true, "__nuxt": true, "___gatsby": true, "svelte": true, "application": true,
	"app-root": true, "main-app": true, "react-root": true, "q-app": true, "ember-app": true, "mount": true,
}

// IsBare reports whether a page has no more text and links than an application shell.
func (p *Page) IsBare() bool { return len(p.Text) <= shellText && len(p.Links) <= shellLinks }

// EqualContent reports whether a page has the text and as many links as another one.
func (p *Page) EqualContent(other *Page) bool {
	return p.Text == other.Text && len(p.Links) == len(other.Links)
}

// isShell reports whether only scripts fill the page: it has scripts, hardly any text or links, and an element for
// their output, or a message that it requires them.
func (r *reader) isShell() bool {
	if r.scripts == 0 || len(r.text.b) > shellText || len(r.found.links) > shellLinks {
		return false
	}
	page := r.page[:min(len(r.page), shellBytes)]
	return hasMount(page) || hasCustomElement(page) || needsScripts(page)
}

// hasMount reports whether an element has an id that frameworks fill.
func hasMount(page []byte) bool {
	for {
		i := bytes.Index(page, []byte("id="))
		if i < 0 {
			return false
		}
		page = page[i+len("id="):]
		id := bytes.TrimLeft(page, `"'`)
		n := bytes.IndexAny(id, "\"' >\t\n\r\f")
		if n >= 0 && mounts[string(id[:n])] {
			return true
		}
	}
}

// hasCustomElement reports whether the page has a custom element, whose name contains a hyphen.
func hasCustomElement(page []byte) bool {
	for {
		i := bytes.IndexByte(page, '<')
		if i < 0 {
			return false
		}
		page = page[i+1:]
		n := 0
		for n < len(page) && isLetter(page[n]) {
			n++
		}
		if n > 0 && n+1 < len(page) && page[n] == '-' && isLetter(page[n+1]) {
			return true
		}
	}
}

// needsScripts reports whether the page has a message for users without scripts.
func needsScripts(page []byte) bool {
	i := indexFold(page, "<noscript")
	if i < 0 {
		return false
	}
	page = page[i:]
	if end := indexFold(page, "</noscript"); end >= 0 {
		page = page[:end]
	}
	return indexFold(page, "javascript") >= 0
}
