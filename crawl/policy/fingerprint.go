package policy

import (
	"crypto/sha256"
	"hash"
	"io"
	"strconv"

	"github.com/sextant-crawler/sextant/actionrules"
)

// rulesFingerprint identifies the behaviour of a rule set: it changes with defaults, roots, conditions and actions, and
// not with their places in files or with groups.
func rulesFingerprint(set actionrules.RuleSet) [32]byte {
	w := writer{sha256.New()}
	w.flags(set.DefaultAccept, set.DefaultIndex, set.DefaultFollow, set.DefaultFollowRoots)
	w.number(len(set.Roots))
	for _, r := range set.Roots {
		w.strings(r.URL.String())
		w.flags(r.Site)
		w.number(r.Priority)
		w.number(len(r.KVs))
		for _, m := range r.KVs {
			w.strings(m.Name, m.Value)
		}
	}
	w.number(len(set.Rules))
	for i := range set.Rules {
		w.rule(&set.Rules[i])
	}
	return [32]byte(w.Sum(nil))
}

// fingerprint combines the fingerprints of rules and crawl space.
func fingerprint(rules [32]byte, space string) [32]byte {
	w := writer{sha256.New()}
	w.strings(string(rules[:]), space)
	return [32]byte(w.Sum(nil))
}

// readingFingerprint adds the other settings that affect a page's document.
func readingFingerprint(rules [32]byte, reading string) [32]byte {
	if reading == "" {
		return rules
	}
	return fingerprint(rules, reading)
}

// writer hashes values so that no two lists of them look alike.
type writer struct{ hash.Hash }

func (w writer) strings(parts ...string) { HashParts(w, parts...) }

func (w writer) number(n int) { HashParts(w, strconv.Itoa(n)) }

func (w writer) flags(flags ...bool) {
	for _, f := range flags {
		w.strings(strconv.FormatBool(f))
	}
}

func (w writer) rule(r *actionrules.Rule) {
	w.condition(r.If)
	w.number(len(r.Then))
	for _, a := range r.Then {
		w.number(int(a.Verb))
		w.strings(a.Name, a.Value)
		w.number(a.Shift)
	}
}

func (w writer) condition(c actionrules.Condition) {
	switch c := c.(type) {
	case actionrules.And:
		w.conditions("and", c.Of)
	case actionrules.Or:
		w.conditions("or", c.Of)
	case actionrules.Not:
		w.strings("not")
		w.condition(c.Of)
	case actionrules.Atom:
		w.strings("atom", c.Value)
		w.number(int(c.Field))
		w.number(int(c.Kind))
		w.number(int(c.Norm))
		w.flags(c.Regexp)
	}
}

func (w writer) conditions(word string, of []actionrules.Condition) {
	w.strings(word)
	w.number(len(of))
	for _, c := range of {
		w.condition(c)
	}
}

// HashParts hashes strings so that no two lists of them look alike. For long strings the hash should be an
// io.StringWriter; otherwise each is copied.
func HashParts(h hash.Hash, parts ...string) {
	for _, s := range parts {
		n := len(s)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		_, _ = io.WriteString(h, s) // no hash fails
	}
}
