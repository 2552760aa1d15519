package markup

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// suite is a file of html5lib-tests.
type suite struct {
	Tests []struct {
		Description   string
		Input         string
		Output        []json.RawMessage
		InitialStates []string
		LastStartTag  string
		DoubleEscaped bool
	}
	XMLViolationTests []struct{ Input string }
}

// suites reads the tokenizer's cases, by file. The HTML parser's module carries them.
func suites(tb testing.TB) map[string]suite {
	tb.Helper()
	dir := testneed.Module(tb, "golang.org/x/net", "html/testdata/html5lib-tests/tokenizer")
	files, err := filepath.Glob(filepath.Join(dir, "*.test"))
	if err != nil || len(files) < 14 {
		tb.Fatalf("%d files of cases in %s: %v", len(files), dir, err)
	}
	all := map[string]suite{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		var s suite
		if err := json.Unmarshal(raw, &s); err != nil {
			tb.Fatalf("%s: %v", f, err)
		}
		all[filepath.Base(f)] = s
	}
	return all
}

// unescape undoes the second escaping of some cases, that of surrogates included,
// which become U+FFFD.
func unescape(s string) string {
	var units []uint16
	for len(s) > 0 {
		if strings.HasPrefix(s, `\u`) && len(s) >= 6 {
			if n, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
				units, s = append(units, uint16(n)), s[6:]
				continue
			}
		}
		r := []rune(s)[0]
		units, s = utf16.AppendRune(units, r), s[len(string(r)):]
	}
	return string(utf16.Decode(units))
}

// expected returns the tokens that a case wants, as scanned gives them.
func expected(t *testing.T, output []json.RawMessage, escaped bool) (ts tokens) {
	t.Helper()
	plain := func(s string) string {
		if escaped {
			s = unescape(s)
		}
		return clean(s)
	}
	for _, raw := range output {
		var fields []any
		if err := json.Unmarshal(raw, &fields); err != nil {
			continue // "ParseError", in some files
		}
		text := func() string { s, _ := fields[1].(string); return plain(s) }
		switch fields[0] {
		case "Character":
			ts.text(text())
		case "Comment":
			ts = append(ts, token{Kind: "comment", Data: text()})
		case "EndTag":
			ts = append(ts, token{Kind: "end", Data: text()})
		case "StartTag":
			got := token{Kind: "start", Data: text()}
			for name, value := range fields[2].(map[string]any) {
				got.Attributes = append(got.Attributes, [2]string{plain(name), plain(value.(string))})
			}
			sortAttributes(got)
			ts = append(ts, got)
		}
	}
	return ts
}

func sortAttributes(t token) {
	slices.SortFunc(t.Attributes, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
}

// TestStandard compares the tokens with those that html5lib-tests expect, except for
// the beginnings in states that no element of a page brings about.
func TestStandard(t *testing.T) {
	cases, states := 0, map[string]Tag{"RCDATA state": Title, "RAWTEXT state": Style, "Script data state": Script, "PLAINTEXT state": Plaintext}
	for file, s := range suites(t) {
		for _, x := range s.Tests {
			input := x.Input
			if x.DoubleEscaped {
				input = unescape(input)
			}
			want := expected(t, x.Output, x.DoubleEscaped)
			if len(x.InitialStates) == 0 {
				x.InitialStates = []string{"Data state"}
			}
			for _, state := range x.InitialStates {
				raw := states[state]
				switch {
				case raw == Style && x.LastStartTag == "xmp":
					raw = Xmp
				case state == "CDATA section state", raw != 0 && x.LastStartTag != "" && raw.String() != x.LastStartTag:
					continue // no element has such a content
				}
				cases++
				got := scannedIn(input, raw)
				for _, g := range got {
					sortAttributes(g)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s: %s: %s: %q (-standard +ours):\n%s", file, x.Description, state, input, d)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}
