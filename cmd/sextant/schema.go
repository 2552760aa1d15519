package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:  "schema",
		Usage: "print the XSD of CrawlConfig.xml, for editors",
		Description: "There are two documents, because a CrawlConfig.xml has two namespaces. Write them side\n" +
			"by side: schema > crawl.v21.xsd; schema --part actionrules > actionrules.v21.xsd",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "namespace", Value: config.DefaultVersion, Usage: "`VERSION` of CloudView's namespaces", EnvVars: env("namespace")},
			&cli.StringFlag{Name: "part", Value: "crawl", Usage: "which document: `crawl|actionrules`", EnvVars: env("part")},
		}, logFlags()...),
		Action: printSchema,
	}
}

func printSchema(c *cli.Context) error {
	if c.Args().Present() {
		return wrongUse("schema takes no arguments, found %q", c.Args().First())
	}
	documents, err := config.Schema(c.String("namespace"))
	if err != nil {
		return wrongUse("--namespace: %w", err)
	}
	switch c.String("part") {
	case "crawl":
		_, err = c.App.Writer.Write(documents[0].Text)
	case "actionrules":
		_, err = c.App.Writer.Write(documents[1].Text)
	default:
		return wrongUse("--part %q: write crawl or actionrules", c.String("part"))
	}
	return err
}
