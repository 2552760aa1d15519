package config

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/elastic"
	"github.com/sextant-crawler/sextant/push/file"
	"github.com/sextant-crawler/sextant/push/funnelback"
	"github.com/sextant-crawler/sextant/push/papi"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/webhook"
	"github.com/sextant-crawler/sextant/push/wire"
)

// pushElements returns the targets of documents.
func pushElements() []Element {
	return []Element{
		{Name: "Push", Parents: []string{"Crawler"},
			Attributes: append(commonPush(), attributesOfKinds()...),
			Doc:        "A target for all documents and deletions. Without one, documents go to a target of kind file. See [pushing](push.md)."},
		{Name: "PushHeader", Parents: []string{"Push"}, Attributes: []Attribute{
			{Name: "name", Required: true, Unique: true, Doc: "Name of the header."},
			required("value", SecretString, "Its value; use ${ENV} or file:PATH."),
		}, Doc: "A header added to each request to a target; not for kind file."},
		{Name: "PushField", Parents: []string{"Push"}, Attributes: []Attribute{
			{Name: "name", Required: true, Unique: true, Doc: "A part of a document by its name in JSON, such as title, or metas, or meta:NAME for one meta."},
			{Name: "as", NotEmpty: true, Doc: "Its name for the target."},
			boolean("drop", "false", "Whether to leave it out."),
		}, Doc: "Renames a part of the documents for a target, or leaves it out. For kinds elasticsearch, opensearch, solr, funnelback (metadata only) and webhook."},
	}
}

// pushKind is a kind of target: its attributes, the required ones, and how a target is created from them.
type pushKind struct {
	name string
	// attributes are those besides kind, name, source and content. Kinds that share one describe it alike.
	attributes []Attribute
	needed     []string
	batch      int  // default of batchCount
	fields     bool // it has PushField
	// ownMetas are those that it creates itself; shortMetas is set if it accepts no long ones.
	ownMetas   []string
	shortMetas bool
	// make returns the settings of the target, and the function that opens it. It reports errors.
	make func(*pushReader) (settings any, open opener)
}

// overHTTP reports whether the target has a server.
func (k *pushKind) overHTTP() bool { return slices.Contains(k.needed, "url") }

// pushKinds returns the kinds of targets, in the order of the reference.
func pushKinds() []pushKind {
	server, token, split, gzip := serverPush(), tokenPush(), splitPush(), gzipPush()
	return []pushKind{
		{name: "file", attributes: filePush(), make: makeFile},
		{name: "papi", attributes: slices.Concat(server, papiPush()), needed: []string{"url", "connector"}, batch: 100, ownMetas: papi.OwnMetas(), make: makePAPI},
		{name: "elasticsearch", attributes: slices.Concat(server, token, split, gzip, elasticPush()), needed: []string{"url", "index"}, batch: 500, fields: true, make: makeElasticsearch},
		{name: "opensearch", attributes: slices.Concat(server, token, split, gzip, elasticPush()), needed: []string{"url", "index"}, batch: 500, fields: true, make: makeOpenSearch},
		{name: "solr", attributes: slices.Concat(server, token, split, collectionPush(), solrPush()), needed: []string{"url", "collection"}, batch: 500, fields: true, shortMetas: true, make: makeSolr},
		{name: "funnelback", attributes: slices.Concat(server, token, collectionPush(), funnelbackPush()), needed: []string{"url", "collection"}, batch: 500, fields: true, shortMetas: true, make: makeFunnelback},
		{name: "webhook", attributes: slices.Concat(server, token, split, gzip, webhookPush()), needed: []string{"url"}, batch: 500, fields: true, make: makeWebhook},
	}
}

// kindOfPush returns the kind of a valid name.
func kindOfPush(name string) *pushKind {
	for _, k := range pushKinds() {
		if k.name == name {
			return &k
		}
	}
	return nil
}

// namesOfPush returns the names of the kinds for which holds returns true.
func namesOfPush(holds func(*pushKind) bool) []string {
	var names []string
	for _, k := range pushKinds() {
		if holds(&k) {
			names = append(names, k.name)
		}
	}
	return names
}

func kindsWithFields() []string { return namesOfPush(func(k *pushKind) bool { return k.fields }) }

// attributesOfKinds returns the attributes of all kinds, each with the kinds that have it.
func attributesOfKinds() []Attribute {
	var all []Attribute
	for _, k := range pushKinds() {
		for _, a := range k.attributes {
			i := slices.IndexFunc(all, func(b Attribute) bool { return b.Name == a.Name })
			if i < 0 {
				i, all = len(all), append(all, a)
			}
			all[i].Kinds = append(all[i].Kinds, k.name)
		}
	}
	return all
}

func commonPush() []Attribute {
	return []Attribute{
		{Name: "kind", Type: Enum, Default: "file", Values: namesOfPush(func(*pushKind) bool { return true }), Doc: "Protocol of the target."},
		unique(text("name", String, "", "Name of the target, unique in its Crawler. Do not change it later. The kind if absent.")),
		text("source", String, "", "Only documents of this source are pushed; all if absent."),
		boolean("content", "false", "Whether the page's original bytes are pushed, too. For papi they replace the text in the master part, for funnelback in the body."),
	}
}

func filePush() []Attribute {
	return []Attribute{
		text("dir", Path, "", "Folder of the files; out in the data directory if absent."),
		ranged("rotateBytes", Bytes, "268435456", 1024, 1<<40, "Size at which a new file is started."),
		ranged("retentionS", Seconds, "0", 0, 100*year, "Age at which a finished file is removed; 0: never."),
	}
}

// serverPush returns the attributes of all targets over HTTP.
func serverPush() []Attribute {
	return []Attribute{
		text("url", HTTPURL, "", "Address of the server, such as http://host:10002 (papi), https://host:9200 (elasticsearch, opensearch), http://host:8983/solr (solr), https://host:8443 (funnelback), or the whole address of a webhook; required."),
		text("user", String, "", "User of HTTP Basic authentication."),
		text("password", SecretString, "", "Password of HTTP Basic authentication; use ${ENV} or file:PATH."),
		text("caFile", Path, "", "PEM file with certificates of authorities to trust, in addition to the system's."),
		boolean("insecureTLS", "false", "Whether any server certificate is accepted."),
		ranged("batchCount", Int, "", 1, 100_000, "Maximum number of documents in one batch; if absent 100 for papi, 500 for the others."),
		ranged("batchBytes", Bytes, "8388608", 1024, giB, "Size at which a batch is sent."),
		ranged("batchAgeMS", Milliseconds, "1000", 0, 3_600_000, "Maximum time to wait for more documents."),
		ranged("maxRequestsPerS", Int, "0", 0, 1_000_000, "Maximum number of requests a second, including retries; 0 is no limit."),
		ranged("timeoutS", Seconds, "120", 1, 3600, "Maximum time without a byte from the server."),
	}
}

// tokenPush returns the attributes of targets with concurrent requests and tokens.
func tokenPush() []Attribute {
	return []Attribute{
		text("token", SecretString, "", "Sent as Authorization: Bearer, to funnelback as X-Security-Token, to elasticsearch as Authorization: ApiKey; use ${ENV} or file:PATH."),
		ranged("connections", Int, "2", 1, 100, "Maximum number of concurrent requests; those for one URL stay in order."),
	}
}

// splitPush returns the attributes for requests with several documents.
func splitPush() []Attribute {
	return []Attribute{
		ranged("maxRequestBytes", Bytes, "8388608", 1024, giB, "Size above which a batch is split into several requests."),
	}
}

func gzipPush() []Attribute {
	return []Attribute{
		boolean("gzip", "false", "Whether requests are compressed."),
	}
}

func papiPush() []Attribute {
	return []Attribute{
		{Name: "connector", NotEmpty: true, Doc: "Name of the connector that the documents belong to; required."},
		text("checkpointName", String, "", "Name of the checkpoints, unique among the crawlers that push to the connector. The Crawler's name if absent."),
		text("class", String, "", "Data model class of the documents; the server's own if empty."),
		ours("syncParameter", "PAPI_sync", "Parameter of set_checkpoint that requests a synced checkpoint (not documented by the vendor)."),
		{Name: "stamp", Type: Enum, Default: "hash", Values: []string{"hash", "seq"},
			Doc: "The document's stamp: the hash of its content, or the sequence number of the order."},
		ours("stampPart", "stamp", "Part of add_documents that contains the stamp (not documented by the vendor)."),
		ours("classPart", "directive:datamodel_class", "Part of add_documents that contains the class (not documented by the vendor)."),
		boolean("deletionsInURL", "false", "Whether delete_documents has the URLs in its query instead of its body (not documented by the vendor)."),
	}
}

func elasticPush() []Attribute {
	return []Attribute{
		{Name: "index", NotEmpty: true, Doc: "Index, or alias with one index to write to; required."},
		{Name: "pipeline", NotEmpty: true, Doc: "Ingest pipeline for the documents."},
		{Name: "chunks", Type: Enum, Default: "nested", Values: []string{"nested", "documents"},
			Doc: "Whether [Chunks](content.md#chunks) are nested objects of a page's document, or separate documents."},
		boolean("createTemplate", "false", "Whether to create an index template sextant-INDEX if it does not exist. It applies to indexes created later."),
	}
}

func collectionPush() []Attribute {
	return []Attribute{
		{Name: "collection", NotEmpty: true, Doc: "Collection, or core (solr), or data source (funnelback); required."},
	}
}

func solrPush() []Attribute {
	return []Attribute{
		ranged("commitWithinMS", Milliseconds, "10000", 0, 86_400_000, "Time within which documents become searchable; 0 leaves it to autoSoftCommit."),
		ours("idField", "id", "The uniqueKey of the schema; it holds the URL."),
		text("metaPrefix", String, "meta_", "Prefix of the field name of a meta."),
		text("metaSuffix", String, "_ss", "Suffix of the field name of a meta; the default is a dynamic multi-valued string field."),
	}
}

func funnelbackPush() []Attribute {
	return []Attribute{
		{Name: "filters", NotEmpty: true, Doc: "The server's filters for the documents, in place of its defaults."},
		boolean("commit", "true", "Whether to request commits; the server also commits by itself from time to time."),
	}
}

func webhookPush() []Attribute {
	return []Attribute{
		text("secret", SecretString, "", "Key of the HMAC-SHA256 in the header Sextant-Signature; use ${ENV} or file:PATH."),
	}
}

// ours returns an attribute for a name in the request, which must not be empty.
func ours(name, def, doc string) Attribute {
	return Attribute{Name: name, Default: def, NotEmpty: true, Doc: doc}
}

// opens returns the opener of a target that needs only its settings.
func opens[S any, T push.Target](s S, open func(S) (T, error)) (any, opener) {
	return s, func(string, *slog.Logger) (push.Target, error) { return open(s) }
}

func makeFile(r *pushReader) (any, opener) {
	s := file.Settings{Name: r.name, RotateBytes: r.number("rotateBytes"), Retention: r.duration("retentionS")}
	if dir := r.str("dir"); dir != "" {
		s.Dir = filepath.Clean(r.p.resolvePath(dir))
	}
	return s, func(data string, log *slog.Logger) (push.Target, error) {
		of := s
		of.Dir, of.Log = outputFolder(s.Dir, data), log
		return file.Open(of)
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
	switch index := r.attr("index"); {
	case index == nil:
	case strings.ContainsAny(index.text, "\\/*?\"<>| ,#:") || strings.ContainsAny(index.text[:1], "-_+"):
		r.p.errorf(index.value, "index=%s cannot be the name of an index: write lower-case letters, digits, - and _, beginning with a letter", quote(index.text))
	case strings.ToLower(index.text) != index.text:
		r.p.warnf(index.value, "index=%s has capital letters, which only an alias can have: write %s for an index", quote(index.text), strings.ToLower(index.text))
	}
	return opens(elastic.Settings{
		Name: r.name, OpenSearch: openSearch,
		Index: r.str("index"), Pipeline: r.str("pipeline"), CreateTemplate: r.boolean("createTemplate"),
		ChunkDocuments: r.str("chunks") == "documents",
		Fields:         r.p.pushFields(r.node), Server: r.server(token), Limits: r.limits(),
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
