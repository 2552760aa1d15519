package config

import (
	"fmt"
	"strings"
)

// referencePage is docs/configuration.md: every element and attribute of the table
// with type, range, default and meaning, in Markdown.
func referencePage() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, e := range Elements() {
		writeElement(&b, e)
	}
	return b.String()
}

const referenceHead = `# CrawlConfig.xml

This page is generated from the table in the package config (` + "`go test ./config -update`" + `); do not edit it.

The file is UTF-8, UTF-16 with a byte order mark, or in the encoding that its XML declaration names, and at most 64 MiB.
Elements are matched by their local names: any version of CloudView's two namespaces is accepted, and none. Document types
and entity declarations are refused. Everything else that is unknown, misplaced or out of range is an error, reported as
` + "`file:line:column: message`" + `, all errors of a file at once.

* ` + "`${NAME}`" + ` in a value is the environment variable NAME; one that is not set is an error. ` + "`$${`" + ` stands for the characters ` + "`${`" + `.
* A *secret* can also be written ` + "`file:PATH`" + `: the content of a file, without line ends at its end. Secrets are printed nowhere.
* Paths are relative to the folder of CrawlConfig.xml.
* Booleans are ` + "`true`, `false`, `1` and `0`" + `; numbers are whole and decimal, and the last letters of a name give the unit: MS
  milliseconds, S seconds, Bytes bytes.

Where this version does not do something yet, the reference says so. *Refused* means that writing it is an error, because
ignoring it would crawl, index or push what it forbids, or lose data; *ineffective* means a warning.
The XML schema of the file, for editors, comes from the same table.

Files that are named (roots, rules, lists) are UTF-8, or UTF-16 with a byte order mark, with any line ends; their errors carry
their own lines. Files crawl.rules and global.rules beside CrawlConfig.xml count as if CrawlSpace named them: crawl.rules where
the file has one Crawler, global.rules for each.
`

func writeElement(b *strings.Builder, e Element) {
	fmt.Fprintf(b, "\n## %s\n\n%s", e.Name, e.Doc)
	if len(e.Parents) > 0 {
		times := "any number of times"
		switch {
		case e.Once:
			times = "at most once"
		case e.Needed:
			times = "at least once"
		}
		fmt.Fprintf(b, " In %s, %s.", strings.Join(e.Parents, ", "), times)
	}
	if e.Text {
		b.WriteString(" Its content is text.")
	}
	b.WriteString(statusSentence(e.Status) + "\n")
	if len(e.Attributes) == 0 {
		return
	}
	b.WriteString("\n| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, a := range e.Attributes {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", a.Name, a.typeWords(), a.defaultWords(),
			cell(a.Doc+a.kindSentence()+a.attributeStatus(e)))
	}
}

func statusSentence(s Status) string {
	switch s {
	case Ineffective:
		return " *Ineffective in this version.*"
	case Refused:
		return " *Refused by this version.*"
	case Supported, NoEffect:
	}
	return ""
}

func (a *Attribute) attributeStatus(e Element) string {
	switch {
	case e.Status != Supported:
		return ""
	case len(a.NotYet) > 0:
		return " *Refused by this version: " + strings.Join(a.NotYet, ", ") + ".*"
	case a.Inert != "":
		return strings.TrimSuffix(statusSentence(a.Status), ".*") + ", other than " + a.Inert + ".*"
	default:
		return statusSentence(a.Status)
	}
}

func (a *Attribute) typeWords() string {
	if a.Type.isNumber() {
		return fmt.Sprintf("%s, %d to %d", a.Type, a.Min, a.Max)
	}
	if a.Type == Enum {
		return strings.Join(a.Values, ", ")
	}
	return a.Type.String()
}

func (a *Attribute) defaultWords() string {
	switch {
	case a.Required:
		return "required"
	case a.Default == "":
		return ""
	default:
		return cell("`" + a.Default + "`")
	}
}

// String is the type in the words of the reference.
func (t Type) String() string {
	switch t {
	case Bool:
		return "boolean"
	case Int:
		return "number"
	case Milliseconds:
		return "milliseconds"
	case Seconds:
		return "seconds"
	case Bytes:
		return "bytes"
	case Enum:
		return "one of several"
	case SecretString:
		return "secret"
	case HTTPURL:
		return "URL"
	case HeaderValue:
		return "printable ASCII"
	case Product:
		return "product token"
	case KeyValues:
		return "k1=v1;k2=v2"
	case Pattern:
		return "pattern"
	case Path:
		return "path"
	case HourRanges:
		return "hours"
	case Command:
		return "command"
	case String:
	}
	return "text"
}

// cell makes text safe inside of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
