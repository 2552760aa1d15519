package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// addedPush is what an example has beside the configuration that it comes from.
var addedPush = regexp.MustCompile(`(?m)^ *<!-- New:.*-->\n *<Push [^>]*/>\n`)

// TestExamplesAreImported: an example is what import makes of the file beside it, with a
// Push element, and its moving page shows both.
func TestExamplesAreImported(t *testing.T) {
	for name, source := range map[string]string{"funnelback": "collection.cfg", "smartsite": "settings.txt", "norconex": "crawler.xml"} {
		t.Run(name, func(t *testing.T) {
			page := name + ".md"
			if name == "norconex" {
				page = "norconex-fess.md"
			}
			dir := filepath.Join(examplesFolder(), name)
			written := readText(t, dir, "CrawlConfig.xml")
			if !addedPush.MatchString(written) {
				t.Error("the example pushes nowhere")
			}
			code, imported, errOut := sextant(t, "", "import", "--format", name, filepath.Join(dir, source))
			if code != exitOK {
				t.Fatalf("exit %d: %s", code, errOut)
			}
			if code, imported, errOut = sextant(t, imported, "fmt", "-"); code != exitOK {
				t.Fatalf("exit %d: %s", code, errOut)
			}
			if diff := cmp.Diff(imported, addedPush.ReplaceAllString(written, "")); diff != "" {
				t.Errorf("(-imported +example):\n%s", diff)
			}
			showsBoth(t, page, map[string]string{source: indented("    ", withoutComments(readText(t, dir, source))), "ours": indented("  ", firstCrawler(written))})
		})
	}
}

// TestImportedRulesGiveTheExample: of crawl.rules import makes the start URLs and bounds that the example
// and its page have, and says which start URL it leaves out, as the page does.
func TestImportedRulesGiveTheExample(t *testing.T) {
	dir := filepath.Join(examplesFolder(), "ibm")
	code, imported, errOut := sextant(t, "", "import", "--format", "ibm", filepath.Join(dir, "crawl.rules"))
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	made := regexp.MustCompile(`<(Root|IgnoredExtensions|Traps)\b.*|<!-- Left out: .*`)
	got := made.FindAllString(imported, -1)
	if diff := cmp.Diff(got, made.FindAllString(firstCrawler(readText(t, dir, "CrawlConfig.xml")), -1)); diff != "" {
		t.Errorf("(-imported +example):\n%s", diff)
	}
	_, page, _ := strings.Cut(readText(t, "..", "..", "docs", "moving", "ibm.md"), "## Side by side")
	if diff := cmp.Diff(got, made.FindAllString(page, -1)); diff != "" {
		t.Errorf("(-imported +page):\n%s", diff)
	}
}

// TestMovingPagesShowTheExamples: those whose file is read as it is show what stands beside it here.
func TestMovingPagesShowTheExamples(t *testing.T) {
	ibm, cloudview := filepath.Join(examplesFolder(), "ibm"), filepath.Join(examplesFolder(), "cloudview")
	showsBoth(t, "ibm.md", map[string]string{
		"crawl.rules": indented("    ", withoutComments(readText(t, ibm, "crawl.rules"))), "ours": indented("  ", firstCrawler(readText(t, ibm, "CrawlConfig.xml"))),
	})
	showsBoth(t, "cloudview.md", map[string]string{
		"what is new": addedPush.FindString(readText(t, cloudview, "CrawlConfig.xml")),
	})
}

// showsBoth wants that a page for those who move has blocks.
func showsBoth(t *testing.T, name string, blocks map[string]string) {
	t.Helper()
	page := readText(t, "..", "..", "docs", "moving", name)
	for what, block := range blocks {
		if block == "" || !strings.Contains(page, "\n\n"+block+"\n") {
			t.Errorf("docs/moving/%s does not show %s as the example has it:\n%s", name, what, block)
		}
	}
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	text := testdir.Read(t, filepath.Join(path...))
	return string(text)
}

func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
}

// firstCrawler returns the first Crawler element of a configuration.
func firstCrawler(config string) string {
	_, crawler, _ := strings.Cut(config, "\n  <Crawler ")
	crawler, _, _ = strings.Cut(crawler, "  </Crawler>\n")
	return "  <Crawler " + crawler + "  </Crawler>\n"
}

// indented puts blanks in front of each line.
func indented(blanks, text string) string {
	indented := blanks + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+blanks) + "\n"
	return strings.ReplaceAll(indented, "\n"+blanks+"\n", "\n\n") // empty lines stay so
}
