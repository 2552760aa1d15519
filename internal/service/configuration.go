package service

import (
	"log/slog"
	"path/filepath"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/internal/admin"
)

// configuration is the file of the service's configuration. It implements
// admin.Configuration.
type configuration struct {
	path     string
	history  admin.ConfigHistory
	agent    string // as in Options
	own      OwnFiles
	baseline *baseline
}

// newConfiguration looks at the file, so that later texts are compared with it.
func newConfiguration(o *Options) *configuration {
	var files admin.AccessSettings
	if o.Access != nil {
		files = *o.Access
	}
	history := admin.ConfigHistory{Folder: filepath.Join(o.Data, "config-history"), Base: filepath.Base(o.Path)}
	c := &configuration{path: o.Path, history: history, agent: o.Agent, own: Own(o.Data, files, o.OpenID.SecretFile), baseline: newBaseline(o.Path, o.Data, o.Log)}
	c.baseline.look()
	c.keep(o.Log)
	return c
}

// keep stores the text that came into force. A failure is logged, and stops nothing else.
func (c *configuration) keep(log *slog.Logger) {
	text, err := config.OSLookups().ReadFile(c.path)
	if err == nil {
		_, err = c.history.Keep(text, time.Now())
	}
	if err != nil {
		log.Warn("the configuration is missing in its history", "error", err)
	}
}

// History implements admin.Configuration.
func (c *configuration) History() admin.ConfigHistory { return c.history }

// Path implements admin.Configuration.
func (c *configuration) Path() string { return c.path }

// Draft implements admin.Configuration.
func (c *configuration) Draft(text []byte, local bool) *admin.Draft {
	lookups := c.own.Lookups()
	if !local {
		allowed, err := c.baseline.allowed()
		if err != nil {
			return &admin.Draft{Findings: []admin.Finding{{Severity: "error", File: c.path, Message: "what the file on this machine names cannot be read: " + err.Error()}}}
		}
		lookups.Allow = allowed
	}
	return c.draft(config.Parse(c.path, text, lookups))
}

// DraftFile implements admin.Configuration.
func (c *configuration) DraftFile(path string) (*admin.Draft, error) {
	parsed, report, err := config.LoadWith(path, c.own.Lookups())
	if err != nil {
		return nil, &admin.Declined{Err: err}
	}
	return c.draft(parsed, report), nil
}

func (c *configuration) draft(parsed *config.File, report config.Report) *admin.Draft {
	return admin.NewDraft(parsed, report, func(one config.Crawler) policy.Settings { return Settings(one, c.agent) })
}

// Receive implements admin.Configuration.
func (c *configuration) Receive(text []byte, write func() error) error {
	return c.baseline.receive(text, write)
}
