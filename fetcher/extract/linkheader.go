package extract

import "strings"

// CanonicalLink returns the target of the first link with the relation canonical in the values of
// Link headers (RFC 8288 section 3) as written, or "" without one. A link with an anchor is
// skipped: it is about another resource (RFC 8288 section 3.2).
func CanonicalLink(values []string) string {
	for _, value := range values {
		for {
			_, rest, ok := strings.Cut(value, "<")
			if !ok {
				break
			}
			target, rest, ok := strings.Cut(rest, ">")
			if !ok {
				break
			}
			var parameters string
			parameters, value = linkParameters(rest)
			if isCanonical(parameters) {
				return reference([]byte(target))
			}
		}
	}
	return ""
}

// linkParameters splits the part after a target at the comma before the next link. A comma inside a quoted string does
// not separate links.
func linkParameters(rest string) (parameters, next string) {
	quoted := false
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return rest[:i], rest[i+1:]
		}
	}
	return rest, ""
}

// isCanonical reports whether parameters have the relation canonical, and no anchor. The first rel
// counts (RFC 8288 section 3.3).
func isCanonical(parameters string) bool {
	rel, anchored := "", false
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "rel") && rel == "":
			rel = strings.Trim(strings.TrimSpace(value), `"`)
		case strings.EqualFold(name, "anchor"):
			anchored = true
		}
	}
	return !anchored && hasToken([]byte(rel), "canonical")
}
