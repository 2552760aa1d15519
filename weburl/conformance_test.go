package weburl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// knownDifferences are the cases of the web-platform-tests in which the parser
// below differs from the standard, with the reason. They are checked to differ
// still, so that the list cannot outlive its reason.
var knownDifferences = map[string]string{}

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
		if fault := differs(c); fault == "" && knownDifferences[name] != "" {
			t.Errorf("%q: as the standard says; take it off the list", name)
		} else if fault != "" && knownDifferences[name] == "" {
			t.Errorf("%q: %s", name, fault)
		}
	}
	if ran < 500 {
		t.Errorf("only %d cases ran", ran)
	}
	t.Logf("%d http(s) and failing cases, %d known differences", ran, len(knownDifferences))
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
