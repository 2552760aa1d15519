package crawllog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/scheduler"
)

func TestCrawlLogLine(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.FixedZone("", 3600))
	for _, c := range []struct {
		line []byte
		want string
	}{
		{
			Line(at, docAdded, 200, "http://a.example/x", "", nil),
			"2026-03-04T04:06:07.089Z\tadded\t200\tOK\thttp://a.example/x\t-\t-\n",
		},
		{
			Line(at, docDeleted, 404, "http://a.example/", "http://b.example/", []string{"404 Not Found", "", "forgotten"}),
			"2026-03-04T04:06:07.089Z\tdeleted\t404\tNot Found\thttp://a.example/\thttp://b.example/\t[404 Not Found] [forgotten]\n",
		},
		{
			Line(at, docTemporary, 0, "http://a.example/", "", []string{"time-out"}),
			"2026-03-04T04:06:07.089Z\ttemporary\t-\t-\thttp://a.example/\t-\t[time-out]\n",
		},
		{ // a status that has no words, and a message that would end field, message and line
			Line(at, docNone, 299, "u", "r", []string{"a]\t\n[b\x00\x1b\\\xff\u2028\u202eé"}),
			"2026-03-04T04:06:07.089Z\tnone\t299\t-\tu\tr\t" + `[a\x5d\x09\x0a\x5bb\x00\x1b\x5c\xff\u{2028}\u{202e}é]` + "\n",
		},
	} {
		if diff := cmp.Diff(c.want, string(c.line)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func FuzzCrawlLogLine(f *testing.F) {
	f.Add("http://a/", "http://b/", "404 Not Found", "x")
	f.Add("\n\t[", "\x00", "]\t[", strings.Repeat("[", 5000))
	f.Fuzz(func(t *testing.T, url, referrer, m1, m2 string) {
		line := string(Line(time.Now(), docNone, 200, url, referrer, []string{m1, m2}))
		body, ok := strings.CutSuffix(line, "\n")
		if !ok || strings.ContainsAny(body, "\n\r\x00\x1b") || !utf8.ValidString(line) {
			t.Fatalf("no line: %q", line)
		}
		fields := strings.Split(body, "\t")
		if len(fields) != 7 {
			t.Fatalf("%d fields: %q", len(fields), line)
		}
		messages := 0
		for _, m := range []string{m1, m2} {
			if strings.TrimSpace(m) != "" {
				messages++
			}
		}
		if n := strings.Count(fields[6], "["); n != messages || n != strings.Count(fields[6], "]") {
			t.Fatalf("%d messages are written as %d: %q", messages, n, fields[6])
		}
		if len(line) > 3*logFieldBytes {
			t.Fatalf("%d bytes", len(line))
		}
	})
}

func TestDocStatus(t *testing.T) {
	for want, b := range map[string]scheduler.Effect{
		docAdded:     {Class: scheduler.OK, Added: true, Indexed: true},
		docUpdated:   {Class: scheduler.OK, Updated: true, Indexed: true},
		docUnchanged: {Class: scheduler.OK, Indexed: true},
		docNone:      {Class: scheduler.OK},
		docDeleted:   {Class: scheduler.Permanent, Deleted: true},
		docPending:   {Class: scheduler.Permanent, Pending: true, Indexed: true},
		docRedirect:  {Class: scheduler.Redirect},
		docExcluded:  {Class: scheduler.Ignored},
		docTemporary: {Class: scheduler.Temporary, Indexed: true},
		docPermanent: {Class: scheduler.Permanent},
	} {
		if got := DocStatus(b); got != want {
			t.Errorf("%+v: %s instead of %s", b, got, want)
		}
	}
}

// smallDisk takes room bytes, then fails as a full disk does.
type smallDisk struct {
	bytes.Buffer
	room atomic.Int64
}

func (d *smallDisk) Write(p []byte) (int, error) {
	n := min(len(p), int(d.room.Load()))
	d.room.Add(int64(-n))
	d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (*smallDisk) Close() error { return nil }

// TestCrawlLogFullDisk fills the disk in the middle of a line and makes room again.
func TestCrawlLogFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		l := New(slog.New(slog.NewTextHandler(&told, nil)))
		disk := &smallDisk{}
		disk.room.Store(15)
		l.file = disk
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		want := ""
		for i := range 5 {
			line := fmt.Sprintf("line %04d\n", i)
			want += line
			l.Add([]byte(line))
			time.Sleep(2 * crawlLogEvery)
			synctest.Wait()
		}
		if n := strings.Count(told.String(), "cannot write the crawl log"); n != 1 {
			t.Errorf("it was told %d times:\n%s", n, &told)
		}
		if n := l.Failures.Load(); n < 2 { // one each second
			t.Errorf("%d failures are counted", n)
		}
		line := []byte(strings.Repeat("x", 1<<10) + "\n")
		for range crawlLogBytes/len(line) + 10 { // more than there is room for
			l.Add(line)
		}
		synctest.Wait()
		disk.room.Store(1 << 30)
		time.Sleep(2 * crawlLogEvery)
		synctest.Wait()
		if !strings.Contains(told.String(), "works again") || strings.Contains(told.String(), "lost_lines=0") {
			t.Errorf("that lines were lost is not told:\n%s", &told)
		}
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		last := []byte("last\n")
		l.Add(last)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		got := disk.String()
		if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "x\nlast\n") {
			t.Errorf("begins with %q, ends with %q", got[:min(len(got), len(want))], got[max(0, len(got)-20):])
		}
		if len(got) > crawlLogBytes+crawlLogBytes/2 {
			t.Errorf("%d bytes waited", len(got))
		}
	})
}

// TestCrawlLogRotation renames the file, as logrotate's create does, and cuts it, as
// copytruncate does.
func TestCrawlLogRotation(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.log")
	l := New(slog.New(slog.DiscardHandler))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.Reopen(path))
	l.Add([]byte("one\n"))
	must(os.Rename(path, path+".1"))
	l.Add([]byte("two\n"))
	must(l.Reopen(path))
	l.Add([]byte("three\n"))
	must(l.Reopen(path))
	must(os.Truncate(path, 0))
	l.Add([]byte("four\n"))
	if err := l.Reopen(filepath.Join(dir, "missing", "crawl.log")); err == nil || !strings.Contains(err.Error(), "its folder does not exist") {
		t.Errorf("a folder that is not there: %v", err)
	}
	l.Add([]byte("five\n"))
	must(l.Close())
	l.Add([]byte("nobody reads this\n"))
	must(l.Close())
	for name, want := range map[string]string{path + ".1": "one\ntwo\n", path: "four\nfive\n"} {
		got, err := os.ReadFile(name)
		must(err)
		if string(got) != want {
			t.Errorf("%s: %q instead of %q", name, got, want)
		}
	}
}

// TestCrawlLogMovesWholeLines reopens after half a line was written.
func TestCrawlLogMovesWholeLines(t *testing.T) {
	l := New(slog.New(slog.DiscardHandler))
	disk := &smallDisk{}
	disk.room.Store(7)
	l.file = disk
	l.Add([]byte("one\ntwo three\n"))
	path := filepath.Join(t.TempDir(), "new")
	if err := errors.Join(l.Reopen(path), l.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "two three\n" {
		t.Errorf("%q %v", got, err)
	}
}
