package config

import (
	"errors"

	"github.com/sextant-crawler/sextant/actionrules"
)

// ParseCondition parses one condition in the syntax of CrawlConfig.xml, such as <Path val="/a"/>, from another place
// than a configuration. name is the file name in the positions of errors; the returned error lists all of them.
func ParseCondition(name string, raw []byte) (actionrules.Condition, error) {
	// The condition is parsed as part of a rule, on lines of its own.
	const before = "<CrawlConfig><Crawler name=\"condition\"><Rules><Rule>\n"
	const after = "\n<Accept/></Rule></Rules></Crawler></CrawlConfig>"
	file, report := Parse(name, append(append([]byte(before), raw...), after...), Lookups{})
	for i := range report.Errors {
		if report.Errors[i].At.Line > 0 {
			report.Errors[i].At.Line--
		}
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	rules := file.Crawlers[0].Rules.Rules
	if len(rules) != 1 || len(rules[0].Then) != 1 {
		return nil, errors.New(name + ": write one condition and nothing else")
	}
	return rules[0].If, nil
}
