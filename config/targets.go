package config

import (
	"path/filepath"
	"slices"
)

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
	t := Push{Name: n.str("name"), Source: n.str("source"), Content: n.boolean("content"), At: p.position(n.at)}
	if t.Name == "" {
		t.Name = kind
	}
	for _, a := range n.attrs {
		if a.spec.Kind != "" && a.spec.Kind != kind {
			p.errorf(a.name, "%s belongs to kind=%q: remove it, or write that kind", a.spec.Name, a.spec.Kind)
		}
	}
	if kind == "file" {
		t.File = &FilePush{RotateBytes: n.number("rotateBytes")}
		if dir := n.str("dir"); dir != "" {
			t.File.Dir = filepath.Clean(p.resolvePath(dir))
		}
		return t
	}
	t.PAPI = p.papi(n)
	if t.PAPI.CheckpointName == "" {
		t.PAPI.CheckpointName = crawler
	}
	return t
}

func (p *parser) papi(n *node) *PAPIPush {
	for _, name := range []string{"url", "connector"} {
		if n.str(name) == "" && !slices.Contains(n.faulty, name) {
			p.errorf(n.at, "<Push kind=\"papi\"> needs the attribute %s", name)
		}
	}
	if n.written("password") && n.missing("user") {
		p.errorf(n.attr("password").name, "password without user: write user=\"...\", too")
	}
	return &PAPIPush{
		URL:            n.str("url"),
		Connector:      n.str("connector"),
		User:           n.str("user"),
		Password:       NewSecret(n.str("password")),
		BatchCount:     int(n.number("batchCount")),
		BatchBytes:     n.number("batchBytes"),
		BatchAge:       n.duration("batchAgeMS"),
		CheckpointName: n.str("checkpointName"),
		Class:          n.str("class"),
		StampSeq:       n.str("stamp") == "seq",
		SyncParameter:  n.str("syncParameter"),
		StampPart:      n.str("stampPart"),
		ClassPart:      n.str("classPart"),
		DeletionsInURL: n.boolean("deletionsInURL"),
	}
}
