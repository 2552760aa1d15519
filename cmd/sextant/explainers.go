package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/weburl"
)

// explainedCrawler is a Crawler that explains URLs.
type explainedCrawler struct {
	name      string
	home      service.Home
	settings  policy.Settings
	explainer *admin.Explainer
}

// explainers returns the Crawlers of a command, ready to explain. It compiles their rules once, and reports errors as
// check does.
func explainers(c *cli.Context) ([]*explainedCrawler, error) {
	path, err := configPath(c)
	if err != nil {
		return nil, err
	}
	parsed, report, err := config.LoadQuickly(path, ownFiles(c).Lookups())
	if err != nil || len(report.Errors) > 0 {
		_, _, err := loadConfig(c) // reports all errors
		return nil, err
	}
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return nil, err
	}
	database, err := databaseOf(c)
	if err != nil {
		return nil, err
	}
	var all []*explainedCrawler
	for _, crawler := range crawlers {
		home := service.HomeOf(parsed, crawler, c.String("data"), database)
		x := &explainedCrawler{name: crawler.Name, home: home, settings: crawlSettings(crawler)}
		if err := x.load(c, admin.Knowledge{}); err != nil {
			if _, _, full := loadConfig(c); full != nil {
				return nil, full
			}
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// load creates the explainer with the data of a store.
func (x *explainedCrawler) load(c *cli.Context, known admin.Knowledge) error {
	explainer, err := admin.NewExplainer(x.settings, known)
	if err != nil {
		return err
	}
	if !c.Bool("json") {
		explainer.Brief()
	}
	x.explainer = explainer
	return nil
}

// show prints the decision about a URL; ok is false if it is not a URL.
func (x *explainedCrawler) show(c *cli.Context, raw string, named bool) (ok bool, err error) {
	u, err := weburl.Parse(raw)
	if err != nil {
		return false, showUnreadable(c, raw, err)
	}
	told, err := x.explainer.Explain(raw, u)
	if err != nil {
		return false, err
	}
	if named {
		told.Crawler = x.name
	}
	return true, show(c, told, func() error {
		return texts(c.App.Writer, painter(c))("explained", explained{told, told.Answer()})
	})
}

// choose returns for each URL its Crawler: the first that crawls it, else the first with a root on its host, else the
// first.
func choose(all []*explainedCrawler, urls []string) []int {
	chosen := make([]int, len(urls))
	if len(all) == 1 {
		return chosen
	}
	for i, raw := range urls {
		u, err := weburl.Parse(raw)
		if err != nil {
			continue
		}
		best := slices.IndexFunc(all, func(x *explainedCrawler) bool {
			told, err := x.explainer.Explain(raw, u)
			return err == nil && told.Decision == "crawl"
		})
		if best < 0 {
			best = slices.IndexFunc(all, func(x *explainedCrawler) bool {
				return slices.ContainsFunc(x.settings.Rules.Roots, func(r actionrules.Root) bool { return r.URL.Host() == u.Host() })
			})
		}
		chosen[i] = max(best, 0)
	}
	return chosen
}

// withAllKnowledge runs fn with the data of the stores of the chosen Crawlers.
func withAllKnowledge(c *cli.Context, all []*explainedCrawler, chosen []int, fn func() error) func() error {
	for i, x := range all {
		if !slices.Contains(chosen, i) {
			continue
		}
		inner := fn
		fn = func() error {
			return withKnowledge(c, x.home, x.name, func(known admin.Knowledge) error {
				if known.Lookup != nil {
					if err := x.load(c, known); err != nil {
						return fmt.Errorf("%s: %w", x.name, err)
					}
				}
				return inner()
			})
		}
	}
	return fn
}
