// Package pgkv is the engine of a store on PostgreSQL, which nodes on several machines may share. A crawl's keys are
// divided into parts, and each part has one writer: the node that holds it.
//
// The package starts no goroutine and has no lock. Commit and the methods of kv.Bodies that write are called
// by one goroutine at a time; a View belongs to one goroutine; Run is the only goroutine that beats.
package pgkv

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// tables make a schema. Rows of kv, node and beat are updated in place where their page has room, so that indexes do
// not grow.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS node (
		id text PRIMARY KEY, incarnation bigint NOT NULL DEFAULT 0, commits bigint NOT NULL DEFAULT 0,
		fenced boolean NOT NULL DEFAULT true, set_back timestamptz) WITH (fillfactor = 10)`,
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

// Schema returns the name of a Crawler's schema: the Crawler's name if it has the form Name.
func Schema(crawler string) string {
	if Name.MatchString(crawler) && crawler != "public" && !strings.HasPrefix(crawler, "pg_") {
		return crawler
	}
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(crawler))
	sum := sha256.Sum256([]byte(crawler))
	return fmt.Sprintf("c_%.7s_%x", plain, sum[:4])
}

// comment begins the comment of a schema, which the Crawler's name follows. Its number is the version of the tables.
const comment = "Sextant, version 1: "

// ErrNotInit reports that the database has no schema for a Crawler.
var ErrNotInit = errors.New("sextant store init has not been run")

// rowQuerier is a connection, a transaction or a pool.
type rowQuerier interface {
	QueryRow(ctx context.Context, statement string, args ...any) pgx.Row
}

// initialised returns an error that wraps ErrNotInit unless Init made the schema.
func initialised(ctx context.Context, q rowQuerier, schema string) error {
	const find = "SELECT coalesce(obj_description(to_regnamespace(quote_ident($1)), 'pg_namespace'), '')"
	var found string
	if err := q.QueryRow(ctx, find, schema).Scan(&found); err != nil {
		return err
	}
	if !strings.HasPrefix(found, comment) {
		return refusal{fmt.Errorf("schema %s: %w for this Crawler in this database", schema, ErrNotInit)}
	}
	return nil
}

// Crawlers returns the names of the Crawlers for which Init made a schema.
func Crawlers(ctx context.Context, dsn string) (names []string, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	const find = `SELECT substr(d, length($1) + 1) FROM
		(SELECT obj_description(oid, 'pg_namespace') AS d FROM pg_namespace) AS x WHERE starts_with(d, $1) ORDER BY 1`
	rows, _ := conn.Query(ctx, find, comment) // CollectRows returns the error
	names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return names, errors.Join(err, conn.Close(ctx))
}

// Grants returns the statements that let the role node run a crawl, and the role reader read it.
func Grants(crawler, node, reader string) []string {
	schema := pgx.Identifier{Schema(crawler)}.Sanitize()
	return []string{
		fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s, %s", schema, node, reader),
		fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s", schema, node),
		fmt.Sprintf("GRANT SELECT ON ALL TABLES IN SCHEMA %s TO %s", schema, reader),
	}
}

// Init creates a Crawler's schema with its tables, and changes nothing that exists.
func Init(ctx context.Context, dsn, crawler string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		name := pgx.Identifier{Schema(crawler)}.Sanitize()
		words := "'" + strings.ReplaceAll(comment+crawler, "'", "''") + "'"
		all := append([]string{
			"CREATE SCHEMA IF NOT EXISTS " + name,
			"COMMENT ON SCHEMA " + name + " IS " + words,
			"SET LOCAL search_path TO " + name,
		}, tables...)
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
