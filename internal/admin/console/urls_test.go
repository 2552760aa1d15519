package console

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/report"
)

// TestURLsPage: the filter goes to the API as it is written, the heads sort, and the page
// after it keeps both.
func TestURLsPage(t *testing.T) {
	var asked url.Values
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query()
		if asked.Get("match") == "<" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"detail":"match: no XML"}`))
			return
		}
		_ = json.NewEncoder(w).Encode(report.Page{URLs: []report.StoredURL{{URL: "http://a.test/x", Status: 404, Class: "permanent", Fate: "permanent_error", Reason: "not_found"}}, Next: "more", Read: 5})
	})
	c := newConsole(t, admin.Operator, api)
	code, body := visitPage(t, c, "/urls?status=404&host=a.test&sort=-status&source=+web+&nonsense=1")
	for name, want := range map[string]string{"status": "404", "host": "a.test", "sort": "-status", "source": "web", "limit": "100", "nonsense": ""} {
		if got := asked.Get(name); got != want {
			t.Errorf("asked for %s %q, want %q", name, got, want)
		}
	}
	for _, want := range []string{
		"http://a.test/x", "permanent error", "not found", `aria-sort="descending"`, `sort=status`, `cursor=more`, `<details class="more" open>`,
		"Recrawl all that the filter finds", `formaction="/urls/remove"`,
	} {
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%d, the page lacks %q", code, want)
		}
	}
	if _, body := visitPage(t, c, "/urls?match=%3C&sort=url"); !strings.Contains(body, "match: no XML") || !strings.Contains(body, `value="&lt;"`) {
		t.Error("a wrong condition is not told, or is lost")
	}
	if _, body := visitPage(t, newConsole(t, admin.Reader, api), "/urls"); strings.Contains(usable(body), "Recrawl") || strings.Contains(body, "checkbox") {
		t.Error("a reader can use what changes something")
	}
}

// TestDecideURLs: what many are concerned by is asked with its number, and done once it is
// confirmed, with the selection of the filter.
func TestDecideURLs(t *testing.T) {
	var done []string
	n := `{"urls":120,"documents":7,"roots":1}`
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch path := strings.TrimPrefix(r.URL.Path, "/api/v1"); path {
		case "/selected":
			_, _ = w.Write([]byte(n))
		default:
			done = append(done, path+" "+r.URL.Query().Get("yes")+" "+string(b))
			_, _ = w.Write([]byte(`{"urls":120,"waiting":1,"deletions":7}`))
		}
	})
	c := newConsole(t, admin.Operator, api)
	form := url.Values{"which": {"all"}, "status": {"404"}, "host": {"a.test"}}
	w := sendForm(t, c, "/urls/refresh", form)
	if body := w.Body.String(); len(done) > 0 || !strings.Contains(body, "Recrawl 121 URLs?") || !strings.Contains(body, "Those with status <bdi>404</bdi>, host <bdi>a.test</bdi>.") || !strings.Contains(body, `name="which" value="all"`) {
		t.Errorf("done %q, asked\n%s", done, body)
	}
	w = sendForm(t, c, "/urls/remove", form)
	if body := w.Body.String(); len(done) > 0 || !strings.Contains(body, "Remove 120 URLs?") || !strings.Contains(body, "7 documents are deleted") || !strings.Contains(body, "1 start URL of the configuration stays") {
		t.Errorf("done %q, asked\n%s", done, body)
	}
	form.Set("sure", "yes")
	if w = sendForm(t, c, "/urls/refresh", form); w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Location"), "host=a.test") {
		t.Errorf("%d to %s", w.Code, w.Header().Get("Location"))
	}
	sendForm(t, c, "/urls/remove", form)
	form.Set("forever", "yes")
	sendForm(t, c, "/urls/remove", form)
	want := []string{
		`/refresh  {"status":"404","host":"a.test"}`, `/remove true {"status":"404","host":"a.test"}`,
		`/remove true {"forever":true,"status":"404","host":"a.test"}`,
	}
	if strings.Join(done, "\n") != strings.Join(want, "\n") {
		t.Errorf("done %q, want %q", done, want)
	}
	// Few are fetched again at once; removing is always asked.
	done, n = nil, `{"urls":2,"documents":1,"roots":0}`
	few := url.Values{"url": {"http://a.test/1", "http://a.test/2"}}
	sendForm(t, c, "/urls/refresh", few)
	if w := sendForm(t, c, "/urls/remove", few); len(done) != 1 || !strings.Contains(done[0], "http://a.test/2") || !strings.Contains(w.Body.String(), "Remove 2 URLs?") {
		t.Errorf("done %q", done)
	}
	done = nil
	if w := sendForm(t, c, "/urls/refresh", nil); w.Code != http.StatusSeeOther || done != nil {
		t.Errorf("nothing selected: %d, done %q", w.Code, done)
	}
}
