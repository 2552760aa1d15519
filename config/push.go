package config

import (
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/wire"
)

// Push is a target of documents and deletions.
type Push struct {
	// TargetSettings is without the target itself, which Open creates.
	push.TargetSettings
	Name string
	// Content is set if the target needs the page bytes.
	Content bool
	// Settings are those of its kind: file.Settings, papi.Settings and so on.
	Settings any
	At       actionrules.Position

	open opener
}

// opener creates a target, which writes below the folder data.
type opener func(data string, log *slog.Logger) (push.Target, error)

// Open creates the target, without the page bytes unless they are needed. It writes below the folder data.
func (t Push) Open(data string, log *slog.Logger) (push.Target, error) {
	target, err := t.open(data, log)
	if err != nil || t.Content {
		return target, err
	}
	return push.WithoutContent(target), nil
}

// Same reports whether both are the same target, regardless of their positions.
func (t Push) Same(other Push) bool {
	t.At, other.At = actionrules.Position{}, actionrules.Position{}
	t.open, other.open = nil, nil
	return same(reflect.ValueOf(t), reflect.ValueOf(other))
}

// pushTargets returns the targets of a Crawler, by default one of kind file.
func (p *parser) pushTargets(crawler *node) []Push {
	var out []Push
	written := false
	names := make(map[string]int)
	for n := range crawler.all("Push") {
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
		if t.Kind == "papi" || t.Kind == "funnelback" {
			warnOfDenials(p, crawler, n)
		}
	}
	if !written {
		n := &node{spec: p.schema.elements["Push"], at: crawler.at}
		return []Push{p.pushTarget(n, crawler.str("name"))}
	}
	return out
}

func (p *parser) pushTarget(n *node, crawler string) Push {
	kind := kindOfPush(n.str("kind"))
	t := Push{Name: n.str("name"), Content: n.boolean("content"), At: p.position(n.at)}
	t.Kind = kind.name
	if t.Name == "" {
		t.Name = kind.name
	}
	if source := n.str("source"); source != "" {
		t.Source = &source
	}
	p.ofKind(n, kind)
	if kind.overHTTP() {
		t.BatchCount, t.BatchBytes, t.BatchAge = kind.batch, int(n.number("batchBytes")), n.duration("batchAgeMS")
		if n.written("batchCount") {
			t.BatchCount = int(n.number("batchCount"))
		}
	}
	t.Settings, t.open = kind.make(&pushReader{node: n, p: p, name: t.Name, crawler: crawler})
	return t
}

// ofKind reports attributes that do not belong to a kind of target, and missing ones.
func (p *parser) ofKind(n *node, kind *pushKind) {
	for _, name := range kind.needed {
		if n.str(name) == "" && !slices.Contains(n.faulty, name) {
			p.errorf(n.at, "<Push kind=%q> needs the attribute %s", kind.name, name)
		}
	}
	for _, a := range n.attrs {
		if of := a.spec.Kinds; len(of) > 0 && !slices.Contains(of, kind.name) {
			p.errorf(a.name, "%s is only for kind=\"%s\": remove it, or write that kind", a.spec.Name, strings.Join(of, `" or "`))
		}
	}
	for _, child := range n.children {
		switch {
		case child.spec.Name == "PushHeader" && !kind.overHTTP():
			p.errorf(child.at, "<PushHeader> is for targets over HTTP: remove it")
		case child.spec.Name == "PushField" && kind.shortMetas && child.str("name") == wire.Chunks:
			p.errorf(child.at, "%s is a list of objects, which kind=%q does not take: remove it", wire.Chunks, kind.name)
		case child.spec.Name == "PushField" && !kind.fields:
			p.errorf(child.at, "<PushField> is only for kind=\"%s\": remove it, or write that kind", strings.Join(kindsWithFields(), `" or "`))
		}
	}
}

// warnOfDenials warns of the denials in an element of a Crawler, for a target that does not enforce them.
func warnOfDenials(p *parser, in, target *node) {
	for _, n := range in.children {
		name := map[string]string{"Field": "name", "AddMeta": "name", "Map": "to", "MapHeader": "to"}[n.spec.Name]
		if name != "" && n.str(name) == push.MetaDeny {
			p.warnf(n.valueAt(name), "the target of kind %s at %s does not enforce %s: write only the allowed users",
				target.str("kind"), p.lineAndColumn(target.at), push.MetaDeny)
		}
		if n.spec.Name != "Fetch" { // its Fields are those of a form
			warnOfDenials(p, n, target)
		}
	}
}

// fieldInTargets warns of a Field that does not reach a target. The title always does, since it is taken from its
// Field.
func (p *parser) fieldInTargets(n, crawler *node, f *policy.Field) {
	for _, target := range crawler.children {
		if target.spec.Name != "Push" || slices.Contains(target.faulty, "kind") {
			continue
		}
		kind := kindOfPush(target.str("kind"))
		if f.Name != "title" && slices.Contains(kind.ownMetas, f.Name) {
			p.warnf(n.valueAt("name"), "the target of kind %s at %s sets the meta %s itself and ignores that of this Field: write another name",
				kind.name, p.lineAndColumn(target.at), f.Name)
		}
		isNamed := slices.ContainsFunc(target.children, func(c *node) bool {
			return c.spec.Name == "PushField" && c.str("name") == wire.MetaPrefix+f.Name
		})
		if f.Kind == tree.Content && kind.shortMetas && !isNamed {
			p.warnf(n.valueAt("select"), "the target of kind %s at %s does not accept metas as long as this Field allows: write <PushField name=%s as=\"...\"/> in it with a field for long texts, or with drop=\"true\"",
				kind.name, p.lineAndColumn(target.at), quote(wire.MetaPrefix+f.Name))
		}
	}
}

// leavesTarget returns a function that reports, for targets of a single source, which documents leave a target when
// their source changes; nil if every target takes all sources.
func leavesTarget(targets []Push) func(from, to string) bool {
	narrowed := map[string]bool{}
	for _, p := range targets {
		if p.Source != nil {
			narrowed[*p.Source] = true
		}
	}
	if len(narrowed) == 0 {
		return nil
	}
	return func(from, to string) bool { return from != to && narrowed[from] }
}

// onlySources returns those of Settings.OnlySources.
func onlySources(targets []Push) (sources []string) {
	for _, p := range targets {
		if p.Source == nil {
			return nil
		}
		sources = append(sources, *p.Source)
	}
	slices.Sort(sources)
	return slices.Compact(sources)
}

// outputFolder returns the folder of a target of kind file.
func outputFolder(dir, data string) string {
	if dir == "" {
		return filepath.Join(data, "out")
	}
	return dir
}
