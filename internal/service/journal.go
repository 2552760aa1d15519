package service

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
)

// journalPriority returns the priority of a level before a line for the journal, see sd-daemon(3).
func journalPriority(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "<3>"
	case level >= slog.LevelWarn:
		return "<4>"
	case level >= slog.LevelInfo:
		return "<6>"
	}
	return "<7>"
}

// newJournalHandler logs as the text handler does, without time and level: the journal adds its own time, and the level
// becomes the line's priority.
func newJournalHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return slog.NewTextHandler(prefixed{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return inUTC(groups, a)
	}})
}

// prefixed writes each record of a text handler, which begins with its level, after its priority in one write.
type prefixed struct{ w io.Writer }

// Write implements io.Writer.
func (p prefixed) Write(record []byte) (int, error) {
	written, line, _ := bytes.Cut(record, []byte(" "))
	var level slog.Level
	_ = level.UnmarshalText(bytes.TrimPrefix(written, []byte(slog.LevelKey+"="))) // as the handler writes it
	if _, err := p.w.Write(append([]byte(journalPriority(level)), line...)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// isJournal reports whether w is the journal. Systemd names device and inode of the stream
// that it connected; a file that stderr was redirected to has others.
func isJournal(w io.Writer, getenv func(string) string) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// Complaints wraps stderr for output of commands other than the log. The journal gets it as errors, line by line.
func Complaints(stderr io.Writer) io.Writer {
	if !isJournal(stderr, os.Getenv) {
		return stderr
	}
	return &journalWriter{stderr}
}

// journalWriter writes each line with the priority of an error.
type journalWriter struct{ w io.Writer }

func (j *journalWriter) Write(p []byte) (int, error) {
	var out []byte
	for line := range bytes.Lines(p) {
		out = append(append(out, journalPriority(slog.LevelError)...), line...)
	}
	if _, err := j.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// inUTC converts times to UTC, as in the accompanying messages.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

// LogHandler returns the handler for a --log-format, or nil for an unknown one. Auto is journal if stderr is the
// journal, otherwise text.
func LogHandler(format string, stderr io.Writer, level slog.Leveler) slog.Handler {
	if j, ok := stderr.(*journalWriter); ok {
		stderr = j.w
		if format == "auto" {
			format = "journal"
		}
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: inUTC}
	switch format {
	case "auto", "text":
		return slog.NewTextHandler(stderr, options)
	case "json":
		return slog.NewJSONHandler(stderr, options)
	case "journal":
		return newJournalHandler(stderr, level)
	}
	return nil
}
