package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/admin"
	"github.com/sextant-crawler/sextant/config"
)

// ownFiles are files that the program keeps for itself or is given by flags. A configuration
// must not have anything else written to them. The zero value has none.
type ownFiles struct {
	data  string            // the data directory, with links followed
	named map[string]string // what a file is, by its path with links followed
}

// ownFilesOf finds them by the flags of a command.
func ownFilesOf(c *cli.Context) ownFiles {
	follow, data := config.OSLookups().RealPath, c.String("data")
	own := ownFiles{data: follow(data), named: map[string]string{}}
	for _, f := range []struct{ path, what string }{
		{admin.TokenPath(data, admin.Operator), "the file of the operator's token"},
		{admin.TokenPath(data, admin.Reader), "the file of the readers' token"},
		{c.String("operator-token-file"), "the file of the operator's token"},
		{c.String("reader-token-file"), "the file of the readers' token"},
		{c.String("tls-cert"), "the file of the service's certificate"},
		{c.String("tls-key"), "the file of the service's key"},
		{admin.SocketPath(data), "the service's socket"},
		{filepath.Join(data, noticesFile), "the service's own"},
		{filepath.Join(data, baselineFile), "the service's own"},
	} {
		if f.path != "" {
			own.named[follow(f.path)] = f.what
		}
	}
	return own
}

// owner describes the file at a path with links followed; "" if it is not one of them.
func (o ownFiles) owner(path string) string {
	if what := o.named[path]; what != "" || o.data == "" {
		return what
	}
	inside, err := filepath.Rel(o.data, path)
	if err != nil {
		return ""
	}
	// A store lies in the data directory, or in a Crawler's folder there.
	folders := strings.Split(filepath.Dir(inside), string(filepath.Separator))
	if slices.Index(folders[:min(len(folders), 2)], storeFolder) >= 0 {
		return "a file of the store"
	}
	return ""
}

// lookups are the system's, with Owner set.
func (o ownFiles) lookups() config.Lookups {
	lookups := config.OSLookups()
	lookups.Owner = o.owner
	return lookups
}
