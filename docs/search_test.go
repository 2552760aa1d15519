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

// TestEverydayQueries: most queries as people type them find one of their pages among the first three results, and
// those with a 1 find it first.
func TestEverydayQueries(t *testing.T) {
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	queries := map[string]string{
		"self-signed certificate":                  "1 recipes fetching",
		"webhook notification":                     "monitoring recipes",
		"exclude navigation":                       "recipes reading",
		"different refresh interval for a section": "1 recipes refresh",
		"crawl behind a login":                     "1 recipes fetching",
		"how much ram":                             "1 tuning faq",
		"upgrade and go back":                      "1 upgrade",
		"javascript":                               "1 rendering recipes",
		"run in a container":                       "1 install faq",
		"kubernetes":                               "install faq",
		"deletions are not sent":                   "1 runbook deletions faq",
		"index pdf only":                           "1 recipes",
		"index pdf":                                "1 reading-documents recipes",
		"ocr":                                      "recipes reading-documents faq",
		"kerberos":                                 "single-sign-on",
		"calendar trap":                            "1 crawl-space recipes",
		"opensearch pipeline":                      "1 recipes elasticsearch",
		"slack":                                    "1 recipes monitoring",
		"a colleague may look":                     "1 recipes console",
		"what changed since yesterday":             "1 faq reports",
		"remove menus":                             "1 recipes reading",
		"kill -9":                                  "1 faq",
		"start from nothing":                       "1 faq",
		"two environments, one file":               "1 configuration recipes",
		"remove a page from the index":             "recipes operations runbook",
		"backup":                                   "operations upgrade",
		"move to another machine":                  "upgrade operations",
		"robots.txt":                               "fetching",
		"crawl is slow":                            "runbook faq tuning",
		"page not in index":                        "faq runbook",
		"from norconex":                            "1 moving/norconex-fess",
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
		"crawler stopped":                          "runbook",
		"redirect loop":                            "reports runbook",
		"old content in search":                    "runbook",
		"chatgpt":                                  "recipes api",
		"pagination":                               "crawl-space recipes",
		"exclude file type":                        "crawl-space recipes",
		"max file size":                            "1 faq",
		"http 429":                                 "fetching deletions",
		"accents in url pattern":                   "rules",
		"404 pages still in search results":        "1 faq",
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
		want, first := strings.CutPrefix(want, "1 ")
		if first {
			got = got[:min(1, len(got))]
		}
		if slices.ContainsFunc(strings.Fields(want), func(page string) bool { return slices.Contains(got, page) }) {
			hits++
		} else if first {
			t.Errorf("%q finds %v first, not %s", query, got, want)
		} else {
			t.Logf("%q finds %v, not %s", query, got, want)
		}
	}
	if hits < len(queries)-4 {
		t.Errorf("only %d of %d queries find their page", hits, len(queries))
	}
}
