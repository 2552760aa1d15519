package extract

import (
	"strings"
	"testing"
)

func TestShell(t *testing.T) {
	const script = `<script src=/main.js></script>`
	for name, tt := range map[string]struct {
		page string
		want bool
	}{
		"React":                      {`<title>Shop</title><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div>` + script, true},
		"Vue":                        {`<div id=app></div>` + script, true},
		"Next":                       {`<div id='__next'><div></div></div>` + script, true},
		"Angular":                    {`<app-root></app-root>` + script, true},
		"with a word while it loads": {`<div id="root">Loading ...</div>` + script, true},
		"words to those without":     {`<div class=x></div><NOSCRIPT>Please turn on JAVASCRIPT</NOSCRIPT>` + script, true},
		"no script":                  {`<div id="root"></div>`, false},
		"text":                       {`<div id="root">` + strings.Repeat("Rendered by the server. ", 10) + `</div>` + script, false},
		"links":                      {`<div id="root"><a href=1>1</a><a href=2>2</a><a href=3>3</a><a href=4>4</a></div>` + script, false},
		"a short page":               {`<p id="intro">It works!</p>` + script, false},
		"a picture":                  {`<img src=x><noscript><img src=y></noscript>` + script, false},
		"a frameset's script in svg": {`<svg><script>x</script></svg><div id=app></div>`, false},
	} {
		if got := read(t, "<!doctype html><html><head></head><body>"+tt.page+"</body></html>", "text/html; charset=utf-8").Shell; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
