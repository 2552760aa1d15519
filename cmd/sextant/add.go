package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
)

func add(c *cli.Context) error {
	urls, err := urlArguments(c)
	if err != nil {
		return err
	}
	submitted, failed := asked(c, toConfigured, (*admin.Client).Submit, urls)
	if err := showEach(c, "submitted", submitted); err != nil {
		return err
	}
	bad := slices.ContainsFunc(submitted, func(s crawl.Submitted) bool {
		return s.Result == crawl.SubmitIgnored || s.Result == crawl.SubmitInvalid
	})
	if bad && failed == nil {
		return no(nil)
	}
	return failed // with the results before the error
}

// urlArguments returns the URLs of the command line; "-" stands for those on stdin, one per line.
func urlArguments(c *cli.Context) ([]string, error) {
	if !c.Args().Present() {
		return nil, wrongUse("%s: name at least one URL, or - to read them from stdin", c.Command.Name)
	}
	return expandStdin(c, c.Args().Slice())
}

// expandStdin replaces "-" by the lines of stdin.
func expandStdin(c *cli.Context, arguments []string) ([]string, error) {
	var urls []string
	for _, a := range arguments {
		if a != "-" {
			urls = append(urls, a)
			continue
		}
		lines, err := readLines(c.App.Reader)
		if err != nil {
			return nil, fmt.Errorf("reading URLs from stdin: %w", err)
		}
		urls = append(urls, lines...)
	}
	return urls, nil
}

// readLines returns the non-empty lines, trimmed.
func readLines(r io.Reader) ([]string, error) {
	var lines []string
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 1<<20)
	n := 0
	for scanner.Scan() {
		text := scanner.Text()
		if n++; n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if line := strings.TrimSpace(text); line != "" {
			lines = append(lines, line)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	return lines, nil
}
