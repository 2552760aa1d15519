package importer

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// document is a CrawlConfig.xml under construction.
type document struct {
	name       string // the Crawler's
	head       string // the comment in front
	attributes []attribute
	lines      []string // inside the Crawler, indented
	// untranslated holds the settings without a counterpart.
	untranslated Untranslated
}

type attribute struct{ name, value string }

// set sets an attribute of the Crawler, replacing an earlier one.
func (d *document) set(name, value string) { d.attributes = replaced(d.attributes, name, value) }

// replaced returns the attributes with a value for name.
func replaced(all []attribute, name, value string) []attribute {
	for i := range all {
		if all[i].name == name {
			all[i].value = value
			return all
		}
	}
	return append(all, attribute{name, value})
}

// add writes an element without content.
func (d *document) add(name string, attributes ...attribute) {
	d.lines = append(d.lines, element(name, attributes...))
}

// comment writes a comment.
func (d *document) comment(format string, args ...any) {
	d.lines = append(d.lines, comment(fmt.Sprintf(format, args...)))
}

// rules writes a block of rules, each given as the XML of its content.
func (d *document) rules(rules []string) {
	if len(rules) == 0 {
		return
	}
	d.lines = append(d.lines, "<Rules>")
	for _, r := range rules {
		d.lines = append(d.lines, "  "+r)
	}
	d.lines = append(d.lines, "</Rules>")
}

func (d *document) text() []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	b.WriteString(comment(d.head) + "\n")
	b.WriteString(`<CrawlConfig xmlns="exa:com.exalead.mercury.mami.crawl.v21" xmlns:ar="exa:com.exalead.actionrules.v21">` + "\n")
	open := element("Crawler", append([]attribute{{"name", d.name}}, d.attributes...)...)
	b.WriteString("  " + strings.TrimSuffix(open, "/>") + ">\n")
	for _, l := range d.lines {
		b.WriteString("    " + l + "\n")
	}
	b.WriteString("  </Crawler>\n</CrawlConfig>\n")
	return b.Bytes()
}

func element(name string, attributes ...attribute) string {
	var b strings.Builder
	b.WriteString("<" + name)
	for _, a := range attributes {
		b.WriteString(" " + a.name + `="` + value(a.value) + `"`)
	}
	b.WriteString("/>")
	return b.String()
}

// value escapes an attribute's value, including ${.
func value(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#9;", "\n", "&#10;", "${", "$${").Replace(s)
}

// comment makes text safe inside a comment.
func comment(s string) string {
	const most = 300
	if len(s) > most {
		cut := most
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "- -")
	}
	return "<!-- " + s + " -->"
}
