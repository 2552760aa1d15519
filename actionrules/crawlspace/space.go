package crawlspace

import (
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// gate judges links.
type gate interface {
	// judge reports whether the gate lets the link pass, and the rule that decided; if no rule did, the reason contains
	// only the gate. It does not allocate.
	judge(Link) (Reason, bool)
}

// Space is the compiled crawl space: all gates of a Crawler. It is immutable and safe for concurrent use; a reload
// compiles a new one.
type Space struct {
	settings Settings
	names    names
	gates    []gate // the active ones, in order
	stored   []gate // gates that apply to stored URLs in the background

	before      []gate // the gates in front of the reject list
	reject      *patternGate
	extensions  *extensionGate
	domain      *domainGate
	prefix      *prefixGate
	global      *domainGate // nil is no global crawl space, or one that allows nothing
	addresses   *AddressRules
	mime        *mimeGate
	kill        killList
	fingerprint string
}

// Compile checks and compiles the settings, whose contents must not be changed afterwards. roots are the start URLs,
// for StartURLMatch. If there are errors it returns all of them, each an *actionrules.Error with its position, and no
// Space.
func Compile(settings Settings, roots []weburl.URL) (*Space, []error) {
	c := compiler{s: &Space{settings: settings, names: newNames(&settings)}}
	known := make([]weburl.URL, len(roots))
	for i, root := range roots {
		known[i] = c.s.Rewrite(root)
	}
	c.rules()
	c.patterns(known)
	c.kinds()
	c.s.kill = c.killList()
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	c.s.assemble()
	return c.s, nil
}

// compiler fills in a Space and gathers all faults.
type compiler struct {
	s    *Space
	errs []error
}

func (c *compiler) entries(entries []entry, errs []error) []entry {
	c.errs = append(c.errs, errs...)
	return entries
}

// rules compiles crawl.rules and global.rules.
func (c *compiler) rules() {
	read := func(f *File, global bool) ruleSet {
		if f == nil {
			return ruleSet{}
		}
		set, errs := parseRules(*f, global, c.s.settings.FoldHost)
		c.errs = append(c.errs, errs...)
		return set
	}
	local, global := read(c.s.settings.CrawlRules, false), read(c.s.settings.GlobalRules, true)
	c.s.domain = newDomainGate(local.domains, c.s.settings.FoldHost)
	c.s.global = newDomainGate(global.domains, c.s.settings.FoldHost)
	c.s.prefix = newPrefixGate(local.prefixes)
	c.s.addresses = &AddressRules{local.addresses}
}

// patterns compiles the gates up to the reject list.
func (c *compiler) patterns(roots []weburl.URL) {
	t := c.s.settings
	list := func(t []Text) string { // for the reason that no entry of it matched
		values := make([]string, len(t))
		for i := range t {
			values[i] = strings.TrimSpace(t[i].Value)
		}
		return strings.Join(values, ", ")
	}
	var at actionrules.Position
	if len(t.MustContain) > 0 {
		at = t.MustContain[0].At
	}
	g := appendGate(nil, newStartGate(t.StartURLMatch, roots))
	g = appendGate(g, newPatternGate(c.entries(parseTexts(t.MustContain, GateMustContain)), true, reasonAt(GateMustContain, at, list(t.MustContain))))
	g = appendGate(g, newPatternGate(c.entries(parseTexts(t.MustNotContain, GateMustNotContain)), false, Reason{Gate: GateMustNotContain}))
	g = appendGate(g, newPatternGate(c.entries(parseValue(t.Include, GateInclude)), true, reasonAt(GateInclude, t.Include.At, strings.TrimSpace(t.Include.Value))))
	g = appendGate(g, newPatternGate(c.entries(parseValue(t.Exclude, GateExclude)), false, Reason{Gate: GateExclude}))
	c.s.before = g
	c.s.reject = newRejectGate(c.entries(parseList(t.RejectList, GateReject)))
}

// kinds compiles the gates for extensions and MIME types.
func (c *compiler) kinds() {
	var errs []error
	c.s.extensions, errs = newExtensionGate(c.s.settings.Extensions)
	c.errs = append(c.errs, errs...)
	c.s.mime, errs = newMIMEGate(c.s.settings.MIME, c.s.settings.Extensions, c.s.extensions)
	c.errs = append(c.errs, errs...)
}

// appendGate appends the gate unless it is off.
func appendGate[T any, P interface {
	*T
	gate
}](gates []gate, g P) []gate {
	if g == nil {
		return gates
	}
	return append(gates, g)
}

// assemble puts the gates into their order.
func (s *Space) assemble() {
	s.stored = appendGate(appendGate(slices.Clone(s.before), s.reject), s.extensions)
	s.gates = slices.Clone(s.stored)
	s.gates = appendGate(s.gates, newDepthGate(s.settings.MaxPathDepth, GatePathDepth, "maxPathDepth", pathDepth))
	s.gates = appendGate(s.gates, newDepthGate(s.settings.MaxLinkDepth, GateLinkDepth, "maxLinkDepth", linkDepth))
	for _, gates := range []*[]gate{&s.stored, &s.gates} {
		*gates = appendGate(appendGate(*gates, s.domain), s.prefix)
	}
	s.fingerprint = s.hash()
}

// WithRejectList returns a copy of the space with another reject list, or without one if it is nil. The errors are
// those of Compile.
func (s *Space) WithRejectList(f *File) (*Space, []error) {
	entries, errs := parseList(f, GateReject)
	if len(errs) > 0 {
		return nil, errs
	}
	other := *s
	other.settings.RejectList = f
	other.reject = newRejectGate(entries)
	other.assemble()
	return &other, nil
}

func newRejectGate(entries []entry) *patternGate {
	return newPatternGate(entries, false, Reason{Gate: GateReject})
}

// Judge applies all gates, in order, up to the first that refuses. It is for new links and for URLs taken from their
// fifo. It allocates only if it rewrites the URL.
func (s *Space) Judge(l Link) Verdict { return s.judge(l, s.gates) }

// JudgeStored is Judge for the background pass over stored URLs after a change of the settings, which skips the depths:
// they apply when a URL is taken.
func (s *Space) JudgeStored(l Link) Verdict { return s.judge(l, s.stored) }

func (s *Space) judge(l Link, gates []gate) Verdict {
	l.URL = s.Rewrite(l.URL)
	for _, g := range gates {
		reason, ok := g.judge(l)
		if ok || l.Exempt && sparesSources(reason.Gate) {
			continue
		}
		v := Verdict{URL: l.URL, Reason: reason, Status: StatusExcluded}
		if reason.Gate == GateDomain && s.elsewhere(l) {
			v.Status = StatusElsewhere
		}
		return v
	}
	return Verdict{URL: l.URL, Allowed: true}
}

// sparesSources reports whether a gate applies to pages only, not to the sitemaps, feeds and files that list them
// (Funnelback, "Sitemap.xml": the patterns apply to the links listed).
func sparesSources(g Gate) bool {
	return slices.Contains([]Gate{GateStartURL, GateMustContain, GateMustNotContain, GateInclude, GateExclude, GatePathDepth, GateLinkDepth}, g)
}

// elsewhere reports whether another crawler is responsible for a link that the domain rules refuse and the gates before
// them allow: no prefix rule refuses it, and a rule of global.rules allows it.
func (s *Space) elsewhere(l Link) bool {
	if s.global == nil {
		return false
	}
	if s.prefix != nil {
		if _, ok := s.prefix.judge(l); !ok {
			return false
		}
	}
	r := s.global.decide(l)
	return r != nil && r.allow
}

// Trace applies every active gate, including those after one that refuses, and returns their answers in order. Gates
// that rewrite URLs come first. global.rules comes last, and only if the domain rules refuse. If no rule of a gate
// matched, the answer's rule is empty.
func (s *Space) Trace(l Link) []GateAnswer {
	all := s.names.trace()
	l.URL = s.Rewrite(l.URL)
	for _, g := range s.gates {
		reason, ok := g.judge(l)
		if !ok && l.Exempt && sparesSources(reason.Gate) {
			reason, ok = Reason{Gate: reason.Gate}, true
		}
		all = append(all, GateAnswer{Reason: reason, Allowed: ok})
	}
	if s.domain == nil || s.settings.GlobalRules == nil {
		return all
	}
	if _, ok := s.domain.judge(l); ok {
		return all
	}
	a := GateAnswer{Reason: Reason{Gate: GateGlobal}}
	if s.global != nil {
		if r := s.global.decide(l); r != nil {
			a.Reason, a.Allowed = r.judge(GateGlobal)
		}
	}
	return append(all, a)
}

// Addresses returns the rules for dialled addresses; it is never nil.
func (s *Space) Addresses() *AddressRules { return s.addresses }

// Killed reports whether u is crawled and followed but never indexed, and by which entry (Funnelback, kill_exact.cfg
// and kill_pattern.cfg).
func (s *Space) Killed(u weburl.URL) (Reason, bool) { return s.kill.killed(s.Rewrite(u)) }

// Fingerprint identifies the behaviour of the gates: it changes with the settings, but not with comments, blanks or
// positions in files.
func (s *Space) Fingerprint() string { return s.fingerprint }
