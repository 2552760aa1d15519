package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
)

const (
	searchTimeout = 5 * time.Second
	maxQuery      = 1 << 10 // bytes
	maxTerms      = 32
	pageSize      = 10
	maxPageSize   = 100
	maxFrom       = 10_000 // deeper pages cost memory and are not useful
	titleBoost    = 3
	plainSnippet  = 200 // characters of a snippet without hits
)

// results is a search result. The JSON names are those of /api/search.
type results struct {
	Query string `json:"query"`
	From  int    `json:"from"`
	Total uint64 `json:"total"`
	Took  int64  `json:"took_us"` // microseconds
	Hits  []hit  `json:"hits"`
}

type hit struct {
	URL       string  `json:"url"`
	Title     string  `json:"title"`
	Connector string  `json:"connector"`
	Source    string  `json:"source,omitempty"`
	Score     float64 `json:"score"`
	Snippet   []span  `json:"snippet"`
}

// span is a piece of a snippet; Hit marks the words of the query.
type span struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit,omitempty"`
}

// Link returns the URL if the page may link to it: http and https only.
func (h hit) Link() string {
	u, err := url.Parse(h.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return ""
	}
	return h.URL
}

// terms splits a query into words and phrases, each with an optional minus.
func terms(q string) (must, not []string) {
	for q = strings.TrimSpace(q); q != "" && len(must)+len(not) < maxTerms; q = strings.TrimSpace(q) {
		rest, excluded := strings.CutPrefix(q, "-")
		var term string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			term, q, _ = strings.Cut(quoted, `"`)
		} else if i := strings.IndexAny(rest, " \t\r\n"); i >= 0 {
			term, q = rest[:i], rest[i:]
		} else {
			term, q = rest, ""
		}
		switch {
		case strings.TrimSpace(term) == "":
		case excluded:
			not = append(not, term)
		default:
			must = append(must, term)
		}
	}
	return must, not
}

func newQuery(q string) query.Query {
	must, not := terms(q)
	all := bleve.NewBooleanQuery()
	if len(must) == 0 {
		all.AddMust(bleve.NewMatchAllQuery())
	}
	for _, term := range must {
		all.AddMust(anywhere(term))
	}
	for _, term := range not {
		all.AddMustNot(anywhere(term))
	}
	return all
}

func anywhere(term string) query.Query {
	either := bleve.NewDisjunctionQuery()
	for _, field := range []string{fieldTitle, fieldText, fieldMetaWords} {
		phrase := bleve.NewMatchPhraseQuery(term)
		phrase.SetField(field)
		if field == fieldTitle {
			phrase.SetBoost(titleBoost)
		}
		either.AddQuery(phrase)
	}
	return either
}

// search executes a query; an empty one finds everything.
func (s *store) search(ctx context.Context, q string, from, size int) (*results, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	req := bleve.NewSearchRequestOptions(newQuery(q), size, from, false)
	req.Fields = []string{fieldURL, fieldTitle, fieldConnector, fieldSource, fieldText}
	req.SortBy([]string{"-_score", "_id"})
	req.Highlight = bleve.NewHighlightWithStyle("html")
	req.Highlight.AddField(fieldText)
	found, err := s.index.SearchInContext(ctx, req)
	if err != nil {
		return nil, err
	}
	out := &results{Query: q, From: from, Total: found.Total, Took: found.Took.Microseconds(), Hits: []hit{}}
	for _, match := range found.Hits {
		out.Hits = append(out.Hits, hit{
			URL: field(match, fieldURL), Title: field(match, fieldTitle), Connector: field(match, fieldConnector),
			Source: field(match, fieldSource), Score: match.Score, Snippet: snippet(match),
		})
	}
	return out, nil
}

func field(match *search.DocumentMatch, name string) string {
	v, _ := match.Fields[name].(string)
	return v
}

// snippet converts Bleve's HTML, whose text is escaped and whose marks are its own, back to text, so that the page
// escapes everything itself.
func snippet(match *search.DocumentMatch) []span {
	fragments := match.Fragments[fieldText]
	if len(fragments) == 0 {
		text := []rune(field(match, fieldText))
		return []span{{Text: string(text[:min(len(text), plainSnippet)])}}
	}
	var out []span
	for i, piece := range strings.Split(fragments[0], "<mark>") {
		marked, rest, closed := strings.Cut(piece, "</mark>")
		if i == 0 || !closed {
			out = append(out, span{Text: html.UnescapeString(piece)})
			continue
		}
		out = append(out, span{Text: html.UnescapeString(marked), Hit: true}, span{Text: html.UnescapeString(rest)})
	}
	return out
}

// searchRequest parses q, from and size of a URL.
func (s *Server) searchRequest(r *http.Request) (*results, error) {
	values := r.URL.Query()
	q := values.Get("q")
	if len(q) > maxQuery || !isPlain(q) {
		return nil, badRequest("q: longer than %d bytes, not UTF-8, or with control characters", maxQuery)
	}
	from, err := position(values, "from", 0, maxFrom)
	if err != nil {
		return nil, err
	}
	size, err := position(values, "size", pageSize, maxPageSize)
	if err != nil {
		return nil, err
	}
	return s.store.search(r.Context(), q, from, size)
}

func position(values url.Values, name string, missing, most int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, badRequest("%s %s: write a whole number from 0 to %d", name, quote(text), most)
	}
	return n, nil
}

func (s *Server) serveSearch(w http.ResponseWriter, r *http.Request) {
	found, err := s.searchRequest(r)
	s.writeJSON(w, r, found, err)
}

// status is the response of /status.
type status struct {
	Documents  int                        `json:"documents"`
	Session    string                     `json:"session"` // a string: it exceeds the numbers of many JSON readers
	Connectors map[string]connectorStatus `json:"connectors"`
}

type connectorStatus struct {
	Serial      uint64            `json:"serial"`
	Pending     int               `json:"pending"`
	Checkpoints map[string]string `json:"checkpoints"`
}

func (s *Server) serveStatus(w http.ResponseWriter, r *http.Request) {
	n, err := s.store.count()
	out := status{Documents: n, Connectors: map[string]connectorStatus{}}
	s.mu.Lock()
	out.Session = strconv.FormatInt(s.session, 10)
	for name, c := range s.connectors {
		out.Connectors[name] = connectorStatus{
			Serial: c.synced.Serial, Pending: len(c.last) + len(c.roots), Checkpoints: c.synced.Checkpoints,
		}
	}
	s.mu.Unlock()
	s.writeJSON(w, r, out, err)
}

// stored is a document in the form of /documents.
type stored struct {
	Connector   string              `json:"connector"`
	URL         string              `json:"url"`
	Stamp       string              `json:"stamp"`
	Title       string              `json:"title"`
	Text        string              `json:"text"`
	Source      string              `json:"source"`
	ContentType string              `json:"content_type"`
	Metas       map[string][]string `json:"metas"`
}

func (s *Server) serveDocument(w http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	uri := values.Get("url")
	if err := checkURI(uri); err != nil {
		s.writeJSON(w, r, nil, err)
		return
	}
	found, err := s.store.document(r.Context(), values.Get("connector"), uri)
	if err == nil && found == nil {
		err = &refusal{status: http.StatusNotFound, words: "no synced document has this url"}
	}
	s.writeJSON(w, r, found, err)
}

// document returns a synced document, or nil; an empty connector stands for any.
func (s *store) document(ctx context.Context, connector, uri string) (*stored, error) {
	byURL := bleve.NewTermQuery(uri)
	byURL.SetField(fieldURL)
	q := bleve.NewConjunctionQuery(byURL)
	if connector != "" {
		byConnector := bleve.NewTermQuery(connector)
		byConnector.SetField(fieldConnector)
		q.AddQuery(byConnector)
	}
	return s.first(ctx, q)
}

// withID returns the synced document of a connector with an id, or nil.
func (s *store) withID(ctx context.Context, connector, id string) (*stored, error) {
	return s.first(ctx, bleve.NewDocIDQuery([]string{documentID(connector, id)}))
}

// first returns the first document that a query finds, or nil.
func (s *store) first(ctx context.Context, q query.Query) (*stored, error) {
	req := bleve.NewSearchRequestOptions(q, 1, 0, false)
	req.Fields = []string{"*"}
	req.SortBy([]string{"_id"})
	found, err := s.index.SearchInContext(ctx, req)
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	match := found.Hits[0]
	out := &stored{
		Connector: field(match, fieldConnector), URL: field(match, fieldURL), Stamp: field(match, fieldStamp),
		Title: field(match, fieldTitle), Text: field(match, fieldText), Source: field(match, fieldSource),
		ContentType: field(match, fieldType),
	}
	return out, json.Unmarshal([]byte(field(match, fieldMetas)), &out.Metas)
}

// writeJSON writes v, or err as {"error": words}.
func (s *Server) writeJSON(w http.ResponseWriter, r *http.Request, v any, err error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		code, words := s.explain(r, err)
		w.WriteHeader(code)
		v = map[string]string{"error": words}
	}
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("answer not written", "path", r.URL.Path, "error", err)
	}
}

// explain returns status and text for an error of a page.
func (s *Server) explain(r *http.Request, err error) (int, string) {
	var ref *refusal
	if errors.As(err, &ref) {
		return ref.status, ref.words
	}
	s.log.Error("page failed", "path", r.URL.Path, "error", err)
	return http.StatusInternalServerError, err.Error()
}
