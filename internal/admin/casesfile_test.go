package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

func (d *door) writeCases(t *testing.T, text, tag string) (*http.Response, string) {
	t.Helper()
	r := d.request(t, "PUT", "/api/v1/config/cases", d.operator, text)
	r.Header.Set("Content-Type", "text/plain")
	if tag != "" {
		r.Header.Set("If-Match", tag)
	}
	return d.do(t, r)
}

// TestCasesBesideTheConfiguration: they are read, and replaced if each line is a case and the file has not changed;
// only in a regular file, and not by a reader.
func TestCasesBesideTheConfiguration(t *testing.T) {
	d := openDoor(t, nil, nil)
	path := CasesPath(d.config)
	read := func() (tag, text string) {
		t.Helper()
		answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/cases", d.operator, ""))
		if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
			t.Fatalf("reading: %d %s", answer.StatusCode, body)
		}
		return answer.Header.Get("ETag"), body
	}
	none, text := read()
	if text != "" {
		t.Fatalf("without a file: %q", text)
	}
	const first, second = "http://a/ crawl\n", "# all\nhttp://a/ crawl\nhttp://a/x ignore\n"
	for _, c := range []struct {
		text, tag string
		status    int
		words     string
	}{
		{first, "", http.StatusPreconditionRequired, "If-Match"},
		{"http://a/ crawll\n", none, http.StatusUnprocessableEntity, `cases.txt:1:11: \"crawll\" is not an expectation`},
		{first, none, http.StatusOK, `"cases":1`},
		{second, none, http.StatusPreconditionFailed, "changed in the meantime"},
	} {
		if answer, body := d.writeCases(t, c.text, c.tag); answer.StatusCode != c.status || !strings.Contains(body, c.words) {
			t.Errorf("%q with %s: %d %s", c.text, c.tag, answer.StatusCode, body)
		}
	}
	tag, text := read()
	if text != first {
		t.Errorf("written: %q", text)
	}
	if answer, body := d.writeCases(t, second, tag); answer.StatusCode != http.StatusOK {
		t.Errorf("again: %d %s", answer.StatusCode, body)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != second {
		t.Errorf("the file has %q, %v", b, err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	for _, method := range []string{"GET", "PUT"} {
		if answer, _ := d.do(t, d.request(t, method, "/api/v1/config/cases", d.reader, "")); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s by a reader: %d", method, answer.StatusCode)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	testdir.Write(t, secret, "secret")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, path); err != nil {
		t.Fatal(err)
	}
	if answer, body := d.do(t, d.request(t, "GET", "/api/v1/config/cases", d.operator, "")); answer.StatusCode != http.StatusUnprocessableEntity || strings.Contains(body, "secret\"") {
		t.Errorf("through a link: %d %s", answer.StatusCode, body)
	}
	if answer, _ := d.writeCases(t, first, "*"); answer.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("written through a link: %d", answer.StatusCode)
	}
}

// TestManyBadCases: a text of nothing but errors is not read to its end.
func TestManyBadCases(t *testing.T) {
	_, errs := ParseCases("cases.txt", strings.Repeat("a\n", 1<<20))
	if len(errs) != mostCaseErrors+1 || !strings.HasPrefix(errs[mostCaseErrors].Error(), "cases.txt:101: the rest was not read") {
		t.Errorf("%d errors, the last %v", len(errs), errs[len(errs)-1])
	}
}
