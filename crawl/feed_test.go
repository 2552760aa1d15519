package crawl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/extract/feeds"
	"github.com/sextant-crawler/sextant/internal/testing/testsite"
	"github.com/sextant-crawler/sextant/scheduler"
)

// feedOf has items with links and titles, in pairs.
func feedOf(items ...string) testsite.Page {
	var b strings.Builder
	for i := 0; i < len(items); i += 2 {
		fmt.Fprintf(&b, "<item><link>%s</link><title>%s</title></item>", items[i], items[i+1])
	}
	return xml("<rss><channel>" + b.String() + "</channel></rss>")
}

// itemsBench crawls a feed whose items are documents.
func itemsBench(t *testing.T, items ...string) (*testsite.Site, *bench, string) {
	t.Helper()
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/feed", feedOf(items...))
	b.settings.Sources = []policy.Source{{URL: parse(t, o+"/feed"), Kind: scheduler.KindFeed, IndexItems: true}}
	return site, b, o
}

// TestItemsComeBack: items that rules exclude are deleted, and are documents of the
// feed again when rules let them in; their pages are asked for in no case.
func TestItemsComeBack(t *testing.T) {
	site, b, o := itemsBench(t, "/i/1", "one", "/i/2", "two")
	b.once()
	b.newOrders()
	ignore := []actionrules.Rule{{If: path("/i/"), Then: []actionrules.Action{{Verb: actionrules.Ignore}}}}
	for _, step := range []struct {
		rules []actionrules.Rule
		op    string
	}{{ignore, "delete"}, {nil, "add"}, {nil, ""}} {
		b.settings.Rules.Rules = step.rules
		b.once()
		var got []string
		for _, order := range b.newOrders() {
			op, url, _ := strings.Cut(order, " ")
			url, _, _ = strings.Cut(url, ": ")
			got = append(got, op+" "+strings.TrimPrefix(url, o))
		}
		var want []string
		if step.op != "" {
			want = []string{step.op + " /i/1", step.op + " /i/2"}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", step.op, d)
		}
	}
	if n := site.Hits("/i/1") + site.Hits("/i/2"); n != 0 {
		t.Errorf("%d requests for items", n)
	}
}

// TestItemAndPage: who asks for an item's page gets it as a page, which the feed then
// leaves alone; and a page that was there before the feed stays one.
func TestItemAndPage(t *testing.T) {
	site, b, o := itemsBench(t, "/i/1", "one", "/p/1.html", "a page")
	site.Set("/i/1", html("the page"))
	b.once()
	if r := b.wantRecord(o + "/i/1"); r.Kind != "item" || b.target.documents[o+"/i/1"].Title != "one" {
		t.Errorf("%+v", r)
	}
	if r := b.wantRecord(o + "/p/1.html"); r.Kind == "item" && site.Hits("/p/1.html") > 0 {
		t.Errorf("an item was fetched: %+v", r)
	}
	b.once(o + "/i/1")
	if r := b.wantRecord(o + "/i/1"); r.Kind != "" || b.target.documents[o+"/i/1"].Title != "t" {
		t.Errorf("%+v: %+v", r, b.target.documents[o+"/i/1"])
	}
	site.Set("/feed", feedOf("/i/1", "changed"))
	b.refreshed(Selection{URLs: []string{o + "/feed"}})
	if d := b.target.documents[o+"/i/1"]; d.Title != "t" {
		t.Errorf("the feed took the page: %+v", d)
	}
}

// TestItemsAreNotRefreshed: a refresh of all asks for the feed.
func TestItemsAreNotRefreshed(t *testing.T) {
	site, b, _ := itemsBench(t, "/i/1", "one")
	b.once()
	b.refreshed(Selection{All: true, Full: true})
	if site.Hits("/i/1") != 0 || site.Hits("/feed") != 2 {
		t.Errorf("%d requests for the item, %d for the feed", site.Hits("/i/1"), site.Hits("/feed"))
	}
}

// TestItemsManyTimes: more than a batch, twice in one feed, and again.
func TestItemsManyTimes(t *testing.T) {
	var items []string
	const batch = 100 // are stored at once
	for i := range 2*batch + 3 {
		items = append(items, fmt.Sprint("/i/", i), fmt.Sprint("item ", i))
	}
	site, b, o := itemsBench(t, append(items, items[:2]...)...)
	b.once()
	n := 0
	for _, u := range b.indexed() {
		if strings.HasPrefix(u, o+"/i/") {
			n++
		}
	}
	if n != 2*batch+3 {
		t.Errorf("%d documents", n)
	}
	b.newOrders()
	site.Set("/feed", feedOf(append(items, "/i/new", "new")...))
	b.refreshed(Selection{URLs: []string{o + "/feed"}})
	if d := cmp.Diff([]string{"add " + o + "/i/new"}, b.newOrders()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestXMLSettingsChange: other paths make the file be read again, in full.
func TestXMLSettingsChange(t *testing.T) {
	site, b := sitemapBench(t, 1)
	o := site.Origins()[0]
	site.Set("/data", xml(`<a><b u="/d/1"><t>one</t><s>eins</s></b><c u="/d/2"><t>two</t></c></a>`))
	of := func(elements, title string) *policy.XMLDocuments {
		x := &policy.XMLDocuments{}
		for to, text := range map[*feeds.Path]string{&x.Link: "@u", &x.Title: title, &x.Text: "."} {
			var err error
			if *to, err = feeds.ParsePath(text); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if x.Path, err = feeds.ElementPath(elements); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, step := range []struct {
		elements, title string
		want            []string
	}{
		{"//b", "t", []string{"add /d/1"}},
		{"//b", "t", nil},
		{"//b", "s", []string{"add /d/1"}},
		{"/a/*", "s", []string{"add /d/2"}},
		{"/a/c", "s", []string{"delete /d/1"}},
	} {
		b.settings.Sources = []policy.Source{{URL: parse(t, o+"/data"), Kind: scheduler.KindXML, XML: of(step.elements, step.title)}}
		b.once()
		var got []string
		for _, order := range b.newOrders() {
			if op, url, _ := strings.Cut(order, " "); strings.Contains(url, "/d/") {
				url, _, _ = strings.Cut(strings.TrimPrefix(url, o), ": ")
				got = append(got, op+" "+url)
			}
		}
		if d := cmp.Diff(step.want, got); d != "" {
			t.Errorf("%s, title %s (-want +got):\n%s", step.elements, step.title, d)
		}
	}
}

// TestItemsBehindRedirect: a feed that redirects is read as what the configuration says.
func TestItemsBehindRedirect(t *testing.T) {
	site, b, o := itemsBench(t)
	site.Set("/feed", testsite.Page{Status: 301, Header: map[string]string{"Location": "/new"}})
	site.Set("/new", feedOf("/i/1", "one"))
	b.once()
	if r := b.wantRecord(o + "/i/1"); r.Kind != "item" || !r.Indexed || site.Hits("/i/1") != 0 {
		t.Errorf("%+v", r)
	}
}
