package admin

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

func loadAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRoutesAreDescribed: every route stands in the file with its role and parameters,
// and no other.
func TestRoutesAreDescribed(t *testing.T) {
	doc := loadAPI(t)
	described := map[string]*openapi3.Operation{}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			described[method+" "+path] = operation
		}
	}
	for _, r := range NewServer(nil, fakeService{}, fakeConfig{}, nil, nil).routes() {
		operation := described[r.pattern()]
		if operation == nil {
			t.Errorf("%s is not described", r.pattern())
			continue
		}
		if role, _ := operation.Extensions["x-role"].(string); role != r.role.String() {
			t.Errorf("%s: the file has role %q, the route %q", r.pattern(), role, r.role)
		}
		var query []string
		for _, p := range operation.Parameters {
			if p.Value.In == "query" && p.Value.Name != "crawler" {
				query = append(query, p.Value.Name)
			}
		}
		if taken := r.names(); !slices.Equal(slices.Sorted(slices.Values(query)), slices.Sorted(slices.Values(taken))) {
			t.Errorf("%s: the file has the parameters %q, the route %q", r.pattern(), query, taken)
		}
		if r.crawler != (operation.Parameters.GetByInAndName("query", "crawler") != nil) && !strings.HasSuffix(r.path, "/status") {
			t.Errorf("%s: the file and the route are not at one whether it is about a Crawler", r.pattern())
		}
		delete(described, r.pattern())
	}
	for pattern := range described {
		t.Errorf("%s is described and not there", pattern)
	}
}

// apiCall is one request, and the status of its answer.
type apiCall struct {
	method, target, body string
	want                 int
	header               [2]string
	malformed            bool // the request is not as the file says
}

func apiCalls(etag string) []apiCall {
	const v = "/api/v1/"
	page := "url=http://a.test/1"
	return []apiCall{
		{"GET", "/healthz", "", 200, [2]string{}, false},
		{"GET", "/readyz", "", 0, [2]string{}, false},
		{"GET", "/status", "", 200, [2]string{}, false},
		{"GET", "/metrics", "", 200, [2]string{}, false},
		{"GET", v + "openapi.yaml", "", 200, [2]string{}, false},
		{"GET", v + "status", "", 200, [2]string{}, false},
		{"GET", v + "hosts?n=2", "", 200, [2]string{}, false},
		{"GET", v + "hosts", "", 200, [2]string{}, false},
		{"GET", v + "hosts?n=0", "", 400, [2]string{}, true},
		{"GET", v + "hosts?n=2&crawler=b", "", 400, [2]string{}, false},
		{"GET", v + "host?host=http://a.test/x", "", 200, [2]string{}, false},
		{"GET", v + "host?host=nobody.test", "", 200, [2]string{}, false},
		{"GET", v + "host?host=", "", 400, [2]string{}, false},
		{"GET", v + "console", "", 422, [2]string{}, false},
		{"GET", v + "hosts/ill", "", 200, [2]string{}, false},
		{"GET", v + "hosts/all", "", 200, [2]string{}, false},
		{"GET", v + "hosts/all?sort=-permanent&from=0&limit=2&host=a.test", "", 200, [2]string{}, false},
		{"GET", v + "hosts/all?sort=colour", "", 400, [2]string{}, false},
		{"GET", v + "events", "", 200, [2]string{}, false},
		{"GET", v + "events?kind=reload,pause&limit=1", "", 200, [2]string{}, false},
		{"GET", v + "history", "", 200, [2]string{}, false},
		{"GET", v + "history?span=week&crawler=a&since=1", "", 200, [2]string{}, false},
		{"GET", v + "history?span=year", "", 400, [2]string{}, true},
		{"GET", v + "urls?limit=2&class=pending&host=a.test&fifo=index&status=0", "", 200, [2]string{}, false},
		{"GET", v + "urls?match=%3CPath+val%3D%22%2Fa%22%2F%3E", "", 200, [2]string{}, false},
		{"GET", v + "urls", "", 200, [2]string{"Accept", "application/jsonl"}, false},
		{"GET", v + "urls?limit=1001", "", 400, [2]string{}, true},
		{"GET", v + "urls?cursor=zz", "", 400, [2]string{}, false},
		{"GET", v + "urls?match=%3C", "", 400, [2]string{}, false},
		{"GET", v + "url?" + page, "", 200, [2]string{}, false},
		{"GET", v + "url?url=http://nobody.test/", "", 404, [2]string{}, false},
		{"GET", v + "url?url=:", "", 400, [2]string{}, false},
		{"GET", v + "links?to=http://a.test/1&limit=1", "", 200, [2]string{}, false},
		{"GET", v + "document?url=http://a/1", "", 200, [2]string{}, false},
		{"GET", v + "document?" + page, "", 200, [2]string{}, false},
		{"GET", v + "document?url=http://nobody.test/", "", 404, [2]string{}, false},
		{"GET", v + "robots?" + page, "", 200, [2]string{}, false},
		{"GET", v + "moves", "", 200, [2]string{}, false},
		{"GET", v + "traps", "", 200, [2]string{}, false},
		{"GET", v + "duplicates", "", 200, [2]string{}, false},
		{"GET", v + "verify", "", 200, [2]string{}, false},
		{"GET", v + "schema?part=crawl", "", 200, [2]string{}, false},
		{"GET", v + "schema?part=other", "", 400, [2]string{}, true},
		{"GET", v + "report/broken?limit=5", "", 200, [2]string{}, false},
		{"GET", v + "report/errors?format=csv", "", 200, [2]string{}, false},
		{"GET", v + "report/errors", "", 200, [2]string{}, false},
		{"GET", v + "report/documents", "", 200, [2]string{}, false},
		{"GET", v + "report/changes?since=7d", "", 200, [2]string{}, false},
		{"GET", v + "report/changes?since=yesterday", "", 400, [2]string{}, false},
		{"GET", v + "report/rounds?sort=-took_s", "", 200, [2]string{}, false},
		{"GET", v + "explain?" + page + "&url=:", "", 200, [2]string{}, false},
		{"GET", v + "explain", "", 400, [2]string{}, false},
		{"POST", v + "explain", `{"urls":["http://a.test/1"],"config":"<good/>"}`, 200, [2]string{}, false},
		{"POST", v + "explain", `{"urls":["http://a.test/1"],"config":"broken"}`, 422, [2]string{}, false},
		{"POST", v + "test", `{"cases":"http://a.test/1 crawl\nhttp://b.test/ ignore"}`, 200, [2]string{}, false},
		{"POST", v + "test", `{"cases":"http://a.test/1 perhaps"}`, 422, [2]string{}, false},
		{"POST", v + "check", `{"config":"broken"}`, 200, [2]string{}, false},
		{"POST", v + "check", `{"config":"<good/>"}`, 200, [2]string{}, false},
		{"POST", v + "preview", `{"config":"<good/>","samples":1}`, 200, [2]string{}, false},
		{"POST", v + "preview", `{"config":"broken"}`, 422, [2]string{}, false},
		{"POST", v + "preview", `{"path":"/etc/passwd"}`, 403, [2]string{}, false},
		{"POST", v + "preview", `{}`, 400, [2]string{}, false},
		{"POST", v + "fetch", `{"url":"http://a.test/1"}`, 200, [2]string{}, false},
		{"POST", v + "fetch", `{"url":":"}`, 400, [2]string{}, false},
		{"POST", v + "push/verify", `{"samples":1}`, 200, [2]string{}, false},
		{"POST", v + "push/verify", `{"target":"none"}`, 422, [2]string{}, false},
		{"POST", v + "push/verify", `{"delete_foreign":true}`, 422, [2]string{}, false},
		{"GET", v + "config", "", 200, [2]string{}, false},
		{"PUT", v + "config", "<new/>", 428, [2]string{}, false},
		{"PUT", v + "config", "<new/>", 412, [2]string{"If-Match", `"other"`}, false},
		{"PUT", v + "config", "broken", 422, [2]string{"If-Match", etag}, false},
		{"PUT", v + "config", "<new/>", 200, [2]string{"If-Match", etag}, false},
		{"GET", v + "config/versions", "", 200, [2]string{}, false},
		{"GET", v + "config/version?name=CrawlConfig.xml", "", 404, [2]string{}, false},
		{"GET", v + "config/cases", "", 200, [2]string{}, false},
		{"PUT", v + "config/cases", "http://a/ perhaps", 422, [2]string{"If-Match", configTag(nil)}, false},
		{"PUT", v + "config/cases", "http://a/ crawl", 412, [2]string{"If-Match", `"other"`}, false},
		{"PUT", v + "config/cases", "http://a/ crawl", 200, [2]string{"If-Match", configTag(nil)}, false},
		{"POST", v + "reload", "", 422, [2]string{}, false},
		{"POST", v + "reload?yes=true", "", 422, [2]string{}, false},
		{"POST", v + "reload?yes=perhaps", "", 400, [2]string{}, true},
		{"POST", v + "add", `{"urls":["http://c.test/"]}`, 200, [2]string{}, false},
		{"POST", v + "add", `{"url":"http://c.test/"}`, 400, [2]string{}, true},
		{"POST", v + "add", `{"urls":[]}`, 415, [2]string{"Content-Type", "text/plain"}, true},
		{"POST", v + "refresh", `{"all":true}`, 200, [2]string{}, false},
		{"POST", v + "remove", `{"urls":["http://c.test/"]}`, 200, [2]string{}, false},
		{"POST", v + "remove?yes=true", `{"all":true}`, 200, [2]string{}, false},
		{"POST", v + "selected", `{"all":true}`, 200, [2]string{}, false},
		{"POST", v + "selected", `{}`, 422, [2]string{}, false},
		{"POST", v + "pause", "", 200, [2]string{}, false},
		{"POST", v + "resume", "", 200, [2]string{}, false},
		{"GET", v + "deletions?url=a.test&reason=not_found&host=a.test&up_to=2", "", 200, [2]string{}, false},
		{"GET", v + "deletions?edit=17&limit=1", "", 200, [2]string{}, false},
		{"GET", v + "deletions", "", 200, [2]string{"Accept", "application/jsonl"}, false},
		{"GET", v + "deletions?reason=404", "", 400, [2]string{}, false},
		{"GET", v + "deletions?up_to=x", "", 400, [2]string{}, true},
		{"GET", v + "deletions?edit=0", "", 400, [2]string{}, true},
		{"GET", v + "deletions?host=http://:x", "", 400, [2]string{}, false},
		{"GET", v + "deletions/counts", "", 200, [2]string{}, false},
		{"GET", v + "deletions/counts?by=host,reason&limit=1", "", 200, [2]string{}, false},
		{"GET", v + "deletions/counts?by=url", "", 400, [2]string{}, false},
		{"GET", v + "deletions?cursor=x", "", 400, [2]string{}, false},
		{"POST", v + "deletions/release", `{"all":true}`, 200, [2]string{}, false},
		{"POST", v + "deletions/release", `{"host":"https://b.test","edit":17}`, 200, [2]string{}, false},
		{"POST", v + "deletions/release", `{"edit":99}`, 422, [2]string{}, false},
		{"POST", v + "deletions/release", `{"up_to":3}`, 400, [2]string{}, false},
		{"POST", v + "deletions/drop", `{"urls":["http://a/1"]}`, 200, [2]string{}, false},
		{"GET", v + "outbox?limit=1&state=waiting", "", 200, [2]string{}, false},
		{"GET", v + "outbox?cursor=dead.0", "", 200, [2]string{}, false},
		{"GET", v + "outbox?cursor=gone.0", "", 400, [2]string{}, false},
		{"POST", v + "outbox/retry", `{"target":"papi"}`, 200, [2]string{}, false},
		{"POST", v + "outbox/drop", `{"all":true}`, 200, [2]string{}, false},
		{"GET", v + "backup", "", 200, [2]string{}, false},
	}
}

// TestAPI calls every operation over TCP, and holds what is sent and answered against
// the file.
func TestAPI(t *testing.T) {
	d := openDoor(t, nil, nil)
	doc := loadAPI(t)
	unanswered := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			unanswered[method+" "+path] = true
		}
	}
	// A configuration that is taken is not loaded by the fake, and says so.
	for _, c := range apiCalls(configTag([]byte("<old/>"))) {
		name := c.method + " " + c.target
		r := d.request(t, c.method, c.target, d.operator, c.body)
		if c.method == http.MethodPut {
			r.Header.Set("Content-Type", configMedia)
		}
		if c.header[0] != "" {
			r.Header.Set(c.header[0], c.header[1])
		}
		item := doc.Paths.Find(r.URL.Path)
		if item == nil || item.GetOperation(c.method) == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		in := &openapi3filter.RequestValidationInput{
			Request: r, QueryParams: r.URL.Query(),
			Route:   &routers.Route{Spec: doc, Path: r.URL.Path, PathItem: item, Method: c.method, Operation: item.GetOperation(c.method)},
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, ExcludeRequestBody: c.method == http.MethodPut},
		}
		if err := openapi3filter.ValidateRequest(t.Context(), in); (err != nil) != c.malformed {
			t.Errorf("%s: the request: %v", name, err)
		}
		r.Body = io.NopCloser(strings.NewReader(c.body))
		answer, body := d.do(t, r)
		if c.want != 0 && answer.StatusCode != c.want {
			t.Errorf("%s: %d, want %d: %s", name, answer.StatusCode, c.want, body)
		}
		media, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
		if !strings.HasSuffix(media, "json") { // no schema says more than its type
			if said := in.Route.Operation.Responses.Status(answer.StatusCode); said == nil || said.Value.Content.Get(media) == nil {
				t.Errorf("%s: an answer %d of type %s is not described", name, answer.StatusCode, media)
			}
			delete(unanswered, c.method+" "+r.URL.Path)
			continue
		}
		err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: in, Status: answer.StatusCode, Header: answer.Header, Body: io.NopCloser(strings.NewReader(body)), Options: in.Options,
		})
		if err != nil {
			t.Errorf("%s: the answer: %v", name, err)
		}
		if answer.StatusCode >= 400 && !slices.Contains([]string{"/healthz", "/readyz"}, r.URL.Path) && answer.Header.Get("Content-Type") != problemMedia {
			t.Errorf("%s: an error of type %s", name, answer.Header.Get("Content-Type"))
		}
		delete(unanswered, c.method+" "+r.URL.Path)
	}
	for operation := range unanswered {
		t.Errorf("%s was not called", operation)
	}
}

// TestUnknownParameters: no route of the API takes a parameter that it does not know, or
// a query that it cannot read, and each says which it knows.
func TestUnknownParameters(t *testing.T) {
	d := openDoor(t, nil, nil)
	for _, r := range NewServer(nil, fakeService{}, fakeConfig{}, nil, nil).routes() {
		if r.plain != nil {
			continue
		}
		for query, want := range map[string]string{"?lmit=1&crawler=a": `"lmit"`, "?limit=1;host=a": "cannot be read"} {
			answer, body := d.do(t, d.request(t, r.method, r.path+query, d.operator, ""))
			if answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, codeWrongUse) || !strings.Contains(body, strings.ReplaceAll(want, `"`, `\"`)) {
				t.Errorf("%s%s: %d %s", r.pattern(), query, answer.StatusCode, body)
			}
			for _, name := range append(r.names(), "crawler") {
				if !strings.Contains(body, name) && strings.Contains(query, "lmit") {
					t.Errorf("%s: %q is not named: %s", r.pattern(), name, body)
				}
			}
		}
	}
}
