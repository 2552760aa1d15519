// Package pgkv is the engine of a store on PostgreSQL, which nodes on several machines may share. A crawl's keys are
// divided into parts, and each part has one writer: the node that holds it.
//
// The package starts no goroutine and has no lock. Commit and the methods of kv.Bodies that write are called
// by one goroutine at a time; a View belongs to one goroutine; Run is the only goroutine that beats.
package pgkv

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"
)

// tables make a schema. Rows of kv, node and beat are updated in place where their page has room, so that indexes do
// not grow.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS node (
		id text PRIMARY KEY, incarnation bigint NOT NULL DEFAULT 0, commits bigint NOT NULL DEFAULT 0,
		fenced boolean NOT NULL DEFAULT true) WITH (fillfactor = 10)`,
	`CREATE TABLE IF NOT EXISTS beat (
		node text PRIMARY KEY, incarnation bigint NOT NULL, n bigint NOT NULL) WITH (fillfactor = 10)`,
	`CREATE TABLE IF NOT EXISTS part (part smallint PRIMARY KEY, node text NOT NULL, incarnation bigint NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS kv (
		part smallint, k bytea, v bytea NOT NULL, PRIMARY KEY (part, k)) WITH (fillfactor = 80,` + vacuum + `)`,
	`CREATE TABLE IF NOT EXISTS body (
		part smallint, segment bigint, at bigint, v bytea NOT NULL, PRIMARY KEY (part, segment, at))
		WITH (` + vacuum + `, toast.autovacuum_vacuum_scale_factor = 0.05, toast.autovacuum_vacuum_cost_delay = 0)`,
}

// vacuum removes dead rows early: with default settings the table of bodies grows to 19 times its contents.
const vacuum = ` autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2,
	autovacuum_vacuum_cost_delay = 0`

// lz4 is the first server_version_num that compresses with LZ4.
const lz4 = 140000

// Name is the form of the names of schemas and nodes: an application_name of 63 bytes holds both.
var Name = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,17}$`)

// Init creates a schema with its tables, and changes nothing that exists.
func Init(ctx context.Context, dsn, schema string) error {
	if !Name.MatchString(schema) {
		return fmt.Errorf("schema %q: write up to 18 lower-case letters, digits, _ or -", schema)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		name := pgx.Identifier{schema}.Sanitize()
		all := append([]string{"CREATE SCHEMA IF NOT EXISTS " + name, "SET LOCAL search_path TO " + name}, tables...)
		var version int
		if err := tx.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
			return err
		}
		if version >= lz4 {
			all = append(all, "ALTER TABLE body ALTER v SET COMPRESSION lz4")
		}
		for _, statement := range all {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
	return errors.Join(err, conn.Close(ctx))
}
