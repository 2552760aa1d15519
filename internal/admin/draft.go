package admin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
)

// Finding is an error, warning or note about a configuration.
type Finding struct {
	Severity string `json:"severity"` // error, warning or note
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Message  string `json:"message"`
}

// String returns the line that check prints.
func (f Finding) String() string {
	return actionrules.Position{File: f.File, Line: f.Line, Column: f.Column}.String() + ": " + f.Message
}

// Draft is a parsed configuration that is not in force.
type Draft struct {
	Findings []Finding      // errors, then warnings, then notes
	Crawlers []DraftCrawler // none if there are errors
}

// DraftCrawler is the summary of a configuration's Crawler.
type DraftCrawler struct {
	Name      string `json:"name"`
	Roots     int    `json:"roots"`
	Rules     int    `json:"rules"`
	DeletesOn string `json:"deletes_on"` // which failures delete a document, in words
	settings  policy.Settings
}

// errors returns the findings that make the configuration unusable.
func (d *Draft) errors() []Finding {
	for i, f := range d.Findings {
		if f.Severity != "error" {
			return d.Findings[:i]
		}
	}
	return d.Findings
}

// broken returns the error of an unusable configuration, nil for a good one.
func (d *Draft) broken() error {
	found := d.errors()
	if len(found) == 0 {
		return nil
	}
	words := make([]string, len(found))
	for i, f := range found {
		words[i] = f.String()
	}
	return &Declined{Err: errors.New(strings.Join(words, "\n")), Findings: found}
}

// settings returns the settings of one of its Crawlers.
func (d *Draft) settings(name string) (policy.Settings, error) {
	if err := d.broken(); err != nil {
		return policy.Settings{}, err
	}
	for _, c := range d.Crawlers {
		if c.Name == name {
			return c.settings, nil
		}
	}
	return policy.Settings{}, &Declined{Err: fmt.Errorf("the configuration has no Crawler %q", name)}
}

// check returns its printed form.
func (d *Draft) check() Check {
	return Check{Valid: len(d.errors()) == 0, Findings: append([]Finding{}, d.Findings...), Crawlers: append([]DraftCrawler{}, d.Crawlers...)}
}

// NewDraft converts a configuration for the API. settings returns the settings of a Crawler.
func NewDraft(parsed *config.File, report config.Report, settings func(config.Crawler) policy.Settings) *Draft {
	d := &Draft{Findings: Findings(report)}
	if parsed == nil {
		return d
	}
	for _, c := range parsed.Crawlers {
		one := NewDraftCrawler(c)
		one.settings = settings(c)
		d.Crawlers = append(d.Crawlers, one)
	}
	return d
}

// NewDraftCrawler returns the summary of a Crawler.
func NewDraftCrawler(c config.Crawler) DraftCrawler {
	return DraftCrawler{Name: c.Name, Roots: len(c.Rules.Roots), Rules: len(c.Rules.Rules), DeletesOn: deletesOn(&c.Frontier)}
}

// Findings returns a report's errors, warnings and notes, in this order.
func Findings(report config.Report) []Finding {
	var out []Finding
	for _, part := range []struct {
		severity string
		problems []config.Problem
	}{{"error", report.Errors}, {"warning", report.Warnings}, {"note", report.Notes}} {
		for _, p := range part.problems {
			out = append(out, Finding{Severity: part.severity, File: p.At.File, Line: p.At.Line, Column: p.At.Column, Message: p.Message})
		}
	}
	return out
}

// deletesOn describes the failures for which a Crawler deletes a document.
func deletesOn(set *scheduler.Settings) string {
	words := map[scheduler.Policy]string{
		scheduler.CloudView: "4xx, 5xx and permanent errors (errorPolicy=\"cautious\" ignores temporary server errors)",
		scheduler.Cautious:  "4xx and permanent errors, except 500, 502, 503, 504 and TLS errors",
		scheduler.Smartsite: "any failure to fetch a page",
	}[set.Policy]
	if set.Deletions.Off {
		words += "; with deletionBrake=\"off\" at once, edits of the rules included"
	}
	return words
}
