package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
)

func TestTableElements(t *testing.T) {
	names := make(map[string]bool)
	table := Elements()
	for _, e := range table {
		if names[e.key()] {
			t.Errorf("<%s> stands twice in the table", e.key())
		}
		names[e.key()] = true
		if !strings.HasSuffix(e.Doc, ".") {
			t.Errorf("<%s>: doc %q is no sentence", e.Name, e.Doc)
		}
	}
	for _, e := range table {
		if len(e.Parents) == 0 && e.Name != "CrawlConfig" {
			t.Errorf("<%s> has no parent", e.Name)
		}
		for _, parent := range e.Parents {
			if !names[parent] {
				t.Errorf("<%s>: parent <%s> is not in the table", e.Name, parent)
			}
		}
	}
}

func TestTableAttributes(t *testing.T) {
	for _, e := range Elements() {
		seen := make(map[string]bool)
		for _, a := range e.Attributes {
			where := e.Name + "." + a.Name
			if seen[a.Name] {
				t.Errorf("%s stands twice", where)
			}
			seen[a.Name] = true
			if !strings.HasSuffix(a.Doc, ".") {
				t.Errorf("%s: doc %q is no sentence", where, a.Doc)
			}
			for what, value := range map[string]string{"default": a.Default, "inert": a.Inert} {
				if complaint := a.check(value); value != "" && complaint != "" {
					t.Errorf("%s: %s %q %s", where, what, value, complaint)
				}
			}
			if a.Type.isNumber() && a.Min >= a.Max {
				t.Errorf("%s: range %d to %d", where, a.Min, a.Max)
			}
			if (a.Type == Enum) != (len(a.Values) > 0) {
				t.Errorf("%s: values %v of type %v", where, a.Values, a.Type)
			}
			if a.Required && a.Default != "" {
				t.Errorf("%s: required, with a default", where)
			}
			for _, v := range a.NotYet {
				if !slices.Contains(a.Values, v) {
					t.Errorf("%s: %q is none of its values", where, v)
				}
			}
		}
	}
}

func TestTableConditions(t *testing.T) {
	for _, e := range Elements() {
		if (e.Role == Condition) != (e.build != nil) {
			t.Errorf("<%s>: a condition %t, something builds one %t", e.Name, e.Role == Condition, e.build != nil)
		}
	}
}

func TestTableActions(t *testing.T) {
	for _, e := range Elements() {
		if _, known := actionrules.ParseVerb(e.Name); known != (e.Role == Action) {
			t.Errorf("<%s>: an action %t, one of actionrules %t", e.Name, e.Role == Action, known)
		}
	}
}
