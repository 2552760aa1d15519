package browsertest

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// set is what a script of a crawled page would do if it ran in the console.
const set = `window.pwned=1`

// hostileTitles are titles that mean ill, by the name of their page.
func hostileTitles() map[string]string {
	return map[string]string{
		"script":  `</title><script>` + set + `</script>`,
		"handler": `"><img src=x onerror="` + set + `"><svg onload=` + set + `>' onmouseover='` + set,
		"link":    `<a href="javascript:` + set + `">click</a> {{.}} ${` + set + `}`,
		"long":    strings.Repeat("very long ", 2000) + "end",
		"word":    strings.Repeat("W", 20_000),
		"rtl":     "\u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd \u2066\u2067x",
		"control": "bell\u0007 nul\u200b zero\ufeff width",
	}
}

// hostilePages are pages with such titles, addresses and headers, and some that the tests
// take away.
func hostilePages() map[string]answer {
	pages := map[string]answer{}
	ok := func(path, title, body string) {
		pages[path] = answer{status: http.StatusOK, body: "<!DOCTYPE html><html><head><title>" + html.EscapeString(title) + "</title></head><body><p>" + body + "</p></body></html>"}
	}
	var links strings.Builder
	link := func(path string) { fmt.Fprintf(&links, "<a href=\"%s\">%s</a>\n", html.EscapeString(path), "page") }
	for name, title := range hostileTitles() {
		path := "/hostile/" + name + ".html"
		ok(path, title, `A page called `+name+`. <script>`+set+`</script><img src=x onerror="`+set+`">`)
		link(path)
	}
	for _, path := range hostilePaths() {
		ok(path, "An address that means ill", "Nothing else is wrong with "+html.EscapeString(path))
		link(path)
	}
	pages["/hostile/headers.html"] = answer{status: http.StatusNotFound, header: http.Header{
		"Content-Type": {"text/html; charset=\"><script>" + set + "</script>"}, "Etag": {"\"<script>" + set + "</script>\""},
		"X-Powered-By": {"<script>" + set + "</script>"}, "Server": {"<img src=x onerror=" + set + ">"},
	}, body: "<script>" + set + "</script>"}
	link("/hostile/headers.html")
	pages["/hostile/elsewhere.html"] = answer{status: http.StatusFound, header: http.Header{"Location": {"javascript:" + set}}}
	link("/hostile/elsewhere.html")
	ok("/hostile/", "Pages that mean ill", links.String())

	links.Reset()
	for _, name := range []string{"apples", "bees", "cherries", "dates"} {
		ok("/old/"+name+".html", "Old "+name, "An old page about "+name+".")
		link("/old/" + name + ".html")
	}
	ok("/old/", "Old pages", links.String())
	return pages
}

// hostilePaths are addresses that mean ill, as servers may write them in links.
func hostilePaths() []string {
	return []string{
		"/hostile/%3Cscript%3E" + set + "%3C/script%3E.html",
		"/hostile/%22onmouseover=%22" + set + "%22.html",
		"/hostile/a.html?q=%22%3E%3Cimg%20src=x%20onerror=" + set + "%3E",
		"/hostile/%E2%80%AEgnp.html",
		"/hostile/Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" + strings.Repeat("abcdefghij", 8) + ".html",
	}
}
