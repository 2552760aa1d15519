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
			Description: "Crawls three invented sites on this machine for up to a minute, while the console shows it. Then it suggests " +
				"what to try, and serves until Ctrl-C. All data is in a temporary folder, which is removed at the end.",
			Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "once", Usage: "crawl as fast as possible, then exit"},
				&cli.DurationFlag{Name: "pace", Usage: "pause between two requests to a site (default: 400ms, with --once 5ms)"},
				&cli.IntFlag{Name: "port", Value: demoPort, Usage: "the console's `PORT`; sites and indexer use the next four. If a port is in use, a free one is chosen; 0: choose all"},
			}, logFlags()...),
		},
		{
			Name: "run", Category: category, Usage: "crawl until stopped, or with --once until nothing is left to do", Flags: runFlags(), Action: runCrawl,
			Description: "The first SIGTERM or SIGINT lets pages in flight finish, the second one stops at once. " +
				"Without --crawler, all Crawlers of the configuration run.",
		},
		{
			Name: "add", Category: category, Usage: "add URLs as roots: they are crawled next, if the rules allow it",
			ArgsUsage: "URL... (- reads them from stdin)", Flags: flags(), Action: add,
		},
		{
			Name: "refresh", Category: category, Usage: "fetch stored URLs again", ArgsUsage: "[URL...] (- reads them from stdin)", Action: refresh,
			Description: "They are queued in the fifo index, or in refresh if smart refresh is on, and are requested " +
				"conditionally. If no service runs, they wait for its next start.",
			Flags: selectionFlags(&cli.BoolFlag{Name: "full", Usage: "fetch whole pages, and push them even if they have not changed"}),
		},
		{
			Name: "remove", Category: category, Usage: "forget stored URLs and delete their documents", ArgsUsage: "[URL...] (- reads them from stdin)", Action: remove,
			Description: "These deletions are sent at once. If a page still links to a URL, it is found " +
				"again when that page changes, unless --forever adds it to the kill list. Roots of the configuration stay.",
			Flags: selectionFlags(
				&cli.BoolFlag{Name: "forever", Usage: "also add the URLs to the file of <Kill exact=\"FILE\"/>, so that they do not come back"},
				&cli.BoolFlag{Name: "yes", Usage: "confirm the removal of more than 100 URLs, or of all"}),
		},
		{Name: "pause", Category: category, Usage: "stop fetching until resume, even across restarts; the outbox is still pushed", Flags: flags(), Action: pause},
		{Name: "resume", Category: category, Usage: "continue after pause", Flags: flags(), Action: resume},
		{
			Name: "reload", Category: category, Usage: "make the running service read its configuration again", Flags: flags(yesToEdit(), renewNow()), Action: reload,
			Description: "If changed rules delete more than a few documents, these deletions stay pending: see " +
				"sextant status. With --yes they are sent; sextant preview shows their number beforehand. Documents that " +
				"get other metas, or another source, are fetched when they are due; with --now, at once.",
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
			Description: "The console shows and controls the crawl in a browser. It listens at the address of run --listen, and " +
				"requires the operator's or the readers' token. This command prints the path of the token's file, not the token.",
		},
		{
			Name: "urls", Category: category, Usage: "list stored URLs and their state", Action: listURLs,
			Description: "On a terminal it prints a table, elsewhere JSON Lines, as with --json.",
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
			Description: "Where the data directory has a store, it also shows the stored state. The decision is " +
				"the one for a newly discovered link.",
		},
		{
			Name: "fetch", Category: category, Usage: "fetch one page and show what a crawl would do with it; stores nothing", ArgsUsage: "URL", Action: fetchOne,
			Description: "URLs that rules, full traps or robots.txt exclude are not fetched. Redirects are not followed. Pauses, " +
				"log-ins and refused addresses are those of the crawl; hours of a Throttle are ignored. Sites " +
				"that have moved are known only where the data directory has a store. The exit code is 1 if there is no page.",
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
			Description: "The latest 1,000 events are kept, also across restarts. The newest is printed last.",
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
			Description: "A document is deleted, or gets a text that shares almost nothing with its old one, once that is confirmed: the more documents " +
				"of a host are affected, the longer that takes. A good response cancels it. release carries out the pending changes at once; drop " +
				"discards them and fetches the URLs again. drop skips the changes that an edit of the rules made: reverting the edit cancels these.",
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
			Description: "Without an argument it lists the orders. Dead letters are documents and deletions that an " +
				"indexer refused permanently, with its message. retry sends them again, to all targets, unless a newer " +
				"order of the URL has replaced them; drop discards them.",
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
			Description: "With --data, check also warns of rules and Refresh elements that match none of the stored URLs. If pages are to be rendered, it has the browser " +
				"render a small test page, as the user who runs it, for at most half a minute. With --json " +
				"each finding is a line, and the last line is a summary.",
			Flags: flags(&cli.BoolFlag{Name: "strict", Usage: "exit with 1 for warnings, too"},
				&cli.BoolFlag{Name: "patterns", Usage: "print each pattern with the regular expression that it is compiled to"},
				&cli.BoolFlag{Name: "no-browser", Usage: "do not test the browser of a configuration that renders: start no program"}),
		},
		{
			Name: "fmt", Category: category, Usage: "format the configuration: indentation and line breaks", ArgsUsage: "[FILE]", Action: formatConfig,
			Description: "Prints the formatted text, or replaces the file with -w. The meaning of the configuration never " +
				"changes: attributes keep their order, comments and blank lines stay. Without FILE it formats the file that " +
				"the other commands would read; FILE may be a folder, or - for stdin.",
			Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "write", Aliases: []string{"w"}, Usage: "replace the file if its layout differs"},
				&cli.BoolFlag{Name: "check", Usage: "print nothing, and exit with 1 if the layout differs"},
				configFlag(), dataFlag(),
			}, logFlags()...),
		},
		{
			Name: "config", Category: category, Usage: "list earlier texts of the configuration, compare one with the file, or restore it", Action: configHistory,
			ArgsUsage: "history|diff [N]|rollback [N]", Flags: flags(),
			Description: "The service keeps the newest 100 texts that came into force. N is a number that history prints, 1 being the newest; without it, the newest text that differs from the file. " +
				"rollback writes the text into the file, as the console does, and the service reloads.",
		},
		{
			Name: "test", Category: category, Usage: "check decisions against your own test cases", ArgsUsage: "[FILE...]", Flags: flags(), Action: testRules,
			Description: "Each case is a line with a URL and the expected decision, as in\n" +
				"  http://www.example.com/news/a   crawl index fifo=redir source=news meta:kind=news\n" +
				"  http://www.example.com/logo.gif ignore by=rules line=12   # comments like this\n" +
				"Without FILE, it reads cases.txt beside the configuration, which the console shows and edits.",
		},
		{
			Name: "preview", Category: category, Usage: "show what a changed configuration would do to the stored URLs; changes nothing",
			ArgsUsage: "NEWCONFIG", Action: preview,
			Description: "It considers only stored URLs: links that were ignored so far are not stored. If the " +
				"new rules allow more, pages that may contain such links are read again.",
			Flags: flags(&cli.IntFlag{Name: "samples", Value: 5, Usage: "show up to `N` URLs of each kind"}),
		},
		{
			Name: "import", Category: category, Usage: "convert another crawler's configuration to CrawlConfig.xml", ArgsUsage: "FILE", Action: importConfig,
			Description: "Formats: ibm (crawl.rules), funnelback (collection.cfg), list (start URLs with Elastic's " +
				"allow and deny or Norconex's include and exclude lines), smartsite (key=value), norconex (XML of version 3). What cannot be " +
				"converted is an error with its line; with --force it becomes a comment. An exclude is never left out.",
			Flags: append([]cli.Flag{
				&cli.StringFlag{Name: "format", Usage: "`ibm|funnelback|list|smartsite|norconex`"},
				&cli.BoolFlag{Name: "force", Usage: "write the result even if something has no counterpart"},
			}, logFlags()...),
		},
		{
			Name: "schema", Category: category, Usage: "print the XML Schema (XSD) of CrawlConfig.xml, for editors", Action: printSchema,
			Description: "There are two documents, because a CrawlConfig.xml has two namespaces. Write them side " +
				"by side: schema > crawl.v21.xsd; schema --part actionrules > actionrules.v21.xsd",
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
			Description: "A backup is a snapshot of all stored URLs and the outbox. It does not contain the " +
				"configuration, or files written by targets of kind file. FILE appears when it is complete; an existing FILE is " +
				"replaced only with --force.",
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
			Description: "Creates a schema with tables for each Crawler of the configuration in the database of " +
				"--database, and changes nothing that exists. Run it as a role that may create schemas. It prints the " +
				"statements that give the role of the nodes, and one that only reads, their rights.",
		},
		{Name: "verify", Category: category, Usage: "check the whole store for faults", Flags: flags(), Action: verify},
		{
			Name: "push", Category: category, Usage: "compare the pushed documents with the index of a papi target (push verify)", ArgsUsage: "verify", Action: pushVerify,
			Description: "Lists documents that are missing from the index, and foreign ones that the crawl did not push. The exit code is 1 " +
				"if there are any. --repair fetches and pushes missing documents again. " +
				"--delete-foreign deletes foreign ones, including those that other programs pushed to the connector.",
			Flags: flags(
				&cli.StringFlag{Name: "target", Usage: "the Push with this `NAME`, if there are several of kind papi"},
				&cli.BoolFlag{Name: "repair", Usage: "fetch missing documents again, and push them"},
				&cli.BoolFlag{Name: "delete-foreign", Usage: "delete documents from the index that this crawl did not push"},
				&cli.IntFlag{Name: "samples", Value: 10, Usage: "print up to `N` URLs of each kind"}),
		},
		{
			Name: "token", Category: access, Usage: "print the path of an API token's file; create the file if there is none", Action: printToken,
			Description: "With the token, programs reach a service over TCP:\n" +
				"  curl -H \"Authorization: Bearer $(cat $(sextant token))\" http://127.0.0.1:7370/api/v1/status\n" +
				"A reader can see everything that is stored, but cannot change anything. Only an operator can read and try configurations, " +
				"and use fetch, push verify and backup. After you create or change a token, run sextant reload. On this machine " +
				"the other commands require no token: they use the socket in the data directory.",
			Flags: flags(append(tokenFlags(),
				&cli.StringFlag{Name: "role", Value: "operator", Usage: "which token: `operator|reader`"})...),
		},
		{
			Name: "notify", Category: access, Usage: "send a test notice to each <Notify> of the configuration", Action: sendTestNotice,
			Description: "The notice states that it is a test and contains nothing about the crawl. No service needs to " +
				"run. The exit code is 1 if a webhook does not accept it or a command fails.",
			Flags: flags(&cli.BoolFlag{Name: "test", Usage: "send it"}),
		},
	}
}

func toolCommands() []*cli.Command {
	const category = "Tools"
	return []*cli.Command{
		{
			Name: "indexer", Category: category, Usage: "run a small indexer for trials: Push API, _bulk, webhooks, search page", Action: runIndexer,
			Description: "It is meant for trials and tests: documents are kept in an embedded " +
				"index under --data, and can be searched on its page.",
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
			Description: "A client, such as an assistant or an editor, starts it. Its tools are the reads of the API, with " +
				"the rights of a " +
				"reader: none changes anything. It asks the running service, or reads the store if none runs. The service " +
				"offers the same over HTTP at /mcp, to holders of a token.",
		},
		{
			Name: "completion", Category: category, Usage: "print a completion script for bash, zsh or fish", ArgsUsage: "bash|zsh|fish", Action: printCompletion,
			Description: "bash: source <(sextant completion bash)\n" +
				"zsh: sextant completion zsh > a file _sextant in a folder of $fpath\n" +
				"fish: sextant completion fish | source",
		},
		{
			Name: "man", Category: category, Usage: "print the manual page sextant(1)", Action: printManual,
			Description: "Its date is that of SOURCE_DATE_EPOCH (seconds since 1970), or today's.",
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
