package policy

import (
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
)

func TestFingerprint(t *testing.T) {
	atom := func(field actionrules.Field, kind actionrules.Kind, norm actionrules.Norm, value string, re bool) actionrules.Condition {
		return actionrules.Atom{Field: field, Kind: kind, Norm: norm, Value: value, Regexp: re}
	}
	base := func() actionrules.RuleSet {
		return actionrules.RuleSet{
			Roots: []actionrules.Root{{URL: parse(t, "http://a.test/"), KVs: []actionrules.Meta{{Name: "k", Value: "v"}}}},
			Rules: []actionrules.Rule{{
				If:   actionrules.And{Of: []actionrules.Condition{atom(0, 0, 0, "a", false), actionrules.Not{Of: atom(0, 0, 0, "b", false)}}},
				Then: []actionrules.Action{{Verb: actionrules.AddMeta, Name: "n", Value: "v"}},
			}},
		}
	}
	seen := map[[32]byte]string{rulesFingerprint(base()): "as it was"}
	for name, change := range map[string]func(*actionrules.RuleSet){
		"accept":       func(s *actionrules.RuleSet) { s.DefaultAccept = true },
		"index":        func(s *actionrules.RuleSet) { s.DefaultIndex = true },
		"follow":       func(s *actionrules.RuleSet) { s.DefaultFollow = true },
		"follow roots": func(s *actionrules.RuleSet) { s.DefaultFollowRoots = true },
		"root":         func(s *actionrules.RuleSet) { s.Roots[0].URL = parse(t, "http://a.test/b") },
		"second root":  func(s *actionrules.RuleSet) { s.Roots = append(s.Roots, s.Roots[0]) },
		"site":         func(s *actionrules.RuleSet) { s.Roots[0].Site = true },
		"priority":     func(s *actionrules.RuleSet) { s.Roots[0].Priority = 1 },
		"kv name":      func(s *actionrules.RuleSet) { s.Roots[0].KVs[0].Name = "kv" },
		"kv value":     func(s *actionrules.RuleSet) { s.Roots[0].KVs[0].Value = "kv" },
		"field":        func(s *actionrules.RuleSet) { s.Rules[0].If = atom(1, 0, 0, "a", false) },
		"kind":         func(s *actionrules.RuleSet) { s.Rules[0].If = atom(0, 1, 0, "a", false) },
		"norm":         func(s *actionrules.RuleSet) { s.Rules[0].If = atom(0, 0, 1, "a", false) },
		"value":        func(s *actionrules.RuleSet) { s.Rules[0].If = atom(0, 0, 0, "b", false) },
		"regexp":       func(s *actionrules.RuleSet) { s.Rules[0].If = atom(0, 0, 0, "a", true) },
		"or": func(s *actionrules.RuleSet) {
			s.Rules[0].If = actionrules.Or{Of: s.Rules[0].If.(actionrules.And).Of}
		},
		"without not": func(s *actionrules.RuleSet) {
			s.Rules[0].If = actionrules.And{Of: []actionrules.Condition{atom(0, 0, 0, "a", false), atom(0, 0, 0, "b", false)}}
		},
		"nested": func(s *actionrules.RuleSet) {
			s.Rules[0].If = actionrules.And{Of: []actionrules.Condition{s.Rules[0].If}}
		},
		"verb":        func(s *actionrules.RuleSet) { s.Rules[0].Then[0].Verb = actionrules.SetSource },
		"meta name":   func(s *actionrules.RuleSet) { s.Rules[0].Then[0].Name = "nv" },
		"shift":       func(s *actionrules.RuleSet) { s.Rules[0].Then[0].Shift = 1 },
		"no action":   func(s *actionrules.RuleSet) { s.Rules[0].Then = nil },
		"second rule": func(s *actionrules.RuleSet) { s.Rules = append(s.Rules, s.Rules[0]) },
		"no rule":     func(s *actionrules.RuleSet) { s.Rules = nil },
	} {
		s := base()
		change(&s)
		f := rulesFingerprint(s)
		if other, ok := seen[f]; ok {
			t.Errorf("%q and %q have one fingerprint", name, other)
		}
		seen[f] = name
	}
	same := base()
	same.Rules[0].At, same.Rules[0].Group, same.Roots[0].At.Line = actionrules.Position{File: "f", Line: 3}, "g", 9
	if rulesFingerprint(same) != rulesFingerprint(base()) {
		t.Error("places in files and groups change the fingerprint")
	}
}
