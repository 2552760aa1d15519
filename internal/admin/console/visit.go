package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// visit is one request for a page from a permitted visitor.
type visit struct {
	w       http.ResponseWriter
	r       *http.Request
	console *Console
	page    *page
	caller  admin.Caller
	session *session // nil without one
	// crawler is the selected one, or the only one.
	crawler string
	api     *admin.Client // with the visitor's rights, for that Crawler
}

// begin identifies the visitor and checks the role.
func (v *visit) begin() error {
	if v.r.Method == http.MethodPost {
		if !fromPage(v.r) {
			return &admin.Problem{Title: "Refused", Status: http.StatusForbidden, Detail: "a change must come from a page of this console: the browser did not send its origin"}
		}
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxBody)
	}
	caller, problem := v.console.service.Caller(v.r)
	if problem != nil {
		return problem
	}
	v.caller, v.session = caller, v.console.sessions.of(v.r)
	if err := v.choose(); err != nil {
		return err
	}
	v.api = admin.ClientOf(v.console.service.As(caller), v.crawler)
	if caller.Role >= v.page.role {
		if v.r.Method == http.MethodPost && v.r.ParseForm() != nil {
			return &admin.Problem{Title: "Bad request", Status: http.StatusBadRequest, Detail: "the form cannot be read"}
		}
		return nil
	}
	if caller.Role >= admin.Reader {
		return &admin.Problem{Title: "Not allowed", Status: http.StatusForbidden, Detail: fmt.Sprintf("a %s may not do this: it requires the %s's token", caller.Role, v.page.role)}
	}
	to := url.Values{}
	if v.r.Method == http.MethodGet && v.r.URL.Path != "/" {
		to.Set("next", v.r.URL.RequestURI())
	}
	return &elsewhere{path: withQuery("/signin", to)}
}

// choose determines the page's Crawler.
func (v *visit) choose() error {
	names := v.console.settings.Crawlers
	v.crawler = v.r.URL.Query().Get("crawler")
	if v.crawler == "" && len(names) > 0 {
		v.crawler = names[0]
	}
	if len(names) > 0 && !slices.Contains(names, v.crawler) {
		wrong := v.crawler
		v.crawler = names[0]
		return &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: fmt.Sprintf("the Crawler %q does not exist: choose another", cut(wrong, maxShown))}
	}
	return nil
}

// elsewhere is an error that redirects a visitor to another page.
type elsewhere struct{ path, words string }

func (e *elsewhere) Error() string { return "see " + e.path }

// redirect returns an error that redirects the visitor to another page of the console, which shows words once.
func (v *visit) redirect(path string, query url.Values, words string) error {
	return &elsewhere{path: v.link(path, query), words: words}
}

// link returns the address of a page of the console, with the Crawler kept.
func (v *visit) link(path string, query url.Values) string {
	q := url.Values{}
	maps.Copy(q, query)
	if len(v.console.settings.Crawlers) > 1 && !q.Has("crawler") {
		q.Set("crawler", v.crawler)
	}
	return withQuery(path, q)
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// get reads JSON from a route of the API. It adds the visitor's Crawler unless the query names one. An unsuccessful
// response is an *admin.Problem.
func (v *visit) get(path string, query url.Values, into any) error {
	return v.api.Get(v.r.Context(), path, query, into)
}

// post calls a changing route of the API; body is sent as JSON.
func (v *visit) post(path string, query url.Values, body, into any) error {
	return v.api.Post(v.r.Context(), path, query, body, into)
}

// paged reads a page of a list of the API, at the visitor's cursor. next is the address of the page after it, at the
// console's path at with the kept part of its query; empty at the end.
func paged[T any](v *visit, list string, ask url.Values, at string, kept url.Values) (items []T, total int, next string, err error) {
	if cursor := v.r.URL.Query().Get("cursor"); cursor != "" {
		ask.Set("cursor", cursor)
	}
	var page struct {
		Items []T    `json:"items"`
		Next  string `json:"next"`
		Total int    `json:"total"`
	}
	if err := v.get(list, ask, &page); err != nil || page.Next == "" {
		return page.Items, page.Total, "", err
	}
	kept.Set("cursor", page.Next)
	return page.Items, page.Total, v.link(at, kept), nil
}
