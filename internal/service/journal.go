package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
)

// Priorities as they stand before a line for the journal, see sd-daemon(3).
const (
	journalError   = "<3>"
	journalWarning = "<4>"
	journalInfo    = "<6>"
	journalDebug   = "<7>"
)

// journalHandler logs as the text handler does, without time and level: the journal has a
// time of its own, and the level becomes the line's priority.
type journalHandler struct {
	errors, warnings, infos, debugs slog.Handler
}

func newJournalHandler(w io.Writer, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}}
	at := func(priority string) slog.Handler { return slog.NewTextHandler(prefixed{priority, w}, options) }
	return &journalHandler{at(journalError), at(journalWarning), at(journalInfo), at(journalDebug)}
}

func (h *journalHandler) of(level slog.Level) slog.Handler {
	switch {
	case level >= slog.LevelError:
		return h.errors
	case level >= slog.LevelWarn:
		return h.warnings
	case level >= slog.LevelInfo:
		return h.infos
	default:
		return h.debugs
	}
}

// Enabled implements slog.Handler.
func (h *journalHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.infos.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	return h.of(r.Level).Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.each(func(o slog.Handler) slog.Handler { return o.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return h.each(func(o slog.Handler) slog.Handler { return o.WithGroup(name) })
}

func (h *journalHandler) each(f func(slog.Handler) slog.Handler) slog.Handler {
	return &journalHandler{f(h.errors), f(h.warnings), f(h.infos), f(h.debugs)}
}

// prefixed writes each piece, a line, behind a priority in one write.
type prefixed struct {
	priority string
	w        io.Writer
}

func (p prefixed) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.priority), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
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

// Complaints wraps stderr for what commands write there beside the log. The journal gets it
// as errors, line by line.
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
		out = append(append(out, journalError...), line...)
	}
	if _, err := j.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// LogHandler makes the handler of a --log-format; it is nil for an unknown one. Auto is
// journal if stderr is the journal, otherwise text.
func LogHandler(format string, stderr io.Writer, level slog.Leveler) slog.Handler {
	if j, ok := stderr.(*journalWriter); ok {
		stderr = j.w
		if format == "auto" {
			format = "journal"
		}
	}
	options := &slog.HandlerOptions{Level: level}
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
