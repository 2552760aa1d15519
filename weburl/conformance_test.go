package weburl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

type urlCase struct {
	Input   string  `json:"input"`
	Base    *string `json:"base"`
	Href    string  `json:"href"`
	Failure bool    `json:"failure"`
}

// cases reads the objects of a file of the web-platform-tests, which the parser's module carries; comments are strings.
func cases[T any](t *testing.T, name string) []T {
	t.Helper()
	text := testdir.Read(t, testneed.Module(t, "github.com/nlnwa/whatwg-url", "testdata/"+name))
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatal(err)
	}
	var all []T
	for _, m := range raw {
		if m[0] != '{' {
			continue
		}
		var c T
		if err := json.Unmarshal(m, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func parseWithBase(c urlCase) (URL, error) {
	if c.Base == nil || *c.Base == "about:blank" {
		return Parse(c.Input)
	}
	base, err := NewBase(*c.Base)
	if err != nil {
		return URL{}, err
	}
	return base.Resolve(c.Input)
}

// TestConformance runs the cases of the web-platform-tests whose result is an
// http or https URL, and those that must fail. Both sides are brought into
// canonical form, because the standard keeps more than that does.
func TestConformance(t *testing.T) {
	ran := 0
	for _, c := range cases[urlCase](t, "urltestdata.json") {
		name := c.Input
		if c.Base != nil {
			name += " @ " + *c.Base
		}
		if !c.Failure && !strings.HasPrefix(c.Href, "http:") && !strings.HasPrefix(c.Href, "https:") {
			if u, err := parseWithBase(c); err == nil {
				t.Errorf("%q: got %q, want an error: it is %q", name, u, c.Href)
			}
			continue
		}
		ran++
		if fault := differs(c); fault != "" {
			t.Errorf("%q: %s", name, fault)
		}
	}
	if ran < 450 {
		t.Errorf("only %d cases ran", ran)
	}
}

// differs says in what a case goes another way than the standard, "" if in nothing.
func differs(c urlCase) string {
	got, err := parseWithBase(c)
	if c.Failure {
		if err == nil {
			return "got " + got.String() + ", want a failure"
		}
		return ""
	}
	want, wantErr := Parse(c.Href)
	switch {
	case wantErr != nil:
		return "expected href: " + wantErr.Error()
	case err != nil:
		return err.Error()
	case got != want:
		return "got " + got.String() + "#" + got.Fragment() + ", want " + want.String() + "#" + want.Fragment()
	}
	return ""
}

// TestConformanceOfHosts runs the cases of the web-platform-tests for the ASCII form of hosts, and those of Unicode's
// IDNA test as the web-platform-tests have them. As there, what would end the host is escaped.
func TestConformanceOfHosts(t *testing.T) {
	escape := strings.NewReplacer(":", "%3A", "/", "%2F", "?", "%3F", "#", "%23", `\`, "%5C")
	for name, atLeast := range map[string]int{"toascii.json": 39, "IdnaTestV2.json": 2000} {
		all := cases[struct {
			Input  string  `json:"input"`
			Output *string `json:"output"`
		}](t, name)
		if len(all) < atLeast {
			t.Errorf("%s: only %d cases", name, len(all))
		}
		for _, c := range all {
			if c.Input == "" {
				continue // "https:///x" is a URL of the host x
			}
			u, err := Parse("https://" + escape.Replace(c.Input) + "/x")
			switch {
			case c.Output == nil && err == nil:
				t.Errorf("%q: got %q, want a failure", c.Input, u.Host())
			case c.Output != nil && err != nil:
				t.Errorf("%q: %v, want %q", c.Input, err, *c.Output)
			case c.Output != nil && u.Host() != *c.Output:
				t.Errorf("%q: got %q, want %q", c.Input, u.Host(), *c.Output)
			}
		}
	}
}
