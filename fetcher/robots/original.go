package robots

import (
	"strings"
	"time"
)

// ParseOriginal parses a robots.txt by the text of 1994 ("A Standard for Robot Exclusion", robotstxt.org/orig.html):
// records end at blank lines, but not at lines with only a comment; a Disallow is a prefix in which '*' and '$' are
// ordinary characters; there is no Allow. A record names agent if its User-agent, without version, is part of agent in
// any case. The first such record decides, else the first for '*'. Crawl-delay and Sitemap, unknown to that text, are
// also read.
func ParseOriginal(body []byte) *Rules { return parse(body, false, true) }

// record collects the lines of a record.
type record struct {
	agents []string
	group  group
	delay  time.Duration
	ruled  bool // a Disallow was read: the next User-agent begins another record
}

func parseOriginal(text string) *Rules {
	r := &Rules{text: text, agents: map[string][]int{}, original: true}
	var now record
	for line := range lines(skipBOM(text)) {
		if strings.Trim(line, space) == "" {
			r.end(&now)
			continue
		}
		line, _, _ = strings.Cut(line[:min(len(line), maxLine-1)], "#")
		key, value, ok := strings.Cut(line, ":")
		if ok {
			r.addOriginal(&now, strings.Trim(key, space), strings.Trim(value, space))
		}
	}
	r.end(&now)
	return r
}

func (r *Rules) addOriginal(now *record, key, value string) {
	switch strings.ToLower(key) {
	case "user-agent":
		if now.ruled {
			r.end(now)
		}
		name, _, _ := strings.Cut(strings.ToLower(value), "/")
		if name = strings.Trim(name, space); name != "" {
			now.agents = append(now.agents, name)
		}
	case "disallow":
		now.ruled = true
		if value != "" { // an empty one allows all
			now.group.rules = append(now.group.rules, newLiteralRule(escape(value)))
		}
	case "crawl-delay":
		if d, ok := delay(value); ok {
			now.delay = max(now.delay, d)
		}
	case "sitemap":
		if value != "" {
			r.sitemaps = append(r.sitemaps, value)
		}
	}
}

// end adds a record, if it is complete: it needs an agent and a Disallow or a delay.
func (r *Rules) end(now *record) {
	if now.ruled || now.delay > 0 {
		for _, name := range now.agents {
			if len(r.agents[name]) > 0 {
				continue
			}
			r.agents[name] = []int{len(r.groups)}
			r.delayed([]string{name}, now.delay)
			if name != anyAgent {
				r.order = append(r.order, name)
			}
		}
		r.groups = append(r.groups, now.group)
	}
	*now = record{}
}

// newLiteralRule returns a Disallow without wildcards. The order of such rules does not matter, since none allows.
func newLiteralRule(text string) rule {
	r := rule{pattern: pattern{head: text}, length: len(text)}
	if c := canonical(text); c != text {
		r.canonical = &pattern{head: c}
	}
	return r
}

// firstRecord returns the name of the record that decides for agent.
func (r *Rules) firstRecord(agent string) string {
	agent = strings.ToLower(agent)
	for _, name := range r.order {
		if strings.Contains(agent, name) {
			return name
		}
	}
	return anyAgent
}
