package config

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/sextant-crawler/sextant/config/words"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// refreshes reads the Refresh elements of a Crawler.
func (p *parser) refreshes(crawler *node, c *Crawler) {
	for n := range crawler.all("Refresh") {
		ages, fault := sectionAges(n, c)
		if fault != nil {
			p.errorf(fault.offset, "%s", fault.message)
			continue
		}
		r := policy.Refresh{Group: n.str("group"), Ages: ages}
		if r.Group != "" {
			p.checkGroup(crawler, n.attr("group"))
		}
		if i := slices.IndexFunc(n.children, func(child *node) bool { return child.spec.Role == Condition }); i >= 0 {
			condition, _ := p.onlyCondition(n)
			if condition == nil {
				continue
			}
			var words strings.Builder
			n.children[i].write(&words)
			r.If, r.Match = condition, words.String()
			at := choice{condition, p.position(n.at)}
			if ages != nil {
				c.ages = append(c.ages, at)
			} else {
				c.refreshed = append(c.refreshed, at)
			}
		}
		switch group := n.attr("group"); {
		case r.Ages != nil && group != nil:
			p.errorf(group.name, "group applies only to schedule: for ages write a condition inside, such as <Path val=\"/news/\"/>")
		case r.Ages == nil && n.missing("schedule") && len(n.faulty) == 0:
			p.warnf(n.at, "<Refresh> has no effect without a time: write schedule=\"@daily\" or other times, or an age, such as minimumAgedS=\"3600\"")
		}
		if a := n.attr("schedule"); a != nil {
			r.Spec = strings.Join(strings.Fields(a.text), " ")
			schedule, complaint := parseSchedule(r.Spec, time.Now())
			if complaint != "" {
				p.errorf(a.value, "%s %s", p.written(a.spec, a.text), complaint)
				continue
			}
			r.Schedule = schedule
		}
		if r.Schedule != nil || r.Ages != nil {
			c.Refreshes = append(c.Refreshes, r)
		}
	}
}

// sectionAges returns the ages of a Refresh, nil if it has none.
func sectionAges(n *node, c *Crawler) (*scheduler.Section, *fault) {
	least, greatest, fixed := n.attr("smartRefreshMinAgeS"), n.attr("smartRefreshMaxAgeS"), n.attr("minimumAgedS")
	smart := n.boolean("smartRefresh") || least != nil || greatest != nil
	switch {
	case !smart && fixed == nil:
		return nil, nil //nolint:nilnil // usually there are none
	case !smart:
		return &scheduler.Section{MinimumAged: n.duration("minimumAgedS")}, nil
	case fixed != nil:
		return nil, faultf(fixed.name, "minimumAgedS sets a fixed age, and smartRefresh, smartRefreshMinAgeS and smartRefreshMaxAgeS an estimated one: remove one or the others")
	}
	ages, at := &scheduler.Section{SmartRefresh: true, MinAge: c.Frontier.MinAge, MaxAge: c.Frontier.MaxAge}, n.at
	if greatest != nil {
		ages.MaxAge, at = n.duration("smartRefreshMaxAgeS"), greatest.value
	}
	if least != nil {
		ages.MinAge, at = n.duration("smartRefreshMinAgeS"), least.value
	}
	if ages.MinAge > ages.MaxAge {
		return nil, faultf(at, "smartRefreshMinAgeS (%d) is greater than smartRefreshMaxAgeS (%d): lower the first or raise the second; an attribute that is not written here has the Crawler's value",
			ages.MinAge/time.Second, ages.MaxAge/time.Second)
	}
	return ages, nil
}

// write writes an element on one line, with its written attributes.
func (n *node) write(b *strings.Builder) {
	b.WriteString("<" + n.spec.Name)
	for i := range n.attrs {
		a := &n.attrs[i]
		b.WriteString(" " + a.spec.Name + `="`)
		_ = xml.EscapeText(b, []byte(a.text)) // a Builder takes all
		b.WriteString(`"`)
	}
	if len(n.children) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteString(">")
	for _, child := range n.children {
		child.write(b)
	}
	b.WriteString("</" + n.spec.Name + ">")
}

// checkGroup checks that some root has a group.
func (p *parser) checkGroup(crawler *node, a *attr) {
	groups := make(map[string]bool)
	for _, n := range crawler.children {
		switch n.spec.Name {
		case "Root":
			groups[n.str("group")] = true
		case "Roots":
			groups["default"] = true
		}
	}
	if groups[a.text] {
		return
	}
	names := slices.Sorted(maps.Keys(groups))
	switch near := words.Nearest(a.text, names); {
	case len(names) == 0:
		p.errorf(a.value, "no root has the group %s: there are no roots", quote(a.text))
	case near != "":
		p.errorf(a.value, "no root has the group %s: did you mean %s? The groups are %s", quote(a.text), quote(near), clip(strings.Join(names, ", ")))
	default:
		p.errorf(a.value, "no root has the group %s: the groups are %s", quote(a.text), clip(strings.Join(names, ", ")))
	}
}

// cronField is one of the five fields of a schedule.
type cronField struct {
	name, allowed string
	option        cron.ParseOption
}

func cronFields() [5]cronField {
	return [5]cronField{
		{"minute", "0 to 59", cron.Minute},
		{"hour", "0 to 23", cron.Hour},
		{"day of the month", "1 to 31", cron.Dom},
		{"month", "1 to 12, or JAN to DEC", cron.Month},
		{"day of the week", "0 (Sunday) to 6, or SUN to SAT", cron.Dow},
	}
}

// shortestEvery is the least interval of @every: cron's own fields cannot be closer either.
const shortestEvery = time.Minute

const descriptors = "@hourly, @daily, @weekly, @monthly or @yearly"

// parseSchedule parses a schedule. The complaint continues a message after schedule="..."; it is empty if there is
// none.
func parseSchedule(spec string, now time.Time) (s cron.Schedule, complaint string) {
	switch {
	case spec == "":
		return nil, `must not be empty: write five fields, such as "0 3 * * *" for every day at 3:00, or ` + descriptors
	case strings.HasPrefix(spec, "@"):
		return parseDescriptor(spec)
	case strings.Contains(spec, "TZ="):
		return nil, "names a time zone, but times are local: set the environment variable TZ for the whole program"
	}
	values := strings.Fields(spec)
	fields := cronFields()
	if len(values) != len(fields) {
		return nil, fmt.Sprintf(`has %d fields: write five, minute, hour, day of the month, month and day of the week, such as "0 3 * * *" for every day at 3:00`, len(values))
	}
	for i, f := range fields {
		_, err := cron.NewParser(f.option).Parse(values[i])
		if strings.Trim(values[i], ",") == "" || err != nil {
			return nil, fmt.Sprintf(`has %s for the %s: write %s, a range such as 1-5, a list such as 1,3, a step such as */2, or *`, quote(values[i]), f.name, f.allowed)
		}
	}
	s, err := cron.ParseStandard(spec)
	switch {
	case err != nil: // every single field is valid
		return nil, "is not a schedule: " + err.Error()
	case s.Next(now).IsZero():
		return nil, fmt.Sprintf("never occurs: there is no day %s in month %s", values[2], values[3])
	}
	return s, ""
}

func parseDescriptor(spec string) (cron.Schedule, string) {
	if every, ok := strings.CutPrefix(spec, "@every "); ok {
		d, err := time.ParseDuration(every)
		if err != nil || d < shortestEvery {
			return nil, fmt.Sprintf("has %s for the time between two runs: write a minute or more, such as 90m or 24h", quote(every))
		}
		return cron.Every(d), ""
	}
	s, err := cron.ParseStandard(spec)
	if err != nil {
		return nil, "is unknown: write " + descriptors + ", @every with a time such as 90m, or five fields such as \"0 3 * * *\""
	}
	return s, ""
}
