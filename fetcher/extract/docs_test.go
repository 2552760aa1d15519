package extract

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract/markup"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func documentation(t *testing.T) string {
	t.Helper()
	text := testdir.Read(t, filepath.Join("..", "..", "docs", "reading.md"))
	return string(text)
}

// TestDocumentedElements compares the lists of elements in docs/reading.md with the
// tables of markup.
func TestDocumentedElements(t *testing.T) {
	text := documentation(t)
	for mark, property := range map[string]markup.Properties{"separates": markup.Separates, "raw": markup.Raw, "void": markup.Void} {
		_, list, ok := strings.Cut(text, "<!-- "+mark+" -->\n")
		list, _, _ = strings.Cut(list, "\n\n")
		if !ok {
			t.Fatalf("no list of elements that are %s", mark)
		}
		var want []string
		for tag := range markup.Tags {
			if tag.Is(property) {
				want = append(want, tag.String())
			}
		}
		slices.Sort(want)
		if d := cmp.Diff(want, strings.Fields(list)); d != "" {
			t.Errorf("%s (-code +docs/reading.md):\n%s", mark, d)
		}
	}
}

// TestDocumentedLinks tries every attribute of every element, and compares where
// links come from with the table of docs/reading.md.
func TestDocumentedLinks(t *testing.T) {
	documented := map[[2]string]string{} // "", or what makes a link of it
	_, table, _ := strings.Cut(documentation(t), "| element | attribute | a link |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "|\n"), "|")
		if len(cells) != 3 {
			t.Fatalf("row %q", row)
		}
		documented[[2]string{strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])}] = strings.TrimSpace(cells[2])
	}
	delete(documented, [2]string{"---", "---"})
	has := func(element, attribute, others string, embedded bool) bool {
		p, err := HTML([]byte("<"+element+" "+attribute+"=x-link "+others+">"), "", Options{Embedded: embedded})
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(p.Links, Link{Href: "x-link"})
	}
	for tag := markup.Other + 1; tag < markup.Tags; tag++ {
		for attribute := markup.Action; attribute <= markup.XMLLang; attribute++ {
			place := [2]string{tag.String(), attribute.String()}
			others := "rel=next type=image"
			if attribute == markup.Rel || attribute == markup.Type {
				others = ""
			}
			words := documented[place]
			always, embedded := has(place[0], place[1], others, false), has(place[0], place[1], others, true)
			if always != (words != "" && !strings.HasPrefix(words, "with `embeddedLinks`")) || embedded != (words != "") {
				t.Errorf("%s: a link %v, as an embedded one %v, but docs/reading.md says %q", place, always, embedded, words)
			}
			delete(documented, place)
		}
	}
	for place := range documented {
		t.Errorf("docs/reading.md has %s, the code does not", place)
	}
}

// TestDocumentedDirectives compares the directives that are known, and those that do
// something, with the table of docs/reading.md.
func TestDocumentedDirectives(t *testing.T) {
	_, table, _ := strings.Cut(documentation(t), "| directive | effect |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(row, "|\n"), "|")
		name, does := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1])
		names = append(names, name)
		value := map[string]string{"max-snippet": ":0", "unavailable_after": ": 2030-01-01"}[name]
		if asks := contentDirectives(name+value) != (Directives{}); asks != (does != "nothing") {
			t.Errorf("%s: asks for something %v, but docs/reading.md says %q", name, asks, does)
		}
	}
	slices.Sort(names)
	want := slices.Sorted(slices.Values(directiveNames[:]))
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("(-code +docs/reading.md):\n%s", d)
	}
}
