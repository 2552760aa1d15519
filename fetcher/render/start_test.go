package render_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
		"says nothing": {script("silent", "exit 0"), "the browser does not start: it does not respond"},
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

// TestTry: a browser that renders says its version, and is there for the pages that come. The name of the folder for
// temporary files is too long for Chromium's sockets.
func TestTry(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	r := renderer(t, render.Settings{})
	version, err := r.Try(t.Context())
	if err != nil || !strings.Contains(version, "/") {
		t.Errorf("%q, %v", version, err)
	}
	if s := r.Status(); s.Running != 1 || s.Started != 1 || s.Version != version || s.Trouble != "" || s.Rendering+s.Waiting != 0 {
		t.Errorf("the status is %+v", s)
	}
}

// TestOldBrowser: one that is too old is not used; one that does not say its age is taken as it is.
func TestOldBrowser(t *testing.T) {
	for product, old := range map[string]bool{"HeadlessChrome/131.0.6778.204": true, "HeadlessChrome/132.0.1": false, "Chrome/9": true, "Own/x": false, "": false} {
		r := renderer(t, render.Settings{Command: []string{"unix:" + sayingOnly(t, product)}, Timeout: time.Millisecond})
		_, err := r.Try(t.Context())
		if err == nil || strings.Contains(err.Error(), "the browser is too old: it is "+product+", and Chromium 132 or later is needed") != old {
			t.Errorf("%q: %v", product, err)
		}
		if s := r.Status(); (s.Trouble != "") != old {
			t.Errorf("%q: the status is %+v", product, s)
		}
	}
}

// sayingOnly returns the socket of a browser that tells its name, and ends when it is asked for a page.
func sayingOnly(t *testing.T, product string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "old") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for in := bufio.NewReader(conn); ; {
			line, err := in.ReadBytes(0)
			if err != nil || bytes.Contains(line, []byte("Target.createBrowserContext")) {
				return
			}
			var m struct{ ID int }
			if json.Unmarshal(bytes.TrimSuffix(line, []byte{0}), &m) != nil {
				return
			}
			_, _ = fmt.Fprintf(conn, `{"id":%d,"result":{"product":%q}}`+"\x00", m.ID, product)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
		_ = os.RemoveAll(dir)
	})
	return l.Addr().String()
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
