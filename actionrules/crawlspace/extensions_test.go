package crawlspace

import (
	"strings"
	"testing"
)

func extensions(list, extra, always string, pairs ...Pair) Settings {
	return Settings{Extensions: &Extensions{List: text(1, list), Extra: text(2, extra), Always: text(3, always), Pairs: pairs, At: at(4)}}
}

// Smartsite's list of extensions that are not crawled, in its order.
const smartsiteExtensions = "7z, asf, avi, bat, bmp, cmd, com, cpl, css, dll, eot, exe, flv, gif, hta, ico, inf, iso, " +
	"jar, jpeg, jpg, js, json, mp3, mp4, mpeg, mpg, msi, msp, ogg, pif, png, ps1, qt, rar, reg, scr, svg, tiff, ttf, " +
	"vb, vbe, vbs, vob, wav, wmv, woff, woff2, xml, zip"

// The default list is Smartsite's, complete.
func TestDefaultExtensions(t *testing.T) {
	if DefaultExtensions != smartsiteExtensions {
		t.Errorf("the list is not Smartsite's: %s", DefaultExtensions)
	}
	s := mustCompile(t, extensions("", "", ""))
	names := strings.FieldsFunc(DefaultExtensions, func(r rune) bool { return r == ',' || r == ' ' })
	if len(names) != 50 {
		t.Errorf("%d extensions", len(names))
	}
	for _, ext := range names {
		if got, want := judgement(t, s, to(t, "http://h/a."+ext)), "extension "+ext; got != want {
			t.Errorf("%s: %s", ext, got)
		}
	}
}

// "the lists are separated by , or ;, a leading dot is optional, case is ignored;
// in force is (list, or without it the seed's default list) plus extra plus always".
func TestExtensionLists(t *testing.T) {
	judgements{"http://h/a.mp4": "extension mp4", "http://h/a.PDF": "extension pdf", "http://h/a.doc": "extension doc", "http://h/a.xls": "extension xls",
		"http://h/a.ppt": "extension ppt", "http://h/a.html": "ok"}.check(t, mustCompile(t, extensions("", ".pdf, Doc;.XLS;", "ppt")))
	judgements{"http://h/a.mp4": "ok", "http://h/a.one": "extension one", "http://h/a.two": "extension two", "http://h/a.three": "extension three"}.check(t,
		mustCompile(t, extensions("one", "two", "three")))
	if r := mustCompile(t, extensions("one", "two", "one;three")).Judge(to(t, "http://h/a.two")).Reason; r.Line != 2 || r.File != "CrawlConfig.xml" {
		t.Errorf("%+v", r)
	}
	for list, want := range map[string]string{"*.mp4": "is not an extension", "a b": "separate several with , or ;", "a/b": "not an extension", ".": "not an extension",
		"..a": "not an extension", "a.": "not an extension", "ü": "not an extension", strings.Repeat("x", 33): "longer than 32 bytes"} {
		if _, errs := Compile(extensions(list, "ok", ""), nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) || !strings.HasPrefix(errs[0].Error(), "CrawlConfig.xml:1:5: ") {
			t.Errorf("%s: %v", list, errs)
		}
	}
}

// "a URL whose path names such an extension is not visited; one without an
// extension is asked for".
func TestExtensionOfPath(t *testing.T) {
	s := mustCompile(t, extensions("js;tar.gz;"+strings.Repeat("x", 32), "", ""))
	judgements{"http://h/a.js": "extension js", "http://h/a.min.JS": "extension js", "http://h/.js": "extension js", "http://h/a.js;v=1?x": "extension js",
		"http://h/a%2Ejs": "extension js", "http://h/a.js/": "ok", "http://h/js": "ok", "http://h/a.js.html": "ok", "http://h/?f=a.js": "ok", "http://h/a.jsx": "ok",
		"http://h/a.js/b": "ok", "http://h.js/": "ok", "http://h/a.tar.gz": "extension tar.gz", "http://h/a.gz": "ok", "http://h/a.": "ok", "http://h/a.js.": "ok",
		"http://h/a." + strings.Repeat("x", 32): "extension " + strings.Repeat("x", 32), "http://h/a." + strings.Repeat("x", 33): "ok",
		"http://h/" + strings.Repeat(".", 4000): "ok", "http://h/a;x.js": "ok"}.check(t, s)
}

// "one without an extension is (...) dropped unread when its MIME type belongs to
// an ignored extension (<MimeType .../> adds pairs)".
func TestMIMETypesOfIgnoredExtensions(t *testing.T) {
	s := mustCompile(t, extensions("", "doc,odd", "", Pair{text(5, "Application/MSWord"), text(5, ".doc")}, Pair{text(6, "text/x-fine"), text(6, "fine")},
		Pair{text(7, "text/html"), text(7, "odd")}))
	for _, c := range []struct{ url, mime, want string }{
		{"http://h/a", "video/mp4", "mime video/mp4 belongs to mp4"}, {"http://h/a", "Video/MP4 ; codecs=x", "mime video/mp4 belongs to mp4"},
		{"http://h/a/", "image/jpeg", "mime image/jpeg belongs to jpeg"}, {"http://h/a", "application/xml", "mime application/xml belongs to xml"},
		{"http://h/a", "application/msword", "mime application/msword belongs to doc"}, {"http://h/a", "text/html", "mime text/html belongs to odd"},
		{"http://h/a", "text/x-fine", "ok"}, {"http://h/a", "text/plain", "ok"}, {"http://h/a", "", "ok"}, {"http://h/a", "application/xhtml+xml", "ok"},
		{"http://h/a.htm", "video/mp4", "ok"}, {"http://h/a.", "video/mp4", "mime video/mp4 belongs to mp4"}, {"http://h/a.b/c?d.e", "video/mp4", "mime video/mp4 belongs to mp4"},
	} {
		v := s.JudgeMIME(to(t, c.url), c.mime)
		got := "ok"
		if !v.Allowed {
			got = string(v.Reason.Gate) + " " + v.Reason.Rule
		}
		if got != c.want || v.Allowed == (v.Status == StatusExcluded) || v.URL.IsZero() {
			t.Errorf("%s, %s: %+v, want %s", c.url, c.mime, v, c.want)
		}
	}
	// "video/mp4" belongs to nothing that is ignored here.
	if v := mustCompile(t, extensions("js", "", "")).JudgeMIME(to(t, "http://h/a"), "video/mp4"); !v.Allowed {
		t.Errorf("%+v", v)
	}
	for _, p := range []Pair{{text(5, "video"), text(5, "mp4")}, {text(5, "video/*"), text(5, "mp4")}, {text(5, "video/mp4"), text(5, "")}, {text(5, "a/b/c"), text(5, "x")}} {
		if _, errs := Compile(extensions("", "", "", p), nil); len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "CrawlConfig.xml:5:5: ") {
			t.Errorf("%v: %v", p, errs)
		}
	}
}

// Every default extension that has a MIME type in use is paired with it.
func TestDefaultPairs(t *testing.T) {
	paired := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(extensionTypes), "\n") {
		fields := strings.Fields(line)
		if _, err := mimeName(Text{Value: fields[0]}); err != nil || len(fields) < 2 {
			t.Errorf("%s: %v", line, err)
		}
		for _, ext := range fields[1:] {
			paired[ext] = true
		}
	}
	without := map[string]bool{"inf": true, "pif": true, "ps1": true, "reg": true, "scr": true}
	for _, ext := range strings.Split(DefaultExtensions, ", ") {
		if paired[ext] == without[ext] {
			t.Errorf("%s: paired %v", ext, paired[ext])
		}
	}
}

// "mimeTypesMode with <MimeTypes> includes or excludes by type."
func TestMIMEModes(t *testing.T) {
	types := []Text{text(5, "text/html"), text(6, "Image/*")}
	exclude := mustCompile(t, Settings{MIME: &MIMETypes{Types: types, At: at(4)}})
	include := mustCompile(t, Settings{MIME: &MIMETypes{Include: true, Types: types, At: at(4)}})
	for mime, listed := range map[string]bool{"text/html": true, "TEXT/HTML;charset=utf-8": true, "image/png": true, "text/htmlx": false, "text/plain": false, "": false, "image": false, "junk": false} {
		for _, path := range []string{"a", "a.html"} {
			l := to(t, "http://h/"+path)
			if v := exclude.JudgeMIME(l, mime); v.Allowed == listed {
				t.Errorf("exclude, %s: %+v", mime, v)
			}
			if v := include.JudgeMIME(l, mime); v.Allowed != listed || !listed && v.Reason != (Reason{GateMIME, "CrawlConfig.xml", 4, "include text/html, image/*"}) {
				t.Errorf("include, %s: %+v", mime, v)
			}
		}
	}
	for _, bad := range []string{"html", "text/html; charset=utf-8", "*/*", "*", "text/", "/html", "text/h*", "a b/c"} {
		if _, errs := Compile(Settings{MIME: &MIMETypes{Types: []Text{text(5, bad)}}}, nil); len(errs) != 1 || !strings.Contains(errs[0].Error(), "is not a MIME type") {
			t.Errorf("%s: %v", bad, errs)
		}
	}
	if s := mustCompile(t, Settings{MIME: &MIMETypes{}}); !s.JudgeMIME(to(t, "http://h/"), "text/html").Allowed {
		t.Error("excluding nothing refuses")
	}
}

// "Sitemaps, feeds and XML document sources (...) are exempt from the extension
// and MIME gates; what they list is not." Patterns are for what they list, too.
func TestExemptLinks(t *testing.T) {
	settings := extensions("", "", "")
	settings.MIME = &MIMETypes{Include: true, Types: []Text{text(5, "text/html")}, At: at(4)}
	settings.Exclude = text(6, "/ex") // for what they list
	settings.RejectList = file("reject.patterns", "/reject\n")
	s := mustCompile(t, settings)
	l := to(t, "http://h/sitemap.xml")
	if got := judgement(t, s, l); got != "extension xml" {
		t.Error(got)
	}
	l.Exempt = true
	if got := judgement(t, s, l); got != "ok" {
		t.Error(got)
	}
	if v := s.JudgeMIME(l, "application/xml"); !v.Allowed {
		t.Errorf("%+v", v)
	}
	for raw, want := range map[string]string{"http://h/ex/feed.xml": "ok", "http://h/reject/feed.xml": "reject-list /reject"} {
		l = to(t, raw)
		l.Exempt = true
		if got := judgement(t, s, l); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
