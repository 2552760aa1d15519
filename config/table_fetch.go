package config

// authKinds are the values of auth, in the order of the reference.
func authKinds() []string {
	return []string{"basic", "digest", "ntlm", "form", "bearer", "oauth2", "certificate"}
}

// fetchElements are settings of requests.
func fetchElements() []Element {
	return []Element{
		{Name: "Fetch", Parents: []string{"Crawler"}, Attributes: fetchSettings(),
			Doc: "Settings of requests for the URLs for which its one condition holds, robots.txt of their hosts included; of several that match, the first counts. " +
				"Without a condition it has a name, by which the Crawler's fetcher chooses it for all other URLs. Cookies and log-ins are kept for each Fetch by itself."},
		{Name: "Header", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", HeaderValue, "Name of the header, such as X-Api-Key."),
			required("value", SecretString, "Its value; ${ENV} or file:PATH keep it out of the file."),
		}, Doc: "A further header of each request, also over http and to every host that the condition matches: auth keeps credentials to their origins."},
		{Name: "Field", Parents: []string{"Fetch"}, Attributes: []Attribute{
			required("name", String, "Name of the field or parameter."),
			required("value", SecretString, "Its value; ${ENV} or file:PATH keep it out of the file."),
		}, Doc: "A field of the log-in form that is filled in, beside those that the page has itself; for auth oauth2 a further parameter of the token request, such as resource."},
		{Name: "Addresses", Parents: []string{"Crawler"}, Once: true, Attributes: []Attribute{
			{Name: "private", Type: Enum, Default: "allow", Values: []string{"allow", "deny"},
				Doc: "Whether private addresses (RFC 1918, RFC 4193, RFC 6598) may be dialled that no address rule allows, also where a Root names them; proxies may always be."},
		}, Doc: "IP addresses that may be dialled."},
	}
}

func fetchSettings() []Attribute {
	named := []string{"basic", "digest", "ntlm"}
	return []Attribute{
		{Name: "name", NotEmpty: true, Unique: true, Doc: "Name of the settings, in the status, in logs and for the Crawler's fetcher; unique in its Crawler."},
		text("caFile", Path, "", "PEM file with certificates of further authorities that servers are verified by."),
		boolean("insecureTLS", "false", "Accepts any certificate of a server: whoever sits in between can read and change everything."),
		boolean("ignoreRobotsTxt", "", "Fetches what robots.txt forbids, in place of the Crawler's ignoreRobotsTxt: with the owner's permission only."),
		{Name: "auth", Type: Enum, Values: authKinds(), Doc: "How requests are authenticated; not at all where absent."},
		forAuth(Attribute{Name: "origins", NotEmpty: true, Doc: "Servers that may get the credentials, separated by blanks: scheme, host and port, as in https://intranet.example.com, or https://*.example.com for all hosts below; " +
			"required, but for form: there the log-in page's is always one."}, authKinds()...),
		forAuth(Attribute{Name: "user", NotEmpty: true, Doc: "User name; for ntlm DOMAIN\\user or user@domain; required."}, named...),
		forAuth(text("password", SecretString, "", "Password; ${ENV} or file:PATH keep it out of the file; required."), named...),
		forAuth(text("token", SecretString, "", "The token; required."), "bearer"),
		forAuth(text("tokenURL", HTTPURL, "", "Where tokens are asked for with client credentials; required."), "oauth2"),
		forAuth(Attribute{Name: "clientId", NotEmpty: true, Doc: "The client's id; required."}, "oauth2"),
		forAuth(text("clientSecret", SecretString, "", "The client's secret; required."), "oauth2"),
		forAuth(text("scopes", String, "", "Scopes that are asked for, separated by blanks."), "oauth2"),
		forAuth(boolean("credentialsInBody", "false", "Whether the client's id and secret stand in the body of the token request instead of its Authorization header."), "oauth2"),
		forAuth(text("certFile", Path, "", "PEM file with the client's certificate and its chain; required."), "certificate"),
		forAuth(text("keyFile", Path, "", "PEM file with its key, not encrypted; certFile where absent."), "certificate"),
		forAuth(text("loginURL", HTTPURL, "", "Page with the log-in form; required."), "form"),
		forAuth(text("loginForm", String, "", "Which form of that page: its name, #id, or its number from 1; the one with a password field where absent."), "form"),
		forAuth(text("successText", String, "", "Text in the source of the page behind the form that shows that the log-in worked; where none of the three conditions is written, a page without the form shows it."), "form"),
		forAuth(text("successCookie", String, "", "Name of a cookie that is set when the log-in worked."), "form"),
		forAuth(boolean("successRedirect", "false", "Whether a log-in that worked redirects elsewhere than to the log-in page."), "form"),
		forAuth(text("loginPage", HTTPURL, "", "A further page to which those are redirected who are not logged in, such as that of a single sign-on."), "form"),
		forAuth(text("loggedOutText", String, "", "Text in the source of a page that shows that nobody is logged in; the log-in form and redirects to its page show it anyway."), "form"),
		{Name: "proxy", NotEmpty: true, Doc: "Proxy: URL of scheme http, https or socks5 with host and port."},
		{Name: "proxyUser", NotEmpty: true, Doc: "User name at the proxy."},
		text("proxyPassword", SecretString, "", "Password at the proxy."),
	}
}

func forAuth(a Attribute, kinds ...string) Attribute {
	a.Auth = kinds
	return a
}
