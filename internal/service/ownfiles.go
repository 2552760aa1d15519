package service

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// OwnFiles are files that the program keeps for itself or is given by flags. A configuration
// must not have anything else written to them. The zero value has none.
type OwnFiles struct {
	data  string            // the data directory, with links followed
	named map[string]string // what a file is, by its path with links followed
}

// owner describes the file at a path with links followed; "" if it is not one of them.
func (o OwnFiles) owner(path string) string {
	if what := o.named[path]; what != "" || o.data == "" {
		return what
	}
	inside, err := filepath.Rel(o.data, path)
	if err != nil {
		return ""
	}
	// A token, or the next content of a file, which is renamed over it.
	if filepath.Dir(inside) == "." && (strings.HasSuffix(inside, ".token") || strings.HasSuffix(inside, ".new")) {
		return "the service's own"
	}
	// A store lies in the data directory, or in a Crawler's folder there.
	if filepath.Base(inside) == cookieFile && strings.Count(inside, string(filepath.Separator)) < 2 && !strings.HasPrefix(inside, "..") {
		return "the file of kept cookies"
	}
	folders := strings.Split(filepath.Dir(inside), string(filepath.Separator))
	if slices.Index(folders[:min(len(folders), 2)], storeFolder) >= 0 {
		return "a file of the store"
	}
	return ""
}

// Own finds them for a data directory, and the files that flags name.
func Own(data string, access admin.AccessSettings, openIDSecret string) OwnFiles {
	follow := config.OSLookups().RealPath
	own := OwnFiles{data: follow(data), named: map[string]string{}}
	for _, f := range []struct{ path, what string }{
		{admin.TokenPath(data, admin.Operator), "the file of the operator's token"},
		{admin.TokenPath(data, admin.Reader), "the file of the readers' token"},
		{access.OperatorToken, "the file of the operator's token"},
		{access.ReaderToken, "the file of the readers' token"},
		{access.Certificate, "the file of the service's certificate"},
		{access.Key, "the file of the service's key"},
		{openIDSecret, "the file of the client's secret"},
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

// Lookups are the system's, with Owner set.
func (o OwnFiles) Lookups() config.Lookups {
	lookups := config.OSLookups()
	lookups.Owner = o.owner
	return lookups
}
