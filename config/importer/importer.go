// Package importer converts the configurations of other crawlers to CrawlConfig.xml. Settings without a counterpart
// become comments, so that nothing is lost silently.
package importer

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/config"
)

// Format is a configuration that can be imported.
type Format string

const (
	// IBM is a crawl.rules or global.rules of IBM's Web crawler. The result refers to the file, because its rules mean
	// the same here.
	IBM Format = "ibm"
	// Funnelback is a collection.cfg: lines key=value. The crawler's keys are translated.
	Funnelback Format = "funnelback"
	// List is a flat list of rules, one per line, in the terms of Elastic's or Norconex's crawlers; see Import.
	List Format = "list"
	// Smartsite is a list key=value of the settings of its web crawler; see docs/moving/smartsite.md.
	Smartsite Format = "smartsite"
	// Norconex is the XML of one crawler of Norconex's HTTP Collector or Web Crawler, version 3.
	Norconex Format = "norconex"
)

// Formats returns all formats.
func Formats() []Format { return []Format{IBM, Funnelback, List, Smartsite, Norconex} }

// maxFaults bounds the errors that are listed for a file.
const maxFaults = 100

// Untranslated contains the settings that were left out as allowed, each with its line. The text is complete without
// them and contains them as comments.
type Untranslated []error

func (u Untranslated) Error() string { return bounded(u).Error() }

// Import translates a file. The error is an Untranslated, beside a text, if settings have no counterpart and leaving
// them out excludes nothing less; any other error comes without a text. name is the file's path; for IBM the result
// refers to the file by it, so it must be valid relative to the folder of the result. The error lists, with file, line
// and column, the invalid lines.
//
// A List has these lines; blank ones and those that begin with # are skipped:
//
//	http://www.example.com/a      a start URL
//	allow begins /blog            Elastic: policy, type and path pattern; the types
//	deny contains *print          are begins, ends, contains and regex
//	include https?://.*/docs/.*   Norconex: an expression that the whole URL matches
//	exclude .*\.pdf
//
// In patterns of begins, ends and contains, * is any run of characters; a regex must match from the beginning of the
// path. All apply to the path, without the query, and are case sensitive. The first matching line of allow and deny
// decides, and a URL without a match is allowed; they apply to the hosts of the start URLs before them, up to the next
// start URL, or to all URLs if there are none. A URL must match one include, if there are any, and no exclude. Only the
// hosts of start URLs are crawled. The two kinds cannot be mixed.
func Import(format Format, name string, raw []byte) ([]byte, error) {
	translate := map[Format]func(*document, *crawlspace.File) []error{
		IBM: crawlRules, Funnelback: collectionConfig, List: ruleList, Smartsite: smartsiteList, Norconex: httpCollector,
	}[format]
	if translate == nil {
		return nil, fmt.Errorf("unknown format %q: write one of %v", format, Formats())
	}
	file, err := config.TextFile(name, raw)
	if err != nil {
		return nil, err
	}
	d := &document{name: "imported", head: fmt.Sprintf("Imported from %s (%s).", filepath.Base(name), format)}
	if errs := translate(d, file); len(errs) > 0 {
		return nil, bounded(errs)
	}
	text := d.text()
	if err := readable(text, name, raw); err != nil {
		return nil, err
	}
	if len(d.untranslated) > 0 {
		return text, d.untranslated
	}
	return text, nil
}

// errUnreadable is a fault of this package: no file should lead to it.
var errUnreadable = errors.New("the result cannot be read")

// readable returns errUnreadable if check would refuse the result. Of the files that it names only name, which
// holds raw, is read: the others may lie elsewhere.
func readable(text []byte, name string, raw []byte) error {
	_, report := config.Parse(config.FileName, text, config.Lookups{ReadFile: func(path string) ([]byte, error) {
		if filepath.Clean(path) == filepath.Clean(name) {
			return raw, nil
		}
		return nil, nil
	}})
	if err := report.Err(); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return nil
}

func bounded(errs []error) error {
	if more := len(errs) - maxFaults; more > 0 {
		errs = append(errs[:maxFaults:maxFaults], fmt.Errorf("and %d more faults", more))
	}
	return errors.Join(errs...)
}

// line is a line that is neither blank nor a comment, trimmed.
type line struct {
	at   actionrules.Position
	text string
}

func lines(file *crawlspace.File) []line {
	var all []line
	number := 0
	for raw := range strings.Lines(string(file.Content)) {
		number++
		text := strings.TrimSpace(raw)
		if text == "" || text[0] == '#' {
			continue
		}
		column := len(raw) - len(strings.TrimLeft(raw, " \t")) + 1
		all = append(all, line{actionrules.Position{File: file.Name, Line: number, Column: column}, text})
	}
	return all
}

func (l line) errorf(format string, args ...any) error {
	return &actionrules.Error{At: l.at, Rule: -1, Err: fmt.Errorf(format, args...)}
}
