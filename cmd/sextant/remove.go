package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/sextant-crawler/sextant/internal/admin"
)

func remove(c *cli.Context) error {
	selection, err := selectionOf(c)
	if err != nil {
		return err
	}
	if err := askRemoval(c, selection); err != nil {
		return err
	}
	done, err := asked(c, toSelect, (*admin.Client).Remove, selection)
	if err != nil {
		return err
	}
	return showText(c, "removed", done)
}

// askRemoval asks for confirmation of a large removal, on a terminal; elsewhere --yes confirms.
func askRemoval(c *cli.Context, selection admin.Selection) error {
	few := len(selection.URLs) > 0 && len(selection.URLs) <= admin.RemovedUnasked
	if c.Bool("yes") || few {
		return nil
	}
	n, err := asked(c, toSelect, (*admin.Client).CountSelected, selection)
	if err != nil || n.URLs <= admin.RemovedUnasked && !selection.All {
		return err
	}
	what := fmt.Sprintf("%s and deletes %s", admin.Count(n.URLs, "URL"), admin.Count(n.Documents, "document"))
	return confirm(c, "remove", "forgets "+what, "nothing was removed")
}

// confirm asks on a terminal whether to continue; does describes the command's effect. Without a terminal it returns an
// error that requires --yes.
func confirm(c *cli.Context, command, does, nothing string) error {
	in, isFile := c.App.Reader.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return wrongUse("%s %s: if that is intended, add --yes", command, does)
	}
	fmt.Fprintf(c.App.ErrWriter, "This %s. Continue? [y/N] ", does)
	line, err := bufio.NewReader(in).ReadString('\n')
	if reply := strings.ToLower(strings.TrimSpace(line)); err == nil && (reply == "y" || reply == "yes") {
		return nil
	}
	return no(errors.New(nothing))
}
