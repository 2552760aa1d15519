package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/scheduler"
)

const minutesOfDay = 24 * 60

// throttles reads the Throttle elements of a Crawler.
func (p *parser) throttles(crawler *node, c *Crawler) {
	for n := range crawler.all("Throttle") {
		at := p.position(n.at)
		condition, matcher := p.onlyCondition(n)
		var t scheduler.Throttle
		if n.written("throttleTimeMS") {
			t.Pause, t.HasPause = n.duration("throttleTimeMS")+crawler.duration("sleepAfterLoadMS"), true
		}
		if n.written("maxConnectionsPerHost") {
			t.Connections = int(n.number("maxConnectionsPerHost"))
		}
		if n.written("hours") {
			t.Hours, _ = parseHours(n.str("hours"))
		}
		if condition == nil {
			continue
		}
		if len(n.attrs) == 0 && len(n.faulty) == 0 {
			p.report.notef(at, "<Throttle> sets nothing: the URLs that it matches have the Crawler's settings, whatever later elements set")
		}
		t.Match, t.WholeHost = matcher.Match, asksHostOnly(condition)
		p.checkConnections(n, &t, c)
		c.Frontier.Throttles = append(c.Frontier.Throttles, t)
		c.throttles = append(c.throttles, choice{condition, at})
	}
}

// checkConnections warns of concurrent requests that a pause prevents.
func (p *parser) checkConnections(n *node, t *scheduler.Throttle, c *Crawler) {
	pause := c.Frontier.Throttle
	switch {
	case t.HasPause:
		pause = t.Pause
	case c.Frontier.Aggressive:
		pause = 0
	}
	a := n.attr("maxConnectionsPerHost")
	switch {
	case t.Connections < 2:
	case c.Frontier.PerAddress:
		p.warnf(a.name, "maxConnectionsPerHost has no effect with perAddress=\"true\", which allows one request at a time")
	case pause > 0:
		p.warnf(a.name, "maxConnectionsPerHost has no effect with a pause of %s between two requests: write throttleTimeMS=\"0\", too", pause)
	}
}

// onlyCondition builds the single condition of an element other than a rule, and reports its errors; nil if there is no
// usable one.
func (p *parser) onlyCondition(n *node) (actionrules.Condition, *actionrules.Matcher) {
	conditions := slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return c.spec.Role != Condition })
	if len(conditions) == 0 {
		if !n.lost {
			p.errorf(n.at, "<%s> has no condition: write one inside, such as <Host val=\"www.example.com\"/>", n.spec.Name)
		}
		return nil, nil
	}
	if len(conditions) > 1 {
		p.errorf(conditions[1].at, "<%s> is a second condition (the first is at %s): a <%s> has one; join them with <And> or <Or>",
			conditions[1].spec.Name, p.lineAndColumn(conditions[0].at), n.spec.Name)
	}
	condition := p.condition(conditions[0], 0)
	matcher := p.compiled(condition)
	if matcher == nil {
		return nil, nil
	}
	return condition, matcher
}

// asksHostOnly reports whether a condition depends only on scheme and host.
func asksHostOnly(c actionrules.Condition) bool {
	if a, ok := c.(actionrules.Atom); ok {
		return a.Field == actionrules.FieldScheme || a.Field == actionrules.FieldHost
	}
	return !slices.ContainsFunc(operands(c), func(c actionrules.Condition) bool { return !asksHostOnly(c) })
}

// hoursPattern is the schema's form of hours; parseHours reports errors.
const hoursPattern = `\s*` + oneRange + `\s*(,\s*` + oneRange + `\s*)*`

const (
	oneRange  = oneTime + `\s*-\s*` + oneTime
	oneTime   = `(([01]?[0-9]|2[0-3])(:[0-5][0-9])?|24(:00)?)`
	hoursHint = ": write hours such as 22-6, or 22:30-06:00,12-13"
)

// parseHours parses ranges of the day, such as "22-6" or "22:30-06:00, 12-13". The complaint continues a message after
// hours="..."; it is empty if there is none.
func parseHours(value string) (hours []scheduler.Hours, complaint string) {
	if strings.TrimSpace(value) == "" {
		return nil, "must not be empty" + hoursHint + ", or leave it out for the whole day"
	}
	form := regexp.MustCompile(`^\s*` + oneTime + `\s*-\s*` + oneTime + `\s*$`)
	for part := range strings.SplitSeq(value, ",") {
		if !form.MatchString(part) {
			return nil, fmt.Sprintf("has %s, which is not a range of hours%s", quote(strings.TrimSpace(part)), hoursHint)
		}
		from, to, _ := strings.Cut(part, "-")
		h := scheduler.Hours{From: minuteOfDay(from), To: minuteOfDay(to)}
		switch h.From {
		case minutesOfDay:
			return nil, fmt.Sprintf("begins %s at 24, the end of the day: write 0", quote(strings.TrimSpace(part)))
		case h.To:
			return nil, fmt.Sprintf("begins and ends %s at the same time: write 0-24 for the whole day", quote(strings.TrimSpace(part)))
		}
		hours = append(hours, h)
	}
	return hours, ""
}

// minuteOfDay parses a well-formed time of the day.
func minuteOfDay(s string) int {
	hour, minute, _ := strings.Cut(strings.TrimSpace(s), ":")
	h, _ := strconv.Atoi(hour)
	m, _ := strconv.Atoi(minute) // 0 if there is none
	return 60*h + m
}

// choice is an element of a list in which the first match for a URL counts.
type choice struct {
	condition actionrules.Condition
	at        actionrules.Position
}

// idleChoices warns of elements that never count: their condition cannot hold, or an earlier one matches whenever they
// do. It finds the same cases as idleRules.
func idleChoices(name string, all []choice) []actionrules.Warning {
	var warnings []actionrules.Warning
	earlier, matches := newLaterRules(), []actionrules.Action{{Verb: actionrules.Accept}}
	for i, c := range all {
		if conditionSize(c.condition, maxConditionSize) > maxConditionSize {
			continue
		}
		if contradictory(c.condition) {
			warnings = append(warnings, actionrules.Warning{At: c.at, Text: "the " + name + " can never match: its conditions exclude each other"})
			continue
		}
		k := earlier.keysOf(c.condition)
		if by := earlier.overriding(matches, k.implied); by > 0 {
			warnings = append(warnings, actionrules.Warning{At: c.at, Text: fmt.Sprintf(
				"the %s is never used: the one at %s matches all its URLs, and the first match applies", name, all[by-1].at)})
		}
		earlier.add(i+1, matches, k.enough)
	}
	return warnings
}

// contradictions warns of elements whose condition cannot hold.
func contradictions(name string, all []choice) []actionrules.Warning {
	var warnings []actionrules.Warning
	for _, c := range all {
		if neverHolds(c.condition) {
			warnings = append(warnings, actionrules.Warning{At: c.at, Text: "the " + name + " can never match: its conditions exclude each other"})
		}
	}
	return warnings
}
