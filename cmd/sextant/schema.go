package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:  "schema",
		Usage: "print the XML Schema (XSD) of CrawlConfig.xml, for editors",
		Description: "There are two documents, because a CrawlConfig.xml has two namespaces. Write them side " +
			"by side: schema > crawl.v21.xsd; schema --part actionrules > actionrules.v21.xsd",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "namespace", Value: config.DefaultVersion, Usage: "`VERSION` of CloudView's namespaces"},
			&cli.StringFlag{Name: "part", Value: "crawl", Usage: "which document: `crawl|actionrules`"},
		}, logFlags()...),
		Action: printSchema,
	}
}

func printSchema(c *cli.Context) error {
	text, err := config.SchemaText(c.String("namespace"), c.String("part"))
	if err != nil {
		return wrongUse("--%w", err)
	}
	_, err = c.App.Writer.Write(text)
	return err
}
