package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// page is a path of the console.
type page struct {
	// pattern is in the syntax of http.ServeMux.
	pattern string
	// role is the least role that may use it.
	role admin.Role
	// nav is its name in the navigation; empty if it is not there.
	nav   string
	title string
	// template is templates/NAME.html, which defines "main".
	template string
	// data returns the template's .Data.
	data func(*visit) (any, error)
	// answer, in place of template and data, writes the whole response. An error that it returns before writing becomes
	// a page.
	answer func(*visit) error
}

// pages returns all paths, in the order of the navigation. Each page, and each form's button, is one row.
func pages() []page {
	return []page{
		{pattern: "GET /{$}", role: admin.Reader, nav: "Overview", title: "Overview", template: "overview", data: overview},
		{pattern: "POST /pause", role: admin.Operator, answer: func(v *visit) error { return steer(v, "/pause", "The crawl is paused. Pages in flight are finished.") }},
		{pattern: "POST /resume", role: admin.Operator, answer: func(v *visit) error { return steer(v, "/resume", "The crawl continues.") }},
		{pattern: "POST /add", role: admin.Operator, answer: add},
		{pattern: "GET /urls", role: admin.Reader, nav: "URLs", title: "URLs", template: "urls", data: urls},
		{pattern: "POST /urls/refresh", role: admin.Operator, title: "Recrawl URLs", template: "confirm-urls", answer: func(v *visit) error { return decideURLs(v, "refresh") }},
		{pattern: "POST /urls/remove", role: admin.Operator, title: "Remove URLs", template: "confirm-urls", answer: func(v *visit) error { return decideURLs(v, "remove") }},
		{pattern: "GET /url", role: admin.Reader, nav: "Inspector", title: "URL inspector", template: "inspector", data: inspector},
		{pattern: "GET /url/rule", role: admin.Operator, answer: ruleOf},
		{pattern: "POST /url/add", role: admin.Operator, answer: withURL(addOne)},
		{pattern: "POST /url/refresh", role: admin.Operator, answer: withURL(refreshOne)},
		{pattern: "POST /url/fetch", role: admin.Operator, title: "Dry run", answer: withURL(fetchOne)},
		{pattern: "POST /url/remove", role: admin.Operator, title: "Remove a URL", template: "confirm-url", answer: withURL(removeOne)},
		{pattern: "GET /hosts", role: admin.Reader, nav: "Hosts", title: "Hosts", template: "hosts", data: hosts},
		{pattern: "GET /hosts/{host}", role: admin.Reader, title: "Host", template: "host", data: oneHost},
		{pattern: "GET /rules", role: admin.Operator, nav: "Configuration", title: "Configuration", template: "rules", data: rules},
		{pattern: "GET /outbox", role: admin.Reader, nav: "Outbox", title: "Outbox", template: "outbox", data: outbox},
		{pattern: "POST /outbox/retry", role: admin.Operator, title: "Retry", answer: func(v *visit) error { return decideLetters(v, "retry") }},
		{pattern: "POST /outbox/drop", role: admin.Operator, title: "Drop", template: "confirm-letters", answer: func(v *visit) error { return decideLetters(v, "drop") }},
		{pattern: "GET /deletions", role: admin.Reader, nav: "Deletions", title: "Deletions", template: "deletions", data: deletions},
		{pattern: "POST /deletions/release", role: admin.Operator, title: "Release deletions", template: "confirm-deletions", answer: func(v *visit) error { return decideDeletions(v, "release") }},
		{pattern: "POST /deletions/drop", role: admin.Operator, title: "Drop deletions", template: "confirm-deletions", answer: func(v *visit) error { return decideDeletions(v, "drop") }},
		{pattern: "GET /documents", role: admin.Reader, title: "Document as sent", template: "documents", data: document},
		{pattern: "GET /documents/text", role: admin.Reader, title: "Document as sent", answer: documentText},
		{pattern: "GET /documents/content", role: admin.Reader, title: "Document as sent", answer: documentContent},
		{pattern: "GET /reports", role: admin.Reader, nav: "Reports", title: "Reports", template: "reports", data: func(v *visit) (any, error) { return &reportData{}, nil }},
		{pattern: "GET /reports/{kind}", role: admin.Reader, title: "Report", template: "reports", data: reportOf},
		{pattern: "GET /events", role: admin.Reader, nav: "Events", title: "Events", template: "events", data: eventList},
		{pattern: "GET /docs/", role: admin.Reader, nav: "Manual", title: "Manual", template: "manual", answer: manual},
		{pattern: "GET /signin", role: admin.Nobody, title: "Sign in", template: "signin", data: signInForm},
		{pattern: "POST /signin", role: admin.Nobody, answer: signIn},
		{pattern: "GET /signin/provider", role: admin.Nobody, title: "Sign in", answer: toProvider},
		{pattern: "GET " + callbackPath, role: admin.Nobody, title: "Sign in", answer: fromProvider},
		{pattern: "POST /signout", role: admin.Nobody, answer: signOut},
	}
}

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates reads each page's template together with the layout.
func parseTemplates(pages []page, f *files) (map[string]*template.Template, error) {
	base, err := template.New("layout").Option("missingkey=zero").Funcs(functions(f)).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	names := []string{"problem"}
	for i := range pages {
		names = append(names, pages[i].template)
	}
	for _, name := range names {
		if name == "" || all[name] != nil {
			continue // it writes the whole answer, or several pages have it
		}
		one, err := base.Clone()
		if err == nil {
			one, err = one.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err == nil && one.Lookup("main") == nil {
			err = fmt.Errorf("templates/%s.html defines no main", name)
		}
		if err != nil {
			return nil, err
		}
		all[name] = one
	}
	return all, nil
}

// maxBody is the maximum size of a form.
const maxBody = 9 << 20

// serve handles one page for visitors with the right role.
func (c *Console) serve(p *page, w http.ResponseWriter, r *http.Request) {
	v := &visit{w: w, r: r, console: c, page: p}
	err := v.begin()
	if err == nil && p.answer != nil {
		err = p.answer(v)
		if err == nil {
			return
		}
	}
	var data any
	if err == nil {
		data, err = p.data(v)
	}
	if err != nil {
		c.fail(v, err)
		return
	}
	c.show(v, http.StatusOK, p.template, p.title, data)
}

// fail shows an error, or redirects the visitor.
func (c *Console) fail(v *visit, err error) {
	if to, ok := errors.AsType[*elsewhere](err); ok {
		v.session.setMessage(to.words)
		// htmx would insert the other page into a part of this one.
		if v.r.Header.Get("HX-Request") == "true" {
			v.w.Header().Set("HX-Redirect", to.path)
			return
		}
		http.Redirect(v.w, v.r, to.path, http.StatusSeeOther)
		return
	}
	problem := &admin.Problem{Title: "Failed", Status: http.StatusInternalServerError, Detail: err.Error()}
	if p, ok := errors.AsType[*admin.Problem](err); ok {
		problem = p
	} else {
		c.log.Error("cannot build a page of the console", "path", v.r.URL.Path, "error", err)
	}
	c.show(v, problem.Status, "problem", problem.Title, problem)
}

// show writes a page.
func (c *Console) show(v *visit, status int, name, title string, data any) {
	var b bytes.Buffer
	if err := c.templates[name].ExecuteTemplate(&b, "layout", v.view(title, data)); err != nil {
		c.log.Error("cannot write a page of the console", "template", name, "error", err)
		http.Error(v.w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a client that has gone is not an error
}
