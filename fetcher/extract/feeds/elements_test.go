package feeds

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustPath(t testing.TB, s string, parse func(string) (Path, error)) Path {
	t.Helper()
	p, err := parse(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return p
}

func readElements(t *testing.T, file, path string, fields ...string) ([][][]string, Summary, error) {
	t.Helper()
	var paths []Path
	for _, f := range fields {
		paths = append(paths, mustPath(t, f, ParsePath))
	}
	var all [][][]string
	s, err := Elements(strings.NewReader(file), Options{MaxEntries: 10}, mustPath(t, path, ElementPath), paths, func(v [][]string, _ []bool) error {
		all = append(all, v)
		return nil
	})
	return all, s, err
}

func TestElements(t *testing.T) {
	const file = `<Catalog xmlns:d="http://purl.org/dc/elements/1.1/">
<book id="1" d:lang="en"><d:title>One <b>bold</b>move</d:title><author><name>A</name></author><author><name>B</name></author>
  <price cur="EUR">5</price>direct<note>note <note>deep</note></note></book>
<shelf><book id="2"><title>Two</title><link href="/2"/><![CDATA[ <raw> ]]></book></shelf>
<book/></Catalog>`
	for _, tt := range []struct {
		path string
		want []string // of each element, field after field; of two inside each other the inner one ends first
	}{
		{"//book", []string{"1|One bold move|A,B|EUR|direct|deep,note deep||en", "2|Two|||<raw>||/2|", "|||||||"}},
		{"/catalog/book", []string{"1|One bold move|A,B|EUR|direct|deep,note deep||en", "|||||||"}},
		{"/*/*/BOOK", []string{"2|Two|||<raw>||/2|"}},
		{"//shelf/book", []string{"2|Two|||<raw>||/2|"}},
		{"/book", nil},
	} {
		got, _, err := readElements(t, file, tt.path, "@ID", "title", "author/name", "price/@cur", "text()", "//note", "link/@href", "@d:lang")
		var lines []string
		for _, values := range got {
			var line []string
			for _, v := range values {
				line = append(line, strings.Join(v, ","))
			}
			lines = append(lines, strings.Join(line, "|"))
		}
		if d := cmp.Diff(tt.want, lines); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.path, err, d)
		}
	}
	whole, _, _ := readElements(t, "<a><b>one<c>two</c>three</b></a>", "//b", ".")
	if d := cmp.Diff([][][]string{{{"one two three"}}}, whole); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestElementsThatEndEarly(t *testing.T) {
	got, s, err := readElements(t, "<a><b>1</b><b>2", "//b", ".")
	if len(got) != 1 || s.Entries != 1 || err == nil || !strings.Contains(err.Error(), "line 1, column 16: the file ends inside <b>") {
		t.Errorf("%q, %+v, %v", got, s, err)
	}
	if got, s, err := readElements(t, "<a>"+strings.Repeat("<b/>", 20)+"</a>", "//b"); len(got) != 10 || s.Cut == "" || err != nil {
		t.Errorf("%d elements, %+v, %v", len(got), s, err)
	}
	deep := "<b>" + strings.Repeat("<x>"+strings.Repeat("y", 1<<16), 200)
	if got, _, err := readElements(t, deep+strings.Repeat("</x>", 200)+"</b>", "//b", "//x"); err != nil || size(got) > maxElement+len(deep) {
		t.Errorf("%d bytes, %v", size(got), err)
	}
}

func size(all [][][]string) (n int) {
	for _, values := range all {
		for _, v := range values {
			for _, s := range v {
				n += len(s)
			}
		}
	}
	return n
}

func TestPaths(t *testing.T) {
	for s, want := range map[string]string{
		"":             "0: a path must not be empty",
		"/a":           "0: a name is missing here",
		"a//b":         "2: a name is missing here",
		"a/":           "2: a name is missing here",
		"a[1]":         `0: "a[1]" is not supported in a path`,
		"a/b[@x='1']":  `2: "b[@x='1']" is not supported`,
		"a/../b":       `2: ".." is not supported`,
		"@a/b":         `0: "@a" is not supported`,
		"text()/a":     `0: "text()" is not supported`,
		"child::a":     `0: "child::a" is not supported`,
		"count(a)":     `0: "count(a)" is not supported`,
		"//a|//b":      `2: "a|" is not supported`,
		"a/@*":         `2: "@*" is not supported`,
		"title | name": `0: "title | name" is not supported`,
	} {
		_, err := ParsePath(s)
		checkPathError(t, s, err, want)
	}
	for s, want := range map[string]string{
		"book": "0: it does not begin at the root", "//@id": "0: it does not begin", "/": "1: a path must not be empty",
		"/a/@id": "0: it does not begin", "/a/text()": "0: it does not begin", ".": "0: it does not begin", "/a[2]": `1: "a[2]" is not supported`, "///a": "2: a name is missing here",
	} {
		_, err := ElementPath(s)
		checkPathError(t, s, err, want)
	}
}

func checkPathError(t *testing.T, path string, err error, want string) {
	t.Helper()
	var e *PathError
	if !errors.As(err, &e) {
		t.Errorf("%q: %v, want %s", path, err, want)
		return
	}
	if got := string(rune('0'+e.Offset)) + ": " + e.Words; !strings.HasPrefix(got, want) {
		t.Errorf("%q: %s, want %s", path, got, want)
	}
}

// FuzzElements: whatever comes, no value is empty, and every fault of a path lies in it.
func FuzzElements(f *testing.F) {
	f.Add("<a><b c='d'>e<f>g</f></b></a>", "//b", "f")
	f.Add("<a><b/><b", "/a/b", "@c")
	f.Add("", "//a[1]", "a//b")
	f.Fuzz(func(t *testing.T, file, path, field string) {
		p, err := ElementPath(path)
		q, err2 := ParsePath(field)
		for s, err := range map[string]error{path: err, field: err2} {
			var e *PathError
			if err != nil && (!errors.As(err, &e) || e.Offset < 0 || e.Offset > len(s)) {
				t.Fatalf("%q: %v", s, err)
			}
		}
		if err != nil || err2 != nil {
			return
		}
		o := Options{MaxBytes: 1 << 16, MaxEntries: 10}
		_, _ = Elements(strings.NewReader(file), o, p, []Path{q}, func(values [][]string, _ []bool) error {
			for _, v := range values[0] {
				if v == "" || len(values) != 1 {
					t.Fatalf("%q", values)
				}
			}
			return nil
		})
	})
}
