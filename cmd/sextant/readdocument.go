package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
)

// readDocumentCommand is what the crawler runs itself as, in a process of its own, to
// read PDF and office documents.
func readDocumentCommand() *cli.Command {
	return &cli.Command{
		Name: documents.WorkerCommand, Hidden: true,
		Usage: "read documents for a running crawler, which starts this itself",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "timeout", Required: true, Usage: "time for one document"},
			&cli.Int64Flag{Name: "memory", Required: true, Usage: "`BYTES` that it may take"},
		},
		Action: func(c *cli.Context) error {
			// The crawler ends its workers; what is sent to all of its processes is not for them.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			memory := c.Int64("memory")
			if err := documents.Restrict(memory); err != nil {
				return err
			}
			return documents.Serve(c.App.Reader, c.App.Writer, c.Duration("timeout"), documents.NewReaders(memory))
		},
	}
}

// convertDocumentCommand is what the crawler runs itself as to run a <Converter>: a process that
// ends the converter with all its children, also when the crawler is gone. With start it
// becomes the converter.
func convertDocumentCommand() *cli.Command {
	return &cli.Command{
		Name: documents.ConverterCommand, Hidden: true,
		Usage:     "run a converter for a running crawler, which starts this itself",
		ArgsUsage: "PROGRAM [ARGUMENT...]",
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "memory", Required: true, Usage: "`BYTES` that each of its processes may take"},
			&cli.BoolFlag{Name: "start", Usage: "become the converter"},
		},
		Action: func(c *cli.Context) error {
			limits, program := documents.Limits{Memory: c.Int64("memory")}, c.Args().Slice()
			verdict := os.NewFile(3, "verdict")
			if c.Bool("start") {
				return documents.StartConverter(verdict, limits, program)
			}
			syscall.CloseOnExec(3)
			// The crawler ends it, by its input. The signals are not ignored, as the converter would inherit that.
			signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return documents.Supervise(c.App.Reader, verdict, nil, limits, program)
		},
	}
}
