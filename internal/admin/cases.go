package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sextant-crawler/sextant/weburl"
)

// TestCase is a URL and the decision that is expected for it. A file of cases has one on each line.
//
//	http://www.example.com/a.html      index follow fifo=index_follow
//	http://www.example.com/news/x      crawl source=news meta:kind=news shift=-1
//	http://www.example.com/logo.gif    ignore by=rules line=12
//	http://intra.example.com/          crawl crawler=intranet
//
// Text after " #" is a comment; values with spaces are in double quotes.
type TestCase struct {
	file string
	line int
	url  string
	want []expectation
	// crawler names the Crawler that the case is about; empty: the one that tries it.
	crawler string
}

// Crawler returns the Crawler that the case names by crawler=NAME, for a configuration with several.
func (c TestCase) Crawler() string { return c.crawler }

// Place returns its position.
func (c TestCase) Place() string { return fmt.Sprintf("%s:%d", c.file, c.line) }

// expectation is one word of a case: name alone, or name=value.
type expectation struct {
	column      int // from 1, in characters
	name, value string
}

func (e expectation) String() string {
	if e.value == "" {
		return e.name
	}
	return e.name + "=" + e.value
}

// flagWords are expectations without a value, valueWords those with one; a
// meta's is meta:NAME=VALUE.
func flagWords() []string {
	return []string{"crawl", "ignore", "index", "noindex", "follow", "nofollow"}
}
func valueWords() []string {
	return []string{"fifo", "shift", "source", "by", "line", "status", "as", "crawler"}
}

// ParseCases parses a case file. It returns up to the first hundred errors, each with its position.
func ParseCases(name, text string) (cases []TestCase, errs []error) {
	i := -1
	for line := range strings.SplitSeq(text, "\n") {
		if i++; len(errs) >= mostCaseErrors {
			return cases, append(errs, fmt.Errorf("%s:%d: the rest was not read, after too many errors", name, i+1))
		}
		words, err := caseWords(strings.TrimSuffix(line, "\r"))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d:%w", name, i+1, err))
			continue
		}
		if len(words) == 0 {
			continue
		}
		c := TestCase{file: name, line: i + 1, url: words[0].name}
		if len(words) == 1 {
			errs = append(errs, fmt.Errorf("%s:%d:%d: %s has no expectation: write one such as crawl, ignore, index, follow, fifo=redir", name, i+1, words[0].column, c.url))
		}
		for _, w := range words[1:] {
			e, err := parseExpectation(w)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s:%d:%d: %w", name, i+1, w.column, err))
				continue
			}
			if e.name == "crawler" {
				c.crawler = e.value
				continue
			}
			c.want = append(c.want, e)
		}
		cases = append(cases, c)
	}
	return cases, errs
}

// mostCaseErrors is the most errors of test cases that are returned.
const mostCaseErrors = 100

// caseWords splits a line at white space outside of quotes and drops a comment. The words are stored in the names of
// the expectations.
func caseWords(line string) ([]expectation, error) {
	var words []expectation
	var word strings.Builder
	start, quoted, column := 0, false, 0
	end := func() {
		if start > 0 {
			words = append(words, expectation{column: start, name: word.String()})
			word.Reset()
			start = 0
		}
	}
	for _, r := range line {
		column++
		switch {
		case r == '#' && start == 0 && !quoted:
			return words, nil
		case unicode.IsSpace(r) && !quoted:
			end()
		default:
			if start == 0 {
				start = column
			}
			if r == '"' && len(words) > 0 {
				quoted = !quoted
				continue
			}
			word.WriteRune(r)
		}
	}
	if quoted {
		return nil, fmt.Errorf("%d: a quote is not closed", start)
	}
	end()
	return words, nil
}

// parseExpectation checks a word.
func parseExpectation(w expectation) (expectation, error) {
	name, value, hasValue := strings.Cut(w.name, "=")
	e := expectation{column: w.column, name: name, value: value}
	switch {
	case !hasValue && slices.Contains(flagWords(), name):
		return e, nil
	case hasValue && (slices.Contains(valueWords(), name) || strings.HasPrefix(name, "meta:")):
	default:
		return e, fmt.Errorf("%q is not an expectation: write one of %s, %s=VALUE, meta:NAME=VALUE", w.name,
			strings.Join(flagWords(), ", "), strings.Join(valueWords(), "=VALUE, "))
	}
	if name == "shift" || name == "line" || name == "status" {
		if _, err := strconv.Atoi(value); err != nil {
			return e, fmt.Errorf("%s=%q is not a whole number", name, value)
		}
	}
	return e, nil
}

// CaseResult is the result of a case; its names are a contract.
type CaseResult struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	URL      string   `json:"url"`
	Passed   bool     `json:"passed"`
	Failures []string `json:"failures"`
}

// Try compares the case with the decision.
func (c TestCase) Try(e *Explainer) CaseResult {
	r := CaseResult{File: c.file, Line: c.line, URL: c.url, Failures: []string{}}
	u, err := weburl.Parse(c.url)
	if err == nil {
		var x *Explanation
		if x, err = e.Explain(c.url, u); err == nil {
			r.Failures = append(r.Failures, c.failures(x)...)
		}
	}
	if err != nil {
		r.Failures = append(r.Failures, err.Error())
	}
	r.Passed = len(r.Failures) == 0
	return r
}

// failures returns the expectations that an explanation does not meet, as texts.
func (c TestCase) failures(x *Explanation) []string {
	var out []string
	for _, e := range c.want {
		if got, ok := e.met(x); !ok {
			out = append(out, fmt.Sprintf("expected %s, got %s", e, got))
		}
	}
	return out
}

// met compares one expectation; got describes the actual value.
func (e expectation) met(x *Explanation) (got string, ok bool) {
	flag := func(is bool, what string) (string, bool) {
		got := "no" + what
		if is {
			got = what
		}
		return got, got == e.name
	}
	switch e.name {
	case "crawl", "ignore":
		return x.Decision, x.Decision == e.name
	case "index", "noindex":
		return flag(x.Index, "index")
	case "follow", "nofollow":
		return flag(x.Follow, "follow")
	case "fifo":
		got = "no fifo"
		if x.Fifo != nil {
			got = *x.Fifo
		}
	case "shift":
		got = strconv.Itoa(x.Shift)
	case "source":
		got = x.Source
	case "as":
		got = x.Canonical
	case "by", "line":
		return e.metBy(x)
	case "status":
		got = "none"
		if x.Status != nil {
			got = strconv.Itoa(*x.Status)
		}
	default:
		values := x.Metas[strings.TrimPrefix(e.name, "meta:")]
		return fmt.Sprintf("%q", values), slices.Contains(values, e.value)
	}
	return got, got == e.value
}

// metBy compares the cause of an exclusion.
func (e expectation) metBy(x *Explanation) (got string, ok bool) {
	if x.ExcludedBy == nil {
		return "not excluded", false
	}
	if e.name == "line" {
		got = strconv.Itoa(x.ExcludedBy.Line)
	} else {
		got = string(x.ExcludedBy.Gate)
	}
	return got, got == e.value
}
