package config

import (
	"fmt"
	"strings"
)

// manyRules is a file of n rules, all on one line or one a line.
func manyRules(n int, separator string) []byte {
	var b strings.Builder
	b.WriteString("<CrawlConfig xmlns='exa:com.exalead.mercury.mami.crawl.v21' xmlns:ar='exa:com.exalead.actionrules.v21'><Crawler name='a'><Rules>")
	for i := range n {
		fmt.Fprintf(&b, `<Rule><ar:And><ar:Atom field="path" kind="prefix" norm="none" value="/é/section-%d/"/><ar:Not><ar:Ext val=".gif"/></ar:Not></ar:And><Index/><Follow/><Accept/></Rule>%s`, i, separator)
	}
	b.WriteString("</Rules></Crawler></CrawlConfig>")
	return []byte(b.String())
}
