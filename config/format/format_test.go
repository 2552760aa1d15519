package format

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func TestLayout(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"levels", "<A><B>\n<C/>\n\t\t<D/></B>\n</A>", "<A>\n  <B>\n    <C/>\n    <D/>\n  </B>\n</A>\n"},
		{"one line stays one", "<A>\n<Rule> <Path val='a'/>  <Ignore/> </Rule>\n</A>", "<A>\n  <Rule><Path val='a'/><Ignore/></Rule>\n</A>\n"},
		{"a line too long is opened", "<A>" + strings.Repeat(`<Root url="https://example.com/"/>`, 5) + "</A>", "<A>\n" + strings.Repeat("  <Root url=\"https://example.com/\"/>\n", 5) + "</A>\n"},
		{"siblings", "<A>\n<B/><C/>\n</A>", "<A>\n  <B/>\n  <C/>\n</A>\n"},
		{"order and quotes of attributes", "<A  b = \"2\"\ta='1\"' />", "<A b=\"2\" a='1\"'/>\n"},
		{"broken attributes", "<A b=\"1\"\n c=\"2\" d=\"3\"\n\n e=\"4\"/>", "<A b=\"1\"\n   c=\"2\" d=\"3\"\n   e=\"4\"/>\n"},
		{"all attributes broken", "<A\n  b=\"1\"\n  c=\"2\">\n<B/></A>", "<A\n    b=\"1\"\n    c=\"2\">\n  <B/>\n</A>\n"},
		{"blank lines", "\n\n<!-- a -->\n\n\n<A>\n\n<B/>\n\n\n\n<C/>\n\n</A>\n\n", "<!-- a -->\n\n<A>\n\n  <B/>\n\n  <C/>\n</A>\n"},
		{"comments beside", "<A> <!-- a -->\n<B/><!-- b -->\n <!-- c --><C/></A><!-- d -->", "<A> <!-- a -->\n  <B/> <!-- b -->\n  <!-- c -->\n  <C/>\n</A> <!-- d -->\n"},
		{"comments move as a whole", "<A>\n\t<!-- a\n\t     b\n\n\tc\n  d -->\n\t<B/>\n</A>", "<A>\n  <!-- a\n       b\n\n  c\n  d -->\n  <B/>\n</A>\n"},
		{"text is left alone", "<A>\n<B> x\n  y <C/></B>\n<D><![CDATA[ ]]></D></A>", "<A>\n  <B> x\n  y <C/></B>\n  <D><![CDATA[ ]]></D>\n</A>\n"},
		{"values are left alone", "<A b=\"x\n  y &lt; > z\"\n/>", "<A b=\"x\n  y &lt; > z\"/>\n"},
		{"empty elements", "<A>\n<B></B ><C>\n</C></A>", "<A>\n  <B/>\n  <C/>\n</A>\n"},
		{"line ends", "<A>\r\n<B/>\r<C/>\r\n\r\n<D/></A>", "<A>\n  <B/>\n  <C/>\n\n  <D/>\n</A>\n"},
		{"encoding", "<?xml version='1.0' encoding='ISO-8859-1' ?><A b='\xe4'/>", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<A b='ä'/>\n"},
		{"instructions", "<?xml-model href='a'?>\n<A><?b?></A>", "<?xml-model href='a'?>\n<A><?b?></A>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := formatted(t, c.in); got != c.want {
				t.Error(cmp.Diff(c.want, got))
			}
			same(t, []byte(c.in))
		})
	}
}

func TestNotWellFormed(t *testing.T) {
	_, err := File("a.xml", []byte("<A>\n  <B>\n</A>"))
	want := "a.xml:3:1: </A> found where </B> is expected: <B>, opened at line 2, column 3, is not closed"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestAllConfigurations formats every configuration of the repository, right and wrong ones.
func TestAllConfigurations(t *testing.T) {
	all := configurations(t)
	if len(all) < 100 {
		t.Fatalf("only %d configurations were found", len(all))
	}
	for name, text := range all {
		t.Run(name, func(t *testing.T) { same(t, text) })
	}
}

// TestExamplesAreFormatted keeps them as the command would write them.
func TestExamplesAreFormatted(t *testing.T) {
	paths, err := filepath.Glob("../../examples/*/*.xml")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no examples")
	}
	for _, path := range paths {
		text := testdir.Read(t, path)
		if diff := cmp.Diff(formatted(t, string(text)), string(text)); diff != "" {
			t.Errorf("sextant fmt -w %s would change it: %s", path, diff)
		}
	}
}

// FuzzFile: formatting keeps the meaning of a configuration, and is idempotent.
func FuzzFile(f *testing.F) {
	for _, text := range configurations(f) {
		f.Add(text)
	}
	f.Add([]byte("<A a='&#10;' b\t=\n\"'\" c='>'d='/>'><!--\r\n --> <?x\n?></A>"))
	f.Fuzz(func(t *testing.T, raw []byte) { same(t, raw) })
}

func formatted(t *testing.T, in string) string {
	t.Helper()
	out, err := File("a.xml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func same(t *testing.T, raw []byte) {
	t.Helper()
	once, err := File("a.xml", raw)
	_, report := config.Parse("a.xml", raw, config.Lookups{})
	if err != nil {
		if len(report.Errors) == 0 || report.Err().Error() != err.Error() {
			t.Fatalf("%v, but the configuration has %v", err, report.Errors)
		}
		return
	}
	text, _, _ := config.Tree("a.xml", raw)
	if diff := cmp.Diff(said(t, text), said(t, once)); diff != "" {
		t.Fatalf("formatting %q changed what it says: %s", raw, diff)
	}
	_, after := config.Parse("a.xml", once, config.Lookups{})
	for i, lists := range [][2][]config.Problem{{report.Errors, after.Errors}, {report.Warnings, after.Warnings}, {report.Notes, after.Notes}} {
		if len(lists[0]) != len(lists[1]) && len(lists[0]) < 100 {
			t.Fatalf("list %d of the findings had %d, and has %d", i, len(lists[0]), len(lists[1]))
		}
	}
	twice, err := File("a.xml", once)
	if err != nil || !bytes.Equal(once, twice) {
		t.Fatalf("%v: formatting again gives other text: %s", err, cmp.Diff(string(once), string(twice)))
	}
}

// said returns all that a reader of configurations looks at: elements, attributes, text that is not
// blank, and the words of comments.
func said(t *testing.T, text []byte) (all []string) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(text))
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	seen := []bool{false} // whether the open elements have had text
	for {
		start := dec.InputOffset()
		token, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			seen = append(seen, false)
			all = append(all, fmt.Sprintf("<%q %q", token.Name, token.Attr))
		case xml.EndElement:
			seen = seen[:len(seen)-1]
			all = append(all, ">")
		case xml.CharData:
			if top := len(seen) - 1; seen[top] || len(bytes.TrimLeft(text[start:dec.InputOffset()], " \t\r\n")) > 0 {
				seen[top] = true
				all = append(all, fmt.Sprintf("%q", token))
			}
		case xml.Comment:
			all = append(all, fmt.Sprintf("comment %q", bytes.Fields(token)))
		}
	}
}

// configurations returns those of examples and tests, by the file that holds them.
func configurations(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"examples/*/*.xml", "testdata/*/*.txtar", "testdata/*/*/*.txtar", "testdata/*/*/*.xml"} {
		paths, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text := testdir.Read(t, path)
			if filepath.Ext(path) == ".xml" {
				all[path] = text
				continue
			}
			for _, file := range txtar.Parse(text).Files {
				if filepath.Ext(file.Name) == ".xml" {
					all[path+"/"+file.Name] = file.Data
				}
			}
		}
	}
	return all
}
