package config

import "slices"

// pushElements are the targets of documents.
func pushElements() []Element {
	return []Element{
		{Name: "Push", Parents: []string{"Crawler"},
			Attributes: slices.Concat(commonPush(), filePush(), serverPush(), papiPush(), elasticPush(), otherPush()),
			Doc:        "A target that gets all documents and deletions; without any there is one of kind file. See [pushing](push.md)."},
		{Name: "PushHeader", Parents: []string{"Push"}, Attributes: []Attribute{
			{Name: "name", Required: true, Unique: true, Doc: "Name of the header."},
			required("value", SecretString, "Its value; ${ENV} or file:PATH keep it out of the file."),
		}, Doc: "A header of each request to a target; not for kind file."},
		{Name: "PushField", Parents: []string{"Push"}, Attributes: []Attribute{
			{Name: "name", Required: true, Unique: true, Doc: "A part of a document by its name in JSON, such as title, or metas, or meta:NAME for one meta."},
			{Name: "as", NotEmpty: true, Doc: "The name that the target gets it under."},
			boolean("drop", "false", "Whether the target does not get it."),
		}, Doc: "Renames a part of documents for a target, or leaves it out; for kinds elasticsearch, opensearch, solr, funnelback (metadata only) and webhook."},
	}
}

// pushKinds are the values of kind; servers those that are reached over HTTP.
func pushKinds() []string {
	return []string{"file", "papi", "elasticsearch", "opensearch", "solr", "funnelback", "webhook"}
}

func servers() []string { return pushKinds()[1:] }

func elastics() []string { return []string{"elasticsearch", "opensearch"} }

// mapped are the kinds that PushField is for.
func mapped() []string { return pushKinds()[2:] }

func commonPush() []Attribute {
	return []Attribute{
		{Name: "kind", Type: Enum, Default: "file", Values: pushKinds(), Doc: "Protocol of the target."},
		unique(text("name", String, "", "Name of the target, unique in its Crawler and the same over restarts; the kind where absent.")),
		text("source", String, "", "Pushes documents of this source only; all where absent."),
		boolean("content", "false", "Whether the page's bytes are pushed too, as they were sent; papi's master part, and funnelback's body, are then these bytes instead of the text."),
	}
}

func filePush() []Attribute {
	return forKinds([]string{"file"},
		text("dir", Path, "", "Folder of the files; out in the data directory where absent."),
		ranged("rotateBytes", Bytes, "268435456", 1024, 1<<40, "Size at which a new file is begun."),
		ineffective("0", ranged("retentionS", Seconds, "0", 0, 100*year, "Age at which a file is removed; 0: never.")),
	)
}

func serverPush() []Attribute {
	return slices.Concat(
		forKinds(servers(),
			text("url", HTTPURL, "", "Address of the server, such as http://host:10002 (papi), https://host:9200 (elasticsearch, opensearch), http://host:8983/solr (solr), https://host:8443 (funnelback), or the whole address of a webhook; required."),
			text("user", String, "", "User of HTTP Basic authentication."),
			text("password", SecretString, "", "Password of HTTP Basic authentication; ${ENV} or file:PATH keep it out of the file."),
			text("caFile", Path, "", "Certificates, in PEM form, of the authorities that the server is trusted by, beside the system's."),
			boolean("insecureTLS", "false", "Whether any certificate of the server is accepted."),
			ranged("batchCount", Int, "", 1, 100_000, "Most documents of one batch; 100 for papi and 500 elsewhere where absent."),
			ranged("batchBytes", Bytes, "8388608", 1024, giB, "Size at which a batch is sent."),
			ranged("batchAgeMS", Milliseconds, "1000", 0, 3_600_000, "Longest wait for more documents."),
			ranged("maxRequestsPerS", Int, "0", 0, 1_000_000, "Most requests per second, repetitions included; 0: no limit."),
			ranged("timeoutS", Seconds, "120", 1, 3600, "Longest silence of the server in a request."),
		),
		forKinds(mapped(),
			text("token", SecretString, "", "Sent as Authorization: Bearer, to funnelback as X-Security-Token, to elasticsearch as Authorization: ApiKey; ${ENV} or file:PATH keep it out of the file."),
			ranged("connections", Int, "2", 1, 100, "Most requests at once; those of one URL follow each other."),
		),
		forKinds([]string{"elasticsearch", "opensearch", "solr", "webhook"},
			ranged("maxRequestBytes", Bytes, "8388608", 1024, giB, "Size over which a batch is sent in several requests."),
		),
		forKinds([]string{"elasticsearch", "opensearch", "webhook"},
			boolean("gzip", "false", "Whether requests are compressed."),
		),
	)
}

func papiPush() []Attribute {
	return forKinds([]string{"papi"},
		Attribute{Name: "connector", NotEmpty: true, Doc: "Name of the connector that the documents belong to; required."},
		text("checkpointName", String, "", "Name of the checkpoints, one for each crawler that pushes to a connector; the Crawler's name where absent."),
		text("class", String, "", "Data model class of the documents; the server's own where empty."),
		ours("syncParameter", "PAPI_sync", "Parameter of set_checkpoint that asks for a synced checkpoint (ours: not documented by the vendor)."),
		Attribute{Name: "stamp", Type: Enum, Default: "hash", Values: []string{"hash", "seq"},
			Doc: "What a document's stamp is made of: the hash of its content, or the number of the order."},
		ours("stampPart", "stamp", "Part of add_documents that carries the stamp (ours: not documented by the vendor)."),
		ours("classPart", "directive:datamodel_class", "Part of add_documents that carries the class (ours: not documented by the vendor)."),
		boolean("deletionsInURL", "false", "Whether delete_documents carries its URLs in its own URL and not in the body (ours: not documented by the vendor)."),
	)
}

func elasticPush() []Attribute {
	return forKinds(elastics(),
		Attribute{Name: "index", NotEmpty: true, Doc: "Index, or alias with one index to write to; required."},
		Attribute{Name: "pipeline", NotEmpty: true, Doc: "Ingest pipeline that documents pass."},
		boolean("createTemplate", "false", "Whether an index template sextant-INDEX with fitting fields is made, where there is none of that name; it counts for an index that does not exist yet."),
	)
}

func otherPush() []Attribute {
	return slices.Concat(
		forKinds([]string{"solr", "funnelback"},
			Attribute{Name: "collection", NotEmpty: true, Doc: "Collection, or core (solr), or data source (funnelback); required."},
		),
		forKinds([]string{"solr"},
			ranged("commitWithinMS", Milliseconds, "10000", 0, 86_400_000, "Time in which documents can be found; 0 leaves it to autoSoftCommit."),
			ours("idField", "id", "The uniqueKey of the schema, which is the URL."),
			text("metaPrefix", String, "meta_", "Begin of the field's name of a meta."),
			text("metaSuffix", String, "_ss", "End of the field's name of a meta; as it stands, a dynamic field of several strings."),
		),
		forKinds([]string{"funnelback"},
			Attribute{Name: "filters", NotEmpty: true, Doc: "Filters of the server that documents pass, in place of its own choice."},
			boolean("commit", "true", "Whether a commit is asked for; the server commits by itself from time to time, too."),
		),
		forKinds([]string{"webhook"},
			text("secret", SecretString, "", "Key of the HMAC-SHA256 in the header Sextant-Signature; ${ENV} or file:PATH keep it out of the file."),
		),
	)
}

// ours is a name on the wire that must not be empty.
func ours(name, def, doc string) Attribute {
	return Attribute{Name: name, Default: def, NotEmpty: true, Doc: doc}
}

func forKinds(kinds []string, attributes ...Attribute) []Attribute {
	for i := range attributes {
		attributes[i].Kinds = kinds
	}
	return attributes
}

// neededForKind are the attributes without which a kind of target cannot be.
func neededForKind(kind string) []string {
	switch kind {
	case "papi":
		return []string{"url", "connector"}
	case "elasticsearch", "opensearch":
		return []string{"url", "index"}
	case "solr", "funnelback":
		return []string{"url", "collection"}
	case "webhook":
		return []string{"url"}
	}
	return nil
}
