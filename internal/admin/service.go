package admin

import (
	"context"

	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/weburl"
)

// Service is the part of the process that is common to all Crawlers.
type Service interface {
	// Reload reads the configuration again. After an error nothing has changed.
	Reload(ctx context.Context, o ReloadOptions) (Reloaded, error)
	// Fetch makes a dry run.
	Fetch(ctx context.Context, c Crawler, raw string, u weburl.URL) (*Fetched, error)
	// IndexOf returns the target of a Crawler that can list its index.
	IndexOf(c Crawler, target string) (compare.Index, error)
}

// Configuration is the file that the process is configured by.
type Configuration interface {
	Path() string
	// History stores the earlier texts of the configuration.
	History() ConfigHistory
	// Draft reads a text as if it were in the configuration's file. A text that is not local came over the network: it can
	// name only what the file last written on this machine named.
	Draft(text []byte, local bool) *Draft
	// DraftFile parses a configuration at another path.
	DraftFile(path string) (*Draft, error)
	// Receive calls write, which replaces the file by a text from the network, and records
	// that the text was not written on this machine.
	Receive(text []byte, write func() error) error
}

// Reloaded is the result of a reload.
type Reloaded struct {
	// AfterRestart names the changed settings that take effect only after a restart.
	AfterRestart []string `json:"after_restart,omitempty"`
}

// ReloadOptions are the operator's options for a reload.
type ReloadOptions struct {
	// Yes lets changed rules delete any number of documents.
	Yes bool
	// Now refetches at once the documents whose metas or source, as set by rules and roots, differ from those last pushed.
	Now bool
}
