package config

// crawlElements are the targets of documents, and when and how fast pages are asked for.
func crawlElements() []Element {
	return []Element{
		{Name: "Push", Parents: []string{"Crawler"}, Attributes: []Attribute{
			{Name: "kind", Type: Enum, Default: "file",
				Values: []string{"file", "papi", "elasticsearch", "opensearch", "solr", "funnelback", "webhook"},
				NotYet: []string{"elasticsearch", "opensearch", "solr", "funnelback", "webhook"},
				Doc:    "Protocol of the target."},
			unique(text("name", String, "", "Name of the target, unique in its Crawler and the same over restarts; the kind where absent.")),
			text("source", String, "", "Pushes documents of this source only; all where absent."),
			boolean("content", "false", "Whether the page's bytes are pushed too, as they were sent; papi's master part is then these bytes instead of the text."),
			forKind("file", text("dir", Path, "", "Folder of the files; out in the data directory where absent.")),
			forKind("file", ranged("rotateBytes", Bytes, "268435456", 1024, 1<<40, "Size at which a new file is begun.")),
			forKind("file", ineffective("0", ranged("retentionS", Seconds, "0", 0, 100*year, "Age at which a file is removed; 0: never."))),
			forKind("papi", text("url", HTTPURL, "", "Server of the Push API, such as http://host:10002; required.")),
			forKind("papi", Attribute{Name: "connector", NotEmpty: true, Doc: "Name of the connector that the documents belong to; required."}),
			forKind("papi", text("user", String, "", "User of HTTP Basic authentication.")),
			forKind("papi", text("password", SecretString, "", "Password of HTTP Basic authentication; ${ENV} or file:PATH keep it out of the file.")),
			forKind("papi", ranged("batchCount", Int, "100", 1, 100_000, "Most documents of one request.")),
			forKind("papi", ranged("batchBytes", Bytes, "8388608", 1024, giB, "Size at which a request is sent.")),
			forKind("papi", ranged("batchAgeMS", Milliseconds, "1000", 0, 3_600_000, "Longest wait for more documents.")),
			forKind("papi", text("checkpointName", String, "", "Name of the checkpoints, one for each crawler that pushes to a connector; the Crawler's name where absent.")),
			forKind("papi", text("class", String, "", "Data model class of the documents; the server's own where empty.")),
			forKind("papi", ours("syncParameter", "PAPI_sync", "Parameter of set_checkpoint that asks for a synced checkpoint (ours: not documented by the vendor).")),
			forKind("papi", Attribute{Name: "stamp", Type: Enum, Default: "hash", Values: []string{"hash", "seq"},
				Doc: "What a document's stamp is made of: the hash of its content, or the number of the order."}),
			forKind("papi", ours("stampPart", "stamp", "Part of add_documents that carries the stamp (ours: not documented by the vendor).")),
			forKind("papi", ours("classPart", "directive:datamodel_class", "Part of add_documents that carries the class (ours: not documented by the vendor).")),
			forKind("papi", boolean("deletionsInURL", "false", "Whether delete_documents carries its URLs in its own URL and not in the body (ours: not documented by the vendor).")),
		}, Doc: "A target that gets all documents and deletions; without any there is one of kind file."},
		{Name: "Throttle", Parents: []string{"Crawler"}, Attributes: []Attribute{
			ranged("throttleTimeMS", Milliseconds, "", 0, day*1000, "Pause for these URLs' hosts, in place of the Crawler's; sleepAfterLoadMS is added to it, too."),
			ranged("maxConnectionsPerHost", Int, "", 1, 1000, "Requests at once to such a host where no pause is kept, that is with aggressive or throttleTimeMS 0."),
			text("hours", HourRanges, "", "Hours of the day, in local time, in which requests are allowed, such as 22-6, or 22:30-06:00,12-13; the first is inside, the last outside."),
		}, Doc: "Politeness for the URLs for which its one condition holds; of several that match, the first counts."},
		{Name: "Refresh", Parents: []string{"Crawler"}, Attributes: []Attribute{
			required("schedule", String, "When, in local time: minute, hour, day of the month, month and day of the week, as in \"0 3 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly, or @every and a time of a minute or more, such as @every 90m."),
			text("group", String, "", "Refreshes the sites of this group's roots only; all documents where absent."),
		}, Doc: "Fetches documents again at fixed times: sends them to the index source. A time that was missed is made up for once."},
	}
}

// ours is a name on the wire that must not be empty.
func ours(name, def, doc string) Attribute {
	return Attribute{Name: name, Default: def, NotEmpty: true, Doc: doc}
}

func forKind(kind string, a Attribute) Attribute {
	a.Kind = kind
	return a
}
