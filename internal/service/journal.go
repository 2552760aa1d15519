package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"syscall"
)

// prefixed.mu guards its priority. Each goroutine that logs holds it while its record is written.

// Priorities before a line for the journal, see sd-daemon(3).
const (
	journalError   = "<3>"
	journalWarning = "<4>"
	journalInfo    = "<6>"
	journalDebug   = "<7>"
)

// journalHandler logs as the text handler does, without time and level: the journal has a
// time of its own, and the level becomes the line's priority.
type journalHandler struct {
	slog.Handler
	out *prefixed
}

func newJournalHandler(w io.Writer, level slog.Leveler) slog.Handler {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return inUTC(groups, a)
	}}
	out := &prefixed{w: w}
	return &journalHandler{slog.NewTextHandler(out, options), out}
}

// Handle implements slog.Handler. The text handler writes each record in one piece.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	switch {
	case r.Level >= slog.LevelError:
		h.out.priority = journalError
	case r.Level >= slog.LevelWarn:
		h.out.priority = journalWarning
	case r.Level >= slog.LevelInfo:
		h.out.priority = journalInfo
	default:
		h.out.priority = journalDebug
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journalHandler{h.Handler.WithAttrs(attrs), h.out}
}

// WithGroup implements slog.Handler.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	return &journalHandler{h.Handler.WithGroup(name), h.out}
}

// prefixed writes each piece, a line, behind a priority in one write.
type prefixed struct {
	w        io.Writer
	mu       sync.Mutex // guards priority
	priority string
}

// Write implements io.Writer. Its caller holds mu.
func (p *prefixed) Write(line []byte) (int, error) {
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

// inUTC brings times into the zone of the sentences beside them.
func inUTC(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
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
