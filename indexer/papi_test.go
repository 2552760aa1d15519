package indexer_test

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/indexer"
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
		"checkpoint too long":   {"POST", "set_checkpoint", one("PAPI_checkpoint", strings.Repeat("x", 33<<10)), 400, "longer"},
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

func TestBasicAuthentication(t *testing.T) {
	c, _, _ := start(t, t.TempDir(), indexer.Settings{User: "u", Password: "p"})
	for _, credentials := range []string{"", "u:wrong@", "wrong:p@"} {
		address := strings.Replace(c.url("ping", nil), "http://", "http://"+credentials, 1)
		code, body, header := c.do("GET", address, "", nil)
		if code != 401 || header.Get("WWW-Authenticate") == "" {
			t.Errorf("with %q: %d", credentials, code)
		}
		checkErrorBody(t, code, body)
	}
	if code, body, _ := c.do("GET", strings.Replace(c.url("ping", nil), "http://", "http://u:p@", 1), "", nil); code/100 != 2 {
		t.Errorf("right password: %d %s", code, body)
	}
	if code, _, _ := c.do("GET", c.address+"/", "", nil); code != 401 {
		t.Errorf("search page without password: %d, want 401", code)
	}
	if code, _, _ := c.do("GET", c.address+"/healthz", "", nil); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if _, err := indexer.Open(t.TempDir(), indexer.Settings{User: "u"}, nil); err == nil {
		t.Error("a user without a password is accepted")
	}
}

func TestConnectorNames(t *testing.T) {
	c := open(t, indexer.Settings{Connectors: []string{"web", "files"}})
	c.name = "files"
	c.must(c.get("ping", nil))
	c.name = "other"
	if code, body := c.get("ping", nil); code != 404 || !strings.Contains(body, "unknown connector") {
		t.Errorf("connector not accepted: %d %s", code, body)
	}
	any := open(t, indexer.Settings{})
	for _, name := range []string{"a/b", "a\x00b", strings.Repeat("x", 200)} {
		any.name = name
		if code, _ := any.get("ping", nil); code != 404 {
			t.Errorf("connector %.20q: %d, want 404", name, code)
		}
	}
}

func TestConnectorsAreApart(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(page("1", "http://a/1", "one")...))
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"7"}, "PAPI_sync": {"true"}}))
	c.name = "web2"
	if n := c.count(); n != "0" {
		t.Errorf("%s documents in the other connector", n)
	}
	if v := c.must(c.get("get_checkpoint", nil)); v != "" {
		t.Errorf("checkpoint %q in the other connector", v)
	}
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/1")))
	c.sync()
	c.name = "web"
	if n := c.count(); n != "1" {
		t.Errorf("%s documents after the other connector's delete, want 1", n)
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
	for i := range 1000 {
		c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"v"}, "PAPI_name": {strconv.Itoa(i)}}))
	}
	if code, _ := c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"v"}, "PAPI_name": {"more"}}); code != 400 {
		t.Errorf("name 1001: %d, want 400", code)
	}
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"w"}, "PAPI_name": {"5"}}))
}

func TestDeleteDocumentsByBodyAndURL(t *testing.T) {
	c := open(t, indexer.Settings{})
	for _, id := range []string{"1", "2", "3", "4"} {
		c.must(c.add(page(id, "http://a/"+id, id)...))
	}
	body := url.Values{"PAPI_uri": {"http://a/1", "http://a/2"}}.Encode()
	code, answer, _ := c.do("POST", c.url("delete_documents", one("PAPI_uri", "http://a/3")), "application/x-www-form-urlencoded", strings.NewReader(body))
	c.must(code, answer)
	c.sync()
	if got := c.must(c.get("enumerate_synced_entries", nil)); got != "http%3A%2F%2Fa%2F4 stamp of 4\n" {
		t.Errorf("left: %q", got)
	}
	for _, bad := range []struct{ contentType, body, words string }{
		{"application/json", `{"PAPI_uri":"http://a/4"}`, "application/x-www-form-urlencoded"},
		{"application/x-www-form-urlencoded", "PAPI_uri=http://a/4&uri=x", "unknown field"},
		{"application/x-www-form-urlencoded", "PAPI_uri=%zz", "form"},
		{"application/x-www-form-urlencoded", "PAPI_uri=http://a/4&PAPI_uri=", "empty"},
		{"application/x-www-form-urlencoded", strings.Repeat("x", 17<<20), "larger"},
	} {
		code, answer, _ := c.do("POST", c.url("delete_documents", nil), bad.contentType, strings.NewReader(bad.body))
		if code != 400 || !strings.Contains(answer, bad.words) {
			t.Errorf("%.40s: %d %s", bad.body, code, answer)
		}
	}
	c.sync()
	if n := c.count(); n != "1" {
		t.Errorf("%s documents after refused deletes, want 1", n)
	}
}

func TestRootPaths(t *testing.T) {
	all := []string{"http://a/x", "http://a/x/1", "http://a/x/1/2", "http://a/x/", "http://a/xy", "http://a/y", "http://b/x"}
	tests := []struct {
		root, recursive string
		left            []string
	}{
		{"http://a/x", "true", []string{"http://a/xy", "http://a/y", "http://b/x"}},
		{"http://a/x/", "", []string{"http://a/xy", "http://a/y", "http://b/x"}},
		{"http://a/x", "false", []string{"http://a/x/1/2", "http://a/xy", "http://a/y", "http://b/x"}},
		{"http://c", "true", []string{"http://a/x", "http://a/x/", "http://a/x/1", "http://a/x/1/2", "http://a/xy", "http://a/y", "http://b/x"}},
	}
	for _, synced := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(tt.root+tt.recursive+strconv.FormatBool(synced), func(t *testing.T) {
				c, server, _ := start(t, t.TempDir(), indexer.Settings{})
				c.readSession()
				for i, uri := range all {
					c.must(c.add(page(strconv.Itoa(i), uri, "x")...))
				}
				if synced {
					c.sync()
				}
				query := one("PAPI_rootPath", tt.root)
				if tt.recursive != "" {
					query.Set("PAPI_recursive", tt.recursive)
				}
				c.must(c.post("delete_documents_root_path", query))
				for _, uri := range all { // the status knows of it before the sync
					want := " false "
					for _, left := range tt.left {
						if left == uri {
							want = " true "
						}
					}
					if got := c.must(c.get("get_documents_status", one("PAPI_uri", uri))); !strings.Contains(got, want) {
						t.Errorf("status of %s: %q, want%s", uri, got, want)
					}
				}
				c.sync()
				got, err := server.URIs("web")
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.left, got); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestAddAfterRootDeletionStays(t *testing.T) {
	c, server, _ := start(t, t.TempDir(), indexer.Settings{})
	c.readSession()
	c.must(c.add(page("1", "http://a/old", "x")...))
	c.sync()
	c.must(c.add(page("1", "http://a/pending", "x")...))
	c.must(c.post("delete_documents_root_path", one("PAPI_rootPath", "http://a")))
	c.must(c.add(page("1", "http://a/new", "x")...))
	c.sync()
	got, err := server.URIs("web")
	if diff := cmp.Diff([]string{"http://a/new"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEnumerateCountAndStatus(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(part{"PAPI_1:uri", "http://a/b c?d=é", ""}, part{"PAPI_1:stamp", "a\\b\r\nc", ""}))
	c.must(c.add(page("2", "http://a/x/y", "two")...))
	status := url.Values{"PAPI_uri": {"http://a/x/y", "http://none", "http://a/b c?d=é"}}
	want := "http%3A%2F%2Fa%2Fx%2Fy true stamp of 2\nhttp%3A%2F%2Fnone false \nhttp%3A%2F%2Fa%2Fb+c%3Fd%3D%C3%A9 true a\\\\b\\r\\nc\n"
	for range 2 { // pushed, then synced
		if got := c.must(c.get("get_documents_status", status)); got != want {
			t.Errorf("status %q, want %q", got, want)
		}
		c.sync()
	}
	for mode, counts := range map[string][2]string{
		"RECURSIVE_DOCUMENTS": {"2", "1"}, "NOT_RECURSIVE_DOCUMENTS": {"1", "0"},
	} {
		for i, root := range []string{"http://a", "http://a/b c?d=é/"} {
			if got := c.must(c.get("count_synced_entries", url.Values{"PAPI_mode": {mode}, "PAPI_rootPath": {root}})); i == 0 && got != counts[0] {
				t.Errorf("%s below %s: %s, want %s", mode, root, got, counts[0])
			}
		}
	}
	if got := c.must(c.get("enumerate_synced_entries", one("PAPI_rootPath", "http://a/x"))); got != "http%3A%2F%2Fa%2Fx%2Fy stamp of 2\n" {
		t.Errorf("enumerated %q", got)
	}
	// A replaced and a deleted document are said as they are now.
	c.must(c.add(part{"PAPI_1:uri", "http://a/x/y", ""}, part{"PAPI_1:stamp", "newer", ""}))
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/b c?d=é")))
	c.sync()
	if got := c.must(c.get("enumerate_synced_entries", nil)); got != "http%3A%2F%2Fa%2Fx%2Fy newer\n" {
		t.Errorf("enumerated %q", got)
	}
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

func TestPendingMemoryIsBounded(t *testing.T) {
	c := open(t, indexer.Settings{MaxPendingBytes: 100_000})
	text := strings.Repeat("word ", 2000) // 10 kB
	for i := range 25 {
		c.must(c.add(page("1", "http://a/"+strconv.Itoa(i), text)...))
	}
	if n := c.count(); n != "20" { // twice ten, and five are pending
		t.Errorf("%s documents synced by themselves, want 20", n)
	}
	c.must(c.post("set_checkpoint", one("PAPI_checkpoint", "1")))
	if v := c.must(c.get("get_checkpoint", nil)); v != "" {
		t.Errorf("checkpoint %q without a sync", v)
	}
}

func TestCloseSyncsAndReopenRemembers(t *testing.T) {
	dir := t.TempDir()
	c, _, stop := start(t, dir, indexer.Settings{})
	c.readSession()
	c.must(c.add(page("1", "http://a/1", "x")...))
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"9"}}))
	stop()
	c, server, _ := start(t, dir, indexer.Settings{})
	c.readSession()
	if v := c.must(c.get("get_checkpoint", nil)); v != "9" {
		t.Errorf("checkpoint %q after a clean stop", v)
	}
	if n, err := server.Count(); n != 1 || err != nil {
		t.Errorf("count %d %v", n, err)
	}
	if serial := c.must(c.post("set_checkpoint", one("PAPI_checkpoint", "10"))); serial != "1" {
		t.Errorf("serial %s after a clean stop", serial)
	}
}

func TestRequestLargerThanTheLimit(t *testing.T) {
	c := open(t, indexer.Settings{MaxRequestBytes: 1 << 20})
	big := page("1", "http://a/1", strings.Repeat("x", 8<<20))
	if code, body := c.add(big...); code != 400 || !strings.Contains(body, "larger") {
		t.Errorf("with a length: %d %s", code, body)
	}
	contentType, body := form(t, big...)
	stream := struct{ *bytes.Reader }{bytes.NewReader(body)} // no length known: sent in chunks
	code, answer, _ := c.do(http.MethodPost, c.url("add_documents", nil), contentType, stream)
	if code != 400 || !strings.Contains(answer, "larger") {
		t.Errorf("in chunks: %d %s", code, answer)
	}
	c.must(c.add(page("1", "http://a/1", strings.Repeat("x", 1<<19))...))
}

func TestLockedIndexNamesTheWayOut(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, indexer.Settings{})
	_, err := indexer.Open(dir, indexer.Settings{}, nil)
	if err == nil || !strings.Contains(err.Error(), "open in another process") || !strings.Contains(err.Error(), dir) {
		t.Errorf("second Open: %v", err)
	}
}
