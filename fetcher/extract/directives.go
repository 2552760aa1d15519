package extract

import (
	"slices"
	"strings"
	"time"
)

// maxUnavailableAfter is the longest date, in bytes, that is kept as written.
const maxUnavailableAfter = 100

// Merge returns the union of d and o: each can only forbid. It takes the earlier date, and prefers a readable one.
func (d Directives) Merge(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.NoArchive = d.NoArchive || o.NoArchive
	d.unavailable(o.UnavailableAfter, o.UnavailableAt)
	return d
}

// unavailable takes a date if it is stricter than the present one.
func (d *Directives) unavailable(written string, at time.Time) {
	if d.UnavailableAfter == "" || !at.IsZero() && (d.UnavailableAt.IsZero() || at.Before(d.UnavailableAt)) {
		d.UnavailableAfter, d.UnavailableAt = written, at
	}
}

// robotsSource collects the directives for all crawlers and those for one by name, which replace the general ones if
// there are any.
type robotsSource struct {
	general, own Directives
	named        bool // the crawler was named, even without directives
}

func (s robotsSource) directives() Directives {
	if s.named {
		return s.own
	}
	return s.general
}

// XRobotsTag parses the values of X-Robots-Tag headers. A value may begin, or continue after a comma, with the name of
// the crawler that the following directives are for: "noindex, otherbot: nofollow". agent's own replace the general
// ones.
func XRobotsTag(values []string, agent string) Directives {
	var s robotsSource
	for _, value := range values {
		to := &s.general
		var p directiveParser
		for part := range strings.SplitSeq(value, ",") {
			if name, rest, ok := strings.Cut(part, ":"); ok && isAgent(strings.TrimSpace(name)) {
				p.end(to)
				switch name = strings.TrimSpace(name); {
				case strings.EqualFold(name, agent):
					to, s.named = &s.own, true
				case strings.EqualFold(name, "robots"):
					to = &s.general
				default:
					to = new(Directives) // another crawler's
				}
				part = rest
			}
			p.add(to, part)
		}
		p.end(to)
	}
	return s.directives()
}

// isAgent reports whether the text before a colon names a crawler (RFC 9309 section 2.2.1), and not a directive with a
// value.
func isAgent(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < 'a' || c > 'z') && name[i] != '-' && name[i] != '_' {
			return false
		}
	}
	return name != "" && !isDirective(strings.ToLower(name))
}

// contentDirectives parses the content of a robots meta.
func contentDirectives(content string) Directives {
	var d Directives
	var p directiveParser
	for part := range strings.SplitSeq(content, ",") {
		p.add(&d, part)
	}
	p.end(&d)
	return d
}

// directiveParser rejoins dates that contain a comma.
type directiveParser struct {
	date   string
	inDate bool
}

func (p *directiveParser) add(d *Directives, part string) {
	part = strings.TrimSpace(part)
	name, value, _ := strings.Cut(part, ":")
	name = strings.ToLower(strings.TrimSpace(name))
	if p.inDate && !isDirective(name) {
		if len(p.date) < maxUnavailableAfter {
			p.date += ", " + part
		}
		return
	}
	p.end(d)
	switch {
	case name == "unavailable_after":
		p.inDate, p.date = true, strings.TrimSpace(value)
	case name == "max-snippet" && strings.TrimSpace(value) == "0":
		d.NoSnippet = true
	case isDirective(name):
		d.add(name)
	default:
		d.words(part)
	}
}

// words parses directives separated by spaces or semicolons, as on many pages; all of them must be known.
func (d *Directives) words(part string) {
	between := func(c rune) bool { return c == ' ' || c == ';' || c == '\t' || c == '\n' || c == '\r' }
	list := Directives{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(part), between) {
		if !isDirective(word) {
			return
		}
		list.add(word)
	}
	*d = d.Merge(list)
}

// add adds a directive, in lower case.
func (d *Directives) add(name string) {
	switch name {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "nosnippet":
		d.NoSnippet = true
	case "noarchive", "nocache":
		d.NoArchive = true
	}
}

func (p *directiveParser) end(d *Directives) {
	if p.inDate && p.date != "" && len(p.date) <= maxUnavailableAfter {
		at, _ := parseDate(p.date)
		d.unavailable(p.date, at)
	}
	p.inDate, p.date = false, ""
}

// directiveNames is constant: the words that search engines have defined, including those without an effect here.
var directiveNames = [...]string{
	"all", "index", "follow", "noindex", "nofollow", "none", "nosnippet", "noarchive", "nocache",
	"unavailable_after", "noimageindex", "notranslate", "nositelinkssearchbox", "noodp", "noydir",
	"indexifembedded", "max-snippet", "max-image-preview", "max-video-preview",
}

// isDirective reports whether a word in lower case is one of those.
func isDirective(name string) bool { return slices.Contains(directiveNames[:], name) }
