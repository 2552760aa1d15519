package crawlspace

import "strings"

// ruleSet is a crawl.rules or global.rules, each type in the order of the file.
type ruleSet struct {
	domains   []domainRule
	prefixes  []prefixRule
	addresses []addressRule
}

// ruleParser reads a file of crawl-space rules: action type target, one a line
// (IBM, "Rules to limit the Web crawl space").
type ruleParser struct {
	faults
	set    ruleSet
	global bool // domain rules only
	fold   bool
}

// parseRules reads the rules with all faults.
func parseRules(f File, global, fold bool) (ruleSet, []error) {
	p := ruleParser{faults: faults{file: f.Name}, global: global, fold: fold}
	p.readLines(f.Content, p.line)
	return p.set, p.errs
}

func (p *ruleParser) line(l line) {
	action := l.words[0]
	if action.text != "allow" && action.text != "forbid" {
		p.add(l.number, action.column, "%s is no action; write allow or forbid, as in: forbid domain *", clip(action.text))
		return
	}
	if len(l.words) == 1 {
		p.add(l.number, action.column, "%s has no target; write for example: %s domain www.example.com", action.text, action.text)
		return
	}
	r := rule{allow: action.text == "allow", reason: Reason{File: p.file, Line: l.number, Rule: l.text()}}
	kind, targets := l.words[1], l.words[2:]
	if isHTTP(kind.text) { // the word prefix is left out
		kind, targets = word{"prefix", kind.column}, l.words[1:]
	}
	switch kind.text {
	case "domain", "prefix", "address":
	default:
		p.add(l.number, kind.column, "%s", notAType(action.text, kind.text))
		return
	}
	if len(targets) == 0 {
		p.add(l.number, kind.column, "%s %s has no target; write for example: %s %s", action.text, kind.text, action.text, sample(kind.text))
		return
	}
	if p.global && kind.text != "domain" {
		p.add(l.number, kind.column, "global rules are domain rules only; write this %s rule into crawl.rules", kind.text)
		return
	}
	p.target(l, r, kind.text, targets)
}

// target reads the rest of a line, behind action and type.
func (p *ruleParser) target(l line, r rule, kind string, targets []word) {
	if kind == "address" {
		p.address(l, r, targets)
		return
	}
	if len(targets) > 1 {
		p.add(l.number, targets[1].column, "%s is one word too many; a rule has one target, a comment begins with #, a blank in a URL is written %%20", clip(targets[1].text))
		return
	}
	var problem string
	if kind == "domain" {
		var d domainRule
		if d, problem = parseDomain(targets[0].text, p.fold); problem == "" {
			d.rule = r
			d.reason.Gate = GateDomain
			if p.global {
				d.reason.Gate = GateGlobal
			}
			p.set.domains = append(p.set.domains, d)
		}
	} else {
		var text string
		if text, problem = parsePrefix(targets[0].text); problem == "" {
			r.reason.Gate = GatePrefix
			p.set.prefixes = append(p.set.prefixes, prefixRule{r, text})
		}
	}
	if problem != "" {
		p.add(l.number, targets[0].column, "%s", problem)
	}
}

func isHTTP(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

// notAType returns the correction for a missing type.
func notAType(action, text string) string {
	lower := strings.ToLower(text)
	for _, kind := range []string{"domain", "prefix", "address"} {
		if lower == kind || lower == kind+"s" {
			return clip(text) + " is no type; write " + kind
		}
	}
	host, _, path := strings.Cut(text, "/")
	if strings.ContainsAny(host, ".*:") {
		if _, problem := parseDomain(host, false); problem == "" && path {
			return clip(text) + " has no type; write: " + action + " prefix http://" + text
		} else if problem == "" {
			return clip(text) + " has no type; write: " + action + " domain " + text
		}
	}
	return clip(text) + " is no type; write domain, prefix or address"
}

func sample(kind string) string {
	switch kind {
	case "domain":
		return "domain *.example.com"
	case "prefix":
		return "prefix http://www.example.com/public/*"
	default:
		return "address 9.0.0.0 255.0.0.0"
	}
}
