package botwall

import (
	"net/http"
	"strings"
	"testing"
)

// head makes a header of names and values.
func head(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestWalls(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   string
	}{
		"challenge of Cloudflare": {403, head("Cf-Mitigated", "challenge", "Server", "cloudflare"),
			"<title>Just a moment...</title>", "Cloudflare"},
		"challenge with 503": {503, head("cf-mitigated", "Challenge"), "", "Cloudflare"},
		"block of Cloudflare": {403, head("Server", "cloudflare"),
			`<title>Attention Required! | Cloudflare</title><div id="cf-error-details"><h1>Sorry, you have been blocked</h1></div>`,
			"Cloudflare"},
		"block in text": {403, head("Server", "cloudflare"), "error code: 1020", "Cloudflare"},
		"denial of Akamai": {403, head("Server", "AkamaiGHost"),
			"<TITLE>Access Denied</TITLE>You don't have permission to access " +
				`"http&#58;&#47;&#47;a&#46;test&#47;" on this server.<P>Reference&#32;&#35;18&#46;2f3e1702&#46;1700000000&#46;1a2b3c`,
			"Akamai"},
		"denial with a link": {403, nil,
			"<h1>Access Denied</h1><p>https://errors.edgesuite.net/18.2f3e1702.1700000000.1a2b3c</p>", "Akamai"},
		"challenge of Akamai": {200, nil,
			`<body><div id="sec-if-cpt-container" role="main"><div id="sec-bc-tile-container"></div></div>`, "Akamai"},
		"challenge in JSON": {428, nil, `{"sec-cp-challenge": "true", "provider":"crypto"}`, "Akamai"},
		"challenge of AWS":  {202, head("x-amzn-waf-action", "challenge"), "", "AWS WAF"},
		"captcha of AWS":    {405, head("x-amzn-waf-action", "captcha"), "<html></html>", "AWS WAF"},
		"Azure": {403, head("x-azure-ref", "0abc"),
			"<h2>Our services aren't available right now</h2>The request is blocked.", "Azure Front Door"},
		"DataDome": {403, head("X-DataDome", "protected"),
			`<script>var dd={'rt':'c','host':'geo.captcha-delivery.com/'}</script>`, "DataDome"},
		"DataDome by header": {401, head("X-DD-B", "1"), "{}", "DataDome"},
		"HUMAN": {403, nil, `<script>window._pxAppId='PX1';</script><div id="px-captcha"></div>`,
			"HUMAN (PerimeterX)"},
		"HUMAN in JSON": {403, nil, `{"appId":"PX1","jsClientSrc":"/a","vid":"","blockScript":"/b"}`,
			"HUMAN (PerimeterX)"},
		"challenge without a header": {503, head("Server", "cloudflare"),
			`<script>window._cf_chl_opt={};a.src="/cdn-cgi/challenge-platform/h/b/orchestrate/jsch/v1"</script>`, "Cloudflare"},
		"DataDome with 200": {200, nil, `<p id="cmsg">Please enable JS</p><script src="https://ct.captcha-delivery.com/c.js">`,
			"DataDome"},
		"HUMAN with 429": {429, nil, `<div id="px-captcha"></div><script>window._pxAppId="PX1"</script>`, "HUMAN (PerimeterX)"},
		"Imperva with 200": {200, nil,
			`<html style="height:100%"><body><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31" height="100%">` +
				`Request unsuccessful. Incapsula incident ID: 1-2</iframe>`, "Imperva"},
		"F5 with 200": {200, nil,
			"<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Your support ID is: " +
				"1</body>", "F5 BIG-IP"},
		"Sucuri": {403, head("X-Sucuri-ID", "1"), "<title>Sucuri WebSite Firewall - Access Denied</title>", "Sucuri"},

		// Responses of a site itself.
		"a page with Turnstile": {200, head("Server", "cloudflare"),
			`<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script><div class="cf-turnstile"></div>`, ""},
		"a page that a product watches": {200, head("X-DataDome", "protected"),
			`<script src="/_Incapsula_Resource?SWJIYLWA=1"></script><script src="https://js.datadome.co/tags.js"></script>`, ""},
		"a failing page with Cloudflare's script": {503, head("Server", "cloudflare"),
			`<script>window.__CF$cv$params={};a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>`, ""},
		"a page that HUMAN watches": {200, nil, `<script>window._pxAppId="PX1"</script>`, ""},
		"a text about all of them": {200, head("Server", "cloudflare"),
			"<title>Bot walls</title>Just a moment... cf-mitigated: challenge, error code: 1020, " +
				`&lt;iframe id="main-iframe" src="/_Incapsula_Resource?…"&gt; Request unsuccessful. ` +
				`Incapsula incident ID: 7, captcha-delivery.com/ &lt;div id="px-captcha"&gt; _pxAppId &lt;p id="cmsg"&gt; ` +
				"Request Rejected. Your support ID is 5. Access Denied errors.edgesuite.net/18. sec-if-cpt-container", ""},
		"a 403 of the origin": {403, head("Server", "cloudflare"), "<h1>Forbidden</h1>Members only.", ""},
		"a 403 of Apache": {403, head("Server", "Apache"),
			"<h1>Forbidden</h1>You don't have permission to access this resource.", ""},
		"an origin that is down": {522, head("Server", "cloudflare"),
			`<div id="cf-error-details">Connection timed out</div>`, ""},
		"a denial of an origin": {403, head("Server", "AkamaiGHost"),
			"<TITLE>Access Denied</TITLE>Reference&#32;&#35;30&#46;1", ""},
		"404":                   {404, head("x-azure-ref", "0abc"), "The request is blocked.", ""},
		"202 of an application": {202, nil, "{}", ""},
		"a long page with quotes": {200, nil, strings.Repeat("x", maxPage) +
			"<title>Request Rejected</title>Your support ID is", ""},
	} {
		if got := Of(c.status, c.header, []byte(c.body)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
