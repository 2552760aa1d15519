package main

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// protectedScript serves ten pages to authenticated clients: protect basic, form, header or tls. A form's session ends
// once, after five pages. $SITE is the server's origin; with tls the file ca.pem holds its certificate.
func protectedScript(ts *testscript.TestScript, _ bool, args []string) {
	site := &protected{kind: args[0]}
	var server *httptest.Server
	if site.kind == "tls" {
		server = httptest.NewTLSServer(site)
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), certificate, 0o600))
	} else {
		server = httptest.NewServer(site)
	}
	ts.Defer(server.Close)
	ts.Setenv("SITE", server.URL)
}

type protected struct {
	kind string

	mu    sync.Mutex
	sid   int
	shown int
}

func (s *protected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/login" {
		s.logIn(w, r)
		return
	}
	if !s.admits(w, r) {
		return
	}
	if s.shown++; s.shown == 5 {
		s.sid++ // its session is forgotten
	}
	fmt.Fprintf(w, "<title>Page %s</title>", r.URL.Path)
	for i := range 9 {
		fmt.Fprintf(w, `<a href="/p%d.html">%d</a>`, i, i)
	}
}

func (s *protected) logIn(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.FormValue("password") == "hunter2" && r.FormValue("token") == "t" {
		s.sid++
		http.SetCookie(w, &http.Cookie{Name: "SID", Value: fmt.Sprint(s.sid), Path: "/"})
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	fmt.Fprint(w, `<title>Please log in</title><form method="post"><input type="hidden" name="token" value="t"><input name="user"><input type="password" name="password"></form>`)
}

// admits lets a request in or answers it.
func (s *protected) admits(w http.ResponseWriter, r *http.Request) bool {
	switch s.kind {
	case "basic":
		if user, password, _ := r.BasicAuth(); user != "crawler" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="intranet"`)
			w.WriteHeader(http.StatusUnauthorized)
			return false
		}
	case "form":
		if cookie, err := r.Cookie("SID"); err != nil || cookie.Value != fmt.Sprint(s.sid) {
			http.Redirect(w, r, "/login", http.StatusFound)
			return false
		}
	case "header":
		if r.Header.Get("X-Api-Key") != "hunter2" {
			w.WriteHeader(http.StatusForbidden)
			return false
		}
	}
	return true
}
