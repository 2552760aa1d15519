package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// addedPush is what an example has beside the configuration that it comes from.
var addedPush = regexp.MustCompile(`(?m)^ *<!-- New:.*-->\n *<Push [^>]*/>\n`)

// TestExamplesAreImported: an example is what import makes of the file beside it, with a
// Push element, and its moving page shows both.
func TestExamplesAreImported(t *testing.T) {
	for name, source := range map[string]string{"funnelback": "collection.cfg", "smartsite": "settings.txt"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(examplesFolder(), name)
			read := func(path ...string) string {
				text, err := os.ReadFile(filepath.Join(path...))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			written := read(dir, "CrawlConfig.xml")
			if !addedPush.MatchString(written) {
				t.Error("the example pushes nowhere")
			}
			code, imported, errOut := sextant(t, "", "import", "--format", name, filepath.Join(dir, source))
			if code != exitOK {
				t.Fatalf("exit %d: %s", code, errOut)
			}
			if diff := cmp.Diff(imported, addedPush.ReplaceAllString(written, "")); diff != "" {
				t.Errorf("(-imported +example):\n%s", diff)
			}
			page := read("..", "..", "docs", "moving", name+".md")
			comments := regexp.MustCompile(`(?m)^#.*\n`)
			_, crawler, _ := strings.Cut(written, "\n  <Crawler ")
			crawler, _, _ = strings.Cut("  <Crawler "+crawler, "</CrawlConfig>")
			for what, block := range map[string]string{
				source: indented("    ", comments.ReplaceAllString(read(dir, source), "")),
				"ours": indented("  ", crawler),
			} {
				if !strings.Contains(page, "\n\n"+block+"\n") {
					t.Errorf("docs/moving/%s.md does not show %s as the example has it:\n%s", name, what, block)
				}
			}
		})
	}
}

// indented puts blanks in front of each line.
func indented(blanks, text string) string {
	return blanks + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+blanks) + "\n"
}
