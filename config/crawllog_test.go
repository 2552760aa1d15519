package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestCrawlLogThroughLinks: what a log is the same file as is seen wherever links lead.
func TestCrawlLogThroughLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"linked.log": FileName, "other": "logs"} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ first, second, want string }{
		{"logs/a.log", "logs/b.log", ""},
		{"linked.log", "logs/b.log", ":1:42: crawlLog=\"linked.log\" is this configuration"},
		{filepath.Join(dir, FileName), "logs/b.log", "is this configuration"},
		{"logs/a.log", "other/a.log", "is also the log of another Crawler (at 1:42)"},
		{filepath.Join(dir, "logs/a.log"), "logs/a.log", "is also the log of another Crawler (at 1:42)"},
	} {
		text := `<CrawlConfig><Crawler name="a" crawlLog="` + c.first + `"/><Crawler name="b" crawlLog="` + c.second + `"/></CrawlConfig>`
		testdir.Write(t, FileName, text)
		_, report, err := Load(FileName)
		if err != nil {
			t.Fatal(err)
		}
		if got := problemLines(report.Errors); (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(problemLines(report.Warnings), "no folder") {
			t.Errorf("%s and %s: errors %q, warnings %v", c.first, c.second, got, report.Warnings)
		}
	}
}
