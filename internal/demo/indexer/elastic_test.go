package indexer_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

// jsonServer returns a server for the protocols in JSON; do makes a request of it.
func jsonServer(t *testing.T, settings indexer.Settings) (do func(method, path, kind, body string) (int, string)) {
	t.Helper()
	server, err := indexer.Open(t.TempDir(), settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		srv.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	client := srv.Client()
	client.Timeout = time.Minute
	return func(method, path, kind, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%x", body))
		resp, err := client.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err.Error()
		}
		return resp.StatusCode, string(answer)
	}
}

const ndjson = "application/x-ndjson"

func index(id string, version int, source string) string {
	return fmt.Sprintf(`{"index":{"_id":%q,"version":%d,"version_type":"external_gte"}}`+"\n%s\n", id, version, source)
}

func remove(id string, version int) string {
	return fmt.Sprintf(`{"delete":{"_id":%q,"version":%d,"version_type":"external_gte"}}`+"\n", id, version)
}

// statuses returns those of the items of an answer.
func statuses(t *testing.T, body string) string {
	t.Helper()
	var answer struct {
		Items []map[string]struct {
			Status int    `json:"status"`
			Result string `json:"result"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var out []string
	for _, item := range answer.Items {
		for _, a := range item {
			out = append(out, strings.TrimSpace(fmt.Sprint(a.Status, " ", a.Result)))
		}
	}
	return strings.Join(out, ", ")
}

func TestBulkVersions(t *testing.T) {
	do := jsonServer(t, indexer.Settings{})
	for _, step := range []struct{ body, want string }{
		{index("a", 5, `{"url":"http://h/a","text":"apple"}`) + index("b", 6, `{"url":"http://h/b","title":"pear"}`), "201 created, 201 created"},
		{index("a", 5, `{"url":"http://h/a","text":"again"}`) + index("b", 4, `{"url":"http://h/b"}`), "200 updated, 409"},
		{remove("a", 4) + remove("a", 9) + remove("c", 9), "409, 200 deleted, 404 not_found"},
		{index("a", 8, `{"url":"http://h/a"}`) + index("a", 9, `{"url":"http://h/a","text":"back"}`) + remove("a", 10) + index("a", 11, `{"url":"http://h/a","text":"at last"}`),
			"409, 201 created, 200 deleted, 201 created"},
		{index("d", 1, `[1]`) + index("d", 1, `{"url":"http://h/d","metas":3}`), "400, 400"},
	} {
		code, body := do(http.MethodPost, "/elastic/web/_bulk?filter_path=items", ndjson, step.body)
		if got := statuses(t, body); code != http.StatusOK || got != step.want {
			t.Errorf("%d, %s, want %s\n%s", code, got, step.want, step.body)
		}
	}
	if _, body := do(http.MethodGet, "/documents?url=http://h/a", "", ""); !strings.Contains(body, `"text":"at last"`) || !strings.Contains(body, `"connector":"elastic:web"`) {
		t.Errorf("document %s", body)
	}
	if _, body := do(http.MethodGet, "/api/search?q=pear", "", ""); !strings.Contains(body, `"total":1`) {
		t.Errorf("search %s", body)
	}
}

func TestBulkIsStrict(t *testing.T) {
	do := jsonServer(t, indexer.Settings{})
	good := index("a", 1, `{}`)
	for name, tt := range map[string]struct {
		method, path, kind, body string
		code                     int
	}{
		"good":              {http.MethodPut, "/elastic/web/_bulk", ndjson + "; charset=utf-8", good, 200},
		"index in action":   {http.MethodPost, "/elastic/_bulk", ndjson, `{"delete":{"_index":"web","_id":"x"}}` + "\n", 200},
		"method":            {http.MethodGet, "/elastic/web/_bulk", "", "", 405},
		"path":              {http.MethodPost, "/elastic/web/doc/_bulk", ndjson, good, 400},
		"content type":      {http.MethodPost, "/elastic/web/_bulk", "text/plain", good, 406},
		"parameter":         {http.MethodPost, "/elastic/web/_bulk?typo=1", ndjson, good, 400},
		"empty":             {http.MethodPost, "/elastic/web/_bulk", ndjson, "", 400},
		"no line feed":      {http.MethodPost, "/elastic/web/_bulk", ndjson, strings.TrimSuffix(good, "\n"), 400},
		"no document":       {http.MethodPost, "/elastic/web/_bulk", ndjson, `{"index":{"_id":"a"}}` + "\n", 400},
		"unknown operation": {http.MethodPost, "/elastic/web/_bulk", ndjson, `{"upsert":{"_id":"a"}}` + "\n{}\n", 400},
		"type":              {http.MethodPost, "/elastic/web/_bulk", ndjson, `{"index":{"_id":"a","_type":"doc"}}` + "\n{}\n", 400},
		"long id":           {http.MethodPost, "/elastic/web/_bulk", ndjson, index(strings.Repeat("x", 513), 1, "{}"), 400},
		"internal version":  {http.MethodPost, "/elastic/web/_bulk", ndjson, `{"index":{"_id":"a","version":1}}` + "\n{}\n", 400},
		"not JSON":          {http.MethodPost, "/elastic/web/_bulk", ndjson, "{\n{}\n", 400},
	} {
		if code, body := do(tt.method, tt.path, tt.kind, tt.body); code != tt.code {
			t.Errorf("%s: %d, want %d: %s", name, code, tt.code, body)
		}
	}
	if _, body := do(http.MethodPost, "/elastic/Web/_bulk", ndjson, good); statuses(t, body) != "400" {
		t.Errorf("index in capitals: %s", body)
	}
}

func TestIndexTemplates(t *testing.T) {
	do := jsonServer(t, indexer.Settings{})
	const path = "/elastic/_index_template/t"
	if code, _ := do(http.MethodHead, path, "", ""); code != 404 {
		t.Errorf("%d before it is there", code)
	}
	for body, want := range map[string]int{
		`{"index_patterns":["web"],"priority":1,"template":{"mappings":{"properties":{"url":{"type":"keyword","ignore_above":9}}}}}`: 200,
		`{"index_patterns":[]}`: 400, `{"index_patterns":["a"],"typo":1}`: 400, `{`: 400,
		`{"index_patterns":["a"],"template":{"mappings":{"properties":{"url":{"type":"string"}}}}}`: 400,
	} {
		if code, answer := do(http.MethodPut, path, "application/json", body); code != want {
			t.Errorf("%s: %d, want %d: %s", body, code, want, answer)
		}
	}
	if code, body := do(http.MethodGet, path, "", ""); code != 200 || !strings.Contains(body, `"keyword"`) {
		t.Errorf("%d %s", code, body)
	}
}

func TestIndexTemplatesAreBounded(t *testing.T) {
	do := jsonServer(t, indexer.Settings{})
	put := func(name string) int {
		code, _ := do(http.MethodPut, "/elastic/_index_template/"+name, "application/json", `{"index_patterns":["web"]}`)
		return code
	}
	for i := range 100 {
		if code := put(fmt.Sprint("t", i)); code != 200 {
			t.Fatalf("template %d: %d", i, code)
		}
	}
	if code := put("more"); code != 400 {
		t.Errorf("one more: %d", code)
	}
	if code := put("t7"); code != 200 {
		t.Errorf("one that is there: %d", code)
	}
}

// Changes of a script are documents and deletions; templates are none.
func TestTemplatesAreNoChanges(t *testing.T) {
	do := jsonServer(t, indexer.Settings{Fail: indexer.Fail{Lose: 1}})
	if code, body := do(http.MethodPut, "/elastic/_index_template/t", "application/json", `{"index_patterns":["web"]}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	for i, want := range []string{`"total":0`, `"total":1`} { // the first is lost
		if code, body := do(http.MethodPost, "/elastic/web/_bulk", ndjson, index(fmt.Sprint(i), 1, `{"url":"http://h/a","text":"words"}`)); code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		if _, found := do(http.MethodGet, "/api/search?q=words", "", ""); !strings.Contains(found, want) {
			t.Errorf("after change %d: %s", i+1, found)
		}
	}
}

func line(op string, seq int, url string) string {
	member := map[string]string{"add": "document", "delete": "deletion"}[op]
	return fmt.Sprintf(`{"op":%q,"seq":%d,%q:{"url":%q,"text":"words of %s"}}`+"\n", op, seq, member, url, url)
}

func TestWebhookIsStrict(t *testing.T) {
	do := jsonServer(t, indexer.Settings{Fail: indexer.Fail{Bad: []string{"/bad"}}})
	body := line("add", 1, "http://h/a") + line("add", 2, "http://h/bad") + line("delete", 3, "http://h/c")
	for range 2 { // the second is known by its key
		if code, answer := do(http.MethodPost, "/webhook/web", ndjson, body); code != 200 || !strings.Contains(answer, `{"accepted":2,"refused":[{"seq":2,`) {
			t.Errorf("%d %s", code, answer)
		}
	}
	if _, answer := do(http.MethodGet, "/api/search?q=words", "", ""); !strings.Contains(answer, `"total":1`) {
		t.Errorf("search %s", answer)
	}
	for name, tt := range map[string]struct {
		path, kind, body string
		code             int
	}{
		"content type": {"/webhook/web", "application/json", body, 415},
		"cut off":      {"/webhook/web", ndjson, body[:len(body)-1], 400},
		"no seq":       {"/webhook/web", ndjson, `{"op":"add","document":{"url":"http://h/"}}` + "\n", 400},
		"wrong member": {"/webhook/web", ndjson, `{"op":"add","seq":1,"deletion":{"url":"http://h/"}}` + "\n", 400},
		"more members": {"/webhook/web", ndjson, `{"op":"add","seq":1,"document":{"url":"http://h/"},"x":1}` + "\n", 400},
		"two values":   {"/webhook/web", ndjson, `{"op":"add","seq":1,"document":{"url":"http://h/"}} {}` + "\n", 400},
		"no url":       {"/webhook/web", ndjson, `{"op":"delete","seq":1,"deletion":{}}` + "\n", 400},
		"name":         {"/webhook/webhook:x", ndjson, body, 404},
	} {
		if code, answer := do(http.MethodPost, tt.path, tt.kind, tt.body); code != tt.code {
			t.Errorf("%s: %d, want %d: %s", name, code, tt.code, answer)
		}
	}
}

// TestScriptsOfAllProtocols: what --fail says happens to _bulk and webhooks as well.
func TestScriptsOfAllProtocols(t *testing.T) {
	for _, protocol := range []struct{ path, body string }{
		{"/elastic/web/_bulk", index("a", 1, `{"url":"http://h/a"}`) + index("b", 1, `{"url":"http://h/b"}`)},
		{"/webhook/web", line("add", 1, "http://h/a") + line("add", 2, "http://h/b")},
	} {
		for fail, want := range map[string]struct {
			code      int // 0: no answer
			documents int
		}{
			"status=401:1":                 {401, 0},
			"status=429:1,retry-after=3":   {429, 0},
			"garbage=1":                    {200, 0},
			"lose=1":                       {200, 0},
			"lose-answer=1":                {0, 2},
			"die-amid=1":                   {0, 1},
			"max-bytes=20":                 {413, 0},
			"die-after=1,slow=1ms":         {200, 2},
			"restart-every=1,status=500:1": {500, 0},
		} {
			t.Run(protocol.path+" "+fail, func(t *testing.T) {
				script, err := indexer.ParseFail(fail)
				if err != nil {
					t.Fatal(err)
				}
				died := 0
				do := jsonServer(t, indexer.Settings{Fail: script, Exit: func(int) { died++ }})
				code, body := do(http.MethodPost, protocol.path, ndjson, protocol.body)
				if code != want.code {
					t.Errorf("%d, want %d: %s", code, want.code, body)
				}
				if _, body := do(http.MethodGet, "/api/search", "", ""); !strings.Contains(body, fmt.Sprintf(`"total":%d,`, want.documents)) {
					t.Errorf("want %d documents: %s", want.documents, body)
				}
				if strings.Contains(fail, "die-amid") != (died == 1) {
					t.Errorf("died %d times", died)
				}
			})
		}
	}
}
