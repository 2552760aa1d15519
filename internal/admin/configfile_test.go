package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(d.config), "history", "*"))
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

// TestReplaceConfig: a text that somebody has written meanwhile is not replaced, and no other file is left.
func TestReplaceConfig(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "CrawlConfig.xml")
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"2", "3"} {
		if err := replaceConfig(path, []byte{byte('1' + i)}, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := replaceConfig(path, []byte("2"), []byte("4")); problemOf(err).Status != http.StatusPreconditionFailed {
		t.Errorf("over what somebody wrote meanwhile: %v", err)
	}
	if all, _ := filepath.Glob(path + "*"); len(all) != 1 {
		t.Errorf("there are %v", all)
	}
	if text, err := os.ReadFile(path); string(text) != "3" || err != nil {
		t.Errorf("the file: %s, %v", text, err)
	}
	if left, _ := filepath.Glob(path + "*.new"); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	err := unwritable(path, os.ErrPermission)
	if !IsDeclined(err) || !strings.Contains(err.Error(), "ReadWritePaths="+folder+")") {
		t.Errorf("a folder that cannot be written to: %v", err)
	}
}
