// Package botwall recognizes pages that a product for bot management or a web application firewall returns in place of
// a site's: challenges, CAPTCHAs and blocks. It is stateless.
//
// The marks are those that the vendors document or that their pages carry: a header, or a status with the product's own
// names in the body. A page that embeds such a product, or writes about one, has none of them together.
package botwall

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// maxPage is the length of a page with a status of success above which it is the site's own: the pages of all products
// are shorter.
const maxPage = 8 << 10

// mark describes one kind of page of a product.
type mark struct {
	product string
	// statuses are those that the page comes with; empty: any.
	statuses []int
	// header must be present, and contain value in upper or lower case; empty: any header will do.
	header, value string
	// body are texts that must all occur in the page.
	body []string
}

// refused holds the statuses of most pages that block. It is constant, as is marks, which has a row for each kind of
// page.
var refused = []int{http.StatusForbidden}

var marks = [...]mark{
	// developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response
	{"Cloudflare", nil, "Cf-Mitigated", "challenge", nil},
	{"Cloudflare", []int{403, 429, 503}, "", "", []string{"_cf_chl_opt", "/cdn-cgi/challenge-platform/"}},
	// Error pages 1006 to 1020; those of an origin that fails have a status of 5xx.
	{"Cloudflare", refused, "Server", "cloudflare", []string{`id="cf-error-details"`}},
	{"Cloudflare", refused, "Server", "cloudflare", []string{"error code: 10"}},
	// The reference of a denial begins with 18. Bot Manager challenges by a page with these containers, or, where JSON
	// is expected, with status 428.
	{"Akamai", refused, "", "", []string{"Access Denied", "&#32;&#35;18&#46;"}},
	{"Akamai", refused, "", "", []string{"Access Denied", "errors.edgesuite.net/18."}},
	{"Akamai", nil, "", "", []string{`<div id="sec-if-cpt-container"`, `id="sec-bc-tile-container"`}},
	{"Akamai", []int{428}, "", "", []string{"sec-cp-challenge"}},
	// docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
	{"AWS WAF", []int{http.StatusAccepted}, "X-Amzn-Waf-Action", "challenge", nil},
	{"AWS WAF", []int{http.StatusMethodNotAllowed}, "X-Amzn-Waf-Action", "captcha", nil},
	{"Azure Front Door", refused, "X-Azure-Ref", "", []string{"The request is blocked."}},
	{"DataDome", []int{http.StatusUnauthorized, http.StatusForbidden}, "", "", []string{"captcha-delivery.com/"}},
	{"DataDome", []int{http.StatusUnauthorized, http.StatusForbidden}, "X-Dd-B", "", nil},
	{"DataDome", nil, "", "", []string{`<p id="cmsg">`, "captcha-delivery.com/"}},
	{"HUMAN (PerimeterX)", nil, "", "", []string{`<div id="px-captcha"`, "_pxAppId"}},
	{"HUMAN (PerimeterX)", refused, "", "", []string{"px-captcha", "_pxAppId"}},
	{"HUMAN (PerimeterX)", refused, "", "", []string{`"blockScript"`, `"appId"`, `"vid"`}},
	// Also with status 200, as the next two.
	{"Imperva", nil, "", "", []string{"<iframe id=\"main-iframe\" src=\"/_Incapsula_Resource?", "Incapsula incident ID"}},
	{"F5 BIG-IP", nil, "", "", []string{"<title>Request Rejected</title>", "Your support ID is"}},
	{"Sucuri", refused, "", "", []string{"<title>Sucuri WebSite Firewall"}},
}

// Of returns the product whose page a response is, "" for a response of the site itself. The body is decoded, and may
// be only its beginning.
func Of(status int, header http.Header, body []byte) string {
	if status < http.StatusBadRequest && len(body) > maxPage {
		return ""
	}
	for i := range marks {
		if marks[i].on(status, header, body) {
			return marks[i].product
		}
	}
	return ""
}

func (m *mark) on(status int, header http.Header, body []byte) bool {
	if len(m.statuses) > 0 && !slices.Contains(m.statuses, status) {
		return false
	}
	if m.header != "" {
		values := header.Values(m.header)
		if len(values) == 0 || !strings.Contains(strings.ToLower(values[0]), m.value) {
			return false
		}
	}
	for _, text := range m.body {
		if !bytes.Contains(body, []byte(text)) {
			return false
		}
	}
	return true
}
