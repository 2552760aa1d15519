package main

import (
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

// selectionFlags select stored URLs.
func selectionFlags(own ...cli.Flag) []cli.Flag {
	own = append(own, filterFlags()...)
	return flags(append(own,
		&cli.StringFlag{Name: "group", Usage: "only URLs on the sites of the roots of this `GROUP`"},
		&cli.StringFlag{Name: "source", Usage: "only URLs that were pushed under this `SOURCE`"},
		&cli.StringFlag{Name: "match", Usage: "only URLs that match this `XMLCONDITION`, or the one in the file of this name, such as <Path val=\"/a\"/>"},
		&cli.BoolFlag{Name: "all", Usage: "all of them"},
	)...)
}

// selectionOf reads the flags and arguments of a command; all that are set must match.
func selectionOf(c *cli.Context) (admin.Selection, error) {
	s := admin.SelectionOf(filterOf(c))
	s.Group, s.All = c.String("group"), c.Bool("all")
	s.Full, s.Forever = c.Bool("full"), c.Bool("forever")
	filter, _ := s.Filter()
	if _, err := report.ParseFilter(filter); err != nil {
		return s, wrongUse("--%w", err)
	}
	match, err := conditionText(c.String("match"))
	if err != nil {
		return s, err
	}
	s.Match = match
	if c.Args().Present() {
		if s.URLs, err = urlArguments(c); err != nil {
			return s, err
		}
		if len(s.URLs) == 0 {
			return s, wrongUse("%s: stdin contains no URL", c.Command.Name)
		}
	}
	if s.Empty() {
		return s, wrongUse("%s: name URLs (- reads them from stdin), or write --group, --source, --match, another filter, or --all", c.Command.Name)
	}
	return s, nil
}

// conditionText returns the XML of --match, given directly or in a file, after checking that it is a condition.
func conditionText(written string) (string, error) {
	if written == "" {
		return "", nil
	}
	if !strings.HasPrefix(strings.TrimSpace(written), "<") {
		if b, err := os.ReadFile(written); err == nil {
			written = string(b)
		}
	}
	if _, err := admin.ParseCondition(written); err != nil {
		return "", wrongUse("%w", err)
	}
	return written, nil
}
