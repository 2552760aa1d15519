package config

import (
	"crypto/x509"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/secret"
)

// PushServer is how a target over HTTP is reached and fed.
type PushServer struct {
	URL             string
	User            string // "" is no Basic authentication
	Password        secret.Value
	Token           secret.Value // as the kind sends it
	Headers         []PushHeader
	Roots           *x509.CertPool // nil is the system's
	InsecureTLS     bool
	Gzip            bool
	MaxRequestsPerS int // 0 is no limit
	Timeout         time.Duration
	BatchCount      int
	BatchBytes      int64
	BatchAge        time.Duration
	RequestBytes    int64 // 0 where the kind has no such limit
	Connections     int   // 0 likewise
	// Fields are names of parts of documents, and what the target calls them; "" is
	// left out.
	Fields map[string]string
}

// PushHeader is a header of each request.
type PushHeader struct {
	Name  string
	Value secret.Value
}

// PAPIPush speaks Exalead CloudView's Push API v4.
type PAPIPush struct {
	Connector string
	// CheckpointName is PAPI_name; the Crawler's name unless written.
	CheckpointName string
	Class          string // data model class; "" sends none
	StampSeq       bool   // stamps are sequence numbers, not hashes
	// What the vendor does not document.
	SyncParameter  string
	StampPart      string
	ClassPart      string
	DeletionsInURL bool
}

// ElasticPush speaks _bulk.
type ElasticPush struct {
	Index          string
	Pipeline       string // "" is none
	CreateTemplate bool
}

// SolrPush speaks Solr's JSON /update.
type SolrPush struct {
	Collection             string
	CommitWithin           time.Duration // 0 is none
	IDField                string
	MetaPrefix, MetaSuffix string
}

// FunnelbackPush speaks Funnelback's Push API v2.
type FunnelbackPush struct {
	Collection string
	Filters    string // "" is the server's choice
	Commit     bool
}

// WebhookPush posts JSON Lines.
type WebhookPush struct {
	Secret secret.Value // zero signs nothing
}

// Same says whether both are the same target, wherever they stand in the file.
func (t Push) Same(other Push) bool {
	t.At, other.At = actionrules.Position{}, actionrules.Position{}
	return same(reflect.ValueOf(t), reflect.ValueOf(other))
}

// pushTargets builds the targets of a Crawler; one of kind file where none is
// written.
func (p *parser) pushTargets(crawler *node) []Push {
	var out []Push
	written := false
	names := make(map[string]int)
	for _, n := range crawler.children {
		if n.spec.Name != "Push" {
			continue
		}
		written = true
		if slices.Contains(n.faulty, "kind") || slices.Contains(n.faulty, "name") {
			continue
		}
		t := p.pushTarget(n, crawler.str("name"))
		if first, twice := names[t.Name]; twice {
			p.errorf(n.valueAt("name"), "%s is the name of another Push (at %s): write name=\"...\", unique in the Crawler and the same over restarts", quote(t.Name), p.lineAndColumn(first))
			continue
		}
		names[t.Name] = n.valueAt("name")
		out = append(out, t)
	}
	if !written {
		n := &node{spec: p.schema.elements["Push"], at: crawler.at}
		return []Push{p.pushTarget(n, crawler.str("name"))}
	}
	return out
}

func (p *parser) pushTarget(n *node, crawler string) Push {
	kind := n.str("kind")
	t := Push{Name: n.str("name"), Kind: kind, Source: n.str("source"), Content: n.boolean("content"), At: p.position(n.at)}
	if t.Name == "" {
		t.Name = kind
	}
	p.ofKind(n, kind)
	if kind == "file" {
		t.File = &FilePush{RotateBytes: n.number("rotateBytes")}
		if dir := n.str("dir"); dir != "" {
			t.File.Dir = filepath.Clean(p.resolvePath(dir))
		}
		return t
	}
	t.Server = p.pushServer(n, kind)
	switch kind {
	case "papi":
		t.PAPI = papi(n, crawler)
	case "elasticsearch", "opensearch":
		t.Elastic = &ElasticPush{Index: n.str("index"), Pipeline: n.str("pipeline"), CreateTemplate: n.boolean("createTemplate")}
	case "solr":
		t.Solr = &SolrPush{
			Collection: n.str("collection"), CommitWithin: n.duration("commitWithinMS"), IDField: n.str("idField"),
			MetaPrefix: n.str("metaPrefix"), MetaSuffix: n.str("metaSuffix"),
		}
	case "funnelback":
		t.Funnelback = &FunnelbackPush{Collection: n.str("collection"), Filters: n.str("filters"), Commit: n.boolean("commit")}
	case "webhook":
		t.Webhook = &WebhookPush{Secret: n.secret("secret")}
	}
	return t
}

// ofKind reports what does not belong to a kind of target, and what it lacks.
func (p *parser) ofKind(n *node, kind string) {
	for _, name := range neededForKind(kind) {
		if n.str(name) == "" && !slices.Contains(n.faulty, name) {
			p.errorf(n.at, "<Push kind=%q> needs the attribute %s", kind, name)
		}
	}
	for _, a := range n.attrs {
		if of := a.spec.Kinds; len(of) > 0 && !slices.Contains(of, kind) {
			p.errorf(a.name, "%s belongs to kind=\"%s\": remove it, or write that kind", a.spec.Name, strings.Join(of, `" or "`))
		}
	}
	for _, child := range n.children {
		switch {
		case child.spec.Name == "PushHeader" && kind == "file":
			p.errorf(child.at, "<PushHeader> is for targets over HTTP: remove it")
		case child.spec.Name == "PushField" && !slices.Contains(mapped(), kind):
			p.errorf(child.at, "<PushField> belongs to kind=\"%s\": remove it, or write that kind", strings.Join(mapped(), `" or "`))
		}
	}
}

func papi(n *node, crawler string) *PAPIPush {
	out := &PAPIPush{
		Connector:      n.str("connector"),
		CheckpointName: n.str("checkpointName"),
		Class:          n.str("class"),
		StampSeq:       n.str("stamp") == "seq",
		SyncParameter:  n.str("syncParameter"),
		StampPart:      n.str("stampPart"),
		ClassPart:      n.str("classPart"),
		DeletionsInURL: n.boolean("deletionsInURL"),
	}
	if out.CheckpointName == "" {
		out.CheckpointName = crawler
	}
	return out
}
