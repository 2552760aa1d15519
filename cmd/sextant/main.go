// Command sextant crawls web sites into an indexer by the rules of a
// CrawlConfig.xml. One file holds one command: flags in, words out. What runs is in package
// service.
//
// It starts one goroutine for signals, and those of the demo; whoever starts one waits for
// it. It has no lock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/service"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

// Exit codes of every command.
const (
	exitOK     = 0
	exitNo     = 1 // the command's own "no"
	exitUsage  = 2 // wrong use
	exitFailed = 3 // it could not run
)

// failure is an error with the exit code that it means. A nil err ends quietly:
// everything has been said.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// no is the command's own "no"; with a nil error everything has been printed.
func no(err error) error { return &failure{exitNo, err} }

// wrongUse is a command line that makes no sense.
func wrongUse(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program; it returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &checkedWriter{w: stdout}
	stderr = service.Complaints(stderr)
	app := newApp(stdin, out, stderr)
	err := app.RunContext(ctx, flagsFirst(app, args))
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to stdout: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if f, ok := errors.AsType[*failure](err); ok {
		code = f.code
	} else if errors.Is(err, admin.ErrRefused) {
		code = exitUsage
	}
	if words := err.Error(); words != "" {
		fmt.Fprintf(stderr, "sextant: %s\n", words)
	}
	return code
}

// checkedWriter remembers that output was lost, so that no command has to look at
// every line that it prints.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// newApp is the command line. Output of commands goes to stdout; everything
// about wrong use goes to stderr.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	usageError := func(c *cli.Context, err error, _ bool) error {
		name := "sextant"
		if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
			name += " " + c.Command.Name
		}
		return wrongUse("%s: %w (%s --help lists the flags)", name, err, name)
	}
	app := &cli.App{
		Name: "sextant", Version: versionWords(),
		Usage:     "crawl web sites into an indexer by the rules of a CrawlConfig.xml",
		Reader:    stdin,
		Writer:    stdout,
		ErrWriter: stderr,
		// Commands return their errors; the library must neither print nor exit.
		ExitErrHandler:         func(*cli.Context, error) {},
		OnUsageError:           usageError,
		HideHelpCommand:        true,
		UseShortOptionHandling: false,
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name == "help" {
				return wrongUse("there is no command \"help\": write sextant --help, or sextant COMMAND --help")
			} else if name != "" {
				return wrongUse("there is no command %q%s (sextant --help lists them)", name, didYouMean(c.App, name))
			}
			cli.ShowAppHelp(c) //nolint:errcheck // nothing is left to do if stdout is gone
			return nil
		},
		Commands: []*cli.Command{
			runCommand(), demoCommand(), checkCommand(), explainCommand(), fetchCommand(), testCommand(), addCommand(),
			refreshCommand(), removeCommand(), urlsCommand(), reportCommand(), eventsCommand(), deletionsCommand(), outboxCommand(),
			statusCommand(), pauseCommand(), resumeCommand(), reloadCommand(), previewCommand(), verifyCommand(), pushCommand(), backupCommand(), restoreCommand(), importCommand(), schemaCommand(), tokenCommand(), consoleCommand(), indexerCommand(), readDocumentCommand(),
			notifyCommand(), versionCommand(), manCommand(), completionCommand(),
		},
	}
	for _, command := range app.Commands {
		command.OnUsageError = usageError
		command.HideHelpCommand = true
	}
	return app
}

// didYouMean asks whether a command that is spelled much like name was meant.
func didYouMean(app *cli.App, name string) string {
	var known []string
	for _, command := range app.Commands {
		known = append(known, command.Name)
	}
	if near := config.Nearest(name, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}
