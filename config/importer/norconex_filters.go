package importer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// filters are conditions ; a URL must match one (include) or none (exclude).
type filters struct {
	include, exclude []string // conditions
	included         bool     // there is an include, translated or not
}

// rules returns rules that apply action to everything that does not pass.
func (f *filters) rules(action string) (rules []string) {
	switch {
	case f.included && len(f.include) == 0: // untranslated includes allow nothing
		rules = append(rules, rule(element("ar:Url", attribute{"val", `\.\*`}), action))
	case f.included:
		rules = append(rules, rule("<ar:Not>"+anyOf(f.include)+"</ar:Not>", action))
	}
	if len(f.exclude) > 0 {
		rules = append(rules, rule(anyOf(f.exclude), action))
	}
	return rules
}

// readFilters reads referenceFilters, metadataFilters or documentFilters.
func (x *norconex) readFilters(f *filters, list *node) {
	for _, n := range list.kids {
		onMatch := strings.ToLower(n.attr["onMatch"])
		exclude := onMatch == "exclude"
		if !exclude && onMatch != "" && onMatch != "include" {
			x.errs = append(x.errs, n.errorf("onMatch=%s is neither include nor exclude", clip(onMatch)))
			continue
		}
		all, err := filterConditions(n)
		for i := 0; err == nil && i < len(all); i++ {
			if _, errs := actionrules.CompileCondition(all[i]); len(errs) > 0 {
				err = errs[0]
			}
		}
		f.included = f.included || !exclude
		switch {
		case err != nil && exclude: // never dropped: the URLs it excludes would be crawled
			x.errs = append(x.errs, n.errorf("the exclude %s cannot be imported: %w", n.label(), err))
		case err != nil:
			x.leaveOut(n, err.Error())
		case exclude:
			f.exclude = append(f.exclude, conditionElements(all)...)
		default:
			f.include = append(f.include, conditionElements(all)...)
		}
	}
}

// filterConditions returns the conditions of a filter, which matches if one of them does.
func filterConditions(n *node) ([]actionrules.Condition, error) {
	switch class := n.class(); class {
	case "RegexReferenceFilter", "RegexURLFilter", "ExtensionReferenceFilter":
		ignoreCase, err := n.flag("ignoreCase", true)
		sensitive, err2 := n.flag("caseSensitive", !ignoreCase)
		if err = errors.Join(err, err2); err != nil {
			return nil, err
		}
		if class == "ExtensionReferenceFilter" {
			return extensionConditions(n, !sensitive)
		}
		return expressionConditions(n.text, false, !sensitive)
	case "ReferenceFilter", "GenericReferenceFilter":
		matchers := n.all("valueMatcher")
		if len(matchers) != 1 || len(n.kids) != 1 {
			return nil, errors.New("one <valueMatcher> is expected in it")
		}
		return matcherConditions(matchers[0])
	}
	return nil, errors.New("only filters by URL are known: ReferenceFilter, RegexReferenceFilter, ExtensionReferenceFilter")
}

func norm(ignoreCase bool) actionrules.Norm {
	if ignoreCase {
		return actionrules.NormLower
	}
	return actionrules.NormNone
}

func extensionConditions(n *node, ignoreCase bool) (all []actionrules.Condition, err error) {
	for part := range strings.SplitSeq(n.text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, actionrules.Atom{Field: actionrules.FieldPath, Kind: actionrules.KindSuffix, Norm: norm(ignoreCase), Value: literal("." + part)})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it names no extension")
	}
	return all, nil
}

// matcherConditions translates a valueMatcher.
func matcherConditions(m *node) ([]actionrules.Condition, error) {
	for name, value := range m.attr {
		switch name {
		case "method", "ignoreCase", "partial", "replaceAll", "trim":
		default:
			if !strings.EqualFold(value, "false") {
				return nil, fmt.Errorf("%s has no counterpart", name)
			}
		}
	}
	ignoreCase, err := m.flag("ignoreCase", false)
	partial, err2 := m.flag("partial", false)
	if err = errors.Join(err, err2); err != nil {
		return nil, err
	}
	if m.text == "" {
		return nil, errors.New("a pattern is missing")
	}
	switch method := strings.ToLower(m.attr["method"]); method {
	case "", "basic":
		return []actionrules.Condition{literalAtom(m.text, partial, ignoreCase)}, nil
	case "csv":
		var all []actionrules.Condition
		for part := range strings.SplitSeq(m.text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, literalAtom(part, partial, ignoreCase))
			}
		}
		if len(all) == 0 {
			return nil, errors.New("a pattern is missing")
		}
		return all, nil
	case "wildcard":
		expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(m.text))
		return expressionConditions(expression, partial, ignoreCase)
	case "regex":
		return expressionConditions(m.text, partial, ignoreCase)
	default:
		return nil, fmt.Errorf("method=%s: write basic, csv, wildcard or regex", clip(method))
	}
}

// literalAtom compares with text. A whole URL is written in the form of URLs here.
func literalAtom(text string, partial, ignoreCase bool) actionrules.Atom {
	a := actionrules.Atom{Field: actionrules.FieldURL, Kind: actionrules.KindInside, Norm: norm(ignoreCase)}
	if !partial {
		a.Kind = actionrules.KindExact
		if u, err := weburl.Parse(text); err == nil {
			text = u.String()
		}
	}
	a.Value = literal(text)
	return a
}

// literal escapes a value.
func literal(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }

func expressionConditions(expression string, partial, ignoreCase bool) ([]actionrules.Condition, error) {
	if expression == "" {
		return nil, errors.New("a pattern is missing")
	}
	if err := readsAlike(expression); err != nil {
		return nil, err
	}
	a := actionrules.Atom{Field: actionrules.FieldURL, Kind: actionrules.KindExact, Norm: norm(ignoreCase), Value: expression, Regexp: true}
	if partial {
		a.Kind = actionrules.KindInside
	}
	return []actionrules.Condition{conditionOf(a)}, nil
}

// readsAlike refuses expressions that Java interprets differently without an error: unions and intersections of
// character sets.
func readsAlike(expression string) error {
	inside, start := false, 0
	for i := 0; i < len(expression); i++ {
		switch c := expression[i]; {
		case c == '\\':
			if strings.HasPrefix(expression[i:], `\Q`) {
				return errors.New(`\Q is not read: put a \ before each character that stands for itself`)
			}
			i++
		case !inside && c == '[':
			inside, start = true, i+1
			if strings.HasPrefix(expression[start:], "^") {
				start++
				i++
			}
		case inside && (c == '[' || strings.HasPrefix(expression[i:], "&&") || c == ']' && i == start):
			return fmt.Errorf("%s in brackets means something else in Java: write the characters out", clip(expression[i:min(i+2, len(expression))]))
		case inside && c == ']':
			inside = false
		}
	}
	return nil
}
