package actionrules

import "strings"

// Domain is the only condition of CrawlConfig.xml that is not a single atom. It matches a host and its subdomains:
// foo.com and bar.foo.com, not barfoo.com. It is Or(Atom host suffix ".val", Atom host exact "val"); if val may contain
// operators it is grouped after the dot. Val is a pattern like Atom.Value, re is Atom.Regexp (litteral="false") and at
// is Atom.At.
func Domain(val string, n Norm, re bool, at Position) Condition {
	return Or{[]Condition{
		Atom{FieldHost, KindSuffix, n, subdomains(val, re), re, at},
		Atom{FieldHost, KindExact, n, val, re, at},
	}}
}

// subdomains returns the pattern of val after a dot.
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

// isDomain reports whether o was created by Domain.
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
