package weburl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type urlCase struct {
	Input   string  `json:"input"`
	Base    *string `json:"base"`
	Href    string  `json:"href"`
	Failure bool    `json:"failure"`
}

// conformance opens a file of the public test sets, or skips the test.
func conformance(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("SEXTANT_CONFORMANCE")
	if dir == "" {
		dir = "../../shared/conformance"
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		t.Skipf("skip: no conformance data at %s", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
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
	var raw []json.RawMessage
	if err := json.Unmarshal(conformance(t, "url/urltestdata.json"), &raw); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, m := range raw {
		if m[0] != '{' { // a comment
			continue
		}
		var c urlCase
		if err := json.Unmarshal(m, &c); err != nil {
			t.Fatal(err)
		}
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

func TestConformanceOfHosts(t *testing.T) {
	var raw []json.RawMessage
	if err := json.Unmarshal(conformance(t, "url/toascii.json"), &raw); err != nil {
		t.Fatal(err)
	}
	for _, m := range raw {
		var c struct {
			Input  string  `json:"input"`
			Output *string `json:"output"`
		}
		if m[0] != '{' {
			continue
		}
		if err := json.Unmarshal(m, &c); err != nil {
			t.Fatal(err)
		}
		u, err := Parse("https://" + c.Input + "/x")
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
