package config

import (
	"net"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/push/wire"
	"github.com/sextant-crawler/sextant/secret"
)

// Batches of one request a document, or of many.
const (
	papiBatch  = 100
	otherBatch = 500
)

// pushServer reads what targets over HTTP have in common.
func (p *parser) pushServer(n *node, kind string) *PushServer {
	s := &PushServer{
		URL: n.str("url"), User: n.str("user"), Password: n.secret("password"), Token: n.secret("token"),
		InsecureTLS: n.boolean("insecureTLS"), Gzip: n.boolean("gzip"),
		MaxRequestsPerS: int(n.number("maxRequestsPerS")), Timeout: n.duration("timeoutS"),
		BatchCount: otherBatch, BatchBytes: n.number("batchBytes"), BatchAge: n.duration("batchAgeMS"),
		Fields: p.pushFields(n), Headers: p.pushHeaders(n),
	}
	if kind == "papi" {
		s.BatchCount = papiBatch
	} else {
		s.Connections, s.RequestBytes = int(n.number("connections")), n.number("maxRequestBytes")
	}
	if n.written("batchCount") {
		s.BatchCount = int(n.number("batchCount"))
	}
	if a := n.attr("caFile"); a != nil {
		s.Roots = p.authorities(a)
	}
	if n.written("password") && n.missing("user") {
		p.errorf(n.attr("password").name, "password without user: write user=\"...\", too")
	}
	if n.written("token") && n.written("user") && kind != "funnelback" {
		p.errorf(n.attr("token").name, "token beside user: the server reads one of them: remove the other")
	}
	p.warnOfServer(n, s, kind)
	return s
}

// warnOfServer warns of what lets credentials be read on their way.
func (p *parser) warnOfServer(n *node, s *PushServer, kind string) {
	if s.InsecureTLS {
		p.warnf(n.attr("insecureTLS").name, "insecureTLS accepts any certificate, so that credentials and documents can be read and changed on their way: write caFile with the certificate of the server's authority instead")
		if a := n.attr("caFile"); a != nil {
			p.warnf(a.name, "caFile has no effect with insecureTLS=\"true\"")
		}
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" || isLoopback(u.Hostname()) {
		return
	}
	for _, name := range []string{"password", "token"} {
		if a := n.attr(name); a != nil && slices.Contains(a.spec.Kinds, kind) {
			p.warnf(a.name, "%s goes to %s unencrypted: write url with https", name, u.Host)
		}
	}
	if len(s.Headers) > 0 {
		p.warnf(n.at, "the values of <PushHeader> go to %s unencrypted: write url with https", u.Host)
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// pushHeaders reads the PushHeader elements of a Push.
func (p *parser) pushHeaders(push *node) []PushHeader {
	complaint := func(key string) string {
		switch {
		case isOwnHeader(key), key == "Proxy-Authorization", key == "Proxy-Connection":
			return "is the crawler's own: remove it"
		case key == "Authorization" && (push.written("user") || push.written("token")):
			return "cannot be written beside user or token, which set it: remove one of the two"
		}
		return ""
	}
	var out []PushHeader
	for _, h := range p.writtenHeaders(push, "PushHeader", complaint) {
		out = append(out, PushHeader{h.key, secret.New(h.value)})
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
				p.errorf(n.at, "<PushField name=%s> says either as=\"...\" or drop=\"true\"", quote(name.text))
			}
			continue
		}
		if other, twice := targets[as]; twice && as != "" {
			p.errorf(n.attr("as").value, "as=%s is written for %s, too: two parts of a document cannot have one name", quote(as), quote(other))
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		targets[as], out[name.text] = name.text, as
	}
	return out
}
