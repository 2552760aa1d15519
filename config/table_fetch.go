package config

import "github.com/sextant-crawler/sextant/fetcher/render"

// authKinds returns the values of auth, in the order of the reference.
func authKinds() []string {
	return []string{"basic", "digest", "ntlm", "kerberos", "form", "bearer", "oauth2", "certificate"}
}

// fetchElements are settings of requests.
func fetchElements() []Element {
	return []Element{
		{Name: "Fetch", Parents: []string{"Crawler"}, Attributes: fetchSettings(),
			Doc: "Request settings for the URLs that its one condition matches, including robots.txt of their hosts. If several match, the first one counts. " +
				"One without a condition needs a name: the Crawler's attribute fetcher chooses it for all other URLs. Each Fetch has its own cookies and log-ins."},
		{Name: "Header", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", HeaderValue, "Name of the header, such as X-Api-Key."),
			required("value", SecretString, "Its value; ${ENV} or file:PATH keep it out of the file."),
		}, Doc: "A header added to each request, also over http and to every host that the condition matches. For credentials use auth, which sends them to their origins only."},
		{Name: "Field", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", String, "Name of the field or parameter."),
			required("value", SecretString, "Its value; ${ENV} or file:PATH keep it out of the file."),
		}, Doc: "A field to fill in on the log-in form; fields that the page has filled in itself are kept. For auth oauth2, a further parameter of the token request, such as resource."},
		{Name: "Browser", Parents: []string{"Crawler"}, Once: true, Attributes: []Attribute{
			{Name: "command", Type: Command, Default: render.DefaultCommand, NotEmpty: true,
				Doc: "Program that renders pages, by its absolute path, and further arguments; or unix: and the path of a socket on which each connection is a browser of its own, as the unit sextant-browser offers it. No shell reads it."},
			ranged("pages", Int, "1", 1, 16, "How many pages are rendered at once, each in a browser of its own; a change takes effect after a restart."),
			ranged("timeoutS", Seconds, "20", 1, 600, "Time to render one page; then it is read as it is, or counts as a temporary error if it gives no answer or lacks what renderSelector waits for."),
			ranged("maxMemoryMB", Int, "1024", 256, 65_536, "Memory of one browser's processes together, in MiB; a page with which they take more is a temporary error."),
		}, Doc: "The browser for pages whose Fetch has render. It has no network: the crawler makes its requests. A configuration that comes over the network may name only the command that the file on the machine names."},
		{Name: "Addresses", Parents: []string{"Crawler"}, Once: true, Attributes: []Attribute{
			{Name: "private", Type: Enum, Default: "allow", Values: []string{"allow", "deny"},
				Doc: "Whether to connect to private addresses (RFC 1918, RFC 4193, RFC 6598) that no address rule allows. deny also counts for hosts that a Root names, and includes loopback and link-local addresses; proxies are always allowed."},
		}, Doc: "Which IP addresses the crawler may connect to."},
	}
}

func fetchSettings() []Attribute {
	named := []string{"basic", "digest", "ntlm"}
	return []Attribute{
		{Name: "name", NotEmpty: true, Unique: true, Doc: "Name of the settings in status and logs, and for the Crawler's fetcher; unique in its Crawler."},
		text("caFile", Path, "", "PEM file with certificates of further authorities to verify servers by."),
		boolean("insecureTLS", "false", "Whether any server certificate is accepted: others on the network path can then read and change everything."),
		boolean("ignoreRobotsTxt", "", "Overrides the Crawler's ignoreRobotsTxt for these URLs."),
		{Name: "render", Type: Enum, Default: "no", Values: []string{"no", "auto", "browser"}, Rereads: true,
			Doc: "Whether pages are read as a browser makes them (rendering.md): auto, those that only their scripts fill; browser, all. They are always fetched whole, without If-None-Match and If-Modified-Since."},
		{Name: "renderSelector", NotEmpty: true, Rereads: true, Doc: "CSS selector of an element that is waited for before a rendered page is read, such as #content. By default, a page is read when it makes no more requests."},
		{Name: "renderWaitMS", Type: Milliseconds, Min: 1, Max: 600_000, Rereads: true, Doc: "Time after which a rendered page is read, once it is loaded; in place of renderSelector."},
		{Name: "auth", Type: Enum, Values: authKinds(), Doc: "How to log in; no log-in if absent."},
		forAuth(Attribute{Name: "origins", NotEmpty: true, Doc: "Servers that may get the credentials, separated by spaces: scheme, host and port, as in https://intranet.example.com, or https://*.example.com for all hosts below; " +
			"required, except for form, where the log-in page's server is always included."}, authKinds()...),
		forAuth(boolean("keepCookies", "false", "Whether the cookies of this log-in outlive a restart, in a file of the data directory that only the service reads; then a form logs in anew only when they are over."), authKinds()...),
		forAuth(Attribute{Name: "user", NotEmpty: true, Doc: "User name; for ntlm DOMAIN\\user or user@domain, for kerberos user or user@REALM; required, except for kerberos with a credentialCache or a keytab of one principal."}, append(named, "kerberos")...),
		forAuth(text("password", SecretString, "", "Password; ${ENV} or file:PATH keep it out of the file; required, except for kerberos with a keytab or credentialCache."), append(named, "kerberos")...),
		forAuth(text("keytab", Path, "", "Keytab file with the user's keys, read when the configuration is; in place of password."), "kerberos"),
		forAuth(text("credentialCache", Path, "", "Credential cache file (as kinit -c FILE:path or k5start write it), read at each log-in; in place of password and keytab."), "kerberos"),
		forAuth(Attribute{Name: "realm", NotEmpty: true, Doc: "Realm of the user, and of servers that krb5Conf gives no other; the default_realm of krb5Conf if absent."}, "kerberos"),
		forAuth(Attribute{Name: "kdc", NotEmpty: true, Doc: "The realm's KDCs, separated by spaces: host, or host:port if that is not 88; for Active Directory, domain controllers, or the domain. Nobody else is asked for tickets. In place of krb5Conf."}, "kerberos"),
		forAuth(text("krb5Conf", Path, "", "A krb5.conf with realms, their KDCs and domain_realm, such as /etc/krb5.conf; the rest of it, and what it includes, is not read. In place of kdc."), "kerberos"),
		forAuth(Attribute{Name: "spn", NotEmpty: true, Doc: "Service principal of the servers, such as HTTP/web01.example.com or one with @REALM; if absent, HTTP/ and the host of each URL, as it is written there."}, "kerberos"),
		forAuth(text("token", SecretString, "", "The token; required."), "bearer"),
		forAuth(text("tokenURL", HTTPURL, "", "The token endpoint for client credentials; required."), "oauth2"),
		forAuth(Attribute{Name: "clientId", NotEmpty: true, Doc: "The client's id; required."}, "oauth2"),
		forAuth(text("clientSecret", SecretString, "", "The client's secret; required."), "oauth2"),
		forAuth(text("scopes", String, "", "Scopes to ask for, separated by spaces."), "oauth2"),
		forAuth(boolean("credentialsInBody", "false", "Whether the client's id and secret go in the body of the token request instead of its Authorization header."), "oauth2"),
		forAuth(text("certFile", Path, "", "PEM file with the client's certificate and its chain; required."), "certificate"),
		forAuth(text("keyFile", Path, "", "PEM file with its key, not encrypted; certFile if absent."), "certificate"),
		forAuth(text("loginURL", HTTPURL, "", "Page with the log-in form; required."), "form"),
		forAuth(text("loginForm", String, "", "Which form of that page: its name, #id, or its number, counted from 1; if absent, the one with a password field."), "form"),
		forAuth(text("successText", String, "", "Text in the source of the page after the form that shows that the log-in worked. If none of the three success attributes is written, a page without the form shows it."), "form"),
		forAuth(text("successCookie", String, "", "Name of a cookie that is set when the log-in has worked."), "form"),
		forAuth(boolean("successRedirect", "false", "Whether a log-in that has worked redirects to another page than the log-in page."), "form"),
		forAuth(text("loginPage", HTTPURL, "", "Another page that users who are not logged in are redirected to, such as that of a single sign-on."), "form"),
		forAuth(text("loggedOutText", String, "", "Text in the source of a page that shows that the session is over. The log-in form, and redirects to its page, always show it."), "form"),
		{Name: "proxy", NotEmpty: true, Doc: "Proxy: URL of scheme http, https or socks5 with host and port."},
		{Name: "proxyUser", NotEmpty: true, Doc: "User name at the proxy."},
		text("proxyPassword", SecretString, "", "Password at the proxy."),
	}
}

func forAuth(a Attribute, kinds ...string) Attribute {
	a.Auth = kinds
	return a
}
