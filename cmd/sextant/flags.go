package main

import (
	"log/slog"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/scheduler/store/pgkv"
)

// env returns the environment variable of a flag.
func env(flag string) []string {
	return []string{"SEXTANT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}

func dataFlag() cli.Flag {
	return &cli.StringFlag{Name: "data", Aliases: []string{"d"}, Value: "./data", Usage: "data directory: `DIR`", EnvVars: env("data")}
}

func databaseFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "database", EnvVars: env("database"),
		Usage: "`ADDRESS` of the PostgreSQL that has the stores, as postgres://USER:${VARIABLE}@HOST/DATABASE " +
			"(default: they are in the data directory)",
	}
}

// databaseOf returns the database of a command, empty if the stores are in the data directory.
func databaseOf(c *cli.Context) (secret.Value, error) {
	written := c.String("database")
	if written == "" {
		return secret.Value{}, nil
	}
	dsn, err := pgkv.DSN(written, os.Getenv)
	if err != nil {
		return dsn, wrongUse("--database: %w", err)
	}
	return dsn, nil
}

func configFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "config", Aliases: []string{"c"}, EnvVars: env("config"),
		Usage: "CrawlConfig.xml, or the `DIR|FILE` that holds it (default: ./CrawlConfig.xml, else config/CrawlConfig.xml in the data directory)",
	}
}

func crawlerFlag() cli.Flag {
	return &cli.StringFlag{Name: "crawler", Usage: "the Crawler with this `NAME`, if the file has several", EnvVars: env("crawler")}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON"}
}

func logFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "log-format", Value: "auto", Usage: "`text|json|journal|auto`, on stderr; auto is journal where systemd's journal reads it, else text", EnvVars: env("log-format")},
		&cli.StringFlag{Name: "log-level", Value: "info", Usage: "`debug|info|warn|error`", EnvVars: env("log-level")},
	}
}

// flags returns a command's own flags, then the common ones.
func flags(own ...cli.Flag) []cli.Flag {
	return append(append(own, configFlag(), dataFlag(), databaseFlag(), crawlerFlag(), jsonFlag()), logFlags()...)
}

// newLogger returns a logger to stderr, configured by the flags.
func newLogger(c *cli.Context) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.String("log-level"))); err != nil {
		return nil, wrongUse("--log-level %q: write debug, info, warn or error", c.String("log-level"))
	}
	to := c.App.ErrWriter
	if terminal := progressOf(c); terminal != nil {
		to = aboveProgress{terminal}
	}
	if h := service.LogHandler(c.String("log-format"), to, level); h != nil {
		return slog.New(h), nil
	}
	return nil, wrongUse("--log-format %q: write text, json, journal or auto", c.String("log-format"))
}
