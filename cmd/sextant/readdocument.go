package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
)

// readDocuments runs as a process of the crawler that reads PDF and office documents.
func readDocuments(c *cli.Context) error {
	// The crawler ends its workers; a signal to all of its processes is not for them.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	memory := c.Int64("memory")
	if err := documents.Restrict(memory); err != nil {
		return err
	}
	return documents.Serve(c.App.Reader, c.App.Writer, c.Duration("timeout"), documents.NewReaders(memory))
}

// convertDocument runs as a process of the crawler that runs a <Converter>: it ends the converter with all its
// children, also when the crawler is gone. With start it becomes the converter.
func convertDocument(c *cli.Context) error {
	limits, program := documents.Limits{Memory: c.Int64("memory")}, c.Args().Slice()
	verdict := os.NewFile(3, "verdict")
	if c.Bool("start") {
		return documents.StartConverter(verdict, limits, program)
	}
	syscall.CloseOnExec(3)
	// The crawler ends it, by its input. The signals are not ignored, since the converter would inherit that.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return documents.Supervise(c.App.Reader, verdict, nil, limits, program)
}
