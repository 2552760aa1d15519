package main

import (
	"log/slog"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/service"
)

// env is the environment variable that sets the flag of this name.
func env(flag string) []string {
	return []string{"SEXTANT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
}

func dataFlag() cli.Flag {
	return &cli.StringFlag{Name: "data", Aliases: []string{"d"}, Value: "./data", Usage: "data directory: `DIR`", EnvVars: env("data")}
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

// flags are a command's own, then those that every command has.
func flags(own ...cli.Flag) []cli.Flag {
	return append(append(own, configFlag(), dataFlag(), crawlerFlag(), jsonFlag()), logFlags()...)
}

// newLogger logs to stderr as the flags say.
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
