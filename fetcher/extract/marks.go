package extract

import "bytes"

// comment handles the marks around text that must not be indexed.
func (r *reader) comment(text []byte) {
	was := r.muted
	switch mark(text) {
	case "noindex":
		r.muted |= noindex
	case "endnoindex", "/noindex":
		r.muted &^= noindex
	case "googleoff":
		r.muted |= googleoff
	case "googleon":
		r.muted &^= googleoff
	default:
		return
	}
	r.text.separate()
	from, to := r.z.Token()
	if was&(noindex|googleoff) == 0 {
		to = from
	}
	r.cutAt(to)
}

// mark returns a comment that may be such a mark in lower case, without its argument; otherwise "".
func mark(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) < len("noindex") || len(text) > 32 {
		return ""
	}
	name, what, isAbout := bytes.Cut(text, []byte(":"))
	if what = bytes.TrimSpace(what); isAbout && !bytes.EqualFold(what, []byte("index")) && !bytes.EqualFold(what, []byte("all")) {
		return ""
	}
	for _, mark := range [...]string{"noindex", "endnoindex", "/noindex", "googleoff", "googleon"} {
		if bytes.EqualFold(bytes.TrimSpace(name), []byte(mark)) {
			return mark
		}
	}
	return ""
}
