package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
)

// configPath returns the path of a command's configuration.
func configPath(c *cli.Context) (string, error) {
	if path := c.String("config"); path != "" {
		return configIn(path), nil
	}
	beside := filepath.Join(c.String("data"), "config", config.FileName)
	for _, path := range []string{config.FileName, beside} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no configuration: neither ./%s nor %s exists; write one, or name it with --config FILE", config.FileName, beside)
}

// loadConfig reads the configuration. Its errors go to stderr and end the command with the exit code for "no".
func loadConfig(c *cli.Context) (*config.File, config.Report, error) {
	path, err := configPath(c)
	if err != nil {
		return nil, config.Report{}, err
	}
	parsed, report, err := config.LoadWith(path, ownFiles(c).Lookups())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, report, fmt.Errorf("%w: --config must name a %s or a folder that contains one", err, config.FileName)
		}
		return nil, report, err
	}
	return parsed, report, reportErrors(c, report)
}

// reportErrors prints a report's errors to stderr, if it has any.
func reportErrors(c *cli.Context, report config.Report) error {
	if len(report.Errors) == 0 {
		return nil
	}
	for _, p := range report.Errors {
		fmt.Fprintln(c.App.ErrWriter, p)
	}
	return no(fmt.Errorf("the configuration has %s", admin.Count(len(report.Errors), "error")))
}

// absoluteConfig returns the absolute path of a command's configuration.
func absoluteConfig(c *cli.Context) (string, error) {
	path, err := configPath(c)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// configIn returns the configuration at a path: the file itself, or in a folder.
func configIn(path string) string {
	if isDir(path) {
		return filepath.Join(path, config.FileName)
	}
	return path
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// crawlersOf returns the Crawlers of a command, by default all in the file.
func crawlersOf(c *cli.Context, parsed *config.File) ([]config.Crawler, error) {
	name := c.String("crawler")
	if name == "" {
		return parsed.Crawlers, nil
	}
	var names []string
	for _, crawler := range parsed.Crawlers {
		if crawler.Name == name {
			return []config.Crawler{crawler}, nil
		}
		names = append(names, crawler.Name)
	}
	return nil, wrongUse("the configuration has no Crawler %q: it has %s", name, strings.Join(names, ", "))
}

// oneCrawler returns the Crawler of a command, with its part of the data directory.
func oneCrawler(c *cli.Context) (config.Crawler, service.Home, error) {
	parsed, _, err := loadConfig(c)
	if err != nil {
		return config.Crawler{}, service.Home{}, err
	}
	return theCrawler(c, parsed)
}

// theCrawler returns the Crawler in a file that a command works on.
func theCrawler(c *cli.Context, parsed *config.File) (config.Crawler, service.Home, error) {
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return config.Crawler{}, service.Home{}, err
	}
	if len(crawlers) > 1 {
		var names []string
		for _, crawler := range crawlers {
			names = append(names, crawler.Name)
		}
		return config.Crawler{}, service.Home{}, wrongUse("the configuration has several Crawlers: name one with --crawler (%s)", strings.Join(names, ", "))
	}
	database, err := databaseOf(c)
	return crawlers[0], service.HomeOf(parsed, crawlers[0], c.String("data"), database), err
}

// crawlSettings returns the settings of a Crawler in the configuration.
func crawlSettings(c config.Crawler) policy.Settings { return service.Settings(c, userAgent()) }

// userAgent returns the default user agent.
func userAgent() string { return fetcher.UserAgent(build().Version, "") }
