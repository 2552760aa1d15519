package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config/importer"
)

func importConfig(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("import: name one file")
	}
	if c.String("format") == "" {
		return wrongUse("import: name the file's format with --format ibm, funnelback, list, smartsite or norconex")
	}
	format := importer.Format(c.String("format"))
	if !slices.Contains(importer.Formats(), format) {
		return wrongUse("--format %q: write ibm, funnelback, list, smartsite or norconex", format)
	}
	raw, err := os.ReadFile(c.Args().First())
	if err != nil {
		return err
	}
	translated, err := importer.Import(format, c.Args().First(), raw)
	var left importer.Untranslated
	switch {
	case errors.As(err, &left) && c.Bool("force"):
		fmt.Fprintln(c.App.ErrWriter, left)
	case left != nil:
		return no(fmt.Errorf("%w\nno file is written: --force turns these into comments", left))
	case err != nil:
		return no(err)
	}
	_, err = c.App.Writer.Write(translated)
	return err
}
