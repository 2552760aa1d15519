package actionrules

import "strings"

// The shortcuts of CrawlConfig.xml. In each, val is a pattern like Atom.Value,
// re is Atom.Regexp (litteral="false") and at is Atom.At.

// Domain matches a host and its subdomains: foo.com and bar.foo.com, not
// barfoo.com. It is Or(Atom host suffix ".val", Atom host exact "val"); where
// val may hold operators it is grouped behind the dot.
func Domain(val string, n Norm, re bool, at Position) Condition {
	return Or{[]Condition{
		Atom{FieldHost, KindSuffix, n, subdomains(val, re), re, at},
		Atom{FieldHost, KindExact, n, val, re, at},
	}}
}

// subdomains is the pattern of a dot before val.
func subdomains(val string, re bool) string {
	switch {
	case val == "":
		return "" // stays the error that it is
	case re:
		return `\.(?:` + unquote(val) + `)`
	case strings.IndexByte(val, '\\') >= 0:
		return `.\(` + val + `\)`
	default:
		return "." + val
	}
}

// isDomain reports whether o was made by Domain.
func isDomain(o Or) bool {
	if len(o.Of) != 2 {
		return false
	}
	sub, ok1 := o.Of[0].(Atom)
	host, ok2 := o.Of[1].(Atom)
	if !ok1 || !ok2 || sub.Kind != KindSuffix || host.Kind != KindExact || host.Field != FieldHost {
		return false
	}
	want := host
	want.Kind, want.Value = KindSuffix, subdomains(host.Value, host.Regexp)
	return sub == want
}

// Path is the atom path prefix.
func Path(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldPath, KindPrefix, n, val, re, at}
}

// Ext is the atom path suffix.
func Ext(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldPath, KindSuffix, n, val, re, at}
}

// Host is the atom host exact.
func Host(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldHost, KindExact, n, val, re, at}
}

// URL is the atom url exact, the element Url.
func URL(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldURL, KindExact, n, val, re, at}
}

// Scheme is the atom scheme exact.
func Scheme(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldScheme, KindExact, n, val, re, at}
}

// Query is the atom query exact.
func Query(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldQuery, KindExact, n, val, re, at}
}

// InQuery is the atom query inside.
func InQuery(val string, n Norm, re bool, at Position) Condition {
	return Atom{FieldQuery, KindInside, n, val, re, at}
}

// Length is the atom of kind length of a field (FieldPath where CrawlConfig.xml
// names none); val is a range such as "[30:]". Norm and re change nothing of a
// length and are there so that all shortcuts look alike.
func Length(f Field, val string, n Norm, re bool, at Position) Condition {
	return Atom{f, KindLength, n, val, re, at}
}
