package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/weburl"
)

// view is the templates' ".".
type view struct {
	visit *visit
	Title string
	// Data is the page's own data.
	Data any
	// Path is the page's path, Said the message of a preceding change.
	Path, Said string
	// Who is the signed-in caller; Reader and Operator are its rights.
	Who              admin.Caller
	Reader, Operator bool
	// SignedIn is set if there is a session, which can be ended.
	SignedIn bool
	Crawler  string
	Crawlers []string
	Version  string
	Nav      []navEntry
}

// navEntry is a page in the navigation.
type navEntry struct {
	Path, Name string
	Current    bool
	Off        bool // for an operator
}

func (v *visit) view(title string, data any) *view {
	view := &view{
		visit: v, Title: title, Data: data, Path: v.r.URL.Path,
		Who: v.caller, Reader: v.caller.Role >= admin.Reader, Operator: v.caller.Role >= admin.Operator, SignedIn: v.session != nil,
		Crawler: v.crawler, Crawlers: v.console.settings.Crawlers, Version: v.console.settings.Version,
	}
	if v.r.Header.Get("HX-Request") == "" { // not shown in a part that is reloaded
		view.Said = v.session.takeMessage()
	}
	for i := range v.console.routes {
		p := &v.console.routes[i]
		if p.nav == "" || v.caller.Role < admin.Reader {
			continue
		}
		path := strings.TrimSuffix(strings.TrimPrefix(p.pattern, "GET "), "{$}")
		view.Nav = append(view.Nav, navEntry{
			Path: v.link(path, nil), Name: p.nav, Off: v.caller.Role < p.role,
			Current: view.Path == path || path != "/" && strings.HasPrefix(view.Path, strings.TrimSuffix(path, "/")+"/"),
		})
	}
	return view
}

// Link returns the address of a page of the console with the Crawler kept: the path, then names and values of its
// query. It omits empty values.
func (v *view) Link(path string, query ...any) (string, error) {
	q := url.Values{}
	if len(query)%2 != 0 {
		return "", fmt.Errorf("the query of %s has a name without a value", path)
	}
	for i := 0; i < len(query); i += 2 {
		if value := fmt.Sprint(query[i+1]); value != "" {
			q.Set(fmt.Sprint(query[i]), value)
		}
	}
	return v.visit.link(path, q), nil
}

// maxLinked is the longest text, in bytes, that becomes a link: no crawled URL is longer, even with each byte escaped.
const maxLinked = 4 * weburl.MaxLength

// URL returns a URL, shortened, as a link to the page that explains it.
func (v *view) URL(raw string) template.HTML {
	return v.linked("url", raw, "/url", url.Values{"url": {raw}})
}

// Host returns a host as a link to its page.
func (v *view) Host(origin string) template.HTML {
	return v.linked("url host", origin, "/hosts/"+url.PathEscape(origin), nil)
}

// breaks sets where lines break in a URL that is escaped for HTML.
var breaks = strings.NewReplacer("://", "://", ".", "<wbr>.", "/", "/<wbr>", "-", "-<wbr>",
	"?", "<wbr>?", "&amp;", "<wbr>&amp;")

// linked returns an external URL as a link to a page of the console, or as text if it is too long for one.
func (v *view) linked(class, text, path string, query url.Values) template.HTML {
	words := broken(text)
	if len(text) > maxLinked {
		return words
	}
	to := template.HTMLEscapeString(v.visit.link(path, query))
	return template.HTML(`<a class="` + class + `" href="` + to + `">` + string(words) + `</a>`) //nolint:gosec // both parts are escaped
}

// broken returns an external URL as text whose lines break between its parts.
func broken(text string) template.HTML {
	text = breaks.Replace(template.HTMLEscapeString(cut(text, maxShown)))
	return template.HTML("<bdi>" + text + "</bdi>") //nolint:gosec // escaped
}

// Place returns a position in a file; one in the configuration is a link to the editor, for visitors with the right.
func (v *view) Place(file string, line int) template.HTML {
	if file == "" {
		return ""
	}
	words := filepath.Base(file)
	if line > 0 {
		words += ":" + strconv.Itoa(line)
	}
	to := v.visit.inEditor(file, line)
	if to == "" {
		return shown(words, maxShown)
	}
	return template.HTML(`<a href="` + template.HTMLEscapeString(to) + `">` + string(shown(words, maxShown)) + `</a>`) //nolint:gosec // both parts are escaped
}

// Several reports whether a Crawler can be selected.
func (v *view) Several() bool { return len(v.Crawlers) > 1 }

// Stay returns the page to show after the selection of another Crawler: the same one. The response to a form cannot be
// opened; then it is the page of the navigation that it belongs to.
func (v *view) Stay() string {
	if v.visit.r.Method != http.MethodPost {
		return v.Path
	}
	for _, entry := range v.Nav {
		if entry.Current {
			return entry.Path
		}
	}
	return "/"
}

// Kept returns the query parameters to keep when another Crawler is selected.
func (v *view) Kept() map[string]string {
	keep := map[string]string{}
	for _, name := range []string{"url", "show", "host"} {
		if value := v.visit.r.URL.Query().Get(name); value != "" {
			keep[name] = value
		}
	}
	return keep
}
