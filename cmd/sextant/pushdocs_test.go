package main

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/demo/indexer"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// pushPage is docs/push.md.
func pushPage(t *testing.T) string {
	t.Helper()
	text := testdir.Read(t, filepath.Join("..", "..", "docs", "push.md"))
	return string(text)
}

// TestPushConfiguration: the elements on the page are ones that check has nothing to
// say against but that the server may be far, and each kind has one.
func TestPushConfiguration(t *testing.T) {
	lookups := config.Lookups{
		Env:      func(string) (string, bool) { return "x", true },
		ReadFile: func(string) ([]byte, error) { return []byte("x"), nil },
	}
	kinds := map[string]bool{}
	for _, b := range regexp.MustCompile("(?s)```xml\n(.*?)```").FindAllStringSubmatch(pushPage(t), -1) {
		parsed, report := config.Parse("push.md", []byte(exampleConfig(b[1])), lookups)
		if parsed == nil || len(report.Warnings) > 0 {
			t.Errorf("%v %v\n%s", report.Err(), report.Warnings, b[1])
			continue
		}
		for _, p := range parsed.Crawlers[0].Push {
			kinds[p.Kind] = true
		}
	}
	if len(kinds) != 6 {
		t.Errorf("only %v are on the page", kinds)
	}
}

// TestPushCurl runs the commands of the page that the small indexer understands.
func TestPushCurl(t *testing.T) {
	testneed.Program(t, "curl", "curl")
	server, err := indexer.Open(t.TempDir(), indexer.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	srv := httptest.NewServer(server.Handler())
	defer srv.Close()
	want := []string{"0", `"status":201`, `{"accepted":1}`}
	blocks := regexp.MustCompile("(?s)```curl\n(.*?)```").FindAllStringSubmatch(pushPage(t), -1)
	if len(blocks) != len(want) {
		t.Fatalf("%d blocks, want %d", len(blocks), len(want))
	}
	for i, b := range blocks {
		script := strings.ReplaceAll(b[1], "http://127.0.0.1:10002", srv.URL)
		out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want[i]) {
			t.Errorf("%v, %s\n%s", err, out, script)
		}
	}
	if n, err := server.Count(); err != nil || n != 2 {
		t.Errorf("%d documents, %v", n, err)
	}
}
