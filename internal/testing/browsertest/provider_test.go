package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testopenid"
)

// TestSignInAtProvider signs in at a provider on another site, as a person does, and opens pages afterwards: the
// browser must send the session's cookie with the request that the provider's page leads to.
func TestSignInAtProvider(t *testing.T) {
	needsBrowser(t)
	p := testopenid.New(t)
	p.ShowPage()
	p.Person(map[string]any{"groups": []string{"search-admins"}, "preferred_username": "ann"})
	w := &world{dir: t.TempDir()}
	secret := filepath.Join(w.dir, "secret")
	if err := os.WriteFile(secret, []byte(p.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	w.config = filepath.Join(w.dir, "CrawlConfig.xml")
	testdir.Write(t, w.config, `<CrawlConfig><Crawler name="public-sites"/><Crawler name="intranet"/></CrawlConfig>`)
	w.environment = []string{
		"SEXTANT_OIDC_ISSUER=" + p.Issuer, "SEXTANT_OIDC_CLIENT_ID=" + p.ClientID, "SEXTANT_OIDC_CLIENT_SECRET_FILE=" +
			secret,
		"SEXTANT_OIDC_OPERATOR_GROUP=search-admins",
	}
	t.Cleanup(w.close)
	if err := w.startService(); err != nil {
		t.Fatal(err)
	}
	tab := newTab(t, w.origin)
	tab.expected = true // a page of another site is opened
	outside.allow(strings.TrimPrefix(p.Issuer, "http://"))
	tab.open("/rules")
	eval[any](tab, `document.querySelector('a[href^="/signin/provider"]').click()`)
	tab.wait("the provider's page", `document.title === "Provider"`)
	eval[any](tab, `document.querySelector("a").click()`)
	tab.wait("the page that was asked for", `location.pathname === "/rules" && document.readyState === "complete"`)
	tab.open("/hosts")
	tab.wait("another page", `location.pathname === "/hosts" && document.readyState === "complete"`)

	// There is room on a phone for the choice of a Crawler.
	tab.size(390, 844)
	const several = `[...document.querySelectorAll(".top .brand, .top button")]
		.filter((e) => e.offsetHeight > 48).map((e) => e.textContent)`
	if tall := eval[[]string](tab, several); len(tall) > 0 {
		t.Errorf("on several lines are %q", tall)
	}
	tab.fits("several Crawlers")
	tab.open("/docs/configuration")
	tab.accessible("the manual with several Crawlers")
}
