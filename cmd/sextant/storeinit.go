package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// Roles of the statements that store init prints.
const (
	nodeRole   = "sextant"
	readerRole = "sextant_reader"
)

func storeInit(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() != "init" {
		return wrongUse("store: write store init, followed by options only")
	}
	database, err := databaseOf(c)
	if err == nil && database.IsEmpty() {
		err = wrongUse("store init: name the PostgreSQL with --database or SEXTANT_DATABASE; " +
			"the stores of a data directory need no such step")
	}
	if err != nil {
		return err
	}
	parsed, _, err := loadConfig(c)
	if err != nil {
		return err
	}
	crawlers, err := crawlersOf(c, parsed)
	if err != nil {
		return err
	}
	const create = "CREATE ROLE %s LOGIN PASSWORD '...'"
	statements := []string{fmt.Sprintf(create, nodeRole), fmt.Sprintf(create, readerRole)}
	var schemas []string
	for _, crawler := range crawlers {
		if err := pgkv.Init(c.Context, database.Reveal(), crawler.Name); err != nil {
			return fmt.Errorf("the database: %w", err)
		}
		schemas = append(schemas, pgkv.Schema(crawler.Name))
		statements = append(statements, pgkv.Grants(crawler.Name, nodeRole, readerRole)...)
	}
	return texts(c.App.Writer, unpainted)("store init", map[string][]string{"Schemas": schemas, "Statements": statements})
}
