package actionrules

import (
	"slices"
	"strconv"
)

// The spellings of CrawlConfig.xml, in the order of the constants.
var (
	fieldNames = [...]string{"url", "scheme", "host", "path", "query", "fragment"}
	kindNames  = [...]string{"exact", "prefix", "suffix", "inside", "length"}
	normNames  = [...]string{"norm", "lower", "none"}
	verbNames  = [...]string{
		"Accept", "Ignore", "Index", "NoIndex", "Follow", "NoFollow", "Source", "AddMeta", "Priority",
	}
	dimensionNames = [...]string{"accept", "index", "follow", "source", "priority", "metas"}
)

// FieldNames lists the values of the attribute field.
func FieldNames() []string { return append([]string(nil), fieldNames[:]...) }

// KindNames lists the values of the attribute kind.
func KindNames() []string { return append([]string(nil), kindNames[:]...) }

// NormNames lists the values of the attribute norm.
func NormNames() []string { return append([]string(nil), normNames[:]...) }

// ParseVerb reads the name of an action's element; names are case-sensitive.
func ParseVerb(s string) (Verb, bool) {
	i := slices.Index(verbNames[:], s)
	return Verb(max(i, 0)), i >= 0
}

// String is the spelling of CrawlConfig.xml.
func (f Field) String() string { return nameOf(fieldNames[:], "Field", int(f)) }

// String is the spelling of CrawlConfig.xml.
func (k Kind) String() string { return nameOf(kindNames[:], "Kind", int(k)) }

// String is the spelling of CrawlConfig.xml.
func (n Norm) String() string { return nameOf(normNames[:], "Norm", int(n)) }

// String is the name of the action's element in CrawlConfig.xml.
func (v Verb) String() string { return nameOf(verbNames[:], "Verb", int(v)) }

// Dimension is one of the independent parts of a Decision. An action sets exactly one.
type Dimension uint8

// The dimensions.
const (
	DimensionAccept Dimension = iota
	DimensionIndex
	DimensionFollow
	DimensionSource
	DimensionPriority
	DimensionMetas
	dimensions // their number
)

// String returns the word that explain prints: accept, index, follow, source, priority or metas.
func (d Dimension) String() string { return nameOf(dimensionNames[:], "Dimension", int(d)) }

// Dimension returns the dimension that the verb sets.
func (v Verb) Dimension() Dimension {
	switch v {
	case Accept, Ignore:
		return DimensionAccept
	case Index, NoIndex:
		return DimensionIndex
	case Follow, NoFollow:
		return DimensionFollow
	case SetSource:
		return DimensionSource
	case Priority:
		return DimensionPriority
	case AddMeta:
	}
	return DimensionMetas
}

func nameOf(names []string, typ string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return typ + "(" + strconv.Itoa(i) + ")"
}
