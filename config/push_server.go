package config

import (
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/push/solr"
	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/weburl"
)

// pushReader reads the Push element of a target.
type pushReader struct {
	*node
	p             *parser
	name, crawler string // of the target and of its Crawler
}

// server returns the connection settings of the target's server. token makes a header of a token; nil if the kind has
// none.
func (r *pushReader) server(token func(secret.Value) wire.Header) wire.Settings {
	n := r.node
	s := wire.Settings{
		URL: n.str("url"), User: n.str("user"), Password: n.secret("password"),
		InsecureTLS: n.boolean("insecureTLS"), Gzip: n.boolean("gzip"),
		MaxRequestsPerS: int(n.number("maxRequestsPerS")), Timeout: n.duration("timeoutS"),
	}
	if token != nil && n.str("token") != "" {
		s.Headers = append(s.Headers, token(n.secret("token")))
	}
	s.Headers = append(s.Headers, r.p.pushHeaders(n)...)
	s.Roots = r.p.authorities(n)
	if n.written("password") && n.missing("user") {
		r.p.errorf(n.attr("password").name, "password requires user: write user=\"...\", too")
	}
	if n.written("token") && n.written("user") && n.str("kind") != "funnelback" {
		r.p.errorf(n.attr("token").name, "token and user exclude each other: remove one of the two")
	}
	r.p.warnOfServer(n, &s)
	return s
}

// limits returns the limits of requests.
func (r *pushReader) limits() wire.Limits {
	return wire.Limits{Bytes: int(r.number("maxRequestBytes")), Requests: int(r.number("connections"))}
}

// warnOfServer warns of settings that expose credentials in transit.
func (p *parser) warnOfServer(n *node, s *wire.Settings) {
	p.warnOfInsecure(n, "credentials and documents")
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" || weburl.IsLoopback(u.Hostname()) {
		return
	}
	for _, name := range []string{"password", "token"} {
		if a := n.attr(name); a != nil && slices.Contains(a.spec.Kinds, n.str("kind")) {
			p.warnf(a.name, "%s goes to %s unencrypted: write url with https", name, u.Host)
		}
	}
	if slices.ContainsFunc(n.children, func(c *node) bool { return c.spec.Name == "PushHeader" }) {
		p.warnf(n.at, "the values of <PushHeader> go to %s unencrypted: write url with https", u.Host)
	}
}

// pushHeaders reads the PushHeader elements of a Push.
func (p *parser) pushHeaders(push *node) []wire.Header {
	complaint := func(key string) string {
		switch {
		case isOwnHeader(key), key == "Proxy-Authorization", key == "Proxy-Connection":
			return "is set by the crawler: remove it"
		case key == "Authorization" && (push.written("user") || push.written("token")):
			return "conflicts with user or token, which set it: remove one of the two"
		}
		return ""
	}
	var out []wire.Header
	for _, h := range p.writtenHeaders(push, "PushHeader", complaint) {
		out = append(out, wire.Header{Name: h.key, Value: secret.New(h.value)})
	}
	return out
}

// pushFields reads the PushField elements of a Push.
func (p *parser) pushFields(push *node) map[string]string {
	var out map[string]string
	targets := map[string]string{}
	for _, n := range push.children {
		name := n.attr("name")
		if n.spec.Name != "PushField" || name == nil {
			continue
		}
		as, drop := n.str("as"), n.boolean("drop")
		if err := wire.CheckName(name.text); err != nil {
			p.errorf(name.value, "name=%s", err)
			continue
		}
		if _, twice := out[name.text]; twice {
			p.errorf(name.value, "name=%s is written twice: remove one", quote(name.text))
			continue
		}
		if (as == "") != drop {
			if len(n.faulty) == 0 {
				p.errorf(n.at, "<PushField name=%s> requires either as=\"...\" or drop=\"true\"", quote(name.text))
			}
			continue
		}
		if other, twice := targets[as]; twice && as != "" {
			p.errorf(n.attr("as").value, "as=%s is also written for %s: two parts of a document cannot share a name", quote(as), quote(other))
			continue
		}
		if name.text == "content" && !push.boolean("content") {
			p.warnf(name.value, "documents have no content without content=\"true\" in <Push>: write it, or remove this element")
		}
		if out == nil {
			out = map[string]string{}
		}
		targets[as], out[name.text] = name.text, as
	}
	p.takenNames(push, out)
	return out
}

// takenNames warns of a name that another part of the document already has: the target would receive both as a list.
func (p *parser) takenNames(push *node, fields wire.Names) {
	names := fields
	switch push.str("kind") {
	case "solr":
		names = fields.Over(solr.DefaultFields())
	case "funnelback": // whose parts are separate
		return
	}
	for _, n := range push.children {
		as := n.attr("as")
		if n.spec.Name != "PushField" || as == nil || fields[n.str("name")] != as.text {
			continue
		}
		for _, part := range wire.Parts() {
			if _, written := fields[part]; part != n.str("name") && !written && names.Name(part) == as.text && (part != "content" || push.boolean("content")) {
				p.warnf(as.value, "as=%s is also where the document's %s goes: the target gets both, as a list; write another name, or <PushField name=%s drop=\"true\"/>", quote(as.text), part, quote(part))
			}
		}
	}
}
