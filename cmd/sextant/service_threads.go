package main

import (
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
)

func threadsFlag() cli.Flag {
	return &cli.IntFlag{
		Name: "threads", EnvVars: env("threads"),
		Usage: "how many URLs all Crawlers fetch at once, `N` together (default: the sum of their nthreads)",
	}
}

// sharedSlots bound the threads of all Crawlers; nil where each has its own.
func sharedSlots(threads int, crawlers []config.Crawler, log *slog.Logger) *crawl.Slots {
	if threads == 0 {
		return nil
	}
	sum := 0
	for _, c := range crawlers {
		sum += c.Workers
	}
	if threads >= sum {
		return nil
	}
	log.Info("the Crawlers share threads", "threads", threads, "nthreads", sum)
	return crawl.NewSlots(threads)
}
