package main

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// sharePoint is Entra ID and SharePoint Online as their documentation has them: an application gets a token by secret
// or certificate, and SharePoint refuses the first kind.
func sharePoint(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /TENANT-ID/oauth2/v2.0/token", func(w http.ResponseWriter, r *http.Request) {
		token := ""
		switch {
		case r.PostFormValue("client_id") != "CLIENT-ID" || !strings.HasSuffix(r.PostFormValue("scope"), "/.default"):
		case r.PostFormValue("client_secret") != "":
			token = "by-secret"
		case isAssertion(r.PostFormValue("client_assertion")):
			token = "by-certificate"
		}
		if token == "" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"token_type":"Bearer","expires_in":3599,"access_token":%q}`, token)
	})
	mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("User-agent: *\nDisallow: /\n"))
	})
	mux.HandleFunc("GET /sites/intranet/_api/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer by-certificate":
			http.Error(w, `{"error_description":"Unsupported app only token."}`, http.StatusUnauthorized)
		case strings.Contains(r.Header.Get("Accept"), "json") ||
			r.URL.Path != "/sites/intranet/_api/web/lists/getbytitle('Site Pages')/items" ||
			r.URL.Query().Get("$select") != "Title,CanvasContent1,FileRef,Modified":
			http.Error(w, "not this list: "+r.URL.String(), http.StatusNotAcceptable)
		default:
			w.Header().Set("Content-Type", "application/atom+xml;type=feed;charset=utf-8")
			_, _ = w.Write([]byte(sitePages))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// sitePages is a list as SharePoint writes it: the text is HTML, and what its web parts are made of.
const sitePages = `<?xml version="1.0" encoding="utf-8"?><feed
 xml:base="https://contoso.sharepoint.com/sites/intranet/_api/" xmlns="http://www.w3.org/2005/Atom"
 xmlns:d="http://schemas.microsoft.com/ado/2007/08/dataservices"
 xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">
<entry><id>1</id><title /><content type="application/xml"><m:properties>
<d:Title>Holidays</d:Title><d:FileRef>/sites/intranet/SitePages/Holidays.aspx</d:FileRef>
<d:Modified m:type="Edm.DateTime">2026-03-04T05:06:07Z</d:Modified>
<d:CanvasContent1>&lt;div&gt;&lt;div data-sp-rte=""&gt;&lt;p&gt;Ask for your
holidays &lt;b&gt;in spring&lt;/b&gt;.&lt;/p&gt;&lt;/div&gt;&lt;/div&gt;</d:CanvasContent1>
</m:properties></content></entry>
<entry><id>2</id><content type="application/xml"><m:properties>
<d:Title>Empty</d:Title><d:FileRef>/sites/intranet/SitePages/Empty.aspx</d:FileRef><d:CanvasContent1 m:null="true" />
</m:properties></content></entry></feed>`

// isAssertion reports whether a token is signed by the key of the recipes' certificate, by PS256.
func isAssertion(token string) bool {
	certificate, _ := recipeCertificate()
	end := strings.LastIndexByte(token, '.')
	if end < 0 {
		return false
	}
	digest, thumbprint := sha256.Sum256([]byte(token[:end])), sha256.Sum256(certificate.Raw)
	signature, err := base64.RawURLEncoding.DecodeString(token[end+1:])
	header, _, _ := strings.Cut(token, ".")
	head, err2 := base64.RawURLEncoding.DecodeString(header)
	return err == nil && err2 == nil && strings.Contains(string(head),
		base64.RawURLEncoding.EncodeToString(thumbprint[:])) &&
		rsa.VerifyPSS(certificate.PublicKey.(*rsa.PublicKey), crypto.SHA256, digest[:], signature, nil) == nil
}

// TestSharePointRecipe: the pages of the list become documents by a certificate; by a secret nothing does.
func TestSharePointRecipe(t *testing.T) {
	site := sharePoint(t).URL
	text := strings.NewReplacer("https://login.microsoftonline.com", site, "https://contoso.sharepoint.com", site,
		"contoso.sharepoint.com", "127.0.0.1").
		Replace(recipes(t)["Index SharePoint Online pages"])
	documents := crawlRecipe(t, site, text)
	d, ok := documents["sites/intranet/SitePages/Holidays.aspx"]
	if !ok || d.Title != "Holidays" || d.Text != "Ask for your holidays in spring." ||
		d.Metas["date"][0] != "2026-03-04T05:06:07Z" {
		t.Errorf("documents %+v", documents)
	}
	if len(documents) != 2 {
		t.Errorf("%d documents", len(documents))
	}
	bySecret := strings.Replace(text, `certFile="sharepoint.pem"`, `clientSecret="s" credentialsInBody="true"`, 1)
	if documents := crawlRecipe(t, site, bySecret); len(documents) != 0 {
		t.Errorf("by a secret: %+v", documents)
	}
}
