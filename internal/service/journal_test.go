package service

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJournalHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(LogHandler("auto", &journalWriter{&out}, slog.LevelDebug)).With("crawler", "a")
	log.Debug("d")
	log.Info("i", "level", "an attribute of its own", "lines", "one\ntwo")
	log.WithGroup("g").Warn("w", "n", 1)
	log.Error("e", "url", "<0>forged")
	fmt.Fprint(&journalWriter{&out}, "sextant: one\ntwo\n")
	want := `<7>msg=d crawler=a
<6>msg=i crawler=a level="an attribute of its own" lines="one\ntwo"
<4>msg=w crawler=a g.n=1
<3>msg=e crawler=a url=<0>forged
<3>sextant: one
<3>two
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if LogHandler("xml", &out, slog.LevelInfo) != nil {
		t.Error("xml is a format")
	}
	quiet := LogHandler("journal", &out, slog.LevelWarn)
	if quiet.Enabled(t.Context(), slog.LevelInfo) || !quiet.Enabled(t.Context(), slog.LevelWarn) {
		t.Error("the level is not obeyed")
	}
}

// TestIsJournal tells the stream that systemd named from another one.
func TestIsJournal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Skip("no device and inode here")
	}
	stream := fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	for value, want := range map[string]bool{stream: true, "": false, stream + "1": false} {
		if got := isJournal(f, func(string) string { return value }); got != want {
			t.Errorf("JOURNAL_STREAM=%q: %t", value, got)
		}
	}
	if isJournal(&bytes.Buffer{}, func(string) string { return stream }) {
		t.Error("a buffer is the journal")
	}
}
