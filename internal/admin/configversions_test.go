package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func (d *door) versions(t *testing.T) []ConfigVersion {
	t.Helper()
	answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/versions", d.operator, ""))
	var page struct{ Items []ConfigVersion }
	if err := json.Unmarshal([]byte(body), &page); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("versions: %d %s, %v", answer.StatusCode, body, err)
	}
	return page.Items
}

// TestConfigVersions: each text that was replaced is listed, newest first, and can be
// read; nothing else beside the configuration can, and not by a reader.
func TestConfigVersions(t *testing.T) {
	d := openDoor(t, nil, nil)
	if kept := d.versions(t); len(kept) != 0 {
		t.Fatalf("before the first change: %v", kept)
	}
	for _, text := range []string{"<first/>", "<second/>"} {
		if answer, body := d.writeConfig(t, text, "*"); answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", text, answer.StatusCode, body)
		}
	}
	base := filepath.Base(d.config)
	folder := filepath.Join(filepath.Dir(d.config), "history")
	for _, name := range []string{base + ".20200102-030405", base + ".20200102-030405.new", base + ".bak", base + ".20201399-030405", "other", base + ".20200102-030406.x"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("<text/>"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept := d.versions(t)
	var texts []string
	for _, v := range kept {
		answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/version?name="+url.QueryEscape(v.Name), d.operator, ""))
		if answer.StatusCode != http.StatusOK || int64(len(body)) != v.Bytes || v.Kept.IsZero() {
			t.Errorf("%+v: %d %s", v, answer.StatusCode, body)
		}
		texts = append(texts, body)
	}
	if want := []string{"<first/>", "<old/>", "<text/>"}; !slices.Equal(texts, want) {
		t.Errorf("kept, newest first: %q, want %q", texts, want)
	}
	for _, name := range []string{"", base, base + ".bak", base + ".20200102-030405.new", "other", "../" + filepath.Base(folder) + "/" + kept[0].Name, "./" + kept[0].Name, base + ".20200102-030405/../other", base + ".20200102-030409"} {
		if answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/version?name="+url.QueryEscape(name), d.operator, "")); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %d %s", name, answer.StatusCode, body)
		}
	}
	for _, path := range []string{"versions", "version?name=" + kept[0].Name} {
		if answer, _ := d.do(t, d.request(t, "GET", "/api/v1/config/"+path, d.reader, "")); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s for a reader: %d", path, answer.StatusCode)
		}
	}
}

// TestConfigHistoryIsBounded: a text is kept once while it is the newest, and the oldest of a hundred goes for it.
func TestConfigHistoryIsBounded(t *testing.T) {
	h, now := ConfigHistory{t.TempDir(), "c"}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range mostVersions {
		name := now.Add(-time.Duration(i) * time.Second).Format("c.20060102-150405")
		if err := os.WriteFile(filepath.Join(h.Folder, name), []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, err := h.Keep([]byte{0}, now)
	if err != nil || first != "c.20260102-030405" {
		t.Errorf("the newest again: %s, %v", first, err)
	}
	next, err := h.Keep([]byte("new"), now.Add(time.Hour))
	kept, listed := h.list()
	if err != nil || listed != nil || len(kept) != mostVersions || kept[0].Name != next || kept[1].Name != first {
		t.Errorf("%d kept, %v first, %v %v", len(kept), kept[0], err, listed)
	}
}
