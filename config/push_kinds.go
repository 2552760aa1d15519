package config

import (
	"log/slog"
	"path/filepath"

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

// opens makes a target of settings that need nothing else.
func opens[S any, T push.Target](s S, open func(S) (T, error)) (any, opener) {
	return s, func(string, *slog.Logger) (push.Target, error) { return open(s) }
}

func makeFile(r *pushReader) (any, opener) {
	s := file.Settings{Name: r.name, RotateBytes: r.number("rotateBytes")}
	if dir := r.str("dir"); dir != "" {
		s.Dir = filepath.Clean(r.p.resolvePath(dir))
	}
	return s, func(data string, log *slog.Logger) (push.Target, error) {
		s.Dir, s.Log = outputFolder(s.Dir, data), log
		return file.Open(s)
	}
}

func makePAPI(r *pushReader) (any, opener) {
	s := papi.Settings{
		Name: r.name, Connector: r.str("connector"), Server: r.server(nil),
		CheckpointName: r.str("checkpointName"), SyncParameter: r.str("syncParameter"),
		Stamp: papi.StampHash, StampPart: r.str("stampPart"),
		Class: r.str("class"), ClassPart: r.str("classPart"), DeletionsInURL: r.boolean("deletionsInURL"),
	}
	if s.CheckpointName == "" {
		s.CheckpointName = r.crawler
	}
	if r.str("stamp") == "seq" {
		s.Stamp = papi.StampSeq
	}
	return opens(s, papi.New)
}

func makeElasticsearch(r *pushReader) (any, opener) {
	return makeElastic(r, false, func(v secret.Value) wire.Header {
		return wire.Header{Name: "Authorization", Value: secret.New("ApiKey " + v.Reveal())}
	})
}

func makeOpenSearch(r *pushReader) (any, opener) { return makeElastic(r, true, wire.Bearer) }

func makeElastic(r *pushReader, openSearch bool, token func(secret.Value) wire.Header) (any, opener) {
	return opens(elastic.Settings{
		Name: r.name, OpenSearch: openSearch,
		Index: r.str("index"), Pipeline: r.str("pipeline"), CreateTemplate: r.boolean("createTemplate"),
		Fields: r.p.pushFields(r.node), Server: r.server(token), Limits: r.limits(),
	}, elastic.New)
}

func makeSolr(r *pushReader) (any, opener) {
	return opens(solr.Settings{
		Name: r.name, Collection: r.str("collection"), CommitWithin: r.duration("commitWithinMS"), IDField: r.str("idField"),
		MetaPrefix: r.str("metaPrefix"), MetaSuffix: r.str("metaSuffix"),
		Fields: r.p.pushFields(r.node), Server: r.server(wire.Bearer), Limits: r.limits(),
	}, solr.New)
}

func makeFunnelback(r *pushReader) (any, opener) {
	token := func(v secret.Value) wire.Header { return wire.Header{Name: "X-Security-Token", Value: v} }
	return opens(funnelback.Settings{
		Name: r.name, Collection: r.str("collection"), Filters: r.str("filters"), NoCommit: !r.boolean("commit"),
		Fields: r.p.pushFields(r.node), Server: r.server(token), Limits: r.limits(),
	}, funnelback.New)
}

func makeWebhook(r *pushReader) (any, opener) {
	return opens(webhook.Settings{
		Name: r.name, Secret: r.secret("secret"),
		Fields: r.p.pushFields(r.node), Server: r.server(wire.Bearer), Limits: r.limits(),
	}, webhook.New)
}
