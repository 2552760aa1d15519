package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// answer asks a question that is answered by yes or no, where a person sits at a terminal;
// else nothing is asked.
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
