package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/internal/report"
)

// commands returns all commands, in the order of help and manual page. A command is one row here and one action; help,
// manual page and completion use the row.
func commands() []*cli.Command {
	return slices.Concat(crawlCommands(), lookCommands(), decideCommands(), configureCommands(), maintainCommands(), toolCommands(),
		hiddenCommands())
}

func crawlCommands() []*cli.Command {
	const category = "Crawl"
	return []*cli.Command{
		{
			Name: "demo", Category: category, Usage: "crawl built-in sites into a built-in indexer, with the console open", Action: runDemo,
			Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "once", Usage: "crawl as fast as possible, then exit"},
				&cli.DurationFlag{Name: "pace", Usage: "pause between two requests to a site (default: 400ms, with --once 5ms)"},
				&cli.IntFlag{Name: "port", Value: demoPort, Usage: "the console's `PORT`; sites and indexer use the next four. If a port is in use, a free one is chosen; 0: choose all"},
			}, logFlags()...),
		},
		{
			Name: "run", Category: category, Usage: "crawl until stopped, or with --once until nothing is left to do", Flags: runFlags(), Action: runCrawl,
		},
		{
			Name: "add", Category: category, Usage: "add URLs as roots: they are crawled next, if the rules allow it",
			ArgsUsage: "URL... (- reads them from stdin)", Flags: flags(), Action: add,
		},
		{
			Name: "refresh", Category: category, Usage: "fetch stored URLs again", ArgsUsage: "[URL...] (- reads them from stdin)", Action: refresh,
			Flags: selectionFlags(&cli.BoolFlag{Name: "full", Usage: "fetch whole pages, and push them even if they have not changed"}),
		},
		{
			Name: "remove", Category: category, Usage: "forget stored URLs and delete their documents", ArgsUsage: "[URL...] (- reads them from stdin)", Action: remove,
			Flags: selectionFlags(
				&cli.BoolFlag{Name: "forever", Usage: "also add the URLs to the file of <Kill exact=\"FILE\"/>, so that they do not come back"},
				&cli.BoolFlag{Name: "yes", Usage: "confirm the removal of more than 100 URLs, or of all"}),
		},
		{Name: "pause", Category: category, Usage: "stop fetching until resume, even across restarts; the outbox is still pushed", Flags: flags(), Action: pause},
		{Name: "resume", Category: category, Usage: "continue after pause", Flags: flags(), Action: resume},
		{
			Name: "reload", Category: category, Usage: "make the running service read its configuration again", Flags: flags(yesToEdit(), renewNow()), Action: reload,
		},
	}
}

func lookCommands() []*cli.Command {
	const category = "Look"
	return []*cli.Command{
		{
			Name: "status", Category: category, Usage: "show the state of the crawl, with or without a running service", Action: printStatuses,
			Flags: flags(&cli.BoolFlag{Name: "ready", Usage: "only check whether a service is running and ready; the exit code is 1 if not"},
				&cli.BoolFlag{Name: "watch", Usage: "show it every two seconds, until Ctrl-C"},
				&cli.IntFlag{Name: "hosts", Usage: "also show the `N` hosts with the longest queues, and some of those that rest longest"}),
		},
		{
			Name: "console", Category: category, Usage: "print the address of the console and how to sign in", Flags: flags(), Action: console,
		},
		{
			Name: "urls", Category: category, Usage: "list stored URLs and their state", Action: listURLs,
			Flags: flags(append(filterFlags(),
				&cli.StringFlag{Name: "source", Usage: "only URLs that were pushed under this `SOURCE`"},
				&cli.StringFlag{Name: "match", Usage: "only URLs that match this `XMLCONDITION`, such as <Path val=\"/a\"/>"},
				&cli.StringFlag{Name: "sort", Usage: "sort by this `COLUMN`; -fetched_at is latest first"},
				&cli.IntFlag{Name: "limit", Usage: "print only the first `N`"},
				&cli.BoolFlag{Name: "csv", Usage: "print CSV with a header line"},
				&cli.StringFlag{Name: "links-to", Usage: "print the pages that link to this `URL`, as JSON Lines"})...),
		},
		{
			Name: "explain", Category: category, Usage: "explain what happens to a URL, and which rules decide it",
			ArgsUsage: "URL... (- reads them from stdin)", Flags: flags(), Action: explain,
		},
		{
			Name: "fetch", Category: category, Usage: "fetch one page and show what a crawl would do with it; stores nothing", ArgsUsage: "URL", Action: fetchOne,
			Flags: flags(&cli.IntFlag{Name: "text", Value: 500, Usage: "print up to `N` characters of the text; 0 is all"},
				&cli.BoolFlag{Name: "render", Usage: "render the page, whatever the configuration says, and show it before and after"}),
		},
		{
			Name: "report", Category: category, Usage: "report broken links, errors, documents, changes or rounds", ArgsUsage: "broken|errors|documents|changes|rounds", Action: makeReport,
			Flags: flags(
				&cli.StringFlag{Name: "since", Usage: "only events since this `TIME|DURATION`, such as 2026-01-31, 36h, 7d (default for changes: 24h)"},
				&cli.StringFlag{Name: "host", Usage: "only URLs of this `HOST` name, or scheme://host:port"},
				&cli.IntFlag{Name: "top", Value: report.TopHosts, Usage: "show the `N` hosts with the most, 0: all"},
				&cli.IntFlag{Name: "pages", Usage: "show `N` pages of each broken link, 0: all (the default for --csv and --json)"},
				&cli.StringFlag{Name: "sort", Usage: "sort by this `COLUMN` of the CSV; -at is latest first"},
				&cli.IntFlag{Name: "limit", Usage: "print only the first `N` (broken, changes)"},
				&cli.BoolFlag{Name: "csv", Usage: "print CSV with a header line"}),
		},
		{
			Name: "events", Category: category, Usage: "print what operators and the service did", Action: listEvents,
			Flags: flags(&cli.StringFlag{Name: "kind", Usage: "only these `KINDS`, separated by commas, such as reload,pause"},
				&cli.IntFlag{Name: "limit", Usage: "print only the latest `N`"}),
		},
	}
}

func decideCommands() []*cli.Command {
	const category = "Decide"
	return []*cli.Command{
		{
			Name: "deletions", Category: category, Usage: "list pending deletions, new texts and moves; release or drop them",
			ArgsUsage: "[release|drop URL...] (- reads them from stdin)", Action: deletions,
			Flags: flags(
				&cli.StringFlag{Name: "host", Usage: "only deletions of this `HOST` name, or scheme://host:port"},
				&cli.StringFlag{Name: "reason", Usage: "only deletions with this `REASON`, such as not_found"},
				&cli.StringFlag{Name: "edit", Usage: "only deletions by edit `N` of the rules"},
				&cli.StringFlag{Name: "by", Usage: "count them by `host|reason|class|edit`, or by several, separated by commas"},
				&cli.BoolFlag{Name: "all", Usage: "release or drop all of them"},
				&cli.BoolFlag{Name: "yes", Usage: "confirm the release of more than 100 deletions"}),
		},
		{
			Name: "outbox", Category: category, Usage: "list orders that indexers do not have yet or have refused; retry or drop dead letters",
			ArgsUsage: "[retry|drop URL...] (- reads them from stdin)", Action: outbox,
			Flags: flags(
				&cli.StringFlag{Name: "state", Usage: "only orders in this `STATE`: waiting, pending or dead"},
				&cli.StringFlag{Name: "target", Usage: "only the dead letters of the push target `NAME`, and the orders that it does not have yet"},
				&cli.StringFlag{Name: "source", Usage: "only documents of the push source `NAME`"},
				&cli.StringSliceFlag{Name: "url", Usage: "only orders of this `URL`; may be repeated"},
				&cli.BoolFlag{Name: "count", Usage: "print counts instead of orders"},
				&cli.BoolFlag{Name: "all", Usage: "retry or drop all dead letters"}),
		},
	}
}

func configureCommands() []*cli.Command {
	const category = "Configure"
	return []*cli.Command{
		{
			Name: "check", Category: category, Usage: "check the configuration: all errors, then warnings", Action: check,
			Flags: flags(&cli.BoolFlag{Name: "strict", Usage: "exit with 1 for warnings, too"},
				&cli.BoolFlag{Name: "patterns", Usage: "print each pattern with the regular expression that it is compiled to"},
				&cli.BoolFlag{Name: "no-browser", Usage: "do not test the browser of a configuration that renders: start no program"}),
		},
		{
			Name: "fmt", Category: category, Usage: "format the configuration: indentation and line breaks", ArgsUsage: "[FILE]", Action: formatConfig,
			Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "replace the file if its layout differs"},
				&cli.BoolFlag{Name: "check", Usage: "print nothing, and exit with 1 if the layout differs"},
				configFlag(), dataFlag(),
			}, logFlags()...),
		},
		{
			Name: "config", Category: category, Usage: "list earlier texts of the configuration, compare one with the file, or restore it", Action: configHistory,
			ArgsUsage: "history|diff [N]|rollback [N]", Flags: flags(),
		},
		{
			Name: "test", Category: category, Usage: "check decisions against your own test cases", ArgsUsage: "[FILE...]", Flags: flags(), Action: testRules,
		},
		{
			Name: "preview", Category: category, Usage: "show what a changed configuration would do to the stored URLs; changes nothing",
			ArgsUsage: "NEWCONFIG", Action: preview,
			Flags: flags(&cli.IntFlag{Name: "samples", Value: 5, Usage: "show up to `N` URLs of each kind"}),
		},
		{
			Name: "import", Category: category, Usage: "convert another crawler's configuration to CrawlConfig.xml", ArgsUsage: "FILE", Action: importConfig,
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "format", Usage: "`ibm|funnelback|list|smartsite|norconex`"},
				&cli.BoolFlag{Name: "force", Usage: "write the result even if something has no counterpart"},
			}, logFlags()...),
		},
		{
			Name: "schema", Category: category, Usage: "print the XML Schema (XSD) of CrawlConfig.xml, for editors", Action: printSchema,
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "namespace", Value: config.DefaultVersion, Usage: "`VERSION` of CloudView's namespaces"},
				&cli.StringFlag{Name: "part", Value: "crawl", Usage: "which document: `crawl|actionrules`"},
			}, logFlags()...),
		},
	}
}

func maintainCommands() []*cli.Command {
	const category, access = "Maintain", "Access and notices"
	return []*cli.Command{
		{
			Name: "backup", Category: category, Usage: "write a copy of the store to a file, even while the service runs", ArgsUsage: "FILE (- is stdout)", Action: backup,
			Flags: flags(&cli.BoolFlag{Name: "force", Usage: "replace FILE if it exists"}),
		},
		{
			Name: "restore", Category: category, Usage: "create the store from a backup, in a data directory without a store",
			ArgsUsage: "FILE (- is stdin)", Flags: flags(), Action: restore,
		},
		{
			Name: "store", Category: category, Usage: "create the stores in a PostgreSQL (store init)",
			ArgsUsage: "init", Action: storeInit,
			Flags: append([]cli.Flag{configFlag(), dataFlag(), databaseFlag(), crawlerFlag()}, logFlags()...),
		},
		{Name: "verify", Category: category, Usage: "check the whole store for faults", Flags: flags(), Action: verify},
		{
			Name: "push", Category: category, Usage: "compare the pushed documents with the index of a papi target (push verify)", ArgsUsage: "verify", Action: pushVerify,
			Flags: flags(
				&cli.StringFlag{Name: "target", Usage: "the Push with this `NAME`, if there are several of kind papi"},
				&cli.BoolFlag{Name: "repair", Usage: "fetch missing documents again, and push them"},
				&cli.BoolFlag{Name: "delete-foreign", Usage: "delete documents from the index that this crawl did not push"},
				&cli.IntFlag{Name: "samples", Value: 10, Usage: "print up to `N` URLs of each kind"}),
		},
		{
			Name: "token", Category: access, Usage: "print the path of an API token's file; create the file if there is none", Action: printToken,
			Flags: flags(append(tokenFlags(),
				&cli.StringFlag{Name: "role", Value: "operator", Usage: "which token: `operator|reader`"})...),
		},
		{
			Name: "notify", Category: access, Usage: "send a test notice to each <Notify> of the configuration", Action: sendTestNotice,
			Flags: flags(&cli.BoolFlag{Name: "test", Usage: "send it"}),
		},
	}
}

func toolCommands() []*cli.Command {
	const category = "Tools"
	return []*cli.Command{
		{
			Name: "indexer", Category: category, Usage: "run a small indexer for trials: Push API, _bulk, webhooks, search page", Action: runIndexer,
			Flags: append([]cli.Flag{
				dataFlag(),
				&cli.StringFlag{Name: "listen", Value: defaultIndexerListen, Usage: "`ADDR` to serve on, loopback only", EnvVars: env("indexer-listen")},
				&cli.StringFlag{Name: "user", Usage: "require HTTP Basic with this `NAME`", EnvVars: env("user")},
				&cli.StringFlag{Name: "password", Usage: "the password of --user; preferably set in SEXTANT_PASSWORD", EnvVars: env("password")},
				&cli.StringFlag{Name: "webhook-secret", Usage: "require webhooks to be signed with this `SECRET`; preferably set in SEXTANT_WEBHOOK_SECRET", EnvVars: env("webhook-secret")},
				&cli.StringFlag{Name: "fail", Usage: "fail on purpose, for tests: `SCRIPT`"},
			}, logFlags()...),
		},
		{
			Name: "mcp", Category: category, Usage: "let a language model read the crawl, by the Model Context Protocol on " +
				"stdin and stdout", Flags: append([]cli.Flag{configFlag(), dataFlag(), databaseFlag(), crawlerFlag()}, logFlags()...), Action: serveMCP,
		},
		{
			Name: "completion", Category: category, Usage: "print a completion script for bash, zsh or fish", ArgsUsage: "bash|zsh|fish", Action: printCompletion,
		},
		{
			Name: "man", Category: category, Usage: "print the manual page sextant(1)", Action: printManual,
		},
		{Name: "version", Category: category, Usage: "print version, commit, Go version and platform", Flags: []cli.Flag{jsonFlag()}, Action: printVersion},
		{Name: "help", Category: category, Usage: "show what a command does, and its options", ArgsUsage: "[COMMAND]", Action: printHelp},
	}
}

// hiddenCommands are for programs: the crawler runs itself with two of them, and completion scripts run the third.
func hiddenCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: documents.WorkerCommand, Hidden: true, Usage: "read documents for a running crawler, which starts this command itself", Action: readDocuments,
			Flags: []cli.Flag{
				&cli.DurationFlag{Name: "timeout", Required: true, Usage: "time for one document"},
				&cli.Int64Flag{Name: "memory", Required: true, Usage: "`BYTES` that it may use"},
			},
		},
		{
			Name: documents.ConverterCommand, Hidden: true, Usage: "run a converter for a running crawler, which starts this command itself",
			ArgsUsage: "PROGRAM [ARGUMENT...]", Action: convertDocument,
			Flags: []cli.Flag{
				&cli.Int64Flag{Name: "memory", Required: true, Usage: "`BYTES` that each of its processes may use"},
				&cli.BoolFlag{Name: "start", Usage: "become the converter"},
			},
		},
		{Name: "__complete", Hidden: true, ArgsUsage: "WORD...", Flags: flags(), Action: completeWords},
	}
}
