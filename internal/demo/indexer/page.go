package indexer

import (
	"bytes"
	_ "embed" // the page and its style
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
)

//go:embed search.html
var searchPage string

//go:embed style.css
var searchStyle []byte

// contentPolicy allows only the page's own style and form.
const contentPolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func parsePage() (*template.Template, error) {
	page, err := template.New("search").Parse(searchPage)
	if err != nil {
		return nil, fmt.Errorf("indexer: search page: %w", err)
	}
	return page, nil
}

// view is the data of the page.
type view struct {
	Query          string
	Documents      int
	Failure        string
	Results        *results
	Seconds        string
	First, Last    int
	Previous, Next string // addresses; empty: none
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	code := http.StatusOK
	found, err := s.searchRequest(r)
	v := view{Query: r.URL.Query().Get("q"), Results: found}
	if err == nil {
		v.Documents, err = s.store.count()
	}
	if err != nil {
		code, v.Failure = s.explain(r, err)
	} else {
		v.turn(found)
	}
	var out bytes.Buffer
	if err := s.page.Execute(&out, v); err != nil {
		s.log.Error("search page", "error", err)
		http.Error(w, "cannot build the page", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(code)
	_, _ = out.WriteTo(w)
}

// turn sets the page's position in the results.
func (v *view) turn(found *results) {
	v.Seconds = strconv.FormatFloat(float64(found.Took)/1e6, 'f', 3, 64)
	v.First, v.Last = found.From+1, found.From+len(found.Hits)
	address := func(from int) string {
		return "/?" + url.Values{"q": {found.Query}, "from": {strconv.Itoa(from)}}.Encode()
	}
	if found.From > 0 {
		v.Previous = address(max(0, found.From-pageSize))
	}
	next := found.From + len(found.Hits)
	if len(found.Hits) > 0 && uint64(next) < found.Total && next <= maxFrom { //nolint:gosec // next is not negative
		v.Next = address(next)
	}
}

func serveStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(searchStyle)
}
