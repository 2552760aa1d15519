package robots

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/sextant-crawler/sextant/weburl"
)

const (
	// MaxBytes is the maximum number of bytes read from a robots.txt (RFC 9309 section 2.5 requires at least as many). A
	// line that the limit cuts is ignored.
	MaxBytes = 500 << 10
	// maxLine is the maximum number of bytes read from a line, as in Google's parser.
	maxLine = 2083 * 8
	// maxCrawlDelay is the longest delay that is obeyed.
	maxCrawlDelay = 24 * time.Hour
)

// Parse parses a robots.txt. Any input is valid: lines that are not directives are skipped.
func Parse(body []byte) *Rules { return parse(body, false, false) }

// parse parses a body; cut is set if the body was truncated.
func parse(body []byte, cut, original bool) *Rules {
	text := readText(body, cut)
	if original {
		return parseOriginal(text)
	}
	p := parser{rules: &Rules{text: text, agents: map[string][]int{}}, current: -1}
	for line := range lines(skipBOM(text)) {
		if key, value, ok := directive(line); ok {
			p.add(key, value)
		}
	}
	for i := range p.rules.groups {
		sortRules(p.rules.groups[i].rules)
	}
	return p.rules
}

// readText returns the part of the body within the limit.
func readText(body []byte, cut bool) string {
	if len(body) > MaxBytes {
		body, cut = body[:MaxBytes], true
	}
	text := decodeUTF16(body)
	if len(text) > MaxBytes {
		text, cut = text[:MaxBytes], true
	}
	if cut { // a partial rule would be a different one
		text = text[:1+strings.LastIndexAny(text, "\r\n")]
	}
	return text
}

// decodeUTF16 returns body as UTF-8 if its byte order mark is that of UTF-16, else unchanged. RFC 9309 section 2.2
// requires UTF-8, and Google's parser finds nothing in such a file; but a file saved by Windows' editor was meant to
// have rules.
func decodeUTF16(body []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return string(body)
	}
	units := make([]uint16, 0, len(body)/2)
	for i := 2; i+1 < len(body); i += 2 {
		units = append(units, order.Uint16(body[i:]))
	}
	return string(utf16.Decode(units))
}

// lines returns the lines of a text whose line ends are CR, LF or both (RFC 9309 section 2.2).
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for text != "" {
			line := text
			if end := strings.IndexAny(text, "\r\n"); end < 0 {
				text = ""
			} else {
				line = text[:end]
				if strings.HasPrefix(text[end:], "\r\n") {
					end++
				}
				text = text[end+1:]
			}
			if !yield(line) {
				return
			}
		}
	}
}

// skipBOM also skips the beginning of a byte order mark.
func skipBOM(text string) string {
	for i := range len("\ufeff") {
		if text == "" || text[0] != "\ufeff"[i] {
			break
		}
		text = text[1:]
	}
	return text
}

const space = " \t\n\v\f\r"

// directive splits a line at its colon or, if that is missing, at the white space between exactly two words.
func directive(line string) (key, value string, ok bool) {
	if len(line) >= maxLine {
		line = line[:maxLine-1]
	}
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, space)
	key, value, ok = strings.Cut(line, ":")
	if !ok {
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return "", "", false
		}
		key, value = line[:i], strings.Trim(line[i:], space)
		if strings.ContainsAny(value, " \t") {
			return "", "", false
		}
	}
	key = strings.Trim(key, space)
	return key, strings.Trim(value, space), key != ""
}

type parser struct {
	rules   *Rules
	current int  // group that rules belong to, -1 before the first
	closed  bool // it has a rule, so the next user agent begins a new group
	// named are the agents that a Crawl-delay applies to; after a delay or a rule, the next user agent begins a new
	// list.
	named     []string
	nextNames bool
}

func (p *parser) add(key, value string) {
	switch directiveOf(key) {
	case userAgent:
		p.addAgent(value)
	case allow:
		p.addRule(true, value)
		// A rule that allows an index page also allows its folder's URL.
		if slash := strings.LastIndexByte(value, '/'); slash >= 0 && strings.HasPrefix(value[slash:], "/index.htm") {
			p.addRule(true, value[:slash+1]+"$")
		}
	case disallow:
		p.addRule(false, value)
	case crawlDelay:
		p.nextNames = true
		if d, ok := delay(value); ok {
			p.rules.delayed(p.named, d)
		}
	case sitemap:
		if value != "" {
			p.rules.sitemaps = append(p.rules.sitemaps, value)
		}
	case unknown:
	}
}

func (p *parser) addAgent(value string) {
	r := p.rules
	if p.closed || p.current < 0 {
		r.groups = append(r.groups, group{})
		p.current, p.closed = len(r.groups)-1, false
	}
	name := strings.ToLower(productToken(value))
	if value == "*" || strings.HasPrefix(value, "*") && strings.ContainsAny(value[1:2], space) {
		name = anyAgent
	}
	if p.nextNames {
		p.named, p.nextNames = p.named[:0], false
	}
	p.named = append(p.named, name)
	if of := r.agents[name]; len(of) == 0 || of[len(of)-1] != p.current {
		r.agents[name] = append(of, p.current)
	}
}

func (p *parser) addRule(allows bool, value string) {
	if p.current < 0 {
		return
	}
	p.closed, p.nextNames = true, true
	if value == "" {
		return // matches nothing, but ends the list of user agents
	}
	g := &p.rules.groups[p.current]
	g.rules = append(g.rules, newRule(escape(value), allows))
}

// productToken returns the beginning of a user agent that names a crawler (RFC 9309
// section 2.2.1).
func productToken(value string) string {
	for i := range len(value) {
		c := value[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return value[:i]
		}
	}
	return value
}

type directiveKind uint8

const (
	unknown directiveKind = iota
	userAgent
	allow
	disallow
	crawlDelay
	sitemap
)

// directiveOf recognizes directives by their beginning, and the misspellings that Google's parser accepts.
func directiveOf(key string) directiveKind {
	for _, d := range [...]struct {
		prefix string
		kind   directiveKind
	}{
		{"user-agent", userAgent}, {"useragent", userAgent}, {"user agent", userAgent},
		{"allow", allow},
		{"disallow", disallow}, {"dissallow", disallow}, {"dissalow", disallow}, {"disalow", disallow},
		{"diaslow", disallow}, {"diasllow", disallow}, {"disallaw", disallow},
		{"crawl-delay", crawlDelay}, {"crawldelay", crawlDelay},
		{"sitemap", sitemap}, {"site-map", sitemap},
	} {
		if len(key) >= len(d.prefix) && key[0]|0x20 == d.prefix[0] && strings.EqualFold(key[:len(d.prefix)], d.prefix) {
			return d.kind
		}
	}
	return unknown
}

// delay parses seconds, with fractions.
func delay(value string) (time.Duration, bool) {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(seconds) || seconds < 0 {
		return 0, false
	}
	if seconds >= maxCrawlDelay.Seconds() {
		return maxCrawlDelay, true
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// escape percent-encodes non-ASCII and writes hex digits in upper case.
func escape(pattern string) string {
	const hex = "0123456789ABCDEF"
	if isPlain(pattern) {
		return pattern
	}
	out := make([]byte, 0, len(pattern)+8)
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c >= 0x80:
			out = append(out, '%', hex[c>>4], hex[c&15])
		case c == '%' && i+2 < len(pattern) && isHex(pattern[i+1]) && isHex(pattern[i+2]):
			out = append(out, strings.ToUpper(pattern[i:i+3])...)
			i += 2
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// isPlain reports whether a pattern is ASCII without percent-encoding.
func isPlain(pattern string) bool {
	for i := range len(pattern) {
		if c := pattern[i]; c >= 0x80 || c == '%' {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// canonical returns the pattern in the form of URLs in this crawler, so that "/%7Euser" matches "/~user", and "/{id}"
// matches "/%7Bid%7D" (RFC 9309 section 2.2.2). A pattern whose meaning the URL parser would change is returned
// unchanged: it may end inside a dot segment, or before an empty query.
func canonical(pattern string) string {
	if pattern[0] != '/' || strings.Contains(pattern, "/.") || strings.HasSuffix(pattern, "?") ||
		!strings.ContainsAny(pattern, "%\"'<>^`{|}\\ \t") {
		return pattern
	}
	u, err := weburl.Parse("http://h" + pattern)
	if err != nil {
		return pattern
	}
	return u.PathAndQuery()
}

// sortRules sorts by precedence: the longest pattern first, allow before disallow.
func sortRules(rules []rule) {
	slices.SortStableFunc(rules, func(a, b rule) int {
		if c := cmp.Compare(b.length, a.length); c != 0 {
			return c
		}
		switch {
		case a.allows == b.allows:
			return 0
		case a.allows:
			return -1
		}
		return 1
	})
}
