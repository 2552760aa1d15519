package docs

import (
	"slices"
	"strings"
	"testing"
)

// TestSearch: stems and synonyms match, titles come before text, and odd queries do no harm.
func TestSearch(t *testing.T) {
	m, err := open(folder("# Entry\n\nAbout horses.\n\n- [A](a.md)\n- [B](b.md)", "a.md",
		"# A\n\nHorses eat.\n\n## Horses\n\nRun "+strings.Repeat("and walk ", 60)+
			"until sunset.\n\n## Cows\n\nCows and HORSES, `code`.\n", "b.md", "# Memory\n\nNobody forgets."))
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"hOrse": "/docs/a#horses", "walks": "/docs/a#horses",
		"how much RAM?": "/docs/b#memory", "forgetting": "/docs/b#memory",
		"": "", " ": "", "sheep": "", "the": "", `"*~+(`: "", strings.Repeat("x ", 1000): "",
	} {
		found, err := m.Search(query, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(found) > 0 {
			got = found[0].Page.Address() + "#" + found[0].Heading.ID
		}
		if got != want {
			t.Errorf("%.20q: first %q, want %q", query, got, want)
		}
		if len(found) > 2 {
			t.Errorf("%.20q: %d sections, two of a page are shown", query, len(found))
		}
	}
	f, err := m.Search("sunset", 1)
	if err != nil || len(f) != 1 || !strings.HasPrefix(f[0].Text, "… ") || !strings.HasSuffix(f[0].Text, "until sunset.") {
		t.Errorf("%+v, %v", f, err)
	}
	for _, odd := range []string{strings.Repeat("İ", 22) + " ending", strings.Repeat("İ", 200) + "ending"} {
		excerpt(odd, []string{"ending"})
	}
}

// TestEverydayQueries: of fifty queries as people type them, 45 find one of their pages among the first three results.
func TestEverydayQueries(t *testing.T) {
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{
		"self-signed certificate":                  "recipes fetching",
		"webhook notification":                     "monitoring recipes",
		"exclude navigation":                       "recipes reading",
		"different refresh interval for a section": "recipes refresh",
		"crawl behind a login":                     "recipes fetching",
		"how much ram":                             "tuning faq",
		"upgrade":                                  "upgrade",
		"javascript":                               "rendering recipes",
		"docker":                                   "install faq",
		"kubernetes":                               "install faq",
		"deletions are not sent":                   "runbook deletions faq",
		"index pdf only":                           "recipes",
		"pdf":                                      "reading-documents recipes faq",
		"ocr":                                      "recipes reading-documents faq",
		"kerberos":                                 "single-sign-on",
		"calendar trap":                            "crawl-space recipes",
		"opensearch pipeline":                      "recipes elasticsearch",
		"slack":                                    "recipes monitoring",
		"read-only user":                           "recipes console",
		"what changed since yesterday":             "faq reports",
		"remove a page from the index":             "recipes operations runbook",
		"backup":                                   "operations upgrade",
		"move to another machine":                  "upgrade operations",
		"robots.txt":                               "fetching",
		"crawl is slow":                            "runbook faq tuning",
		"page not in index":                        "faq runbook",
		"norconex":                                 "moving/norconex-fess",
		"cloudview migration":                      "moving/cloudview",
		"prometheus":                               "monitoring",
		"grafana dashboard":                        "monitoring",
		"noindex":                                  "duplicates reading rules",
		"duplicate pages":                          "duplicates faq",
		"sitemap":                                  "reading-feeds recipes configuration",
		"rss feed":                                 "reading-feeds configuration",
		"proxy":                                    "fetching recipes",
		"cookies":                                  "fetching",
		"regular expression in a rule":             "rules",
		"query parameters":                         "recipes crawl-space configuration",
		"disk full":                                "runbook outbox",
		"kafka":                                    "faq",
		"file share":                               "faq",
		"rest api token":                           "api install runbook",
		"environment variables":                    "recipes configuration install",
		"power failure":                            "outbox faq operations",
		"schedule nightly crawl":                   "recipes refresh",
		"rate limit":                               "scheduling configuration recipes tuning",
		"extract price":                            "recipes fields",
		"broken links":                             "reports",
		"solr":                                     "push",
		"indexer down":                             "runbook faq monitoring",
	}
	if len(queries) != 50 {
		t.Fatalf("%d queries", len(queries))
	}
	hits := 0
	for query, want := range queries {
		found, err := m.Search(query, 3)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			got = append(got, f.Page.Path)
		}
		if slices.ContainsFunc(strings.Fields(want), func(page string) bool { return slices.Contains(got, page) }) {
			hits++
		} else {
			t.Logf("%q finds %v, not %s", query, got, want)
		}
	}
	t.Logf("%d of %d", hits, len(queries))
	if hits < 45 {
		t.Errorf("only %d of %d queries find their page", hits, len(queries))
	}
}
