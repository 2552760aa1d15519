package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// page is a path of the console.
type page struct {
	// pattern is in the words of http.ServeMux.
	pattern string
	// role is the least that may look at it, or change by it.
	role admin.Role
	// nav is its name in the navigation; empty for what is not there.
	nav   string
	title string
	// template is templates/NAME.html, which defines "main".
	template string
	// data gives what the template shows as .Data.
	data func(*visit) (any, error)
	// answer, instead of template and data, writes the whole answer. What it returns as
	// an error before it wrote anything becomes a page.
	answer func(*visit) error
}

// pages are all paths, in the order of the navigation.
func pages() []page {
	return slices.Concat(
		overviewPages(),
		urlPages(),
		inspectorPages(),
		hostPages(),
		rulesPages(),
		outboxPages(),
		deletionPages(),
		documentPages(),
		reportPages(),
		eventPages(),
		manualPages(),
		signInPages(),
	)
}

//go:embed templates/*.html
var templateFiles embed.FS

// parseTemplates reads each page's template together with the layout.
func parseTemplates(pages []page, f *files) (map[string]*template.Template, error) {
	base, err := template.New("layout").Funcs(functions(f)).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, name := range append([]string{"problem"}, templatesOf(pages)...) {
		if all[name] != nil {
			continue // several pages have it
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

func templatesOf(pages []page) []string {
	var names []string
	for i := range pages {
		if pages[i].template != "" {
			names = append(names, pages[i].template)
		}
	}
	return names
}

// maxBody is how large a form may be.
const maxBody = 9 << 20

// serve answers for one page to whoever may see it.
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

// fail answers with what went wrong, or sends the visitor elsewhere.
func (c *Console) fail(v *visit, err error) {
	if to, ok := errors.AsType[*elsewhere](err); ok {
		v.session.say(to.words)
		// htmx would put the other page into a part of this one.
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
		c.log.Error("a page of the console failed", "path", v.r.URL.Path, "error", err)
	}
	c.show(v, problem.Status, "problem", problem.Title, problem)
}

// show writes a page.
func (c *Console) show(v *visit, status int, name, title string, data any) {
	var b bytes.Buffer
	if err := c.templates[name].ExecuteTemplate(&b, "layout", v.view(title, data)); err != nil {
		c.log.Error("a page of the console cannot be written", "template", name, "error", err)
		http.Error(v.w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a reader that has gone is no fault
}
