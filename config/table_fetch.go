package config

import "github.com/sextant-crawler/sextant/fetcher/render"

// authKinds returns the values of auth, in the order of the reference.
func authKinds() []string {
	return []string{"basic", "digest", "ntlm", "kerberos", "form", "bearer", "oauth2", "certificate"}
}

// fetchElements returns settings of requests.
func fetchElements() []Element {
	return []Element{
		{Name: "Fetch", Parents: []string{"Crawler"}, Attributes: fetchSettings(),
			Doc: "Request settings for the URLs that its one condition matches, including robots.txt of their hosts. If several match, the first one counts. " +
				"One without a condition needs a name: the Crawler's attribute fetcher chooses it for all other URLs. Each Fetch has its own cookies and log-ins."},
		{Name: "Header", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", HeaderValue, "Name of the header, such as X-Api-Key."),
			required("value", SecretString, "Its value; use ${ENV} or file:PATH."),
		}, Doc: "A header added to each request, also over http and to every host that the condition matches. For credentials use auth, which sends them to their origins only."},
		{Name: "Field", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", String, "Name of the field or parameter."),
			required("value", SecretString, "Its value; use ${ENV} or file:PATH."),
		}, Doc: "A field to fill in on the log-in form; fields that the page has filled in itself are kept. For auth oauth2, a further parameter of the token request, such as resource."},
		{Name: "Browser", Parents: []string{"Crawler"}, Once: true, Attributes: []Attribute{
			{Name: "command", Type: Command, Default: render.DefaultCommand, NotEmpty: true,
				Doc: "Absolute path of the program that renders pages, and further arguments, without a shell; or unix: and the path of a socket on which each connection is a separate browser, as the unit sextant-browser provides."},
			ranged("pages", Int, "1", 1, 16, "Number of pages rendered concurrently, each in a separate browser; a change takes effect after a restart."),
			ranged("timeoutS", Seconds, "20", 1, 600, "Time to render one page. Then it is read as it is, or counts as a temporary error if it does not respond or lacks the element of renderSelector."),
			{Name: "postURLs", NotEmpty: true, Rereads: true, Doc: "Addresses, separated by spaces, to which pages may send POST requests, such as https://intranet.example.com/api/graphql, with any query. Name only addresses that read and change nothing: the crawler's log-in goes with the request."},
			ranged("maxMemoryMB", Int, "1024", 256, 65_536, "Memory of all processes of one browser, in MiB; a page that needs more is a temporary error."),
		}, Doc: "The browser for pages whose Fetch has render. It has no network: the crawler makes its requests. A configuration sent over the network can name only the command that the file on the machine names."},
		{Name: "Addresses", Parents: []string{"Crawler"}, Once: true, Attributes: []Attribute{
			{Name: "private", Type: Enum, Default: "allow", Values: []string{"allow", "deny"},
				Doc: "Whether to connect to private addresses (RFC 1918, RFC 4193, RFC 6598) that no address rule allows. deny applies to hosts of roots, too, and includes loopback and link-local addresses; proxies are always allowed."},
		}, Doc: "Which IP addresses the crawler may connect to."},
	}
}

func fetchSettings() []Attribute {
	named := []string{"basic", "digest", "ntlm"}
	return []Attribute{
		{Name: "name", NotEmpty: true, Unique: true, Doc: "Name of the settings in status and logs, and for fetcher in the Crawler; unique in its Crawler."},
		text("caFile", Path, "", "PEM file with certificates of authorities to trust, in addition to the system's."),
		boolean("insecureTLS", "false", "Whether any server certificate is accepted: an attacker on the network can then read and change everything."),
		boolean("ignoreRobotsTxt", "", "Overrides the Crawler's ignoreRobotsTxt for these URLs."),
		{Name: "render", Type: Enum, Default: "no", Values: []string{"no", "auto", "browser"}, Rereads: true,
			Doc: "Which pages a browser renders: auto, those that only their scripts fill; browser, all. They are always fetched in full, without If-None-Match and If-Modified-Since."},
		{Name: "renderSelector", NotEmpty: true, Rereads: true, Doc: "CSS selector of an element, such as #content, to wait for before a rendered page is read. By default, a page is read when it makes no more requests."},
		{Name: "renderWaitMS", Type: Milliseconds, Min: 1, Max: 600_000, Rereads: true, Doc: "Time from loading a page to reading it, in place of renderSelector."},
		{Name: "auth", Type: Enum, Values: authKinds(), Doc: "How to log in; no log-in if absent."},
		forAuth(Attribute{Name: "origins", NotEmpty: true, Doc: "Servers that may get the credentials, separated by spaces: scheme, host and port, as in https://intranet.example.com, or https://*.example.com for all hosts below; " +
			"required, except for form, where the log-in page's server is always included."}, authKinds()...),
		forAuth(boolean("keepCookies", "false", "Whether the cookies of this log-in survive a restart, in a file of the data directory that only the service reads; then a form logs in again only when they have expired."), authKinds()...),
		forAuth(Attribute{Name: "user", NotEmpty: true, Doc: "User name; for ntlm DOMAIN\\user or user@domain, for kerberos user or user@REALM; required, except for kerberos with a credentialCache or a keytab of one principal."}, append(named, "kerberos")...),
		forAuth(text("password", SecretString, "", "Password; use ${ENV} or file:PATH; required, except for kerberos with a keytab or credentialCache."), append(named, "kerberos")...),
		forAuth(text("keytab", Path, "", "Keytab file with the user's keys, read with the configuration; in place of password."), "kerberos"),
		forAuth(text("credentialCache", Path, "", "Credential cache file, as written by kinit -c FILE:path or k5start, read at each log-in; in place of password and keytab."), "kerberos"),
		forAuth(Attribute{Name: "realm", NotEmpty: true, Doc: "Realm of the user, and of servers for which krb5Conf names no realm; the default_realm of krb5Conf if absent."}, "kerberos"),
		forAuth(Attribute{Name: "kdc", NotEmpty: true, Doc: "The realm's only KDCs, separated by spaces: host, or host:port if the port is not 88; for Active Directory, domain controllers or the domain. In place of krb5Conf."}, "kerberos"),
		forAuth(text("krb5Conf", Path, "", "A krb5.conf, such as /etc/krb5.conf: only its realms, their KDCs and domain_realm are read, and no included files. In place of kdc."), "kerberos"),
		forAuth(Attribute{Name: "spn", NotEmpty: true, Doc: "Service principal of the servers, such as HTTP/web01.example.com, or one with @REALM; if absent, HTTP/ and the host of each URL as written."}, "kerberos"),
		forAuth(text("token", SecretString, "", "The token; required."), "bearer"),
		forAuth(text("tokenURL", HTTPURL, "", "The token endpoint for client credentials; required."), "oauth2"),
		forAuth(Attribute{Name: "clientId", NotEmpty: true, Doc: "The client's id; required."}, "oauth2"),
		forAuth(text("clientSecret", SecretString, "", "The client's secret; required, unless certFile is given."), "oauth2"),
		forAuth(text("scopes", String, "", "Scopes to request, separated by spaces."), "oauth2"),
		forAuth(boolean("credentialsInBody", "false", "Whether the token request carries the client's id and secret in its body instead of its Authorization header."), "oauth2"),
		forAuth(text("certFile", Path, "", "PEM file with the client's certificate and its chain; required for certificate. For oauth2 its RSA key signs the token request, in place of clientSecret."), "certificate", "oauth2"),
		forAuth(text("keyFile", Path, "", "PEM file with its key, not encrypted; certFile if absent."), "certificate", "oauth2"),
		forAuth(text("loginURL", HTTPURL, "", "URL of the page with the log-in form; required."), "form"),
		forAuth(text("loginForm", String, "", "The form on that page: its name, #id, or its number, counted from 1; if absent, the one with a password field."), "form"),
		forAuth(text("successText", String, "", "Text in the source of the next page that proves success. Without any of the three success attributes, a page without the form proves it."), "form"),
		forAuth(text("successCookie", String, "", "Name of a cookie whose presence proves success."), "form"),
		forAuth(boolean("successRedirect", "false", "Whether a redirect to a page other than the log-in page proves success."), "form"),
		forAuth(text("loginPage", HTTPURL, "", "Another page to which users without a session are redirected, such as that of a single sign-on service."), "form"),
		forAuth(text("loggedOutText", String, "", "Text in the source of a page that shows that the session has ended, as the log-in form and redirects to its page always do."), "form"),
		{Name: "proxy", NotEmpty: true, Doc: "Proxy: an http, https or socks5 URL with host and port."},
		{Name: "proxyUser", NotEmpty: true, Doc: "User name for the proxy."},
		text("proxyPassword", SecretString, "", "Password for the proxy."),
	}
}

func forAuth(a Attribute, kinds ...string) Attribute {
	a.Auth = kinds
	return a
}
