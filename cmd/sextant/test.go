package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func testRules(c *cli.Context) error {
	parsed, _, err := loadConfig(c)
	if err != nil {
		return err
	}
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return err
	}
	files, err := caseFiles(c)
	if err != nil {
		return err
	}
	explainers := map[string]*admin.Explainer{}
	for _, crawler := range crawlers {
		if explainers[crawler.Name], err = admin.NewExplainer(crawlSettings(crawler), admin.Knowledge{}); err != nil {
			return err
		}
	}
	failures := line[admin.CaseResult](c, "case") // as JSON, every case
	cases, failed := 0, 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		parsed, errs := admin.ParseCases(name, string(text))
		if len(errs) > 0 {
			return no(errors.Join(errs...))
		}
		for _, one := range parsed {
			explain, err := explainerFor(c, one, crawlers, explainers)
			if err != nil {
				return err
			}
			if explain == nil {
				continue
			}
			cases++
			r := one.Try(explain)
			if !r.Passed {
				failed++
			}
			if err := show(c, r, func() error { return failures(&r) }); err != nil {
				return err
			}
		}
	}
	if !c.Bool("json") {
		fmt.Fprintf(c.App.Writer, "%s, %d failed\n", admin.Count(cases, "case"), failed)
	}
	if failed > 0 {
		return no(nil)
	}
	return nil
}

// caseFiles returns the files that the command names, else the one beside the configuration.
func caseFiles(c *cli.Context) ([]string, error) {
	if c.Args().Present() {
		return c.Args().Slice(), nil
	}
	path, err := configPath(c)
	if err != nil {
		return nil, err
	}
	beside := admin.CasesPath(path)
	if _, err := os.Stat(beside); err != nil {
		return nil, wrongUse("test: name at least one file of cases, or write %s, which the console shows, too", beside)
	}
	return []string{beside}, nil
}

// explainerFor returns the explainer of the Crawler that a case is about, or nil if the command leaves that
// Crawler out.
func explainerFor(c *cli.Context, one admin.TestCase, crawlers []config.Crawler, explainers map[string]*admin.Explainer) (*admin.Explainer, error) {
	name := one.Crawler()
	if name == "" && len(crawlers) == 1 {
		name = crawlers[0].Name
	}
	if explain := explainers[name]; explain != nil || c.String("crawler") != "" {
		return explain, nil
	}
	var names []string
	for _, crawler := range crawlers {
		names = append(names, "crawler="+crawler.Name)
	}
	words := "the configuration has several Crawlers"
	if name != "" || len(crawlers) == 1 {
		words = fmt.Sprintf("the configuration has no Crawler %q", name)
	}
	return nil, wrongUse("%s: %s: write %s into the case", one.Place(), words, strings.Join(names, " or "))
}
