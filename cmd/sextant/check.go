package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "validate the configuration: all errors, then warnings",
		Flags: flags(&cli.BoolFlag{Name: "patterns", EnvVars: env("patterns"), Usage: "print each pattern beside the regular expression that it became"}),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return wrongUse("check takes no arguments, found %q: name the file with --config", c.Args().First())
			}
			return check(c)
		},
	}
}

// check prints what it finds to stdout: it is the command's data, not its failure.
func check(c *cli.Context) error {
	path, err := configPath(c)
	if err != nil {
		return err
	}
	parsed, report, err := config.LoadWith(path, ownFiles(c).Lookups())
	if err != nil {
		return err
	}
	for _, f := range admin.Findings(report) {
		if err := showFinding(c, f); err != nil {
			return err
		}
	}
	if parsed == nil {
		return no(nil)
	}
	if c.Bool("patterns") {
		for _, crawler := range parsed.Crawlers {
			for _, p := range actionrules.Patterns(crawler.Rules) {
				if err := showPattern(c, p); err != nil {
					return err
				}
			}
		}
	}
	if !c.Bool("json") {
		for _, crawler := range parsed.Crawlers {
			fmt.Fprintf(c.App.Writer, "Crawler %s: %s, %s, deletes on %s\n", crawler.Name,
				count(len(crawler.Rules.Roots), "root"), count(len(crawler.Rules.Rules), "rule"), admin.DeletesOn(crawler.Frontier.Policy))
		}
	}
	return nil
}

func showFinding(c *cli.Context, f admin.Finding) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(f)
	}
	prefix := ""
	if f.Severity != "error" {
		prefix = f.Severity + ": "
	}
	_, err := fmt.Fprintln(c.App.Writer, prefix+f.String())
	return err
}

func showPattern(c *cli.Context, p actionrules.Pattern) error {
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(map[string]any{
			"file": p.At.File, "line": p.At.Line, "column": p.At.Column, "value": p.Value, "regexp": p.Regexp,
		})
	}
	_, err := fmt.Fprintf(c.App.Writer, "%s: %s  ->  %s\n", p.At, p.Value, p.Regexp)
	return err
}
