package main

import (
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

func backup(c *cli.Context) error {
	if c.NArg() != 1 {
		return wrongUse("backup: name one file, or - for stdout")
	}
	name := c.Args().First()
	if name == "-" {
		return writeBackup(c, c.App.Writer)
	}
	if _, err := os.Lstat(name); err == nil && !c.Bool("force") {
		return fmt.Errorf("%s already exists: name another file, or write --force to replace it", name)
	}
	var length int64
	err := atomicfile.Replace(name, 0o600, func(f *os.File) error {
		if err := writeBackup(c, f); err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			length = info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	words := fmt.Sprintf("backup of %s in %s", size(length), name)
	return printResult(c, map[string]any{"file": name, "bytes": length}, words)
}

// writeBackup writes a backup by the service, or from the store if none runs.
func writeBackup(c *cli.Context, w io.Writer) error {
	return ask(c, toRead, func(client *admin.Client) error { return client.Backup(c.Context, w) })
}
