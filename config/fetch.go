package config

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/weburl"
)

// fetches reads the Fetch and Addresses elements of a Crawler, and selects the Fetch named by its attribute fetcher.
func (p *parser) fetches(crawler *node, c *Crawler) {
	chosen := crawler.attr("fetcher")
	if chosen != nil && chosen.text == "" {
		chosen = nil
	}
	var all *policy.Fetch
	var browser *node
	found, names := false, map[string]int{}
	for _, n := range crawler.children {
		switch n.spec.Name {
		case "Addresses":
			c.DenyPrivate = n.str("private") == "deny"
		case "Browser":
			browser = n
		}
		if n.spec.Name != "Fetch" {
			continue
		}
		if a := n.attr("name"); a != nil {
			if first, twice := names[a.text]; twice {
				p.errorf(a.value, "%s is the name of another Fetch (at %s): names are unique in a Crawler", quote(a.text), p.lineAndColumn(first))
			} else {
				names[a.text] = a.value
			}
		}
		f := p.fetch(n, c)
		name := n.str("name")
		isChosen := chosen != nil && name == chosen.text
		found = found || isChosen
		hasCondition := n.has(Condition)
		switch {
		case hasCondition && isChosen:
			p.errorf(chosen.value, "fetcher=%s is the Fetch at %s, which has a condition: choose one without a condition, which applies to all URLs that no other matches", quote(name), p.lineAndColumn(n.at))
		case isChosen:
			all = &f
		case hasCondition, n.missing("name"):
			if condition, matcher := p.onlyCondition(n); condition != nil {
				f.Match = matcher.Match
				c.Fetches, c.fetches = append(c.Fetches, f), append(c.fetches, choice{condition, p.position(n.at)})
			}
		case !n.lost:
			p.warnf(n.at, "<Fetch name=%s> is never used: it has no condition, and no fetcher=%s chooses it", quote(name), quote(name))
		}
	}
	if all != nil {
		c.Fetches = append(c.Fetches, *all)
	}
	p.browser(browser, crawler, c)
	if a := crawler.attr("keepCookies"); a != nil && c.KeepCookies && !c.EnableCookies {
		p.warnf(a.name, "keepCookies has no effect without enableCookies=\"true\"; the cookies of a log-in are kept by keepCookies of its <Fetch>")
	}
	switch {
	case chosen == nil || found:
	case len(names) > 0:
		p.errorf(chosen.value, "fetcher=%s is not the name of a <Fetch> of this Crawler: write one of their names", quote(chosen.text))
	default: // CloudView's files may name settings that are defined elsewhere
		p.warnf(chosen.name, "fetcher=%s has no effect: there is no <Fetch name=%s> in this Crawler", quote(chosen.text), quote(chosen.text))
	}
}

// fetch reads one Fetch without its condition: the Crawler's settings with its own.
func (p *parser) fetch(n *node, c *Crawler) policy.Fetch {
	f := policy.Fetch{Name: n.str("name"), Fetcher: c.Fetcher}
	if f.Name == "" {
		f.Name = "at " + p.position(n.at).String()
	}
	f.Fetcher.InsecureTLS = n.boolean("insecureTLS")
	if n.written("ignoreRobotsTxt") {
		ignore := n.boolean("ignoreRobotsTxt")
		f.IgnoreRobots = &ignore
		p.warnOfPermission(n)
	}
	p.warnOfInsecure(n, "passwords and pages")
	f.Fetcher.Roots = p.authorities(n)
	f.Fetcher.Header = p.headers(n)
	f.Fetcher.Proxy = p.proxy(n)
	f.Login = p.login(n)
	f.Render = p.rendering(n)
	return f
}

// rendering reads which pages of a Fetch are rendered in a browser; it returns nil if none are.
func (p *parser) rendering(n *node) *policy.Render {
	selector, wait := n.attr("renderSelector"), n.attr("renderWaitMS")
	if selector != nil {
		if _, err := tree.Parse("css:" + selector.text); err != nil {
			p.errorf(selector.value, "renderSelector=%s %v: write one such as #content or main .article", quote(selector.text), err)
		}
	}
	if selector != nil && wait != nil {
		p.errorf(wait.name, "renderWaitMS and renderSelector exclude each other: remove one of the two")
	}
	if n.str("render") == "no" {
		for _, a := range []*attr{selector, wait} {
			if a != nil {
				p.warnf(a.name, "%s has no effect: write render=\"browser\" or render=\"auto\", too", a.spec.Name)
			}
		}
		return nil
	}
	return &policy.Render{Always: n.str("render") == "browser", Selector: n.str("renderSelector"), After: n.duration("renderWaitMS")}
}

// browser reads the settings of the browser; n is nil if there are none.
func (p *parser) browser(n, crawler *node, c *Crawler) {
	c.BrowserAt = c.At
	if n == nil {
		if c.Renders() && !p.lookups.Exists(render.DefaultCommand) {
			p.warnf(crawler.at, "pages are to be rendered, but there is no browser at %s: they wait until there is one; install Chromium, or write <Browser command=\"...\"/>", render.DefaultCommand)
		}
		return
	}
	c.BrowserAt = p.position(n.at)
	c.Browser = render.Settings{
		Command: strings.Fields(n.str("command")), Pages: int(n.number("pages")), Timeout: n.duration("timeoutS"), MaxMemory: n.number("maxMemoryMB") << 20,
	}
	for _, address := range strings.Fields(n.str("postURLs")) {
		u, err := weburl.Parse(address)
		if err != nil || strings.ContainsAny(address, "?#") {
			p.errorf(n.attr("postURLs").value, "postURLs=%s: write addresses with http or https, without a query", quote(address))
		} else {
			c.Browser.PostURLs = append(c.Browser.PostURLs, u.String())
		}
	}
	if !c.Renders() {
		p.warnf(n.at, "<Browser> has no effect: no Fetch has render=\"browser\" or render=\"auto\"")
		return
	}
	command := n.attr("command")
	switch path := render.Socket(c.Browser.Command); {
	case slices.Contains(n.faulty, "command"):
	case path != "":
		switch {
		case !filepath.IsAbs(path) || len(c.Browser.Command) > 1:
			p.errorf(command.value, "command=%s: write only unix: and the absolute path of the socket", quote(command.text))
		case !p.lookups.Exists(path):
			p.warnf(command.value, "command=%s: the socket %s does not exist: pages to be rendered wait until it does; start the unit sextant-browser.socket", quote(command.text), path)
		}
	case command != nil:
		p.checkProgram(command)
	case !p.lookups.Exists(render.DefaultCommand):
		p.warnf(n.at, "there is no browser at %s: pages to be rendered wait until there is one; install Chromium, or write command", render.DefaultCommand)
	}
}

// warnOfInsecure warns of insecureTLS; what names the endangered data.
func (p *parser) warnOfInsecure(n *node, what string) {
	if !n.boolean("insecureTLS") {
		return
	}
	p.warnf(n.attr("insecureTLS").name, "insecureTLS accepts any certificate, so %s can be read and changed in transit: write caFile with the certificate of the server's authority instead", what)
	if a := n.attr("caFile"); a != nil {
		p.warnf(a.name, "caFile has no effect with insecureTLS=\"true\"")
	}
}

// authorities returns the system's certificate authorities and those of caFile, nil without caFile.
func (p *parser) authorities(n *node) *x509.CertPool {
	a := n.attr("caFile")
	if a == nil {
		return nil
	}
	content, err := p.lookups.ReadFile(p.resolvePath(a.text))
	if err != nil {
		p.errorf(a.value, "caFile: the file cannot be read: %v", cause(err))
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(content) {
		p.errorf(a.value, "caFile: the file contains no certificate: write one or more in PEM format, each beginning with -----BEGIN CERTIFICATE-----")
	}
	return pool
}

// headers reads the Header elements of a Fetch.
func (p *parser) headers(fetch *node) http.Header {
	var out http.Header
	for _, h := range p.writtenHeaders(fetch, "Header", func(key string) string { return headerComplaint(key, fetch.str("auth")) }) {
		if h.key == "Authorization" || h.key == "Cookie" {
			p.warnf(h.at, "%s is sent to each URL that the condition matches, also over http: write auth, which sends credentials to its origins only", h.key)
		}
		if out == nil {
			out = http.Header{}
		}
		out.Set(h.key, h.value)
	}
	return out
}

// writtenHeader is a request header; its key is canonical, its name is at offset at.
type writtenHeader struct {
	key, value string
	at         int
}

// writtenHeaders returns the children of that name, without invalid ones; complaint returns why a key must not be set.
func (p *parser) writtenHeaders(parent *node, element string, complaint func(key string) string) []writtenHeader {
	var out []writtenHeader
	for _, n := range parent.children {
		name, value := n.attr("name"), n.attr("value")
		if n.spec.Name != element || name == nil || value == nil {
			continue
		}
		key := http.CanonicalHeaderKey(name.text)
		words := complaint(key)
		switch {
		case !httpguts.ValidHeaderFieldName(name.text):
			p.errorf(name.value, "name=%s is not a header name: write letters, digits and hyphens", quote(name.text))
		case words != "":
			p.errorf(name.value, "the header %s %s", key, words)
		case slices.ContainsFunc(out, func(h writtenHeader) bool { return h.key == key }):
			p.errorf(name.value, "the header %s is written twice: remove one", key)
		case strings.ContainsFunc(value.text, func(r rune) bool { return r < ' ' || r > '~' }):
			p.errorf(value.value, "value contains characters that a header cannot: write printable ASCII")
		default:
			out = append(out, writtenHeader{key, value.text, name.value})
		}
	}
	return out
}

// headerComplaint returns why a header must not be set in a Fetch, and what to write instead.
func headerComplaint(key, authentication string) string {
	switch {
	case isOwnHeader(key):
		return "is set by the crawler: remove it"
	case key == "User-Agent":
		return "belongs in userAgent of the Crawler"
	case key == "From":
		return "belongs in from of the Crawler"
	case key == "Proxy-Authorization", key == "Proxy-Connection":
		return "belongs in proxyUser and proxyPassword"
	case authentication != "" && (key == "Authorization" || key == "Cookie"):
		return "conflicts with auth, which sets it: remove one of the two"
	}
	return ""
}

// isOwnHeader reports whether a header is determined by the request itself.
func isOwnHeader(key string) bool {
	switch key {
	case "Accept", "Accept-Encoding", "If-None-Match", "If-Modified-Since", "Range",
		"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect":
		return true
	}
	return false
}

// proxy reads the proxy of a Fetch.
func (p *parser) proxy(n *node) *fetcher.Proxy {
	for _, name := range []string{"proxyUser", "proxyPassword"} {
		if n.written(name) && n.missing("proxy") {
			p.errorf(n.attr(name).name, "%s without proxy: write proxy=\"http://host:port\", too", name)
		}
	}
	if n.written("proxyPassword") && n.missing("proxyUser") {
		p.errorf(n.attr("proxyPassword").name, "proxyPassword without proxyUser: write proxyUser=\"...\", too")
	}
	a := n.attr("proxy")
	if a == nil {
		return nil
	}
	u, err := url.Parse(a.text)
	switch {
	case err != nil || !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) || u.Hostname() == "":
		p.errorf(a.value, "proxy is not the URL of a proxy: write http://host:port, https://host:port or socks5://host:port")
		return nil
	case u.User != nil:
		p.errorf(a.value, "proxy contains credentials: write them as proxyUser and proxyPassword")
		return nil
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		p.errorf(a.value, "proxy contains more than scheme, host and port: write only those")
		return nil
	case n.written("proxyPassword") && u.Scheme != "https":
		p.warnf(n.attr("proxyPassword").name, "proxyPassword goes to the proxy unencrypted over %s", u.Scheme)
	}
	return &fetcher.Proxy{URL: a.text, User: n.str("proxyUser"), Password: n.secret("proxyPassword")}
}
