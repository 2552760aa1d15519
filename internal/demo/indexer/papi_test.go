package indexer_test

import (
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

func one(name, value string) url.Values { return url.Values{name: {value}} }

func TestSessionIsAPositiveIntegerAndNewAtEachStart(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	for range 3 {
		c, _, stop := start(t, dir, indexer.Settings{})
		c.readSession()
		if n, err := strconv.ParseInt(c.session, 10, 64); err != nil || n <= 0 {
			t.Errorf("session %q: want a positive integer of 63 bits", c.session)
		}
		if seen[c.session] {
			t.Errorf("session %s twice", c.session)
		}
		seen[c.session] = true
		stop()
	}
}

func TestRefusals(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(page("1", "http://a/1", "kept")...))
	c.sync()
	tests := map[string]struct {
		method, command string
		query           url.Values
		status          int
		words           string
	}{
		"unknown command":       {"GET", "drop_everything", nil, 404, "unknown command"},
		"add by GET":            {"GET", "add_documents", nil, 405, "POST"},
		"delete by GET":         {"GET", "delete_documents", one("PAPI_uri", "http://a/1"), 405, "POST"},
		"root path by GET":      {"GET", "delete_documents_root_path", one("PAPI_rootPath", "http://a"), 405, "POST"},
		"set_checkpoint by GET": {"GET", "set_checkpoint", one("PAPI_checkpoint", "1"), 405, "POST"},
		"sync by GET":           {"GET", "sync", nil, 405, "POST"},
		"session by POST":       {"POST", "get_current_session_id", nil, 405, "GET"},
		"ping by POST":          {"POST", "ping", nil, 405, "GET"},
		"get_checkpoint POST":   {"POST", "get_checkpoint", nil, 405, "GET"},
		"status by PUT":         {"PUT", "get_documents_status", nil, 405, "GET"},
		"enumerate by POST":     {"POST", "enumerate_synced_entries", nil, 405, "GET"},
		"count by DELETE":       {"DELETE", "count_synced_entries", nil, 405, "GET"},
		"wrong session":         {"POST", "sync", one("PAPI_session", "1"), 400, "restarted"},
		"no integer session":    {"POST", "sync", one("PAPI_session", "x<y"), 400, "not an integer"},
		"empty session":         {"GET", "get_checkpoint", one("PAPI_session", ""), 400, "not an integer"},
		"two sessions":          {"GET", "get_checkpoint", url.Values{"PAPI_session": {"1", "2"}}, 400, "repeated"},
		"delete nothing":        {"POST", "delete_documents", nil, 400, "PAPI_uri is missing"},
		"delete empty uri":      {"POST", "delete_documents", one("PAPI_uri", ""), 400, "empty"},
		"delete NUL":            {"POST", "delete_documents", one("PAPI_uri", "http://a/\x00"), 400, "control"},
		"delete no UTF-8":       {"POST", "delete_documents", one("PAPI_uri", "http://a/\xff"), 400, "UTF-8"},
		"root path missing":     {"POST", "delete_documents_root_path", nil, 400, "whole collection"},
		"root path empty":       {"POST", "delete_documents_root_path", one("PAPI_rootPath", ""), 400, "whole collection"},
		"root path slashes":     {"POST", "delete_documents_root_path", one("PAPI_rootPath", "//"), 400, "whole collection"},
		"recursive maybe":       {"POST", "delete_documents_root_path", url.Values{"PAPI_rootPath": {"http://a"}, "PAPI_recursive": {"maybe"}}, 400, "true or false"},
		"checkpoint missing":    {"POST", "set_checkpoint", nil, 400, "PAPI_checkpoint is missing"},
		"checkpoint twice":      {"POST", "set_checkpoint", url.Values{"PAPI_checkpoint": {"1", "2"}}, 400, "2 times"},
		"checkpoint too long":   {"POST", "set_checkpoint", one("PAPI_checkpoint", strings.Repeat("x", 5<<10)), 400, "longer"},
		"checkpoint name long":  {"POST", "set_checkpoint", url.Values{"PAPI_checkpoint": {"1"}, "PAPI_name": {strings.Repeat("x", 5<<10)}}, 400, "longer"},
		"session name too long": {"GET", "get_checkpoint", one("PAPI_name", strings.Repeat("x", 33<<10)), 400, "longer"},
		"sync perhaps":          {"POST", "set_checkpoint", url.Values{"PAPI_checkpoint": {"1"}, "PAPI_sync": {"1"}}, 400, "true or false"},
		"status of nothing":     {"GET", "get_documents_status", nil, 400, "PAPI_uri"},
		"unknown mode":          {"GET", "count_synced_entries", one("PAPI_mode", "NOT_RECURSIVE_FOLDERS"), 400, "RECURSIVE_DOCUMENTS"},
		"add without a form":    {"POST", "add_documents", nil, 400, "multipart/form-data"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, header := c.do(tt.method, c.url(tt.command, tt.query), "", nil)
			if code != tt.status {
				t.Fatalf("status %d, want %d: %s", code, tt.status, body)
			}
			if code == 405 {
				if header.Get("Allow") != tt.words {
					t.Errorf("Allow %q, want %q", header.Get("Allow"), tt.words)
				}
			}
			if message := checkErrorBody(t, code, body); !strings.Contains(message, tt.words) {
				t.Errorf("message %q, want %q in it", message, tt.words)
			}
		})
	}
	c.sync()
	if n := c.count(); n != "1" {
		t.Errorf("%s documents after all refusals, want 1", n)
	}
}

// checkErrorBody parses the XML of a refusal and gives its message.
func checkErrorBody(t *testing.T, code int, body string) string {
	t.Helper()
	var parsed struct {
		XMLName xml.Name `xml:"error"`
		Status  int      `xml:"status"`
		Message string   `xml:"message"`
	}
	if err := xml.Unmarshal([]byte(body), &parsed); err != nil {
		t.Fatalf("error body is not XML: %v\n%s", err, body)
	}
	if parsed.Status != code {
		t.Errorf("status %d in the body, %d in the answer", parsed.Status, code)
	}
	return parsed.Message
}

func TestPingAndSessionNeedNoSession(t *testing.T) {
	c, _, _ := start(t, t.TempDir(), indexer.Settings{})
	c.must(c.get("ping", nil))
	if code, body := c.get("get_checkpoint", nil); code != 400 || !strings.Contains(body, "PAPI_session is missing") {
		t.Errorf("without a session: %d %s", code, body)
	}
}

func TestCheckpoints(t *testing.T) {
	c := open(t, indexer.Settings{})
	if v := c.must(c.get("get_checkpoint", one("PAPI_name", "n"))); v != "" {
		t.Errorf("checkpoint never set: %q", v)
	}
	c.must(c.add(append(page("1", "http://a/1", "one"), page("2", "http://a/2", "two")...)...))
	if serial := c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"old"}, "PAPI_name": {"n"}})); serial != "2" {
		t.Errorf("serial %s after two adds", serial)
	}
	if v := c.must(c.get("get_checkpoint", one("PAPI_name", "n"))); v != "" {
		t.Errorf("checkpoint %q before any sync", v)
	}
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/2")))
	sync := url.Values{"PAPI_checkpoint": {"new & <newer>"}, "PAPI_name": {"n"}, "PAPI_sync": {"true"}}
	if serial := c.must(c.post("set_checkpoint", sync)); serial != "3" {
		t.Errorf("serial %s after a delete", serial)
	}
	if v := c.must(c.get("get_checkpoint", one("PAPI_name", "n"))); v != "new & <newer>" {
		t.Errorf("checkpoint %q after the sync", v)
	}
	if v := c.must(c.get("get_checkpoint", nil)); v != "" {
		t.Errorf("the unnamed checkpoint is %q", v)
	}
	if n := c.count(); n != "1" {
		t.Errorf("%s documents, want 1", n)
	}
}

func TestTooManyCheckpointNames(t *testing.T) {
	c := open(t, indexer.Settings{})
	for i := range 100 {
		c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"v"}, "PAPI_name": {strconv.Itoa(i)}}))
	}
	if code, _ := c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"v"}, "PAPI_name": {"more"}}); code != 400 {
		t.Errorf("name 101: %d, want 400", code)
	}
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"w"}, "PAPI_name": {"5"}}))
}

func TestNothingOfARefusedBatchIsApplied(t *testing.T) {
	c := open(t, indexer.Settings{Fail: indexer.Fail{Bad: []string{"poison"}}})
	good := page("1", "http://a/good", "x")
	code, body := c.add(append(good, page("2", "http://a/poison", "x")...)...)
	if code != 400 || !strings.Contains(body, "poison") {
		t.Errorf("bad batch: %d %s", code, body)
	}
	if code, _ := c.add(append(good, part{"PAPI_1:colour", "red", ""})...); code != 400 {
		t.Errorf("unknown part: %d", code)
	}
	c.sync()
	if n := c.count(); n != "0" {
		t.Errorf("%s documents of refused batches", n)
	}
	c.must(c.add(good...))
	c.sync()
	if n := c.count(); n != "1" {
		t.Errorf("%s documents, want the good one", n)
	}
}
