package actionrules

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sextant-crawler/sextant/weburl"
)

// misplaced describes a value that contains what its part of a URL never does, such as a scheme in a host or a query in
// a path, and the correction; otherwise it returns "".
func misplaced(a Atom) string {
	text := literalStart(a)
	if text == "" || a.Kind == KindLength {
		return ""
	}
	atStart := a.Kind == KindExact || a.Kind == KindPrefix
	switch a.Field {
	case FieldScheme:
		return misplacedScheme(a, text)
	case FieldHost:
		return misplacedHost(a, text)
	case FieldPath:
		if list := extensionList(a); list != "" {
			return list
		}
		if i := strings.IndexAny(text, "?#"); i >= 0 {
			return pathEnds(text, i)
		}
		if atStart && strings.IndexByte("/^*([", text[0]) < 0 {
			if u, err := weburl.Parse(text); err == nil {
				return fmt.Sprintf("a path is written without scheme and host: write %q, and <Host val=%q/> beside it", u.Path(), u.Host())
			}
			return fmt.Sprintf("a path begins with /: write %q", "/"+short(a.Value))
		}
	case FieldQuery:
		if text[0] == '?' && len(text) > 1 && a.Kind != KindSuffix { // a ? inside a query is a second one
			return fmt.Sprintf("a query begins behind the ?: write %s", quote(strings.TrimPrefix(strings.TrimPrefix(a.Value, `\`), "?")))
		}
	case FieldURL, FieldFragment:
	}
	return ""
}

// extensionList recognizes several extensions in one value, and returns how to write them; "" for any other value.
func extensionList(a Atom) string {
	if a.Kind != KindSuffix || !isPlain(a) {
		return ""
	}
	all := strings.FieldsFunc(a.Value, func(r rune) bool { return strings.ContainsRune(",;| ", r) })
	if len(all) < 2 {
		return ""
	}
	var each strings.Builder
	for _, one := range all {
		one = strings.TrimPrefix(strings.TrimPrefix(one, "*"), ".")
		if one == "" || len(one) > 5 || strings.ContainsFunc(one, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			return ""
		}
		fmt.Fprintf(&each, "<Ext val=%q/>", "."+one)
	}
	return "one condition is about one extension: write <Or>" + each.String() + "</Or>"
}

func misplacedScheme(a Atom, text string) string {
	const both = "http and https are all that is crawled"
	scheme, _, cut := strings.Cut(strings.ToLower(text), ":")
	switch {
	case cut && (scheme == "http" || scheme == "https"):
		return fmt.Sprintf("a scheme is written without ://: write %q", scheme)
	case a.Kind == KindExact && isPlain(a) && scheme != "http" && scheme != "https":
		return "no URL has this scheme: " + both
	}
	return ""
}

// misplacedHost detects a host with a scheme, port or path, or with a leading dot.
func misplacedHost(a Atom, text string) string {
	if strings.Contains(text, "/") || strings.Count(text, ":") == 1 {
		written := text
		if !strings.Contains(written, "://") {
			written = "http://" + strings.TrimPrefix(written, "//")
		}
		if u, err := weburl.Parse(written); err == nil {
			return fmt.Sprintf("a host is written without scheme, port and path: write %q", u.Host())
		}
		return "a host is written without scheme, port and path"
	}
	if text[0] == '.' && a.Kind == KindExact {
		return fmt.Sprintf("no host begins with a dot: write <Domain val=%q/>, which matches the host and all below it", a.Value[1:])
	}
	return ""
}

func pathEnds(text string, i int) string {
	if text[i] == '#' {
		return fmt.Sprintf("a path ends before the #: write %q", text[:i])
	}
	query := text[i+1:]
	if query == "" {
		return fmt.Sprintf("a path ends before the ?: write %q", text[:i])
	}
	return fmt.Sprintf("a path ends before the ?: write %q, and <InQuery val=%q/> beside it in an <And> if the query matters", text[:i], query)
}

// isPlain reports whether a value holds no operator.
func isPlain(a Atom) bool {
	_, literal, err := expression(a.Value, a.Regexp)
	return err == nil && literal
}

// shownMost is the maximum length of a value in a message.
const shownMost = 100

// short is a value as messages repeat it.
func short(s string) string {
	if len(s) <= shownMost {
		return s
	}
	return strings.ToValidUTF8(s[:shownMost], "") + "..."
}
