package importer

import (
	"regexp"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// scope holds the bounds around start URLs that the attributes of startURLs set.
type scope struct{ domain, subdomains, port, protocol bool }

// scopeOf reads the attributes. Unsupported bounds are an error: URLs outside them would be crawled.
func scopeOf(n *node) (s scope, err error) {
	for name, to := range map[string]*bool{"stayOnDomain": &s.domain, "includeSubdomains": &s.subdomains, "stayOnPort": &s.port, "stayOnProtocol": &s.protocol} {
		if *to, err = n.flag(name, false); err != nil {
			return s, err
		}
	}
	if !s.domain && (s.port || s.protocol) {
		return s, n.errorf("stayOnPort and stayOnProtocol are imported only with stayOnDomain=\"true\"")
	}
	return s, nil
}

// around returns the condition of URLs within the bounds around a start URL; "" is any URL.
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
	if s.protocol || s.port && port == "" { // the default port of the scheme
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
