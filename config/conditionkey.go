package config

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

const (
	// maxConditionSize bounds the conditions that are examined in a rule, with And, Or and Not.
	maxConditionSize = 1000
	// maxPlainValue bounds the length of values whose prefixes and suffixes are examined.
	maxPlainValue = 256
)

// conditionSize counts the conditions in c, up to most + 1.
func conditionSize(c actionrules.Condition, most int) int {
	n := 1
	for _, o := range operands(c) {
		if n > most {
			break
		}
		n += conditionSize(o, most-n)
	}
	return n
}

// operands returns the conditions directly in And, Or or Not.
func operands(c actionrules.Condition) []actionrules.Condition {
	switch c := c.(type) {
	case actionrules.And:
		return c.Of
	case actionrules.Or:
		return c.Of
	case actionrules.Not:
		return []actionrules.Condition{c.Of}
	}
	return nil
}

// neverHolds reports whether c is contradictory; it returns false for conditions too large to check.
func neverHolds(c actionrules.Condition) bool {
	return conditionSize(c, maxConditionSize) <= maxConditionSize && contradictory(c)
}

// conditionKey identifies a condition: conditions with equal keys hold for the same URLs.
type conditionKey struct {
	op    byte // 'a' an atom, '*' one that always holds, '&' And, '|' Or, '!' Not
	form  atomForm
	value string // of an atom; else a digest of its operands
}

// atomForm is an atom without its value.
type atomForm struct {
	re    bool
	field actionrules.Field
	kind  actionrules.Kind
	norm  actionrules.Norm
}

// conditionKeys are the facts about a condition.
type conditionKeys struct {
	key     conditionKey
	enough  []conditionKey // each of these suffices for it to hold
	implied []conditionKey // each of these holds if it holds
}

// keysOf returns the keys of c. It omits prefixes and suffixes whose length does not occur in later rules.
func (l *laterRules) keysOf(c actionrules.Condition) conditionKeys {
	always := conditionKey{op: '*'}
	switch c := c.(type) {
	case actionrules.Atom:
		k := conditionKeys{key: atomKey(c)}
		k.enough = []conditionKey{k.key}
		k.implied = append(l.widerAtoms(c), k.key, always)
		return k
	case actionrules.Not:
		k := compoundKeys('!', []conditionKeys{l.keysOf(c.Of)})
		k.implied = append(k.implied, always)
		return k
	case actionrules.And:
		of := l.allKeys(c.Of)
		k := compoundKeys('&', of)
		for _, o := range of {
			k.implied = append(k.implied, o.implied...)
		}
		return k
	case actionrules.Or:
		of := l.allKeys(c.Of)
		k := compoundKeys('|', of)
		for _, o := range of {
			k.enough = append(k.enough, o.enough...)
		}
		k.implied = append(k.implied, common(of)...)
		return k
	}
	return conditionKeys{}
}

func (l *laterRules) allKeys(of []actionrules.Condition) []conditionKeys {
	all := make([]conditionKeys, len(of))
	for i, o := range of {
		all[i] = l.keysOf(o)
	}
	return all
}

func compoundKeys(op byte, of []conditionKeys) conditionKeys {
	h := sha256.New()
	for _, o := range of {
		f := o.key.form
		re := byte(0)
		if f.re {
			re = 1
		}
		h.Write([]byte{o.key.op, re, byte(f.field), byte(f.kind), byte(f.norm)})
		value := sha256.Sum256([]byte(o.key.value))
		h.Write(value[:])
	}
	key := conditionKey{op: op, value: string(h.Sum(nil))}
	return conditionKeys{key: key, enough: []conditionKey{key}, implied: []conditionKey{key}}
}

// common returns what all conditions imply.
func common(of []conditionKeys) []conditionKey {
	count := make(map[conditionKey]int)
	for i, o := range of {
		for _, key := range o.implied {
			if count[key] == i {
				count[key]++
			}
		}
	}
	var all []conditionKey
	for key, n := range count {
		if n == len(of) {
			all = append(all, key)
		}
	}
	return all
}

func atomKey(a actionrules.Atom) conditionKey {
	if a.Value == `\.\*` && !a.Regexp && a.Kind != actionrules.KindLength {
		return conditionKey{op: '*'}
	}
	value := a.Value
	if plain, ok := plainValue(a); ok {
		value = plain
	}
	return conditionKey{op: 'a', form: atomForm{a.Regexp, a.Field, a.Kind, a.Norm}, value: value}
}

// plainValue returns an atom's value in the form that is compared, if it is plain: no operators, and nothing that
// normalization changes apart from case.
func plainValue(a actionrules.Atom) (string, bool) {
	special := func(r rune) bool { return r == '\\' || r == '%' || r > '~' }
	if a.Regexp || a.Kind == actionrules.KindLength || len(a.Value) > maxPlainValue || strings.ContainsFunc(a.Value, special) {
		return "", false
	}
	if a.Norm != actionrules.NormNone {
		return strings.ToLower(a.Value), true
	}
	return a.Value, true
}

// widerAtoms returns atoms that hold whenever a holds: those of the prefixes and suffixes of its value.
func (l *laterRules) widerAtoms(a actionrules.Atom) []conditionKey {
	value, ok := plainValue(a)
	if !ok || a.Kind == actionrules.KindInside {
		return nil
	}
	var keys []conditionKey
	add := func(kind actionrules.Kind, wider func(length int) string) {
		form := atomForm{field: a.Field, kind: kind, norm: a.Norm}
		lengths := l.lengths[form]
		for n := 1; lengths != nil && n <= len(value); n++ {
			if lengths[n] {
				keys = append(keys, conditionKey{op: 'a', form: form, value: wider(n)})
			}
		}
	}
	if a.Kind != actionrules.KindSuffix {
		add(actionrules.KindPrefix, func(n int) string { return value[:n] })
	}
	if a.Kind != actionrules.KindPrefix {
		add(actionrules.KindSuffix, func(n int) string { return value[len(value)-n:] })
	}
	return append(keys, conditionKey{op: 'a', form: atomForm{field: a.Field, kind: actionrules.KindInside, norm: a.Norm}, value: value})
}

// contradictory reports whether c obviously holds for no URL.
func contradictory(c actionrules.Condition) bool {
	switch c := c.(type) {
	case actionrules.Or:
		return !slices.ContainsFunc(c.Of, func(o actionrules.Condition) bool { return !contradictory(o) })
	case actionrules.And:
		if slices.ContainsFunc(c.Of, contradictory) {
			return true
		}
		const most = 50 // each is compared with each
		of := c.Of[:min(len(c.Of), most)]
		for i, a := range of {
			for _, b := range of[:i] {
				if excludes(a, b) {
					return true
				}
			}
		}
	}
	return false
}

// excludes reports whether two conditions obviously cannot both hold.
func excludes(a, b actionrules.Condition) bool {
	if not, ok := a.(actionrules.Not); ok {
		a, b = b, not
	}
	if not, ok := b.(actionrules.Not); ok {
		const most = 10 // conditions, so that nested ones are not walked repeatedly
		if conditionSize(a, most) > most || conditionSize(not.Of, most) > most {
			return false
		}
		l, accept := newLaterRules(), []actionrules.Action{{Verb: actionrules.Accept}}
		l.add(1, accept, l.keysOf(not.Of).enough)
		return l.overriding(accept, l.keysOf(a).implied) > 0
	}
	x, ok1 := a.(actionrules.Atom)
	y, ok2 := b.(actionrules.Atom)
	return ok1 && ok2 && x.Field == y.Field && (atomExcludes(x, y) || atomExcludes(y, x))
}

// atomExcludes reports whether two plain atoms of one field require different characters at the same position.
func atomExcludes(a, b actionrules.Atom) bool {
	if a.Norm != actionrules.NormNone || b.Norm != actionrules.NormNone {
		a.Norm, b.Norm = actionrules.NormNorm, actionrules.NormNorm
	}
	x, ok1 := plainValue(a)
	y, ok2 := plainValue(b)
	if !ok1 || !ok2 {
		return false
	}
	switch {
	case a.Kind == actionrules.KindExact && b.Kind == actionrules.KindExact:
		return x != y
	case a.Kind == actionrules.KindExact && b.Kind == actionrules.KindInside:
		return !strings.Contains(x, y)
	case b.Kind == actionrules.KindPrefix && (a.Kind == actionrules.KindExact || a.Kind == actionrules.KindPrefix && len(x) >= len(y)):
		return !strings.HasPrefix(x, y)
	case b.Kind == actionrules.KindSuffix && (a.Kind == actionrules.KindExact || a.Kind == actionrules.KindSuffix && len(x) >= len(y)):
		return !strings.HasSuffix(x, y)
	default:
		return false
	}
}
