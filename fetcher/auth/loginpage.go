package auth

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"

	"github.com/sextant-crawler/sextant/weburl"
)

// The mutex of formMethod guards the features of the log-in page.

// remember stores the features of the log-in page and its form.
func (m *formMethod) remember(u *url.URL, found *form) {
	var marks []string
	for _, field := range m.Fields {
		if found.hasField(field.Name) {
			marks = append(marks, field.Name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = marks
	if len(m.pages) < maxPages {
		m.pages[pageKey(u)] = true
	}
}

func (m *formMethod) isLogIn(u *url.URL) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pages[pageKey(u)]
}

func (m *formMethod) isLogInPage(u weburl.URL) bool {
	parsed, err := url.Parse(u.String())
	return err == nil && m.isLogIn(parsed)
}

// holdsForm reports whether a page contains the log-in form. A search for one word excludes most pages.
func (m *formMethod) holdsForm(body []byte, contentType string) bool {
	if !m.selects() && !bytes.Contains(body, []byte("assword")) && !bytes.Contains(body, []byte("ASSWORD")) {
		return false
	}
	if !bytes.Contains(body, []byte("<form")) && !bytes.Contains(body, []byte("<FORM")) {
		return false
	}
	m.mu.Lock()
	marks := m.marks
	m.mu.Unlock()
	p := readPage(body, contentType)
	for i, f := range p.forms {
		if m.picks(f, i) && hasAll(f, marks) && (len(marks) > 0 || f.hasPassword()) {
			return true
		}
	}
	return false
}

func hasAll(f *form, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !f.hasField(name) })
}

// read recognizes the log-in page in its variants.
func (m *formMethod) read(a answered) sign {
	sg := a.signOf()
	switch status := a.resp.Status; {
	case status/100 == 3 && status != http.StatusNotModified:
		base, err := url.Parse(a.url.String())
		if err != nil {
			return silent
		}
		if to, err := base.Parse(a.resp.Header.Get("Location")); err == nil && m.isLogIn(to) {
			return loginPage
		}
	case sg == good && status != http.StatusNotModified:
		for _, text := range m.LoggedOut {
			if text != "" && shows(a.resp.Body, a.resp.Header.Get("Content-Type"), text) {
				return loginPage
			}
		}
		if m.holdsForm(a.resp.Body, a.resp.Header.Get("Content-Type")) {
			return loginPage
		}
	}
	return sg
}
