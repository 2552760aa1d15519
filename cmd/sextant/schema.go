package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
)

func printSchema(c *cli.Context) error {
	text, err := config.SchemaText(c.String("namespace"), c.String("part"))
	if err != nil {
		return wrongUse("--%w", err)
	}
	_, err = c.App.Writer.Write(text)
	return err
}
