package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
)

func testCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "check decisions against your own test cases",
		ArgsUsage: "FILE...",
		Description: "A case is a line: a URL, then what is expected of it, as in\n" +
			"  http://www.example.com/news/a   crawl index fifo=redir source=news meta:kind=news\n" +
			"  http://www.example.com/logo.gif ignore by=rules line=12   # comments like this",
		Flags:  flags(),
		Action: testRules,
	}
}

func testRules(c *cli.Context) error {
	if !c.Args().Present() {
		return wrongUse("test: name at least one case file")
	}
	crawler, _, err := oneCrawler(c)
	if err != nil {
		return err
	}
	explain, err := admin.NewExplainer(crawlSettings(crawler), admin.Knowledge{})
	if err != nil {
		return err
	}
	cases, failed := 0, 0
	for _, name := range c.Args().Slice() {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, errs := admin.ParseCases(name, string(text))
		if len(errs) > 0 {
			return no(errors.Join(errs...))
		}
		for _, one := range parsed {
			cases++
			r := one.Try(explain)
			if !r.Passed {
				failed++
			}
			if err := showCase(c, r); err != nil {
				return err
			}
		}
	}
	if !c.Bool("json") {
		fmt.Fprintf(c.App.Writer, "%s, %d failed\n", count(cases, "case"), failed)
	}
	if failed > 0 {
		return no(nil)
	}
	return nil
}

// showCase prints a case that failed; as JSON, every case.
func showCase(c *cli.Context, r admin.CaseResult) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(r)
	}
	for _, f := range r.Failures {
		if _, err := fmt.Fprintf(c.App.Writer, "%s:%d: %s: %s\n", r.File, r.Line, r.URL, f); err != nil {
			return err
		}
	}
	return nil
}
