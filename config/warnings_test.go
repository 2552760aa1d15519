package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each kind of warning, at its place; and none where there are errors, since a
// rule that is left out makes others look idle.
func TestWarnings(t *testing.T) {
	text := `<CrawlConfig><Crawler name="a">
<Root url="http://in.example.com/"/>
<Root url="http://out.example.com/"/>
<Root url="http://forbidden.example.com/"/>
<CrawlSpace rules="f"/>
<Rules>
<Rule><Path val="\.gif"/><Index/></Rule>
<Rule><Host val="WWW.example.com" norm="none"/><Index/></Rule>
<Rule><And><Host val="a"/><Host val="b"/></And><Index/></Rule>
<Rule><Path val="/x/y"/><Follow/></Rule>
<Rule><Path val="/x"/><NoFollow/></Rule>
<Rule><Host val="out.example.com"/><Ignore/></Rule>
</Rules>
</Crawler></CrawlConfig>`
	lookups := mapLookups(map[string][]byte{"f": []byte("forbid domain forbidden.example.com\nallow domain *.example.com\n")}, nil)
	_, report := Parse(FileName, []byte(text), lookups)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	all := problemLines(report.Warnings) + problemLines(report.Notes)
	for _, want := range []string{
		"CrawlConfig.xml:3:12: root http://out.example.com/ is not crawled: the rule at CrawlConfig.xml:12:1",
		`CrawlConfig.xml:7:18: pattern "\.gif": \. is an operator`,
		`CrawlConfig.xml:8:18: pattern "WWW.example.com": no canonical URL matches it`,
		"CrawlConfig.xml:9:1: the rule can never match",
		"CrawlConfig.xml:10:1: the rule has no effect: wherever it applies, later rules override it (one at CrawlConfig.xml:11:1)",
		"f:1: the start URL http://forbidden.example.com/ is not in the crawl space: domain gate",
		`f:2: the domain rules do not end in "forbid domain *"`,
		"CrawlConfig.xml:1:14: nothing excludes images, scripts, styles; write <IgnoredExtensions/>",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %s in\n%s", want, all)
		}
	}
	_, report = Parse(FileName, []byte(strings.Replace(text, `val="/x"`, `val=""`, 1)), lookups)
	if len(report.Errors) != 1 || strings.Contains(problemLines(report.Warnings), "no effect") {
		t.Errorf("with an error: %v\n%s", report.Err(), problemLines(report.Warnings))
	}
}

// warned parses the content of a Crawler and gives what is said of it, errors excluded.
func warned(t *testing.T, attributes, inside string, files map[string][]byte) string {
	t.Helper()
	if !strings.Contains(attributes, "smartRefresh=") {
		attributes += ` smartRefresh="true"`
	}
	text := `<CrawlConfig><Crawler name="a" ` + attributes + `>` + inside + `</Crawler></CrawlConfig>`
	_, report := Parse(FileName, []byte(text), mapLookups(files, nil))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return problemLines(report.Warnings) + problemLines(report.Notes)
}

// TestSlips: what can hardly be meant is told, and nothing else.
func TestSlips(t *testing.T) {
	const (
		root   = `<Root url="http://www.example.com/"/>`
		secure = `<Root url="https://www.example.com/"/>`
		alone  = `<Root url="http://www.example.com/" site="false"/>`
		bounds = `<IgnoredExtensions/><Traps/>`
	)
	rules := func(rules string) string { return "<Rules>" + rules + "</Rules>" + bounds }
	for name, c := range map[string]struct {
		attributes, inside string
		want               string // "" is nothing
		files              map[string][]byte
	}{
		"no root":                       {"", bounds, "there is no start URL, so that nothing is crawled", nil},
		"index without accept":          {"", alone + rules(`<Rule><Path val="/"/><Index/><Follow/></Rule>`), "it indexes or follows URLs that no rule accepts; write <Accept/>", nil},
		"one of them forgotten":         {"", alone + rules(`<Rule><Path val="/a/"/><Index/><Accept/></Rule><Rule><Path val="/b/"/><Index/></Rule>`), "no rule accepts", nil},
		"accept without index":          {"", alone + rules(`<Rule><Path val="/"/><Accept/></Rule>`), "it accepts URLs that no rule indexes or follows", nil},
		"accepted elsewhere":            {"", alone + rules(`<Rule><Path val="/"/><Accept/></Rule><Rule><Ext val=".html"/><Index/></Rule>`), "", nil},
		"a site":                        {"", root + rules(`<Rule><Path val="/a/"/><Index/></Rule>`), "", nil},
		"accepted by default":           {`defaultAccept="true"`, alone + rules(`<Rule><Path val="/a/"/><Index/></Rule>`), "", nil},
		"accept and ignore":             {"", root + rules(`<Rule><Path val="/a/"/><Accept/><Ignore/></Rule>`), "the rule has both <Accept> and <Ignore>; only the last counts", nil},
		"two sources":                   {"", root + rules(`<Rule><Path val="/a/"/><Source name="a"/><Source name="b"/></Rule>`), "the rule has <Source> twice", nil},
		"two metas":                     {"", root + rules(`<Rule><Path val="/a/"/><AddMeta name="a" value="1"/><AddMeta name="a" value="2"/></Rule>`), "", nil},
		"a group of nobody":             {"", root + `<Rules group="nosuch"><Rule><Path val="/a/"/><Ignore/></Rule></Rules>` + bounds, `no root has the group "nosuch" of the rule (they have default)`, nil},
		"a rule for another host":       {"", root + rules(`<Rule><Domain val="other.example"/><Accept/><Index/></Rule>`), "", nil},
		"nothing ends it":               {"", root + `<IgnoredExtensions/>`, "nothing ends a site whose links never end", nil},
		"permission for nofollow":       {`ignoreNofollow="true"`, root + bounds, "ignoreNofollow follows links that the sites' owners do not want followed: ask for their permission", nil},
		"permission for noindex":        {`ignoreNoindex="true"`, root + bounds, "ignoreNoindex indexes what the sites' owners", nil},
		"permission for robots.txt":     {`ignoreRobotsTxt="true"`, root + bounds, "ignoreRobotsTxt fetches what the sites' owners forbid", nil},
		"no effect, once":               {`verbose="true" version="3" buildGroup="x"`, root + bounds, "each of verbose, version, buildGroup has no effect here", nil},
		"storeTextOnly":                 {`storeTextOnly="false"`, root + bounds, `write content="true" in <Push>`, nil},
		"only address rules":            {"", alone + bounds + `<CrawlSpace rules="c"/>`, "c: there is no domain rule: with this file every URL is accepted", map[string][]byte{"c": []byte("allow address 10.0.0.0 255.0.0.0\n")}},
		"a sitemap that names nothing":  {"", bounds + `<Sitemap url="http://www.example.com/s.xml"/>`, "nothing that is listed here is crawled, because no rule accepts it", nil},
		"rounds alone":                  {`smartRefresh="false"`, root + bounds + `<Discovery intervalS="3600"/>`, "intervalS has start URLs fetched again, and nothing else", nil},
		"rounds and an age":             {`minimumAgedS="3600" smartRefresh="false"`, root + bounds + `<Discovery intervalS="3600"/>`, "", nil},
		"several extensions":            {"", root + rules(`<Rule><Ext val="zip,exe"/><Ignore/></Rule>`), `write <Or><Ext val=".zip"/><Ext val=".exe"/></Or>`, nil},
		"several with dots":             {"", root + rules(`<Rule><Ext val=".zip; *.exe"/><Ignore/></Rule>`), `write <Or><Ext val=".zip"/><Ext val=".exe"/></Or>`, nil},
		"an end with a comma":           {"", root + rules(`<Rule><Atom field="path" kind="suffix" value="/press,2024,june.html"/><Ignore/></Rule>`), "", nil},
		"ignored and indexed":           {"", root + rules(`<Rule><Path val="/a/"/><Ignore/><Index/></Rule>`), "its <Index> or <Follow> has no effect", nil},
		"indexed and ignored":           {"", root + rules(`<Rule><Path val="/a/"/><Follow/><Ignore/></Rule>`), "its <Index> or <Follow> has no effect", nil},
		"ignored and not indexed":       {"", root + rules(`<Rule><Path val="/a/"/><Ignore/><NoIndex/></Rule>`), "", nil},
		"http beside https":             {"", secure + rules(`<Rule><Url val="http://www.example.com/a"/><Ignore/></Rule>`), `"http://www.example.com/a" has http, and the start URLs of this host have https`, nil},
		"http and https":                {"", secure + rules(`<Rule><Or><Url val="http://www.example.com/a"/><Url val="https://www.example.com/a"/></Or><Ignore/></Rule>`), "", nil},
		"http of another host":          {"", secure + rules(`<Rule><Url val="http://other.example.com/a"/><Ignore/></Rule>`), "", nil},
		"https beside http":             {"", root + rules(`<Rule><Url val="https://www.example.com/a"/><Ignore/></Rule>`), "", nil},
		"roots with both":               {"", root + secure + rules(`<Rule><Url val="http://www.example.com/a"/><Ignore/></Rule>`), "", nil},
		"an extension that is ignored":  {"", root + rules(`<Rule><Ext val=".xml"/><Index/></Rule>`), `<IgnoredExtensions> refuses ".xml" before a rule is asked`, nil},
		"one that is ignored twice":     {"", root + rules(`<Rule><Ext val=".xml"/><Ignore/></Rule>`), "", nil},
		"one that is not ignored":       {"", root + rules(`<Rule><Ext val=".pdf"/><Index/></Rule>`), "", nil},
		"an empty list":                 {"", root + `<IgnoredExtensions list=""/><Traps/>`, "an empty list is the default list", nil},
		"content that is not there":     {"", root + bounds + `<Push kind="elasticsearch" url="http://127.0.0.1:9200" index="a"><PushField name="content" drop="true"/></Push>`, `documents have no content without content="true"`, nil},
		"content that is there":         {"", root + bounds + `<Push kind="elasticsearch" url="http://127.0.0.1:9200" index="a" content="true"><PushField name="content" as="raw"/></Push>`, "", nil},
		"renderSelector without render": {"", root + bounds + `<Fetch renderSelector="h1"><Host val="a"/></Fetch>`, `renderSelector has no effect: write render="browser"`, nil},
		"nothing to render":             {"", root + bounds + `<Browser pages="2"/>`, "<Browser> has no effect: no Fetch has render", nil},
		"no browser":                    {"", root + bounds + `<Fetch render="auto"><Host val="a"/></Fetch>`, "there is no browser at /usr/bin/chromium: they wait until there is", nil},
		"a browser that is not there":   {"", root + bounds + `<Browser command="/bin/b --no-sandbox"/><Fetch render="browser"><Host val="a"/></Fetch>`, "there is no file /bin/b", nil},
		"no socket of browsers":         {"", root + bounds + `<Browser command="unix:/run/b"/><Fetch render="browser"><Host val="a"/></Fetch>`, "there is no socket /run/b: pages that are to be rendered wait", nil},
		"a browser":                     {"", root + bounds + `<Browser command="/bin/b"/><Fetch render="browser" renderSelector="main > h1"><Host val="a"/></Fetch>`, "", map[string][]byte{"/bin/b": nil}},
		"a converter that is not asked": {"", root + bounds + `<Converter mediaType="image/png" command="/bin/cat"/>`, "this Converter is asked for no document: ", map[string][]byte{"/bin/cat": nil}},
		"a converter with a shell":      {"", root + bounds + `<Converter mediaType="image/tif" command="/bin/a {file} | /bin/b"/>`, "no shell reads command=", nil},
		"an ordinary expression":        {"", root + rules(`<Rule><Path val="/a/.*\.pdf$"/><Ignore/></Rule>`), `write "/a/.*\.pdf$" with litteral="false"`, nil},
		"a converter that is a folder":  {"", root + bounds + `<Converter mediaType="application/x-a" command="/tmp {file}"/>`, "cannot be run: /tmp is not fit", map[string][]byte{"/tmp": []byte("unfit")}},
		"a program that can be run":     {"", root + bounds + `<Converter mediaType="application/x-a" command="/bin/a -f{file} {file}.txt --a={b} {"/>`, "", map[string][]byte{"/bin/a": nil}},
		"{File}":                        {"", root + bounds + `<Converter mediaType="application/x-a" command="/bin/a {File}"/>`, `"{File}" in command="/bin/a {File}" is handed to the program as it is: write {file}`, map[string][]byte{"/bin/a": nil}},
		"file}":                         {"", root + bounds + `<Converter mediaType="application/x-a" command="/bin/a file}"/>`, `"file}" in command=`, map[string][]byte{"/bin/a": nil}},
		"{flie}":                        {"", root + bounds + `<Converter mediaType="application/x-a" command="/bin/a --in {flie}"/>`, "write {file}", map[string][]byte{"/bin/a": nil}},
		"--in={FILE":                    {"", root + bounds + `<Converter mediaType="application/x-a" command="/bin/a --in={FILE"/>`, "write {file}", map[string][]byte{"/bin/a": nil}},
		"a converter of images":         {"", root + `<IgnoredExtensions list="js,css"/><Traps/><Converter mediaType="image/png" command="/bin/a"/>`, "", map[string][]byte{"/bin/a": nil}},
		"a converter of all images":     {"", root + `<Traps/><Converter mediaType="image/*" command="/bin/a"/>`, `nothing excludes scripts, styles; write <IgnoredExtensions list="js,css"/>, which leaves images to the Converter`, map[string][]byte{"/bin/a": nil}},
		"a converter of something else": {"", root + `<IgnoredExtensions list="js,css"/><Traps/><Converter mediaType="application/x-a" command="/bin/a"/>`, "nothing excludes images; write <IgnoredExtensions/>", map[string][]byte{"/bin/a": nil}},
		"an index with a capital":       {"", root + bounds + `<Push kind="elasticsearch" url="https://h" index="Web"/>`, `index="Web" has capitals, which only an alias may have: write web for an index`, nil},
		"half an escape":                {"", root + rules(`<Rule><Url val="http://www.example.com/\.*"/><NoIndex/></Rule>`), `write "http://www\.example\.com/.*" with litteral="false"`, nil},
		"half a repetition":             {"", root + rules(`<Rule><Path val="/x\d+"/><NoIndex/></Rule>`), `+ stands for itself here, it repeats nothing; write "/x\d+" with litteral="false"`, nil},
		"a query with its mark":         {"", root + rules(`<Rule><InQuery val="?id=1"/><NoIndex/></Rule>`), `a query begins behind the ?: write "id=1"`, nil},
		"ignored, with a source":        {"", root + rules(`<Rule><Path val="/a/"/><Ignore/><Source name="a"/></Rule>`), "no later rule accepts them, so that its <Source> has no effect", nil},
		"ignored, with a meta":          {"", root + rules(`<Rule><Path val="/a/"/><AddMeta name="a" value="b"/><Ignore/></Rule><Rule><Path val="/b/"/><Accept/></Rule>`), "so that its <AddMeta> has no effect", nil},
		"accepted again":                {"", root + rules(`<Rule><Path val="/a/"/><Ignore/><Source name="a"/></Rule><Rule><Path val="/a/b/"/><Accept/></Rule>`), "", nil},
		"an ignored extension's source": {"", root + rules(`<Rule><Ext val=".xml"/><Source name="a"/></Rule>`), `<IgnoredExtensions> refuses ".xml" before a rule is asked`, nil},
		"an ignored extension's meta":   {"", root + rules(`<Rule><Ext val=".xml"/><AddMeta name="a" value="b"/></Rule>`), `<IgnoredExtensions> refuses ".xml" before a rule is asked`, nil},
		"a proxy and address rules": {"", alone + bounds + `<CrawlSpace rules="c"/><Fetch proxy="http://proxy:3128"><Host val="www.example.com"/></Fetch>`,
			"address rules do not limit what a proxy fetches", map[string][]byte{"c": []byte("allow address 10.0.0.0 255.0.0.0\nallow domain www.example.com\nforbid domain *\n")}},
	} {
		got := warned(t, c.attributes, c.inside, c.files)
		switch {
		case c.want == "" && got != "":
			t.Errorf("%s: a false alarm: %s", name, got)
		case !strings.Contains(got, c.want):
			t.Errorf("%s: %s, want %s", name, got, c.want)
		case c.want != "" && c.files == nil && strings.Count(got, "\n") != 1:
			t.Errorf("%s: it is not the only warning: %s", name, got)
		}
	}
}

// TestUnrunnable: what the system says of the file of a command.
func TestUnrunnable(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"text": 0o644, "program": 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"": "is a folder", "text": "is not executable", "program": "", "nosuch": ""} {
		if got := OSLookups().Unrunnable(filepath.Join(dir, name)); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestEmptyNumberSaysItsRange: an empty shift gets its range.
func TestEmptyNumberSaysItsRange(t *testing.T) {
	_, report := Parse(FileName, []byte(`<CrawlConfig><Crawler name="a"><Rules><Rule><Path val="/"/><Priority shift=""/></Rule></Rules></Crawler></CrawlConfig>`), Lookups{})
	if err := report.Err(); err == nil || !strings.Contains(err.Error(), `shift="" must not be empty: write -2 to 2`) {
		t.Error(err)
	}
}

// TestAllowedInLines: a comment in a file of lines covers the next rule, and what is said of
// the file as a whole.
func TestAllowedInLines(t *testing.T) {
	const config = `<CrawlConfig><Crawler name="a" smartRefresh="true"><Root url="http://www.example.com/" site="false"/><CrawlSpace rules="c"/><IgnoredExtensions/><Traps/></Crawler></CrawlConfig>`
	for rules, want := range map[string]string{
		"allow domain www.example.com\nallow domain x\n":                             "c:2: the domain rules do not end",
		"allow domain www.example.com\n# sextant:allow do not end\nallow domain x\n": "",
		"# sextant:allow do not end\nallow domain www.example.com\nallow domain x\n": "c:2: the domain rules do not end",
	} {
		_, report := Parse(FileName, []byte(config), mapLookups(map[string][]byte{"c": []byte("# sextant:allow WWW.example.com\n" + rules)}, nil))
		got := problemLines(report.Warnings)
		if strings.Contains(got, "WWW") || (want == "") != (got == "") || !strings.Contains(got, strings.TrimPrefix(want, "c:2")) {
			t.Errorf("%q: %s, want %s", rules, got, want)
		}
	}
}

// TestManualsExamplesAreQuiet: what the vendors' manuals give as examples brings no warning.
func TestManualsExamplesAreQuiet(t *testing.T) {
	const roots = `<Root url="http://www.example.com/" group="example"/>`
	conditions := []string{
		`<Atom field="path" kind="prefix" norm="none" value="/watch"/>`, `<Domain val="foo.com"/>`, `<Path val="/cgi-bin"/>`, `<Ext val=".gif"/>`,
		`<Host val="www.wikipedia.org"/>`, `<Url val="http://en.wikipedia.org/wiki"/>`, `<Scheme val="http"/>`, `<Query val="q=foo"/>`, `<InQuery val="q=foo"/>`,
		`<Length field="path" val="[30:]"/>`, `<Or><Atom field="host" kind="suffix" value=".foo.com"/><Atom field="host" kind="exact" value="foo.com"/></Or>`,
		`<Atom litteral="true" value="http://www.example.com/" norm="none" kind="prefix" field="url"/>`, `<Url val="http://h/immobilier/\.\+/\[0-9\]\{7\}" litteral="true"/>`,
	}
	actions := []string{
		`<Index/><Follow/><Accept/>`, `<Index/><NoFollow/><Accept/>`, `<NoIndex/><Follow/><Accept/>`, `<Index/><Accept/>`, `<Follow/><Accept/>`,
		`<NoIndex/>`, `<NoFollow/>`, `<NoIndex/><NoFollow/><Ignore/>`, `<Source name="a"/>`, `<AddMeta value="a" name="b"/>`, `<Priority shift="-2"/>`,
	}
	gates := []string{
		`<Patterns include="/red,/green,/blue" exclude="/green/olive"/>`,
		`<Patterns exclude="regexp:search\?date=|^https:|\?OpenImageResource|/cgi-bin/|\.pdf$"/>`,
		`<Patterns include="regexp:www\.example\.com"/>`, `<MustContain>/docs/</MustContain><MustNotContain>print=</MustNotContain>`, `<StartURLMatch/>`,
	}
	for _, condition := range conditions {
		for _, action := range actions {
			if got := warned(t, "", roots+`<IgnoredExtensions list="png,js,css"/><Traps/><Rules key="auto"><Rule>`+condition+action+`</Rule></Rules>`, nil); got != "" &&
				!strings.Contains(got, "root http://www.example.com/ is not crawled") { // an Ignore of everything
				t.Errorf("%s %s: %s", condition, action, got)
			}
		}
	}
	for _, gate := range gates {
		inside := strings.Replace(roots, "www.example.com/", "www.example.com/red/docs/", 1) + `<IgnoredExtensions/><Traps/>` + gate
		if got := warned(t, "", inside, nil); got != "" {
			t.Errorf("%s: %s", gate, got)
		}
	}
}
