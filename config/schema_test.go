package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/beevik/etree"
	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// validate asks xmllint which files, given by name and text, the schema allows.
func validate(t *testing.T, files map[string]string) map[string]bool {
	t.Helper()
	xmllint := testneed.Program(t, "xmllint", "libxml2-utils")
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := Schema(DefaultVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		write(d.Name, d.Text)
	}
	args := []string{"--nonet", "--noout", "--schema", documents[0].Name}
	for name, text := range files {
		write(name, []byte(text))
		args = append(args, name)
	}
	lint := exec.CommandContext(t.Context(), xmllint, args...)
	lint.Dir = dir
	out, _ := lint.CombinedOutput() // its exit code is that of the worst file
	allowed := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "Schemas parser") || strings.Contains(line, "failed to compile") {
			t.Fatalf("the schema is faulty:\n%.4000s", out)
		}
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), " validates"); ok {
			allowed[name] = true
		}
	}
	return allowed
}

// inNamespace puts a file that has no namespaces into those of the schema.
func inNamespace(text string) string {
	if strings.Contains(text, "<CrawlConfig xmlns") {
		return text
	}
	return strings.Replace(text, "<CrawlConfig", `<CrawlConfig xmlns="`+crawlNamespace+DefaultVersion+`"`, 1)
}

// What is wrong in these files is beyond a schema: what a value means beside
// others, other files, variables, and the document type, which is not validated.
func beyondSchema() map[string]bool {
	return map[string]bool{
		"ages": true, "browser": true, "content": true, "deletions": true, "crawl-log": true, "fetch-meaning": true, "doctype": true, "refresh": true, "smart-and-fixed": true, "hours": true, "environment": true, "patterns": true, "secret-file": true,
	}
}

func TestSchemaAllowsGoodFilesOnly(t *testing.T) {
	files, want := make(map[string]string), make(map[string]bool)
	for _, folder := range []string{"good", "bad"} {
		paths, _ := filepath.Glob(filepath.Join("..", "testdata", "config", folder, "*.txtar"))
		for _, path := range paths {
			raw := testdir.Read(t, path)
			text := inNamespace(parseArchive(string(raw)).file(FileName))
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			if folder == "good" && !strings.Contains(text, crawlNamespace+DefaultVersion) {
				continue
			}
			files[folder+"-"+name] = text
			if folder == "good" || beyondSchema()[name] {
				want[folder+"-"+name] = true
			}
		}
	}
	if diff := cmp.Diff(want, validate(t, files)); diff != "" {
		t.Errorf("allowed files (-want +got):\n%s", diff)
	}
}

// Each element of the table, and each way of writing it wrongly that a grammar
// can see: the schema allows what the parser allows.
func TestSchemaAgreesWithParser(t *testing.T) {
	files, want := make(map[string]string), make(map[string]bool)
	table := newSchema()
	lookups := mapLookups(map[string][]byte{"f": {}}, nil)
	lookups.Env = func(name string) (string, bool) { return strings.TrimPrefix(name, "_"), true }
	for _, e := range Elements() {
		if e.Status == Refused {
			continue
		}
		for what, change := range changes(&e) {
			doc, el := example(table, &e)
			change(el)
			text, err := doc.WriteToString()
			if err != nil {
				t.Fatal(err)
			}
			name := e.key() + "-" + what
			_, report := Parse(FileName, []byte(text), lookups)
			files[name], want[name] = text, report.Err() == nil
			if what == "as-is" && report.Err() != nil {
				t.Errorf("%s: %v\n%s", name, report.Err(), text)
			}
		}
	}
	allowed := validate(t, files)
	good := 0
	for name := range files {
		if allowed[name] != want[name] {
			t.Errorf("%s: the schema allows it %v, the parser %v:\n%s", name, allowed[name], want[name], files[name])
		}
		if want[name] {
			good++
		}
	}
	if bad := len(files) - good; good < 150 || bad < 250 {
		t.Errorf("only %d good and %d bad files compared", good, bad)
	}
}

// changes returns what is done to an element, by a name.
func changes(e *Element) map[string]func(*etree.Element) {
	all := map[string]func(*etree.Element){
		"as-is":             func(*etree.Element) {},
		"comment":           func(el *etree.Element) { el.CreateComment(" c ") },
		"blank":             func(el *etree.Element) { el.CreateText("\n  ") },
		"text":              func(el *etree.Element) { el.CreateText("text") },
		"unknown-attribute": func(el *etree.Element) { el.CreateAttr("unknown", "1") },
		"unknown-element":   func(el *etree.Element) { el.CreateElement("Unknown") },
		"xml-attribute":     func(el *etree.Element) { el.CreateAttr("xml:lang", "en") },
		"other-namespace":   func(el *etree.Element) { el.CreateElement("Root").CreateAttr("xmlns", "urn:other") },
		"action-inside":     func(el *etree.Element) { el.CreateElement("Accept") },
	}
	if e.Once {
		all["twice"] = func(el *etree.Element) { el.Parent().AddChild(el.Copy()) }
		all["twice-apart"] = func(el *etree.Element) {
			el.Parent().CreateElement("Root").CreateAttr("url", "http://other/")
			el.Parent().AddChild(el.Copy())
		}
	}
	if e.Role == Condition {
		all["second-condition"] = func(el *etree.Element) { el.Parent().InsertChildAt(0, el.Copy()) }
		all["in-rules-namespace"] = func(el *etree.Element) { el.Space = "ar" }
	}
	for i := range e.Attributes {
		a := &e.Attributes[i]
		if e.Name == "PushField" || e.Name == "Notify" && !a.Type.isNumber() {
			continue // what may stand in it depends on the rest
		}
		if e.Name == "Push" && a.Name == "caFile" || e.Name == "Fetch" && (a.Type == Path || slices.Contains(a.Auth, "certificate") && !slices.Contains(a.Auth, "basic")) {
			continue // they name certificates, which must be there
		}
		for what, value := range values(a) {
			if e.Name == "Fetch" && value == "certificate" {
				continue
			}
			all[a.Name+"="+what] = func(el *etree.Element) { company(el, a, value); el.CreateAttr(a.Name, value) }
		}
		all["without-"+a.Name] = func(el *etree.Element) { el.RemoveAttr(a.Name) }
	}
	return all
}

// company writes what must stand beside an attribute for its values to be valid,
// since a schema does not see what depends on another attribute.
func company(el *etree.Element, a *Attribute, value string) {
	if el.Tag == "Push" {
		companyOfPush(el, a, value)
	}
	if el.Tag == "Fetch" {
		companyOfFetch(el, a, value)
	}
	for name, value := range besideTime(a.Name) {
		el.CreateAttr(name, value)
	}
	if a.Name == "smartRefreshMaxAgeS" {
		el.CreateAttr("smartRefreshMinAgeS", "0")
	}
	if a.Name == "smartRefreshMinAgeS" {
		el.CreateAttr("smartRefreshMaxAgeS", strconv.FormatInt(a.Max, 10))
	}
	if el.Tag == "Refresh" && a.Name == "group" && value != "" {
		root := el.Parent().CreateElement("Root")
		root.CreateAttr("url", "http://h/")
		root.CreateAttr("group", value)
	}
	if value == "include" {
		el.CreateElement("MimeTypes").CreateElement("MimeType").CreateAttr("type", "text/html")
	}
	if a.Name == "kind" && el.Tag == "Atom" {
		el.CreateAttr("val", "[5]")
	}
}

// companyOfPush writes what the kind of target of an attribute needs.
func companyOfPush(el *etree.Element, a *Attribute, value string) {
	kind := "file"
	if len(a.Kinds) > 0 {
		kind = a.Kinds[0]
	}
	if kindOfPush(value) != nil {
		kind = value
	}
	el.CreateAttr("kind", kind)
	for _, name := range kindOfPush(kind).needed {
		sample := "http://h/"
		if name == "index" {
			sample = "web"
		}
		el.CreateAttr(name, sample)
	}
	if a.Name == "password" {
		el.CreateAttr("user", "a")
	}
}

// companyOfFetch writes what the kind of authentication of an attribute needs.
func companyOfFetch(el *etree.Element, a *Attribute, value string) {
	kind := value
	if len(a.Auth) > 0 {
		kind = a.Auth[0]
		el.CreateAttr("auth", kind)
	}
	for _, other := range newSchema().elements["Fetch"].Attributes {
		if slices.Contains(other.Auth, kind) && neededForAuth(other.Name, kind) {
			el.CreateAttr(other.Name, sampleValue(&other))
		}
	}
	if kind == "kerberos" {
		for name, value := range map[string]string{"user": "a", "password": "a", "realm": "A", "kdc": "h"} {
			el.CreateAttr(name, value)
		}
	}
	if kind == "oauth2" { // or certFile
		el.CreateAttr("clientSecret", "a")
	}
	if kind == "form" {
		bare(el, newSchema().elements["Field"])
	}
	switch a.Name {
	case "proxyUser", "proxyPassword":
		el.CreateAttr("proxy", "http://h:1")
		el.CreateAttr("proxyUser", "a")
	}
}

// values returns those of an attribute at the borders of what is allowed.
func values(a *Attribute) map[string]string {
	all := map[string]string{"sample": sampleValue(a)}
	switch {
	case a.Type.isNumber():
		all["min"], all["max"] = strconv.FormatInt(a.Min, 10), strconv.FormatInt(a.Max, 10)
		all["less"], all["more"] = strconv.FormatInt(a.Min-1, 10), strconv.FormatInt(a.Max+1, 10)
		all["blanks"], all["fraction"] = " "+sampleValue(a)+" ", "1.5"
	case a.Type == Enum:
		for i, v := range a.Values {
			all["value"+strconv.Itoa(i)] = v
		}
		all["unknown"] = "unknown"
	case a.Type == Selector:
		all["xpath"], all["bare"], all["nothing"], all["empty"] = "xpath://a", ".a", "css:", ""
	case a.Type == Bool:
		all["zero"], all["yes"] = "0", "yes"
	case a.Type == HTTPURL:
		all["ftp"] = "ftp://h/"
	case a.Type == HeaderValue:
		all["umlaut"] = "ü"
	case a.Type == Product:
		all["version"] = "A/1"
	case a.Type == HourRanges:
		all["end"], all["late"], all["one"], all["comma"], all["empty"] = "22-24", "22-25", "22", "22-6,", ""
	}
	if a.Type == String || a.Type == Pattern || a.Type == Path || a.Type == SecretString {
		all["empty"] = ""
	}
	switch {
	case a.Type.isNumber() && a.Status != Refused:
		all["variable"] = "${_" + strings.ReplaceAll(sampleValue(a), "-", "") + "}"
	case a.Type == Pattern:
		all["variable"] = "[${_5}]"
	}
	return all
}

func sampleValue(a *Attribute) string {
	switch {
	case a.Name == "name" && a.Type == Enum:
		return a.Values[0]
	case a.Name == "index":
		return "web"
	case a.Name == "url", a.Type == HTTPURL:
		return "http://h/"
	case a.Name == "file" || a.Type == Path:
		return "f"
	case a.Type.isNumber():
		return strconv.FormatInt(a.Min, 10)
	case a.Type == Bool:
		return "true"
	case a.Type == Enum:
		return a.Values[0]
	case a.Type == Pattern:
		return "[5]" // a length, too
	case a.Type == KeyValues:
		return "k=v"
	case a.Type == HourRanges:
		return "22:30-6, 12-13"
	case a.Name == "origins", a.Name == "proxy", a.Name == "postURLs":
		return "http://h"
	case a.Name == "path":
		return "//a"
	case a.Name == "spn":
		return "HTTP/h"
	case a.Name == "schedule":
		return "@daily"
	case a.Name == "type", a.Name == "mediaType":
		return "video/mp4"
	case a.Type == Command:
		return "/a"
	case a.Type == Selector:
		return "css:a"
	default:
		return "a"
	}
}

// example returns a file in which an element stands at its place, as bare as it can.
func example(table *schema, e *Element) (*etree.Document, *etree.Element) {
	doc := etree.NewDocument()
	root := doc.CreateElement("CrawlConfig")
	root.CreateAttr("xmlns", crawlNamespace+DefaultVersion)
	root.CreateAttr("xmlns:ar", rulesNamespace+DefaultVersion)
	if e.Name == "CrawlConfig" {
		bare(root, table.elements["Crawler"])
		return doc, root
	}
	parent := root
	var chain []*Element
	for up := e; up.Name != "CrawlConfig"; up = table.elements[up.Parents[0]] {
		chain = append([]*Element{up}, chain...)
	}
	if chain[0].Name != "Crawler" {
		bare(root, table.elements["Crawler"])
	}
	for _, up := range chain {
		if up.Role == Action {
			bare(parent, table.elements["Host"])
		}
		parent = bare(parent, up)
	}
	switch {
	case e.Role == Condition:
		parent.Parent().CreateElement("Accept")
	case e.key() == "Field":
		parent.Parent().CreateAttr("auth", "oauth2")
		companyOfFetch(parent.Parent(), &Attribute{}, "oauth2")
	case e.Name == "PushField" || e.Name == "PushHeader":
		companyOfPush(parent.Parent(), &Attribute{}, "webhook")
	case e.Name == "Rule":
		bare(parent, table.elements["Host"])
		parent.CreateElement("Accept")
	}
	return doc, parent
}

// bare adds an element with what it cannot be without.
func bare(parent *etree.Element, e *Element) *etree.Element {
	el := parent.CreateElement(e.Name)
	for i := range e.Attributes {
		if a := &e.Attributes[i]; a.Required || a.Name == "val" {
			el.CreateAttr(a.Name, sampleValue(a))
		}
	}
	switch {
	case e.Text:
		el.SetText("a")
	case e.Name == "PushField":
		el.CreateAttr("name", "title")
		el.CreateAttr("as", "b")
	case e.Name == "Notify":
		el.CreateAttr("webhook", "http://h/")
	case e.Name == "And" || e.Name == "Or" || e.Name == "Not" || e.Name == "Throttle" || e.Name == "Fetch":
		el.CreateElement("Host").CreateAttr("val", "a")
	}
	return el
}

func TestSchemaVersion(t *testing.T) {
	documents, err := Schema("20.1")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range documents {
		got = append(got, d.Name, d.Namespace)
		if !strings.Contains(string(d.Text), fmt.Sprintf("targetNamespace=%q", d.Namespace)) {
			t.Errorf("%s does not target %s", d.Name, d.Namespace)
		}
	}
	want := []string{"crawl.v20.1.xsd", "exa:com.exalead.mercury.mami.crawl.v20.1", "actionrules.v20.1.xsd", "exa:com.exalead.actionrules.v20.1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, version := range []string{"", "v21", "../21", "21\""} {
		if _, err := Schema(version); err == nil {
			t.Errorf("version %q is accepted", version)
		}
	}
}

// besideTime returns the other times of deletions, as wide as they may be: the four rise.
func besideTime(name string) map[string]string {
	all := []string{"deletionRestS", "deletionConfirmS", "deletionHoldS", "deletionGoneS"}
	i := slices.Index(all, name)
	if i < 0 {
		return nil
	}
	beside := map[string]string{}
	for j, other := range all {
		a := newSchema().elements["Crawler"].attribute(other)
		switch {
		case j < i:
			beside[other] = strconv.FormatInt(a.Min, 10)
		case j > i:
			beside[other] = strconv.FormatInt(a.Max, 10)
		}
	}
	return beside
}
