package service

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestReloadChanged: what a command has had reloaded is not reloaded again when the folder
// tells of the change; any other change is.
func TestReloadChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		testdir.Write(t, filepath.Join(dir, name), text)
	}
	s := &Service{config: &configuration{path: filepath.Join(dir, "CrawlConfig.xml")}}
	seen := map[string]bool{s.configFiles(): true}
	differs := func(what string) {
		t.Helper()
		now := s.configFiles()
		if seen[now] {
			t.Errorf("%s: not seen", what)
		}
		seen[now] = true
	}
	write("CrawlConfig.xml", "<CrawlConfig/>")
	differs("a new file")
	write(config.CrawlRulesName, "allow prefix *\n")
	differs("rules beside it")
	write("CrawlConfig.xml", "<CrawlConfig></CrawlConfig>")
	differs("another size")
	if err := os.Chtimes(s.config.path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	differs("another time")
	s.judged = s.configFiles()
	s.reloadChanged(t.Context()) // a reload would end the test: the service has nothing to tell
	if err := os.Remove(s.config.path); err != nil {
		t.Fatal(err)
	}
	differs("no file")
	defer func() {
		if recover() == nil {
			t.Error("a changed file is not reloaded")
		}
	}()
	s.reloadChanged(t.Context())
}
