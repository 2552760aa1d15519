package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func (d *door) versions(t *testing.T, query string) (kept []ConfigVersion, next string) {
	t.Helper()
	answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/versions"+query, d.operator, ""))
	var page struct {
		Items []ConfigVersion
		Next  string
	}
	if err := json.Unmarshal([]byte(body), &page); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("versions: %d %s, %v", answer.StatusCode, body, err)
	}
	return page.Items, page.Next
}

// TestConfigVersions: each text that was replaced is listed, newest first, and can be
// read; nothing else beside the configuration can, and not by a reader.
func TestConfigVersions(t *testing.T) {
	d := openDoor(t, nil, nil)
	if kept, _ := d.versions(t, ""); len(kept) != 0 {
		t.Fatalf("before the first change: %v", kept)
	}
	for _, text := range []string{"<first/>", "<second/>"} {
		if answer, body := d.writeConfig(t, text, "*"); answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", text, answer.StatusCode, body)
		}
	}
	folder, base := filepath.Split(d.config)
	other := filepath.Join(t.TempDir(), "secret")
	for _, name := range []string{base + ".20200102-030405", base + ".20200102-030405.new", base + ".bak", base + ".20201399-030405", "other", base + ".20200102-030406.x", other} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		testdir.Write(t, name, "<text/>")
	}
	link := base + ".20200102-030407"
	if err := os.Symlink(other, filepath.Join(folder, link)); err != nil {
		t.Fatal(err)
	}
	kept, _ := d.versions(t, "")
	var texts []string
	for _, v := range kept {
		answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/version?name="+url.QueryEscape(v.Name), d.operator, ""))
		if answer.StatusCode != http.StatusOK || int64(len(body)) != v.Bytes || v.Replaced.IsZero() {
			t.Errorf("%+v: %d %s", v, answer.StatusCode, body)
		}
		texts = append(texts, body)
	}
	if want := []string{"<first/>", "<old/>", "<text/>"}; !slices.Equal(texts, want) {
		t.Errorf("kept, newest first: %q, want %q", texts, want)
	}
	first, next := d.versions(t, "?limit=2")
	if rest, end := d.versions(t, "?cursor="+url.QueryEscape(next)); len(first) != 2 || len(rest) != 1 || rest[0] != kept[2] || end != "" {
		t.Errorf("in parts: %v, then %v", first, rest)
	}
	for _, name := range []string{"", base, base + ".bak", base + ".20200102-030405.new", "other", link, other, "../" + filepath.Base(folder) + "/" + kept[0].Name, "./" + kept[0].Name, base + ".20200102-030405/../other", base + ".20200102-030409"} {
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
