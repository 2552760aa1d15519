package importer

import (
	"regexp"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// scope are the bounds around start URLs that the attributes of startURLs draw.
type scope struct{ domain, subdomains, port, protocol bool }

// scopeOf reads the attributes. Bounds that have no counterpart are an error: what they keep
// out would be crawled.
func scopeOf(n *node) (s scope, err error) {
	for name, to := range map[string]*bool{"stayOnDomain": &s.domain, "includeSubdomains": &s.subdomains, "stayOnPort": &s.port, "stayOnProtocol": &s.protocol} {
		if *to, err = n.flag(name, false); err != nil {
			return s, err
		}
	}
	if !s.domain && (s.port || s.protocol) {
		return s, n.errorf("stayOnPort and stayOnProtocol are taken over with stayOnDomain=\"true\" only")
	}
	return s, nil
}

// around returns the condition of URLs in the bounds around a start URL; "" is any URL.
func (s scope) around(u weburl.URL) string {
	if !s.domain {
		return ""
	}
	scheme, host, _ := strings.Cut(u.Origin(), "://")
	port := ""
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host, port = host[:i], host[i:]
	}
	expression := "https?"
	if s.protocol || s.port && port == "" { // a port that is not written is the scheme's
		expression = scheme
	}
	expression += "://"
	if s.subdomains {
		expression += `(?:[^/]*\.)?`
	}
	expression += regexp.QuoteMeta(host)
	if s.port {
		expression += port
	} else {
		expression += "(?::[0-9]+)?"
	}
	return atom(actionrules.Atom{Field: actionrules.FieldURL, Kind: actionrules.KindPrefix, Norm: actionrules.NormNone, Value: expression + "/", Regexp: true})
}
