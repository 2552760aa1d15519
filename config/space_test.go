package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/actionrules/crawlspace"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestSpaceFiles(t *testing.T) {
	runCases(t, "space", func(*testing.T, *File, Report) {})
}

func spaceCase(t *testing.T, name string) *File {
	t.Helper()
	return caseIn(t, "space", name)
}

func TestEveryGate(t *testing.T) {
	at := func(line, column int) actionrules.Position {
		return actionrules.Position{File: FileName, Line: line, Column: column}
	}
	text := func(value string, line, column int) crawlspace.Text {
		return crawlspace.Text{Value: value, At: at(line, column)}
	}
	file := func(name, content string) *crawlspace.File {
		return &crawlspace.File{Name: name, Content: []byte(content)}
	}
	keep := text("id,nr", 13, 24)
	want := crawlspace.Settings{
		CrawlRules:   file("rules/local", "allow domain *.example.com\nforbid domain *\n"),
		GlobalRules:  file("rules/global", "allow domain *\n"),
		FoldHost:     true,
		MaxPathDepth: &crawlspace.Limit{Max: 7, At: at(4, 89)},
		MaxLinkDepth: &crawlspace.Limit{Max: 9, At: at(4, 106)},
		Include:      text("/a,/b", 5, 24),
		Exclude:      text(`regexp:\?date=|/cgi-bin/`, 5, 40),
		RejectList:   file("reject", "/old/\n"),
		KillExact:    file("exact", "http://www.example.com/a/\n"),
		KillPatterns: file("patterns", "regexp:\\.tmp$\n"),

		StartURLMatch:  &crawlspace.StartURLMatch{Host: true, At: at(8, 5)},
		MustContain:    []crawlspace.Text{text("example&.com", 9, 18), text("/b", 10, 19)},
		MustNotContain: []crawlspace.Text{text("<x>", 12, 21)},
		QueryFilter:    &keep,
		Canonical: &crawlspace.Canonical{
			At: at(13, 32), Options: weburl.Options{DropSessionIDs: true, DropTracking: true, SortQuery: true},
		},
		Extensions: &crawlspace.Extensions{
			List: text("a;.b", 14, 30), Extra: text("c", 14, 43), Always: text("d", 14, 54), At: at(14, 5),
			Pairs: []crawlspace.Pair{{Type: text("video/mp4", 14, 73), Extension: text(".c", 14, 95)}},
		},
		MIME: &crawlspace.MIMETypes{
			Include: true, At: at(15, 5),
			Types: []crawlspace.Text{text("text/html", 15, 32), text("text/*", 15, 60)},
		},
	}
	c := spaceCase(t, "all").Crawlers[0]
	if diff := cmp.Diff(want, c.Space); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c.RejectListEvery != 5*time.Second || c.ReadRejectList == nil {
		t.Errorf("the reject list is read every %s, by a function %t", c.RejectListEvery, c.ReadRejectList != nil)
	}
}

// crawl.rules, Patterns and StartURLMatch make true what is not written of the
// start state; other gates do not.
func TestStartStateOfALimitedSpace(t *testing.T) {
	type state struct{ accept, index, follow bool }
	all, none := state{true, true, true}, state{}
	for name, c := range map[string]struct {
		attributes, inside string
		want               state
	}{
		"no gates":          {"", "", none},
		"crawl.rules":       {"", `<CrawlSpace rules="f"/>`, all},
		"global alone":      {"", `<CrawlSpace global="f"/>`, none},
		"depth alone":       {"", `<CrawlSpace maxPathDepth="1"/>`, none},
		"include":           {"", `<Patterns include="/a"/>`, all},
		"exclude":           {"", `<Patterns exclude="/a"/>`, all},
		"empty patterns":    {"", `<Patterns include=""/>`, none},
		"start URLs":        {"", `<StartURLMatch/>`, all},
		"start URLs, off":   {"", `<StartURLMatch host="false" scheme="0"/>`, none},
		"must contain":      {"", `<MustContain>a</MustContain>`, none},
		"written":           {`defaultAccept="false" defaultIndex="true" defaultFollow="false"`, `<StartURLMatch/>`, state{false, true, false}},
		"one of them":       {`defaultIndex="false"`, `<StartURLMatch/>`, state{true, false, true}},
		"ignored extension": {"", `<IgnoredExtensions/>`, none},
	} {
		text := "<CrawlConfig><Crawler name='a' " + c.attributes + ">" + c.inside + "</Crawler></CrawlConfig>"
		file, report := Parse(FileName, []byte(text), mapLookups(map[string][]byte{"f": []byte("allow domain *")}, nil))
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := file.Crawlers[0].Rules
		if got := (state{r.DefaultAccept, r.DefaultIndex, r.DefaultFollow}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		d := file.Crawlers[0].Engine.Decide(mustURL(t, "http://h/"))
		if got := (state{d.Accept, d.Index, d.Follow}); got != c.want {
			t.Errorf("%s: the engine decides %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWithoutDiscoveryLinksAreOutside(t *testing.T) {
	file := spaceCase(t, "discovery")
	for depth, want := range map[int]bool{0: true, 1: false} {
		l := crawlspace.Link{URL: mustURL(t, "http://h/"), Depth: depth}
		if v := file.Crawlers[0].Gates.Judge(l); v.Allowed != want {
			t.Errorf("depth %d: %+v, want allowed %v", depth, v, want)
		}
		if v := file.Crawlers[1].Gates.Judge(l); !v.Allowed {
			t.Errorf("with discovery, depth %d: %+v", depth, v)
		}
	}
}

// Rules in any encoding of text and with any line ends mean the same, and their
// faults stand in the same place.
func TestEncodingsOfRules(t *testing.T) {
	const rules = "# é\r\nallow domain bücher.example\r\nforbid domain *\r\ndeny domain *\r\n"
	want := "é.rules:4:1: "
	for name, raw := range map[string][]byte{
		"UTF-8":           []byte(rules),
		"UTF-8 with mark": []byte("\xEF\xBB\xBF" + rules),
		"UTF-16LE":        utf16WithMark(rules, true),
		"UTF-16BE":        utf16WithMark(rules, false),
		"LF":              []byte(strings.ReplaceAll(rules, "\r\n", "\n")),
		"CR":              []byte(strings.ReplaceAll(rules, "\r\n", "\r")),
	} {
		text := "<CrawlConfig><Crawler name='a'><CrawlSpace rules='é.rules'/></Crawler></CrawlConfig>"
		_, report := Parse(FileName, []byte(text), mapLookups(map[string][]byte{"é.rules": raw}, nil))
		if len(report.Errors) != 1 || !strings.HasPrefix(report.Errors[0].String(), want) {
			t.Errorf("%s: %v, want one error that begins %s", name, report.Err(), want)
		}
	}
	for name, c := range map[string]struct{ raw, want string }{
		"NUL":                  {"forbid domain *\n\x00", "f:2:1: NUL byte: the file is not text, or is UTF-16 without a byte order mark: save it as UTF-8"},
		"UTF-16 without mark":  {"#\x00\n\x00", "f:1:2: NUL byte: the file is not text, or is UTF-16 without a byte order mark: save it as UTF-8"},
		"UTF-32":               {"\xFF\xFE\x00\x00#\x00\x00\x00", "f:1:1: the file is UTF-32: save it as UTF-8"},
		"control":              {"# a\x1b[0m", "f:1:4: control character U+001B: remove it"},
		"Latin-1":              {"#\nallow domain b\xFCcher.example", "f:2:15: byte 0xFC is not valid UTF-8: save the file as UTF-8"},
		"half a UTF-16 letter": {"\xFF\xFE#", "f:1:1: the file ends in the middle of a UTF-16 character"},
	} {
		text := "<CrawlConfig><Crawler name='a'><CrawlSpace rules='f'/></Crawler></CrawlConfig>"
		_, report := Parse(FileName, []byte(text), mapLookups(map[string][]byte{"f": []byte(c.raw)}, nil))
		if got := problemLines(report.Errors); got != c.want+"\n" {
			t.Errorf("%s:\n got %swant %s", name, got, c.want)
		}
	}
}

func TestManyRules(t *testing.T) {
	var rules strings.Builder
	const n = 100_000
	for i := range n {
		rules.WriteString("forbid prefix http://www.example.com/")
		rules.WriteString(strings.Repeat("x", i%7))
		rules.WriteString(time.Unix(int64(i), 0).UTC().Format("/2006/01/02/15/04/05/*\n"))
	}
	text := "<CrawlConfig><Crawler name='a'><Root url='http://www.example.com/'/><CrawlSpace rules='f'/></Crawler></CrawlConfig>"
	lookups := mapLookups(map[string][]byte{"f": []byte(rules.String() + "allow domain www.example.com\nforbid domain *\n")}, nil)
	file, report := Parse(FileName, []byte(text), lookups)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		"http://www.example.com/xx/1970/01/01/00/00/02/a": false,
		"http://www.example.com/xx/1970/01/01/00/00/03/a": true,
	} {
		if v := file.Crawlers[0].Gates.Judge(crawlspace.Link{URL: mustURL(t, raw)}); v.Allowed != want {
			t.Errorf("%s: %+v, want allowed %v", raw, v, want)
		}
	}
	// As many faults as rules: the report is bounded and says so.
	lookups = mapLookups(map[string][]byte{"f": []byte(strings.ReplaceAll(rules.String(), "forbid", "deny"))}, nil)
	_, report = Parse(FileName, []byte(text), lookups)
	if len(report.Errors) != maxProblems || !strings.Contains(report.Errors[maxProblems-1].Message, "too many errors") {
		t.Errorf("%d errors, want %d and the last to say that there are more", len(report.Errors), maxProblems)
	}
}

func TestRejectListIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reject")
	read := readList(path)
	if _, err := read(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no such file: %v", err)
	}
	for raw, want := range map[string]string{"/a\r\n/b": "/a\n/b", "\xFF\xFE/\x00": "/", "": ""} {
		testdir.Write(t, path, raw)
		file, err := read()
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if diff := cmp.Diff(&crawlspace.File{Name: path, Content: []byte(want)}, file, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", raw, diff)
		}
	}
	testdir.Write(t, path, "/a\x00")
	if _, err := read(); err == nil || !strings.Contains(err.Error(), path+":1:3: NUL byte") {
		t.Errorf("NUL: %v", err)
	}
}

// TestTraps: off without the element, and its defaults with it.
func TestTraps(t *testing.T) {
	for element, want := range map[string]*crawlspace.TrapSettings{
		"":         nil,
		"<Traps/>": {MaxRepeats: crawlspace.DefaultMaxRepeats, MaxURLsPerPattern: crawlspace.DefaultMaxURLsPerPattern},
		`<Traps maxRepeats="2" maxURLsPerPattern="365" maxURLsPerHost="50000"/>`: {MaxRepeats: 2, MaxURLsPerPattern: 365, MaxURLsPerHost: 50_000},
	} {
		text := "<CrawlConfig><Crawler name='a'>" + element + "</Crawler></CrawlConfig>"
		file, report := Parse(FileName, []byte(text), Lookups{})
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		if want != nil {
			want.At = actionrules.Position{File: FileName, Line: 1, Column: 32}
		}
		if diff := cmp.Diff(want, file.Crawlers[0].Traps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", element, diff)
		}
	}
}
