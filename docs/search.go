package docs

import (
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/yuin/goldmark/ast"
)

// section is the text under one heading.
type section struct {
	heading Heading
	text    string
}

// Found is a section that a search found.
type Found struct {
	Page    *Page
	Heading Heading
	// Text is an excerpt around the first word of the query.
	Text string
}

const (
	maxOfPage = 2  // sections of one page in the result of a search
	maxWords  = 20 // words of a query; the rest is ignored
	inHeading = 10 // boost of a heading that has all words
)

// boosts weigh the fields of a section: its heading, the titles of its page and part, its text.
func boosts() map[string]float64 { return map[string]float64{"heading": 5, "page": 6, "text": 1} }

// synonyms returns words that readers use in place of the manual's.
func synonyms() map[string]string {
	return map[string]string{
		"nightly": "night", "down": "refuses fails", "read-only": "colleagues reader", "missing": "not index",
		"ram": "memory", "cpu": "cores machine", "javascript": "rendering scripts", "js": "rendering javascript",
		"ajax": "rendering", "spa": "rendering javascript", "docker": "container", "podman": "container",
		"kubernetes": "container", "k8s": "container kubernetes", "menu": "RemoveElements",
		"menus": "RemoveElements", "navigation": "RemoveElements menus", "boilerplate": "MainContent menus",
		"login": "log-in", "logins": "log-in", "log-in": "login", "password": "log-in", "sso": "kerberos",
		"slack": "notices", "teams": "notices", "email": "notices", "notification": "notices",
		"delete": "remove deletions", "deleted": "deletions", "unindex": "remove", "interval": "refresh",
		"recrawl": "refresh", "frequency": "refresh", "exclude": "ignore leave", "skip": "ignore leave", "certificate": "TLS",
		"ssl": "TLS certificate", "https": "TLS", "opensearch": "elasticsearch", "slow": "tuning",
		"faster": "tuning slow pace", "speed": "tuning pace", "throttle": "politeness", "rate": "politeness",
		"dedupe": "duplicates", "duplicate": "duplicates", "trap": "endless", "traps": "endless",
		"infinite": "endless", "pagination": "endless", "calendar": "endless", "rss": "feeds", "word": "office",
		"excel": "office", "powerpoint": "office", "prometheus": "metrics", "grafana": "dashboard",
		"schedule": "refresh", "update": "upgrade", "rest": "API", "curl": "API", "wildcard": "patterns",
		"regex": "patterns", "regexp": "patterns", "stopped": "nothing idle", "stuck": "nothing idle", "hangs": "nothing idle",
		"now": "today", "old": "date", "max": "maximum", "type": "extensions", "block": "ignore leave", "export": "CSV",
		"chatgpt": "assistant", "claude": "assistant", "llm": "assistant language",
	}
}

// fillers are meaningless words of questions that the analyzer keeps.
const fillers = " much many can sextant does get want need use make set up without only all same way different " +
	" crawl crawler url http tag "

// sectionsOf cuts a page at its headings.
func sectionsOf(doc ast.Node, source []byte) []section {
	var all []section
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, section{heading: Heading{h.Level, idOf(h), words(h, source)}})
			continue
		}
		if len(all) > 0 {
			all[len(all)-1].text += words(n, source) + " "
		}
	}
	for i := range all {
		all[i].text = strings.Join(strings.Fields(all[i].text), " ")
	}
	return all
}

// place is a section and its page.
type place struct {
	page *Page
	*section
}

// searchable is an index of all sections by their number in places.
type searchable struct {
	bleve.Index
	places []place
}

// index adds every section to an index in memory, except the entry page, which only names the other pages.
func (m *Manual) index() (*searchable, error) {
	mapping := bleve.NewIndexMapping()
	mapping.DefaultAnalyzer = en.AnalyzerName
	mapping.StoreDynamic, mapping.DocValuesDynamic = false, false
	index, err := bleve.NewMemOnly(mapping)
	if err != nil {
		return nil, err
	}
	var places []place
	batch := index.NewBatch()
	for _, part := range m.parts {
		for _, page := range part.Pages {
			for i := range page.sections {
				if page.Path == "" {
					continue
				}
				s := &page.sections[i]
				fields := map[string]string{"heading": s.heading.Text, "text": s.text}
				if i == 0 {
					fields["page"] = page.Title + " " + page.Name
				}
				if err := batch.Index(strconv.Itoa(len(places)), fields); err != nil {
					return nil, err
				}
				places = append(places, place{page, s})
			}
		}
	}
	return &searchable{index, places}, index.Batch(batch)
}

// Search returns the sections that match a query best, at most limit of them and two of a page. It compares stems,
// prefers sections with more and rarer words, and weighs titles more than text. It is safe for concurrent use.
func (m *Manual) Search(text string, limit int) ([]Found, error) {
	wanted := strings.Fields(strings.ToLower(text))
	wanted = wanted[:min(len(wanted), maxWords)]
	if len(wanted) == 0 {
		return nil, nil
	}
	index, err := m.indexed()
	if err != nil {
		return nil, err
	}
	result, err := index.Search(bleve.NewSearchRequestOptions(asked(wanted), 4*limit, 0, false))
	if err != nil {
		return nil, err
	}
	var found []Found
	of := map[*Page]int{}
	for _, hit := range result.Hits {
		n, err := strconv.Atoi(hit.ID)
		if err != nil {
			return nil, err
		}
		p := index.places[n]
		if of[p.page]++; of[p.page] <= maxOfPage && len(found) < limit {
			found = append(found, Found{p.page, p.heading, excerpt(p.text, wanted)})
		}
	}
	return found, nil
}

// asked returns the query for some words: any of them, with their synonyms at half the weight. A heading with all of
// them scores highest.
func asked(words []string) query.Query {
	either := bleve.NewDisjunctionQuery()
	whole := bleve.NewMatchQuery(strings.Join(words, " "))
	whole.SetField("heading")
	whole.SetOperator(query.MatchQueryOperatorAnd)
	whole.SetBoost(inHeading)
	either.AddQuery(whole)
	for _, word := range words {
		word = strings.Trim(word, `?!.,;:"'()`)
		if len(words) > 1 && strings.Contains(fillers, " "+word+" ") {
			continue
		}
		for field, boost := range boosts() {
			for text, share := range map[string]float64{word: 1, synonyms()[word]: 0.5} {
				match := bleve.NewMatchQuery(text)
				match.SetField(field)
				match.SetBoost(boost * share)
				either.AddQuery(match)
			}
		}
	}
	return either
}

// excerpt cuts about 80 characters before and 160 after the first of the words out of text, at blanks.
func excerpt(text string, words []string) string {
	folded, at := strings.ToLower(text), len(text)
	for _, word := range words {
		if i := strings.Index(folded, word); i >= 0 && len(word) > 3 {
			at = min(at, i) // lower case may be longer than text
		}
	}
	if at == len(text) {
		at = 0
	}
	begin, end := 0, len(text)
	if at > 80 {
		begin = at - 80
		if blank := strings.IndexByte(text[begin:], ' '); blank >= 0 {
			begin += blank + 1
		}
	}
	if end-at > 160 {
		end = at + 160
		if blank := strings.LastIndexByte(text[:end], ' '); blank > begin {
			end = blank
		}
	}
	cut := strings.ToValidUTF8(text[begin:end], "")
	if begin > 0 {
		cut = "… " + cut
	}
	if end < len(text) {
		cut += " …"
	}
	return cut
}
