package config

import (
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
)

// ParseCondition parses one condition in the syntax of CrawlConfig.xml, such as <Path val="/a"/>, from another place
// than a configuration. name is the file name in the positions of errors; the returned error lists all of them.
func ParseCondition(name string, raw []byte) (actionrules.Condition, error) {
	// The condition is parsed as part of a rule, on lines of its own.
	const before = "<CrawlConfig><Crawler name=\"condition\"><Rules><Rule>\n"
	const after = "\n<Accept/></Rule></Rules></Crawler></CrawlConfig>"
	file, report := Parse(name, append(append([]byte(before), raw...), after...), Lookups{})
	one := len(report.Errors) > 0 || len(file.Crawlers[0].Rules.Rules) == 1 && len(file.Crawlers[0].Rules.Rules[0].Then) == 1
	for i := range report.Errors {
		e := &report.Errors[i]
		if e.At.Line > 0 {
			e.At.Line--
		}
		e.Message = strings.Replace(e.Message, " in <Rule>", "", 1)
		one = one && !strings.Contains(e.Message, "<Rule>") // an element that the user did not write
	}
	if !one {
		return nil, fmt.Errorf(`%s %q: write one condition and nothing else, such as <Path val="/news/"/>; <And> and <Or> join several`, name, raw)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return file.Crawlers[0].Rules.Rules[0].If, nil
}
