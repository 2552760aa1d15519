package actionrules

import (
	"strconv"

	"github.com/sextant-crawler/sextant/weburl"
)

// Position is a place in a configuration file; Line and Column count from 1,
// Column in characters. The zero value is "nowhere" (a rule made by a program).
type Position struct {
	File         string
	Line, Column int
}

// Field is the part of a URL that an atom tests.
type Field uint8

// The fields, in the spelling of CrawlConfig.xml. FieldURL is the whole
// canonical URL and the default.
const (
	FieldURL Field = iota
	FieldScheme
	FieldHost
	FieldPath
	FieldQuery
	FieldFragment
)

// Kind defines how an atom's pattern is anchored. KindLength measures instead.
type Kind uint8

// The kinds, in the spelling of CrawlConfig.xml.
const (
	KindExact Kind = iota
	KindPrefix
	KindSuffix
	KindInside
	KindLength
)

// Norm defines how both sides are normalized before comparison.
type Norm uint8

// The norms. NormNorm, the default, ignores case, percent-decodes once and strips
// accents; NormLower ignores case; NormNone compares as is.
const (
	NormNorm Norm = iota
	NormLower
	NormNone
)

// Condition is a Boolean test of a URL: And, Or, Not or Atom.
type Condition interface{ isCondition() }

// And holds if all its conditions hold; it has at least one.
type And struct{ Of []Condition }

// Or holds if one of its conditions holds; it has at least one.
type Or struct{ Of []Condition }

// Not holds if its condition does not.
type Not struct{ Of Condition }

// Atom matches one field of a URL. The shortcuts of CrawlConfig.xml (Path, Ext, Host and the like) are atoms too;
// Domain consists of two.
type Atom struct {
	Field Field
	Kind  Kind
	Norm  Norm
	// Value is the pattern with reversed escaping (or, with Regexp, an ordinary
	// RE2 one), or for KindLength a range such as "[:10]".
	Value string
	// Regexp means litteral="false": Value is an ordinary regular expression.
	Regexp bool
	// At is the position of Value's attribute.
	At Position
}

func (And) isCondition()  {}
func (Or) isCondition()   {}
func (Not) isCondition()  {}
func (Atom) isCondition() {}

// Verb is the effect of an action.
type Verb uint8

// The verbs. Each sets one dimension of a Decision.
const (
	Accept Verb = iota
	Ignore
	Index
	NoIndex
	Follow
	NoFollow
	SetSource
	AddMeta
	Priority
)

// Action is one effect of a rule.
type Action struct {
	Verb  Verb
	Name  string // SetSource: the source; AddMeta: the meta's name
	Value string // AddMeta: the meta's value
	Shift int    // Priority: -2 (highest) to 2 (lowest)
}

// String returns the action as text: Ignore, Source news, AddMeta kind=news, Priority -1.
func (a Action) String() string {
	switch a.Verb {
	case SetSource:
		if a.Name == "" {
			return a.Verb.String() + " (the default one)"
		}
		return a.Verb.String() + " " + a.Name
	case AddMeta:
		return a.Verb.String() + " " + a.Name + "=" + a.Value
	case Priority:
		return a.Verb.String() + " " + strconv.Itoa(a.Shift)
	case Accept, Ignore, Index, NoIndex, Follow, NoFollow:
	}
	return a.Verb.String()
}

// Rule applies its actions, in order, to each URL for which If holds.
type Rule struct {
	If    Condition
	Then  []Action
	Group string
	At    Position
}

// Meta is a name with one value; a name can occur several times.
type Meta struct{ Name, Value string }

// Root is a start URL.
type Root struct {
	URL      weburl.URL
	Site     bool // its whole site starts accepted, indexed and followed
	Priority int  // fifo shift, -2 to 2
	Group    string
	KVs      []Meta
	At       Position
}

// RuleSet contains everything that decides about a URL that passed the crawl space.
type RuleSet struct {
	// The start state of a URL that lies in no root's site.
	DefaultAccept, DefaultIndex, DefaultFollow bool
	// DefaultFollowRoots follows roots unless a rule decides otherwise.
	DefaultFollowRoots bool
	Roots              []Root
	Rules              []Rule
}

// Decision is the result of the rules for one URL.
type Decision struct {
	Accept, Index, Follow bool
	Source                string // "" is the default source
	Shift                 int
	ShiftSet              bool // a Priority action set Shift (not a root's priority)
	Metas                 []Meta
	Root                  bool // the URL is itself a root
}

// Crawl reports whether the URL is crawled at all: accepted, and at least one of index and follow. Any other URL is
// ignored.
func (d Decision) Crawl() bool { return d.Accept && (d.Index || d.Follow) }
