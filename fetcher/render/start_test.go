package render_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/fetcher/render"
)

// TestNoBrowser: what is missing or does not start says what to do, and says nothing of the page.
func TestNoBrowser(t *testing.T) {
	t.Setenv("TEST_SECRET", "open sesame")
	dir := t.TempDir()
	script := func(name, body string) []string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		return []string{path}
	}
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"missing":      {[]string{filepath.Join(dir, "none")}, `no such file or directory: write its path as <Browser command="..."/>`},
		"no socket":    {[]string{"unix:" + filepath.Join(dir, "none")}, "there is no browser: dial unix"},
		"ends":         {script("ends", `echo "secret: [$TEST_SECRET]" >&2; exit 1`), "the browser does not start: secret: []"},
		"says nothing": {script("silent", "exit 0"), "the browser does not start: it gives no answer"},
		"needs a sandbox": {
			script("root", `echo "[1:2:ERROR:x.cc:103] Running as root without --no-sandbox is not supported." >&2; exit 1`),
			"Running as root without --no-sandbox is not supported.: Chromium's sandbox does not work for this user",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := renderer(t, render.Settings{Command: c.command})
			_, err := r.Render(t.Context(), render.Page{URL: "http://a.example/"})
			if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != render.Unavailable || !strings.Contains(e.Words, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if s := r.Status(); s.Trouble != err.Error() || s.Since == nil || s.Running+s.Rendering+s.Waiting != 0 || s.Program != c.command[0] || s.Limit != 1 {
				t.Errorf("the status is %+v", s)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "sextant-browser-*")); len(left) > 0 && os.Getenv("TMPDIR") == dir {
		t.Errorf("left over: %q", left)
	}
}

// TestRenderEnds: whoever waits for a browser is told when there will be none, or when its own time is over.
func TestRenderEnds(t *testing.T) {
	r := render.New(render.Settings{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Render(ctx, render.Page{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its own end: %v", err)
	}
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
	if s := r.Status(); s.Running+s.Rendering+s.Waiting != 0 || s.Trouble != "" {
		t.Errorf("the status is %+v", s)
	}
	_, err := r.Render(t.Context(), render.Page{})
	if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != render.Unavailable {
		t.Errorf("after the end of Run: %v", err)
	}
}
