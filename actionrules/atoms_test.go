package actionrules

// The conditions of CrawlConfig.xml that are one atom, as config makes them.

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
