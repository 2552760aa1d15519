package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/yuin/goldmark/ast"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// repository is the folder above this one: links may lead out of the manual.
const repository = ".."

// pagesOfRepository are all Markdown files that people read, by path from the repository's folder.
func pagesOfRepository(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "docs/moving/*.md", "docs/project/*.md", "examples/*.md", "examples/*/*.md", "internal/admin/console/static/vendor/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, filepath.ToSlash(strings.TrimPrefix(name, repository+string(filepath.Separator))))
		}
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b := testdir.Read(t, filepath.Join(repository, filepath.FromSlash(name)))
	return b
}

// anchors are the ids of a page's headings.
func anchors(source []byte) []string {
	var all []string
	for n := parse(source).FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			all = append(all, idOf(h))
		}
	}
	return all
}

// links are where a page's links and pictures lead.
func links(source []byte) []string {
	var all []string
	_ = ast.Walk(parse(source), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				all = append(all, string(n.Destination))
			}
		case *ast.Image:
			if entering {
				all = append(all, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return all
}

// TestLinks: each link of each page leads to a file that is there, and to a heading that it has.
func TestLinks(t *testing.T) {
	checked := 0
	for _, name := range pagesOfRepository(t) {
		for _, link := range links(read(t, name)) {
			if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(link, "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if strings.HasPrefix(to, "../") {
				t.Errorf("%s: %s leads out of the repository", name, link)
				continue
			}
			if _, err := os.Stat(filepath.Join(repository, to)); err != nil {
				t.Errorf("%s: %s leads nowhere", name, link)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, to)), anchor) {
				t.Errorf("%s: %s: %s has no such heading", name, link, to)
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d links were found", checked)
	}
}

// TestCommandsNameTests checks that the tests and benchmarks exist that commands of a page name.
func TestCommandsNameTests(t *testing.T) {
	tests := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (?:Test|Benchmark)(\w+)`)
	command := regexp.MustCompile("go test[^`\n]* -(?:run|bench) '?(?:Test)?([A-Z]\\w+)")
	_ = filepath.WalkDir(repository, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, m := range function.FindAllSubmatch(testdir.Read(t, path), -1) {
				tests[string(m[1])] = true
			}
		}
		return err
	})
	for _, name := range pagesOfRepository(t) {
		for _, m := range command.FindAllSubmatch(read(t, name), -1) {
			found := false
			for test := range tests {
				found = found || strings.Contains(test, string(m[1]))
			}
			if !found {
				t.Errorf("%s: no test has the name of: %s", name, m[0])
			}
		}
	}
}

// TestPicturesAreSmall: each is shown by a page, and does not weigh on whoever clones or installs this.
func TestPicturesAreSmall(t *testing.T) {
	const most = 120_000
	pictures, err := filepath.Glob("images/*")
	if err != nil || len(pictures) == 0 {
		t.Fatal(err, "no pictures")
	}
	readme := links(read(t, "README.md"))
	for _, name := range pictures {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d: make pictures with a smaller window", name, info.Size(), most)
		}
		if !slices.Contains(readme, "docs/"+filepath.ToSlash(name)) {
			t.Errorf("README.md does not show %s", name)
		}
	}
}

// TestNamedPages: whatever in the program, its packages and its descriptions names a
// page of the manual, names one that is there, and a heading that it has.
func TestNamedPages(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/([a-z0-9-]+\.md)(?:#([a-z0-9_-]+))?`)
	found := 0
	err := filepath.WalkDir(repository, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != repository || d.Name() == "node_modules" || d.Name() == "dist" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".yml", ".yaml", ".xml", ".html", ".1", ".5", ".8", ".service"}, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			found++
			page, err := os.ReadFile(string(m[1]))
			if err != nil {
				t.Errorf("%s names docs/%s, which is not there", name, m[1])
			} else if len(m[2]) > 0 && !slices.Contains(anchors(page), string(m[2])) {
				t.Errorf("%s names %s, which is not there", name, m[0])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("only %d names were found", found)
	}
}

// TestManual: all pages are there, in one order, each has a title, and nothing in them
// could run in a browser or is asked for elsewhere.
func TestManual(t *testing.T) {
	m, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	inside := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	unsafe := regexp.MustCompile(`(?i)<(script|style|iframe|object|form|base|meta)\b|<[^<>]*\s(?:on[a-z]+|style)=|javascript:`) // a text may speak of onMatch="..."
	pages, words := 0, 0
	var last *Page
	for _, part := range m.Contents() {
		for _, p := range part.Pages {
			pages++
			if p.Previous != last {
				t.Errorf("%s does not follow the page before it", p.Path)
			}
			last = p
			for _, s := range p.sections {
				words += len(strings.Fields(s.text))
			}
			if found := unsafe.FindString(string(p.Body)); found != "" {
				t.Errorf("%s holds %s", p.Path, found)
			}
			for _, link := range inside.FindAllStringSubmatch(string(p.Body), -1) {
				checkServed(t, m, p, link[1])
			}
		}
	}
	if words > 55_000 {
		t.Errorf("%d words, at most 55,000: cut as many elsewhere", words)
	}
	if last.Next != nil || pages < 40 {
		t.Errorf("%d pages, the last is followed by %v", pages, last.Next)
	}
	if p, ok := m.Page(""); !ok || p.Title != "Sextant: the manual" || p.Next == nil || p.Next.Path != "first-crawl" {
		t.Errorf("the entry is %+v", p)
	}
	if p, ok := m.Page("rules.md"); !ok || p.Path != "rules" {
		t.Errorf("rules.md is %+v", p)
	}
}

// checkServed looks whether the address of a link is one that a server of the manual answers.
func checkServed(t *testing.T, m *Manual, p *Page, link string) {
	t.Helper()
	if strings.HasPrefix(link, "http://") || strings.HasPrefix(link, "https://") {
		return
	}
	at, anchor, _ := strings.Cut(link, "#")
	to := p
	if at != "" {
		name, ok := strings.CutPrefix(at, Root)
		if !ok {
			t.Errorf("%s: %s is not in the manual", p.Path, link)
			return
		}
		if _, _, ok := File(name); ok {
			return
		}
		if to, ok = m.Page(name); !ok || to.Address() != at {
			t.Errorf("%s: %s is no page", p.Path, link)
			return
		}
	}
	if anchor != "" && !strings.Contains(string(to.Body), ` id="`+anchor+`"`) {
		t.Errorf("%s: %s has no such heading", p.Path, link)
	}
}

func folder(index string, more ...string) fstest.MapFS {
	f := fstest.MapFS{"index.md": {Data: []byte(index)}}
	for i := 0; i < len(more); i += 2 {
		f[more[i]] = &fstest.MapFile{Data: []byte(more[i+1])}
	}
	return f
}

// TestHostilePage: what a page says in HTML is left out, and code is shown.
func TestHostilePage(t *testing.T) {
	m, err := open(folder("# T <b onclick=x>\n\n<script>alert(1)</script>\n\na <img src=x onerror=y> b [x](javascript:alert(1)) [out](../secret.txt#a)\n\n    <script>2</script>\n\n```xml\n<Rule a=\"<b>\"/><!-- </pre> -->\n```\n\n| a | |\n| --- | --- |\n| `<i>` | c |\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := m.Page("")
	want := "<h1 id=\"t-b-onclickx\">T </h1>\n<p>a  b x out</p>\n<pre tabindex=\"0\"><code>&lt;script&gt;2&lt;/script&gt;\n</code></pre>\n<pre tabindex=\"0\"><code><span class=\"xml-tag\">&lt;Rule</span> <span class=\"xml-name\">a=</span><span class=\"xml-value\">&#34;&lt;b&gt;&#34;</span><span class=\"xml-tag\">/&gt;</span><span class=\"xml-comment\">&lt;!-- &lt;/pre&gt; --&gt;</span>\n</code></pre>\n" +
		"<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr><th scope=\"col\">a</th><td></td></tr></thead>\n<tbody>\n<tr>\n<td><code>&lt;i&gt;</code></td><td>c</td></tr>\n</tbody>\n</table></div>\n"
	if string(p.Body) != want {
		t.Errorf("got  %s\nwant %s", p.Body, want)
	}
}

func TestBrokenManuals(t *testing.T) {
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"no entry":       {fstest.MapFS{"a.md": {Data: []byte("# A")}}, "not exist"},
		"not named":      {folder("# T", "a.md", "# A"), "does not name a.md"},
		"named in vain":  {folder("# T\n\n- [A](a.md)"), "names a.md, which is not there"},
		"named twice":    {folder("# T\n\n- [A](a.md)\n- [A](a.md)", "a.md", "# A"), "names a.md twice"},
		"no title":       {folder("text"), "begins with its title"},
		"several titles": {folder("# T\n\n# U"), "one title: U"},
	} {
		_, err := open(c.files)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHeadingIDs: as code hosts make them, so that one link works in both places.
func TestHeadingIDs(t *testing.T) {
	source := "# When the disk is full, or `disk_low`\n\n## Über 5 GB?\n\n## Same\n\n## Same\n"
	want := []string{"when-the-disk-is-full-or-disk_low", "über-5-gb", "same", "same-1"}
	if got := anchors([]byte(source)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAddresses: where links of files lead in the manual.
func TestAddresses(t *testing.T) {
	sources := map[string][]byte{"rules.md": nil, "index.md": nil, "moving/a.md": nil}
	for _, c := range []struct{ from, link, want string }{
		{"index.md", "rules.md#norm", "/docs/rules#norm"},
		{"rules.md", "#norm", "#norm"},
		{"rules.md", "index.md", "/docs/"},
		{"rules.md", "decisions/0001-a.md", ""},
		{"rules.md", "moving/a.md#why", "/docs/moving/a#why"},
		{"moving/a.md", "../rules.md", "/docs/rules"},
		{"rules.md", "way.svg", "/docs/way.svg"},
		{"rules.md", "https://example.com/#a", "https://example.com/#a"},
		{"rules.md", "../README.md", ""},
		{"rules.md", "none.md", ""},
		{"rules.md", "javascript:alert(1)", ""},
	} {
		if got, ok := address(c.from, c.link, sources); got != c.want || ok != (c.want != "") {
			t.Errorf("%s in %s: %q, %v, want %q", c.link, c.from, got, ok, c.want)
		}
	}
}
