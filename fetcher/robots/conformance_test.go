package robots

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// expectation is a test of google/robotstxt-spec-test.
type expectation struct {
	url, agent string
	allowed    bool
}

type specification struct {
	robots       string
	expectations []expectation
}

// readSpecifications reads the textproto of RobotsTxtSpecification as far as the
// cases use it: names, strings in pieces, words, brackets and comments.
func readSpecifications(t *testing.T, text string) []specification {
	t.Helper()
	var specs []specification
	var field string
	last := func() *expectation {
		s := &specs[len(specs)-1]
		return &s.expectations[len(s.expectations)-1]
	}
	for text != "" {
		text = strings.TrimLeft(text, " \t\r\n,:[]{}")
		switch {
		case text == "":
		case text[0] == '#':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '"':
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				t.Fatalf("%v in %.60q", err, text)
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			text = text[len(quoted):]
			switch field {
			case "robotstxt":
				specs[len(specs)-1].robots += value
			case "testurl":
				last().url += value
			case "useragent":
				last().agent += value
			}
		default:
			end := strings.IndexAny(text, " \t\r\n:,{}[]")
			if end < 0 {
				end = len(text)
			}
			var word string
			word, text = text[:end], text[end:]
			switch word {
			case "ALLOWED":
				last().allowed = true
			case "robotstxt":
				specs = append(specs, specification{})
			case "testurl":
				s := &specs[len(specs)-1]
				s.expectations = append(s.expectations, expectation{})
			}
			field = word
		}
	}
	return specs
}

// targetOf takes path and query out of what a test calls a URL.
func targetOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	i := strings.IndexAny(url, "/?;")
	if i < 0 {
		return "/"
	}
	if url[i] != '/' {
		return "/" + url[i:]
	}
	return url[i:]
}

func TestConformance(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testneed.Suite(t, "robots/correctness"), "*.textproto"))
	if err != nil {
		t.Fatal(err)
	}
	const goal = 146
	n, met := 0, 0
	for _, file := range files {
		text := testdir.Read(t, file)
		for _, s := range readSpecifications(t, string(text)) {
			rules := Parse([]byte(s.robots))
			for _, e := range s.expectations {
				n++
				if got := rules.AllowedTarget(e.agent, targetOf(e.url)); got != e.allowed {
					t.Errorf("%s: agent %q, URL %q: allowed %v, want %v, by\n%s",
						filepath.Base(file), e.agent, e.url, got, e.allowed, s.robots)
					continue
				}
				met++
			}
		}
	}
	t.Logf("%d of %d", met, n)
	if n != goal {
		t.Errorf("%d cases were read, there should be %d", n, goal)
	}
}
