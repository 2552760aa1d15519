package service

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/file"
	"github.com/sextant-crawler/sextant/push/funnelback"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/secret"
)

// relayOf makes the relay with all targets of a Crawler.
func relayOf(c config.Crawler, h Home, outbox push.Outbox, log *slog.Logger) (*push.Relay, error) {
	var settings []push.TargetSettings
	for _, p := range c.Push {
		s := push.TargetSettings{Kind: p.Kind}
		if p.Source != "" {
			s.Source = &p.Source
		}
		if p.Server != nil {
			s.BatchCount, s.BatchBytes, s.BatchAge = p.Server.BatchCount, int(p.Server.BatchBytes), p.Server.BatchAge
		}
		var err error
		if s.Target, err = targetOf(p, h, log); err != nil {
			return nil, fmt.Errorf("%s: Push %q: %w", p.At, p.Name, err)
		}
		if !p.Content {
			s.Target = push.WithoutContent(s.Target)
		}
		settings = append(settings, s)
	}
	return push.NewRelay(outbox, settings, log)
}

// leavesTarget reports whether a document leaves a target when its source changes: some
// targets take one source only. It is nil if every target takes all.
func leavesTarget(targets []config.Push) func(from, to string) bool {
	narrowed := map[string]bool{}
	for _, p := range targets {
		if p.Source != "" {
			narrowed[p.Source] = true
		}
	}
	if len(narrowed) == 0 {
		return nil
	}
	return func(from, to string) bool { return from != to && narrowed[from] }
}

// targetOf makes one target.
func targetOf(p config.Push, h Home, log *slog.Logger) (push.Target, error) {
	switch {
	case p.File != nil:
		return fileTarget(p, h, log)
	case p.PAPI != nil:
		return papiTarget(p)
	case p.Elastic != nil:
		return elasticTarget(p)
	case p.Solr != nil:
		return solr.New(solr.Settings{
			Name: p.Name, Collection: p.Solr.Collection, CommitWithin: p.Solr.CommitWithin, IDField: p.Solr.IDField,
			MetaPrefix: p.Solr.MetaPrefix, MetaSuffix: p.Solr.MetaSuffix,
			Fields: p.Server.Fields, Server: serverOf(p, wire.Bearer), Limits: limitsOf(p),
		})
	case p.Funnelback != nil:
		token := func(v secret.Value) wire.Header { return wire.Header{Name: "X-Security-Token", Value: v} }
		return funnelback.New(funnelback.Settings{
			Name: p.Name, Collection: p.Funnelback.Collection, Filters: p.Funnelback.Filters, NoCommit: !p.Funnelback.Commit,
			Fields: p.Server.Fields, Server: serverOf(p, token), Limits: limitsOf(p),
		})
	case p.Webhook != nil:
		return webhook.New(webhook.Settings{
			Name: p.Name, Secret: p.Webhook.Secret,
			Fields: p.Server.Fields, Server: serverOf(p, wire.Bearer), Limits: limitsOf(p),
		})
	}
	return nil, fmt.Errorf("kind %q has no target", p.Kind)
}

// serverOf is how a target's server is reached; token makes a header of a token.
func serverOf(p config.Push, token func(secret.Value) wire.Header) wire.Settings {
	c := p.Server
	s := wire.Settings{
		URL: c.URL, User: c.User, Password: c.Password, Roots: c.Roots, InsecureTLS: c.InsecureTLS,
		Gzip: c.Gzip, MaxRequestsPerS: c.MaxRequestsPerS, Timeout: c.Timeout,
	}
	if !c.Token.IsEmpty() {
		s.Headers = append(s.Headers, token(c.Token))
	}
	for _, h := range c.Headers {
		s.Headers = append(s.Headers, wire.Header{Name: h.Name, Value: h.Value})
	}
	return s
}

func limitsOf(p config.Push) wire.Limits {
	return wire.Limits{Bytes: int(p.Server.RequestBytes), Requests: p.Server.Connections}
}

func fileTarget(p config.Push, h Home, log *slog.Logger) (push.Target, error) {
	dir := p.File.Dir
	if dir == "" {
		dir = filepath.Join(h.Dir, "out")
	}
	return file.Open(file.Settings{Name: p.Name, Dir: dir, RotateBytes: p.File.RotateBytes, Log: log})
}

func elasticTarget(p config.Push) (push.Target, error) {
	token := wire.Bearer
	if p.Kind == "elasticsearch" {
		token = func(v secret.Value) wire.Header {
			return wire.Header{Name: "Authorization", Value: secret.New("ApiKey " + v.Reveal())}
		}
	}
	return elastic.New(elastic.Settings{
		Name: p.Name, OpenSearch: p.Kind == "opensearch",
		Index: p.Elastic.Index, Pipeline: p.Elastic.Pipeline, CreateTemplate: p.Elastic.CreateTemplate,
		Fields: p.Server.Fields, Server: serverOf(p, token), Limits: limitsOf(p),
	})
}

func papiTarget(p config.Push) (*papi.Target, error) {
	stamp := papi.StampHash
	if p.PAPI.StampSeq {
		stamp = papi.StampSeq
	}
	return papi.New(papi.Settings{
		Name: p.Name, Connector: p.PAPI.Connector, Server: serverOf(p, wire.Bearer),
		CheckpointName: p.PAPI.CheckpointName, SyncParameter: p.PAPI.SyncParameter,
		Stamp: stamp, StampPart: p.PAPI.StampPart,
		Class: p.PAPI.Class, ClassPart: p.PAPI.ClassPart, DeletionsInURL: p.PAPI.DeletionsInURL,
	})
}
