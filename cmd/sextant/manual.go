package main

import (
	"context"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

// helpInstead turns a command line with a help option into "help COMMAND": the library would take an argument beside
// the option for a command. args has the command first, then its flags.
func helpInstead(args []string) []string {
	if len(args) < 2 {
		return args
	}
	options := args[1:]
	if end := slices.Index(options, "--"); end >= 0 {
		options = options[:end]
	}
	asks := func(a string) bool { return a == "-h" || a == "--help" || a == "-help" }
	switch {
	case !slices.ContainsFunc(options, asks):
		return args
	case strings.HasPrefix(args[1], "-"):
		return []string{args[0], "help"}
	default:
		return []string{args[0], "help", args[1]}
	}
}

func printHelp(c *cli.Context) error {
	name := c.Args().First()
	text, ok := manual.Help(c.App, name)
	if !ok {
		return wrongUse("there is no command %q%s", name, didYouMean(c.App, name))
	}
	_, err := io.WriteString(c.App.Writer, text)
	return err
}

func printCompletion(c *cli.Context) error {
	if c.NArg() == 1 {
		if ok, err := manual.WriteCompletion(c.App.Writer, c.Args().First()); ok {
			return err
		}
	}
	return wrongUse("completion: write completion bash, zsh or fish")
}

func completeWords(c *cli.Context) error {
	words := c.Args().Slice()
	return manual.WriteOffers(c.App.Writer, manual.Reference(c.App), words, func(flag string) []string { return valuesOf(c, words, flag) })
}

const (
	// completionTimeout bounds the wait for the values of a flag.
	completionTimeout = 2 * time.Second
	// hostsCompleted is the number of known URLs up to which the hosts of all of them are offered, and the number of
	// hosts that are offered.
	hostsCompleted = 20_000
)

// valuesOf returns the values of a flag in a command line that is being written: the names of Crawlers, targets or
// hosts of its data directory. Errors are ignored: a shell shows no message.
func valuesOf(c *cli.Context, words []string, flag string) (values []string) {
	if flag != "--crawler" && flag != "--target" && flag != "--host" {
		return nil
	}
	for i := 1; i < len(words); i++ {
		switch words[i-1] {
		case "-d", "--data":
			_ = c.Set("data", words[i])
		case "--crawler":
			_ = c.Set("crawler", words[i])
		}
	}
	if flag == "--crawler" {
		_ = c.Set("crawler", "")
	}
	ctx, cancel := context.WithTimeout(c.Context, completionTimeout)
	defer cancel()
	_ = askEach(c, func(client *admin.Client) error {
		all, err := client.Status(ctx)
		if err != nil {
			return err
		}
		switch flag {
		case "--crawler":
			values = append(values, all[0].Crawler)
		case "--target":
			for _, t := range all[0].Targets {
				values = append(values, t.Name)
			}
		default:
			values = append(values, hostNames(ctx, client, &all[0])...)
		}
		return nil
	})
	slices.Sort(values)
	return slices.Compact(values)
}

// hostNames returns the names of a Crawler's hosts or, of a large crawl, of those with work: without scheme and port,
// since bash begins a word at a colon.
func hostNames(ctx context.Context, client *admin.Client, s *admin.Status) (names []string) {
	var page report.HostsPage
	path, query, into := "/hosts/all", url.Values{"limit": {"1000"}}, any(&page)
	if s.Known > hostsCompleted {
		path, query, into = "/hosts", url.Values{"n": {"1000"}}, &page.Hosts
	}
	_ = client.Get(ctx, path, query, into)
	for _, h := range page.Hosts {
		if u, err := url.Parse(h.Host); err == nil {
			names = append(names, u.Hostname())
		}
	}
	return names
}

func printManual(c *cli.Context) error {
	date, err := manualDate(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	return manual.WritePage(c.App.Writer, c.App, date)
}

// manualDate returns the date of a reproducible build, else today.
func manualDate(epoch string) (time.Time, error) {
	if epoch == "" {
		return time.Now().UTC(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, wrongUse("SOURCE_DATE_EPOCH %q: write seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
