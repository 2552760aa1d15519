package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/config/format"
)

func formatConfig(c *cli.Context) error {
	if c.NArg() > 1 {
		return wrongUse("fmt takes one file, found %q, too", c.Args().Get(1))
	}
	if c.Bool("write") && c.Bool("check") {
		return wrongUse("--write and --check exclude each other: use one of them")
	}
	name, text, err := toFormat(c)
	if err != nil {
		return err
	}
	formatted, err := format.File(name, text)
	if err != nil {
		fmt.Fprintln(c.App.ErrWriter, err)
		return no(nil)
	}
	switch {
	case c.Bool("check"):
		if line := firstDifference(text, formatted); line > 0 {
			return no(fmt.Errorf("%s:%d: the layout differs from here on: sextant fmt -w corrects it", name, line))
		}
		return nil
	case !c.Bool("write"):
		_, err = c.App.Writer.Write(formatted)
		return err
	case name == "-":
		return wrongUse("--write requires a file, not stdin")
	case bytes.Equal(text, formatted):
		return nil
	}
	return rewrite(name, formatted)
}

// toFormat reads the configuration to format; its name is "-" for stdin.
func toFormat(c *cli.Context) (name string, text []byte, err error) {
	if name = c.Args().First(); name == "-" {
		text, err = io.ReadAll(io.LimitReader(c.App.Reader, config.MaxFileBytes+1))
		return name, text, err
	}
	if name == "" {
		if name, err = configPath(c); err != nil {
			return "", nil, err
		}
	}
	name = configIn(name)
	text, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, fmt.Errorf("%w: name a %s, or a folder that contains one", err, config.FileName)
	}
	return name, text, err
}

// firstDifference returns the first line of a that differs in b; 0 if both are equal.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
