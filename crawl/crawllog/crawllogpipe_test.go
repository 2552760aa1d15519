//go:build unix

package crawllog

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestCrawlLogPipe: a named pipe that nobody reads is refused, and not waited for.
func TestCrawlLogPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := openCrawlLogFile(path); err == nil {
		t.Error(f.Close())
	}
}
