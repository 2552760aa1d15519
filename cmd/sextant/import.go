package main

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config/importer"
)

func importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "convert another crawler's configuration to CrawlConfig.xml",
		ArgsUsage: "FILE",
		Description: "Formats: ibm (crawl.rules), funnelback (collection.cfg), list (start URLs with Elastic's\n" +
			"allow and deny or Norconex's include and exclude lines). What cannot be translated stands in\n" +
			"the result as a comment.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`ibm|funnelback|list`", Required: true},
		}, logFlags()...),
		Action: importConfig,
	}
}

func importConfig(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("import: name one file")
	}
	format := importer.Format(c.String("format"))
	if !slices.Contains(importer.Formats(), format) {
		return wrongUse("--format %q: write ibm, funnelback or list", format)
	}
	raw, err := os.ReadFile(c.Args().First())
	if err != nil {
		return err
	}
	translated, err := importer.Import(format, c.Args().First(), raw)
	if err != nil {
		return no(err)
	}
	_, err = c.App.Writer.Write(translated)
	return err
}
