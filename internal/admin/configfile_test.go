package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// writeConfig sends a configuration over TCP, as an operator.
func (d *door) writeConfig(t *testing.T, text, match string) (*http.Response, string) {
	t.Helper()
	r := d.request(t, http.MethodPut, "/api/v1/config", d.operator, text)
	r.Header.Set("Content-Type", configMedia)
	if match != "" {
		r.Header.Set("If-Match", match)
	}
	return d.do(t, r)
}

// TestWriteConfig: of two writers the second one is told; the old text stays beside the
// new one, which has its mode; a broken one changes nothing.
func TestWriteConfig(t *testing.T) {
	d := openDoor(t, nil, nil)
	answer, text := d.do(t, d.request(t, "GET", "/api/v1/config", d.operator, ""))
	tag := answer.Header.Get("ETag")
	if text != "<old/>" || tag == "" {
		t.Fatalf("the configuration: %s, ETag %q", text, tag)
	}
	if answer, body := d.writeConfig(t, "broken", tag); answer.StatusCode != 422 || !strings.Contains(body, `"line":3,"column":5,"message":"broken"`) || strings.Contains(body, "odd") {
		t.Errorf("a broken one: %d %s", answer.StatusCode, body)
	}
	if answer, body := d.writeConfig(t, "<first/>", tag); answer.StatusCode != 200 || answer.Header.Get("ETag") == tag ||
		!strings.Contains(body, `"in_force":false`) || !strings.Contains(body, "CrawlConfig.xml:3:5: broken") { // what the fake says of a reload
		t.Errorf("the first writer: %d %s", answer.StatusCode, body)
	}
	if answer, body := d.writeConfig(t, "<second/>", tag); answer.StatusCode != 412 {
		t.Errorf("the second writer: %d %s", answer.StatusCode, body)
	}
	if answer, body := d.writeConfig(t, "<second/>", ""); answer.StatusCode != 428 {
		t.Errorf("without If-Match: %d %s", answer.StatusCode, body)
	}
	now, err := os.ReadFile(d.config)
	info, statErr := os.Stat(d.config)
	if string(now) != "<first/>" || err != nil || statErr != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file: %s, %v, mode %v", now, err, info.Mode())
	}
	kept, err := filepath.Glob(d.config + ".*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	if old, err := os.ReadFile(kept[0]); string(old) != "<old/>" || err != nil {
		t.Errorf("what is kept: %s, %v", old, err)
	}
	if answer, body := d.writeConfig(t, "<first/>", answer.Header.Get("ETag")+", *"); answer.StatusCode != 200 || strings.Contains(body, "kept") {
		t.Errorf("the same text again: %d %s", answer.StatusCode, body)
	}
	if !strings.Contains(d.log.String(), `what="write configuration" who="operator operator.token 127.0.0.1:`) {
		t.Errorf("the log: %s", d.log.String())
	}
}

// TestTakeBack: what somebody has put in the place of the file meanwhile is there again,
// also where they do it once more.
func TestTakeBack(t *testing.T) {
	folder := t.TempDir()
	path, next := filepath.Join(folder, "config"), filepath.Join(folder, "next")
	hold := func(at, text string) {
		testdir.Write(t, at, text)
	}
	hold(path, "sent")
	hold(next, "edited")
	if runtime.GOOS != "linux" {
		t.Skip("files cannot change names in one step here")
	}
	if _, err := takeBack(next, path, []byte("sent")); problemOf(err).Status != http.StatusPreconditionFailed {
		t.Errorf("one edit: %v", err)
	}
	if now, err := os.ReadFile(path); string(now) != "edited" || err != nil {
		t.Errorf("after one edit: %s, %v", now, err)
	}
	hold(path, "edited again") // over sent
	hold(next, "edited")
	again, err := takeBack(next, path, []byte("sent"))
	if string(again) != "edited again" || err != nil {
		t.Fatalf("the second edit: %s, %v", again, err)
	}
	if _, err := takeBack(next, path, []byte("edited")); problemOf(err).Status != http.StatusPreconditionFailed {
		t.Errorf("two edits: %v", err)
	}
	if now, err := os.ReadFile(path); string(now) != "edited again" || err != nil {
		t.Errorf("after two edits: %s, %v", now, err)
	}
}

// TestReplaceConfig: two changes within a second keep both old texts, and a folder that
// cannot be written to is named.
func TestReplaceConfig(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "CrawlConfig.xml")
	testdir.Write(t, path, "1")
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	for i, text := range []string{"2", "3"} {
		kept, err := replaceConfig(path, []byte{byte('1' + i)}, []byte(text), now)
		if err != nil || !strings.HasPrefix(kept, path+".20260102-030405") {
			t.Fatalf("replaceConfig: %s, %v", kept, err)
		}
		if old, err := os.ReadFile(kept); string(old) != string('1'+rune(i)) || err != nil {
			t.Errorf("%s holds %s, %v", kept, old, err)
		}
	}
	if _, err := replaceConfig(path, nil, []byte("4"), now); err == nil {
		t.Error("a kept text is overwritten")
	}
	if _, err := replaceConfig(path, []byte("2"), []byte("4"), now.Add(time.Hour)); problemOf(err).Status != http.StatusPreconditionFailed {
		t.Errorf("over what somebody wrote meanwhile: %v", err)
	}
	if all, _ := filepath.Glob(path + "*"); len(all) != 3 {
		t.Errorf("there are %v", all)
	}
	if text, err := os.ReadFile(path); string(text) != "3" || err != nil {
		t.Errorf("the file: %s, %v", text, err)
	}
	if left, _ := filepath.Glob(path + "*.new"); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	err := unwritable(path, os.ErrPermission)
	if !IsDeclined(err) || !strings.Contains(err.Error(), folder) {
		t.Errorf("a folder that cannot be written to: %v", err)
	}
}
