package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestAllow: whatever attribute names a file, a program or a variable, it is asked first
// whether it may, and nothing is looked at if not.
func TestAllow(t *testing.T) {
	table := newSchema()
	n := 0
	for _, e := range Elements() {
		for i := range e.Attributes {
			a := &e.Attributes[i]
			values := map[string]string{"${NAME}": "|NAME"}
			switch a.Type {
			case Path:
				values["../a/b.txt"], values["/a//b.txt"] = "|/etc/a/b.txt", "|/a//b.txt"
			case SecretString:
				values["file:b.txt"], values["file:${NAME}"] = "|/etc/sextant/b.txt", "|NAME"
			case Command:
				values["/bin/a \t b"] = "|/bin/a b"
			default:
			}
			if a.Status == NoEffect || e.Status != Supported {
				continue
			}
			for value, want := range values {
				if n++; !strings.HasPrefix(value, "${") && !strings.HasPrefix(value, "file:${") {
					want = e.Name + "." + a.Name + want
				}
				asked, report := refusedUse(inside(table, e.key(), fmt.Sprintf(`<%s %s="%s"/>`, e.Name, a.Name, value)))
				if asked != want {
					t.Errorf("%s of <%s %s> asks about %q, want %q", value, e.Name, a.Name, asked, want)
				}
				if !strings.Contains(report, "over the network") {
					t.Errorf("%s of <%s %s> is refused with %s", value, e.Name, a.Name, report)
				}
			}
		}
	}
	if n < 300 {
		t.Errorf("%d values were tried", n)
	}
	if asked, _ := refusedUse(inside(table, "MustContain", "<MustContain>${NAME}</MustContain>")); asked != "|NAME" {
		t.Errorf("a variable in a text asks about %q", asked)
	}
}

// inside puts an element into those that it may stand in.
func inside(table *schema, name, text string) string {
	for parents := table.elements[name].Parents; len(parents) > 0; parents = table.elements[parents[0]].Parents {
		attributes := ""
		if parents[0] == "Crawler" {
			attributes = ` name="a"`
		}
		text = "<" + parents[0] + attributes + ">" + text + "</" + parents[0] + ">"
	}
	return text
}

// refusedUse reads a text that may name nothing, and gives the last thing that it named,
// and what is reported.
func refusedUse(text string) (asked, report string) {
	looked := ""
	_, found := Parse("/etc/sextant/"+FileName, []byte(text), Lookups{
		Env:      func(name string) (string, bool) { looked += " env " + name; return "", true },
		ReadFile: func(path string) ([]byte, error) { looked += " read " + path; return nil, nil },
		Exists: func(path string) bool {
			if !strings.HasSuffix(path, ".rules") {
				looked += " exists " + path
			}
			return false
		},
		RealPath: func(path string) string { looked += " path " + path; return path },
		Allow:    func(u Use) bool { asked = u.Attribute + "|" + u.Value; return false },
	})
	return asked + looked, problemLines(found.Errors)
}
