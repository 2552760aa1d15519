package crawl

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
)

// permissionFields are Fields for the permissions of all pages, from headers.
func permissionFields() *policy.Inside {
	return &policy.Inside{Fields: []policy.Field{
		{Name: "acl_allow", Selector: "header:X-Allow", Kind: tree.Header, Key: "X-Allow", Split: ","},
		{Name: "acl_deny", Selector: "header:X-Deny", Kind: tree.Header, Key: "X-Deny", Split: ","},
	}}
}

// adds gives a meta to everyone.
func adds(meta string) []actionrules.Action {
	return []actionrules.Action{{Verb: actionrules.AddMeta, Name: meta, Value: "everyone"}}
}

// aclOf are the permissions of a document as one word each.
func (b *bench) aclOf(url string) string {
	m := b.target.documents[url].Metas
	return strings.Join(m["acl_allow"], "|") + " not " + strings.Join(m["acl_deny"], "|")
}

// TestPermissions: the site's header and the rules allow users to find a document, never the page itself; nothing that
// is not fully known opens a document.
func TestPermissions(t *testing.T) {
	many := make([]string, 10_000)
	for i := range many {
		many[i] = fmt.Sprint("g", i)
	}
	site := siteOf(t, map[string]string{
		"/plain": "X-Allow: hr, staff ,hr\nX-Deny: guests\n\n<p>plain",
		"/claim": "X-Allow: hr\n\n<meta name=acl_allow content=everyone><meta name='ACL Allow' content=everyone>" +
			"<meta name=acl-allow content=everyone><meta name=security content=everyone>" +
			"<meta property=aclAllow content=everyone><p>claim",
		"/open":     "<meta name=acl_allow content=everyone><p>open",
		"/many":     "X-Allow: everyone\nX-Deny: " + strings.Join(many, ",") + "\n\n<p>many",
		"/long":     "X-Allow: everyone\nX-Deny: " + strings.Repeat("x", 2000) + "\n\n<p>long",
		"/public/a": "<p>public",
	})
	b := openBench(t, site)
	b.settings.Inside = permissionFields()
	b.settings.Rules.Rules = []actionrules.Rule{
		{If: path("/public/"), Then: adds("acl_allow")}, {If: path("/many"), Then: adds("security")},
	}
	b.once()
	at := site.Origins()[0]
	for path, want := range map[string]string{
		"/plain": "hr|staff not guests", "/claim": "hr not ", "/open": " not ", "/public/a": "everyone not ",
		"/many": " not " + strings.Join(many[:1000], "|"), "/long": " not " + strings.Repeat("x", 2000),
	} {
		if got := b.aclOf(at + path); got != want {
			t.Errorf("%s: %.100q, want %.100q", path, got, want)
		}
	}
	for path, want := range map[string]string{"/claim": "acl_allow", "/open": "", "/many": "acl_deny content_cut"} {
		m := b.target.documents[at+path].Metas
		for name := range m {
			if !strings.Contains(want, name) {
				t.Errorf("%s has the meta %s", path, name)
			}
		}
	}
	for path, want := range map[string]string{
		"/many": "no one is allowed to find the document", "/open": "the field acl_allow was not found", "/plain": "",
	} {
		r, _ := b.record(at + path)
		if !strings.Contains(r.LastError, want) || (r.Reason == "no_field") != (want != "") {
			t.Errorf("%s: %s: %s", path, r.Reason, r.LastError)
		}
	}
}

// TestPermissionsChange: another permission reaches the target though the text is the same and a conditional request
// would get a 304; without the header the meta is gone.
func TestPermissionsChange(t *testing.T) {
	site := siteOf(t, map[string]string{"/a": "X-Allow: hr\n\n<p>text", "/b": "<p>other"})
	b := openBench(t, site)
	b.settings.Inside = permissionFields()
	b.once()
	at := site.Origins()[0]
	for _, tt := range []struct{ page, want string }{
		{"X-Allow: staff\n\n<p>text", "staff not "}, {"X-Allow: staff\nX-Deny: hr\n\n<p>text", "staff not hr"},
		{"<p>text", " not "},
	} {
		site.Set("/a", pageOf(tt.page))
		b.once(at + "/a")
		if got := b.aclOf(at + "/a"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	b.newOrders()
	if b.once(at + "/b"); len(b.newOrders()) != 0 {
		t.Error("what has not changed is pushed")
	}
	b.settings.Inside = nil
	b.once(at + "/b")
	b.once(at + "/b")
	if n := lastStatus(site, "/b"); n != 304 {
		t.Errorf("without permissions a request is answered with %d", n)
	}
}

// TestPermissionsLost: the log warns when the pages of a site no longer have their permissions. A worker may be late
// with one of the first pages, after which the log warns again.
func TestPermissionsLost(t *testing.T) {
	var served atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1) <= 30 {
			w.Header().Set("X-Allow", "staff")
		}
		_, _ = fmt.Fprintf(w, "<title>t</title>text of %s", r.URL.Path)
		for i := range 200 {
			_, _ = fmt.Fprintf(w, `<a href="/page%d">x</a>`, i)
		}
	}))
	defer site.Close()
	var log bytes.Buffer // the handler locks it
	b := newBench(t, site.URL+"/")
	b.settings.Inside, b.log = permissionFields(), slog.NewTextHandler(&log, nil)
	b.once()
	if !strings.Contains(log.String(), "the last pages have no permissions") {
		t.Errorf("no warning:\n%s", log.String())
	}
}

// TestPermissionsAreNoCopies: a document with permissions is no copy of one with others, and not left out for it.
func TestPermissionsAreNoCopies(t *testing.T) {
	text := prose(1, 400, "")
	site := siteOf(t, map[string]string{
		"/a": "X-Allow: hr\n\n<p>" + text, "/b": "X-Allow: staff\n\n<p>" + text, "/c": "X-Allow: staff\n\n<p>" + text,
		"/d": "<p>" + text, "/e": "<p>" + text,
	})
	b := openBench(t, site)
	b.settings.NearDuplicates = true
	b.settings.Inside = permissionFields()
	b.once()
	count := map[string]int{}
	for _, u := range b.indexed() {
		count[b.aclOf(u)]++
	}
	if want := map[string]int{"hr not ": 1, "staff not ": 1, " not ": 2}; !cmp.Equal(count, want) {
		t.Errorf("%v, want one document for each permission, and the start page", count)
	}
}

// TestPermissionsUnread: if the page cannot be searched for denied users, no one is allowed to find it until it is
// read.
func TestPermissionsUnread(t *testing.T) {
	site := siteOf(t, map[string]string{"/a": "X-Allow: everyone\n\n<i class=deny>hr</i>loops"})
	b := openBench(t, site)
	b.settings.Pages = plainSearcher{make(chan string, 100)}
	in := permissionFields()
	in.Fields[1] = policy.Field{Name: "acl_deny", Selector: "css:.deny", Kind: tree.CSS, Multiple: true}
	b.settings.Inside = in
	b.once()
	url := site.Origins()[0] + "/a"
	if got := b.aclOf(url); got != " not " {
		t.Errorf("unread: %q", got)
	}
	site.Set("/a", testsite.Page{Body: "<i class=deny>hr</i>", Header: map[string]string{"X-Allow": "everyone"}})
	b.once(url)
	if got := b.aclOf(url); got != "everyone not hr" {
		t.Errorf("read: %q", got)
	}
}

// TestPermissionsCut: a page opens to no one if a limit may have cut off groups that it denies.
func TestPermissionsCut(t *testing.T) {
	groups := func(n int, form string) (all string) {
		for i := range n {
			all += fmt.Sprintf(form, i)
		}
		return all
	}
	const filler = "<p>and so on and on"
	site := siteOf(t, map[string]string{
		"/whole": "<i class=deny>hr, guests</i>",
		"/value": "<i class=deny>" + groups(900, "a-group-of-the-house-%d,") + "</i>",
		"/body":  strings.Repeat(filler, 2000) + "<i class=deny>hr</i>",
	})
	site.Set("/list", xml("<all>"+`<d u="/d/1"><a>everyone</a>`+groups(257, "<g>%d</g>")+"</d>"+
		`<d u="/d/2"><a>everyone</a><g>hr</g></d></all>`))
	b := openBench(t, site)
	b.settings.Fetcher.MaxBodyBytes = int64(len(filler) * 2000)
	b.settings.Pages = plainSearcher{make(chan string, 100)}
	b.settings.Inside = &policy.Inside{Fields: []policy.Field{
		{Name: "acl_deny", Selector: "css:.deny", Kind: tree.CSS, Multiple: true, Split: ","},
	}}
	b.settings.Rules.Rules = []actionrules.Rule{{If: path("/"), Then: adds("acl_allow")}}
	x := &policy.XMLDocuments{Metas: make([]policy.XMLMeta, 2)}
	x.Metas[0].Name, x.Metas[1].Name = "acl_allow", "acl_deny"
	for to, text := range map[*feeds.Path]string{
		&x.Link: "@u", &x.Title: "@u", &x.Text: "a", &x.Metas[0].Path: "a", &x.Metas[1].Path: "g",
	} {
		var err error
		if *to, err = feeds.ParsePath(text); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if x.Path, err = feeds.ElementPath("//d"); err != nil {
		t.Fatal(err)
	}
	at := site.Origins()[0]
	b.settings.Sources = []policy.Source{{URL: parse(t, at+"/list"), Kind: scheduler.KindXML, XML: x}}
	b.once()
	for path, want := range map[string]string{
		"/whole": "everyone not hr|guests", "/value": " not a-group-of-the-house-0|", "/body": " not ", "/d/1": " not 0|",
		"/d/2": "everyone not hr",
	} {
		if got := b.aclOf(at + path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.100q, want %q", path, got, want)
		}
	}
}
