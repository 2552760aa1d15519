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
	if err != nil && done.URLs == 0 {
		return err
	}
	words := fmt.Sprintf("%s removed, %s for the indexer", count(done.URLs, "URL"), count(done.Deletions, "deletion"))
	if done.Unknown > 0 {
		words += fmt.Sprintf("\n%s that was not known: on the kill list", count(done.Unknown, "URL"))
	}
	if len(done.Roots) > 0 {
		words += "\nroots of the configuration stay: " + join(done.Roots)
	}
	return errors.Join(err, say(c, done, words)) // err happened after that
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
	what := fmt.Sprintf("%s and deletes %s", count(n.URLs, "URL"), count(n.Documents, "document"))
	said, asked := answer(c, "This forgets "+what+". Go on?")
	switch {
	case !asked:
		return wrongUse("remove forgets %s: write --yes, too, if that is meant", what)
	case !said:
		return no(errors.New("nothing was removed"))
	}
	return nil
}

// answer asks a yes-or-no question if there is a user at a terminal; otherwise it asks nothing.
func answer(c *cli.Context, question string) (yes, asked bool) {
	in, isFile := c.App.Reader.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return false, false
	}
	fmt.Fprintf(c.App.ErrWriter, "%s [y/N] ", question)
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		return false, true
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, true
	}
	return false, true
}
