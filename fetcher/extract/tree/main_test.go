package tree

import (
	"strings"
	"testing"
)

// TestMainIsNoNotice: a notice about cookies or a dialog is not taken for the article, however much
// longer it is, and a short text beside a long page is not its main content.
func TestMainIsNoNotice(t *testing.T) {
	notice := "<p>" + strings.Repeat("This site uses cookies, and you agree, to that, by going on. ", 12) + "</p>"
	post := "<h1>Tides</h1><p>The tide comes twice a day, and the harbour, and all boats, wait for it, said the harbour master, who has time.</p>"
	long := "<p>" + strings.Repeat("The tide comes twice a day, and the harbour waits for it. ", 15) + "</p>"
	for name, tt := range map[string]struct{ body, want string }{
		"a class":        {`<div>` + post + `</div><div class="widget Cookie-notice">` + notice + `</div>`, "The tide comes"},
		"an id":          {`<div id="gdpr"><div>` + notice + `</div></div><div>` + post + `</div>`, "The tide comes"},
		"a dialog":       {`<dialog open>` + notice + `</dialog><div>` + post + `</div>`, "The tide comes"},
		"a role":         {`<div role="alertdialog">` + notice + `</div><div>` + post + `</div>`, "The tide comes"},
		"around it all":  {`<div class="has-cookie-banner modal-page"><article>` + long + `</article></div>`, "The tide comes"},
		"a class of all": {`<body class="cookies-open">` + long, "The tide comes"},
	} {
		found, err := Read(t.Context(), &Order{Main: true}, []byte(tt.body))
		if err != nil || !strings.Contains(found.Main, tt.want) || strings.Contains(found.Main, "cookies") {
			t.Errorf("%s: %.200q, %v", name, found.Main, err)
		}
	}
	hidden := `<div style="display:none">` + long + `</div><div><p>Please update your browser, as it is old, and cannot show, what this page has.</p></div>`
	found, err := Read(t.Context(), &Order{Main: true}, []byte(hidden))
	if err != nil || found.Main != "" {
		t.Errorf("a box beside a page that scripts show: %.200q, %v", found.Main, err)
	}
	// The tree still holds the notices afterwards.
	found, err = Read(t.Context(), &Order{Main: true, Picks: []Pick{{Select: "css:.a > .cookie ~ p"}, {Select: "markdown:main"}, {Select: "css:.a > .cookie ~ p"}}},
		[]byte(`<div class="a"><b>1</b><i class="cookie">2</i><p>3</p></div>`+long))
	if err != nil || len(found.Picked) != 3 || len(found.Picked[0].Values) != 1 || len(found.Picked[2].Values) != 1 {
		t.Errorf("picked %+v, %v", found.Picked, err)
	}
}
