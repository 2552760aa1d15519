// Command sextant crawls web sites into an index by the rules of a CrawlConfig.xml. commands.go has a row for each
// command. Package service implements the service.
//
// It starts one goroutine for signals and the goroutines of the demo. Each is waited for where it is started. It has no
// lock.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config/words"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/push"
)

// Exit codes of every command.
const (
	exitOK     = 0
	exitNo     = 1 // the command's own "no"
	exitUsage  = 2 // invalid usage
	exitFailed = 3 // it could not run
	exitLeft   = 5 // run --once: the index lacks the replacement of a document that left
)

// failure is an error with its exit code. A nil err prints nothing.
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

// no is the command's negative result; with a nil error everything has been printed.
func no(err error) error { return &failure{exitNo, err} }

// wrongUse is an invalid command line.
func wrongUse(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run returns the whole program; it returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &checkedWriter{w: stdout}
	stderr = service.Complaints(stderr)
	app := newApp(stdin, out, stderr)
	err := app.RunContext(ctx, helpInstead(flagsFirst(app, args)))
	if err == nil && out.err != nil {
		err = fmt.Errorf("writing to stdout: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	code := exitFailed
	if f, ok := errors.AsType[*failure](err); ok {
		code = f.code
	} else if _, unknown := errors.AsType[*push.UnknownTarget](err); unknown || errors.Is(err, admin.ErrRefused) {
		code = exitUsage
	}
	if words := err.Error(); words != "" {
		fmt.Fprintf(stderr, "sextant: %s\n", words)
	}
	return code
}

// checkedWriter records lost output, so that commands need not check every line that they print.
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

// descriptions has the description of each command under its name.
//
//go:embed descriptions.txt
var descriptions string

// newApp returns the command line. Output of commands goes to stdout; messages about invalid usage go to stderr.
func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name: "sextant", Version: versionWords(),
		Usage:     "crawl web sites into an indexer by the rules of a CrawlConfig.xml",
		Reader:    stdin,
		Writer:    stdout,
		ErrWriter: stderr,
		// Commands return their errors; the library must neither print nor exit.
		ExitErrHandler:         func(*cli.Context, error) {},
		OnUsageError:           usageError,
		Flags:                  []cli.Flag{cli.HelpFlag}, // the library would add a help command
		HideHelpCommand:        true,
		UseShortOptionHandling: false,
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return wrongUse("there is no command %q%s (sextant help lists them)", name, didYouMean(c.App, name))
			}
			return printHelp(c)
		},
		Commands: commands(),
	}
	for _, command := range app.Commands {
		_, text, _ := strings.Cut(descriptions, "\n## "+command.Name+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		command.Description = strings.TrimSpace(text)
		command.OnUsageError = usageError
		command.HideHelpCommand = true
		if command.ArgsUsage == "" {
			command.Action = alone(command.Action)
		}
	}
	return app
}

// alone refuses arguments for a command without any.
func alone(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.Args().Present() {
			return wrongUse("%[1]s takes no arguments, found %[2]q (sextant help %[1]s lists its options)", c.Command.Name, c.Args().First())
		}
		return action(c)
	}
}

// usageError describes an error in a command's flags.
func usageError(c *cli.Context, err error, _ bool) error {
	name, flags := "sextant", []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name, flags = name+" "+c.Command.Name, c.Command.Flags
	}
	help := strings.Replace(name, "sextant", "sextant help", 1)
	name = strings.TrimPrefix(name, "sextant ")
	words := err.Error()
	if flag, ok := strings.CutPrefix(words, "flag provided but not defined: -"); ok {
		return wrongUse("%s: there is no option %s%s (%s lists them)", name, dashed(strings.TrimLeft(flag, "-")), nearOption(flag, flags), help)
	}
	if flag, ok := strings.CutPrefix(words, "flag needs an argument: -"); ok {
		return wrongUse("%s: the option %s requires a value (see %s)", name, dashed(strings.TrimLeft(flag, "-")), help)
	}
	if m := regexp.MustCompile(`^invalid (?:boolean )?value ("(?:[^"\\]|\\.)*") for (?:flag )?-(\S+): `).FindStringSubmatch(words); m != nil {
		option, takes := strings.TrimRight(m[2], ":"), help+" describes its values"
		if slices.ContainsFunc(flags, func(f cli.Flag) bool { _, ok := f.(*cli.DurationFlag); return ok && f.Names()[0] == option }) {
			takes = "write a time with its unit, such as 90s or 10m"
		}
		return wrongUse("%s: %s cannot be %s (%s)", name, dashed(option), m[1], takes)
	}
	return wrongUse("%s: %w (%s lists the options)", name, err, help)
}

// dashed returns an option as typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// nearOption suggests an option with a similar name.
func nearOption(name string, flags []cli.Flag) string {
	var known []string
	for _, f := range flags {
		known = append(known, f.Names()...)
	}
	if near := words.Nearest(name, known); near != "" && len(name) > 1 {
		return ": did you mean " + dashed(near) + "?"
	}
	return ""
}

// didYouMean suggests a command with a similar name.
func didYouMean(app *cli.App, name string) string {
	var known []string
	for _, command := range app.Commands {
		known = append(known, command.Name)
	}
	if near := words.Nearest(name, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}
