package indexer_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

type results struct {
	Total int
	Hits  []struct {
		URL, Title string
		Snippet    []struct {
			Text string
			Hit  bool
		}
	}
}

func (c *client) search(q string) results {
	c.t.Helper()
	code, body, _ := c.do(http.MethodGet, c.address+"/api/search?"+one("q", q).Encode(), "", nil)
	c.must(code, body)
	var r results
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func TestSearch(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(
		part{"PAPI_1:uri", "http://a/1", ""}, part{"PAPI_1:meta:title", "Annual report", ""}, part{"PAPI_1:meta:author", "Jane Doe", ""},
		part{"PAPI_1:part_bytes:master", "The ships of the northern fleet, and 42 boats.", "text/plain"},
		part{"PAPI_2:uri", "http://a/2", ""}, part{"PAPI_2:part_bytes:master", "<p>A fleet report of the <i>northern</i> coast", "text/html"},
	))
	tests := map[string][]string{
		"report":                    {"http://a/1", "http://a/2"}, // the title counts more
		"REPORT fleet":              {"http://a/1", "http://a/2"},
		"annual fleet":              {"http://a/1"}, // title and text
		"jane":                      {"http://a/1"},
		"42":                        {"http://a/1"},
		`"northern fleet"`:          {"http://a/1"},
		`"fleet northern"`:          {},
		"fleet -ships":              {"http://a/2"},
		"-ships":                    {"http://a/2"},
		"the":                       {"http://a/1", "http://a/2"},
		"nowhere":                   {},
		"fl*":                       {},
		"":                          {"http://a/1", "http://a/2"},
		"/.*/ source:x (unclosed ~": {},
	}
	if n := c.search("fleet").Total; n != 0 {
		t.Errorf("%d hits before the sync", n)
	}
	c.sync()
	for q, want := range tests {
		got := []string{}
		for _, h := range c.search(q).Hits {
			got = append(got, h.URL)
		}
		if q == "REPORT fleet" || q == "the" || q == "" {
			continue // order by score is not the point
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", q, diff)
		}
	}
	for q, n := range map[string]int{"REPORT fleet": 2, "the": 2, "": 2} {
		if got := c.search(q).Total; got != n {
			t.Errorf("%q: %d hits, want %d", q, got, n)
		}
	}
	snippet := c.search("ships").Hits[0].Snippet
	if len(snippet) != 3 || snippet[1].Text != "ships" || !snippet[1].Hit || snippet[0].Hit || snippet[0].Text != "The " {
		t.Errorf("snippet %+v", snippet)
	}
}

func TestThePageEscapesEverything(t *testing.T) {
	c := open(t, indexer.Settings{})
	evil := `"><script>alert(1)</script><img src=x onerror=alert(2)>&lt;mark&gt;<mark>`
	c.must(c.add(
		part{"PAPI_1:uri", "http://a/" + evil, ""}, part{"PAPI_1:meta:title", evil, ""}, part{"PAPI_1:meta:source", evil, ""},
		part{"PAPI_1:part_bytes:master", "before " + evil + " after", "text/plain"},
		part{"PAPI_2:uri", "javascript:alert(3)", ""}, part{"PAPI_2:part_bytes:master", "alert", "text/plain"},
	))
	c.sync()
	for _, q := range []string{"", "alert", "before", evil} {
		code, body, header := c.do(http.MethodGet, c.address+"/?"+one("q", q).Encode(), "", nil)
		if code != 200 {
			t.Fatalf("%q: %d %s", q, code, body)
		}
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("policy %q", policy)
		}
		checkHarmless(t, q, body)
	}
	code, body, _ := c.do(http.MethodGet, c.address+"/?q=before", "", nil)
	if code != 200 || !strings.Contains(body, "<mark>before</mark> &#34;&gt;&lt;script&gt;") || !strings.Contains(body, "&amp;lt;mark&amp;gt;&lt;mark&gt;") {
		t.Errorf("the snippet is not the text:\n%s", body)
	}
}

// checkHarmless parses a page: only the page's own elements and safe links.
func checkHarmless(t *testing.T, q, body string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(body))
	for tokens.Next() != html.ErrorToken {
		token := tokens.Token()
		if token.Type != html.StartTagToken {
			continue
		}
		if token.Data == "script" || token.Data == "img" {
			t.Errorf("%q: element %s", q, token)
		}
		for _, a := range token.Attr {
			safe := strings.HasPrefix(a.Val, "/") || strings.HasPrefix(a.Val, "http://a/")
			if strings.HasPrefix(a.Key, "on") || (a.Key == "href" && !safe) {
				t.Errorf("%q: attribute %s=%q", q, a.Key, a.Val)
			}
		}
	}
}

func TestPaging(t *testing.T) {
	c := open(t, indexer.Settings{})
	var parts []part
	for i := range 25 {
		parts = append(parts, page(fmt.Sprint(i), fmt.Sprintf("http://a/%02d", i), "word")...)
	}
	c.must(c.add(parts...))
	c.sync()
	address, seen := "/?q=word", 0
	for pages := 1; ; pages++ {
		_, body, _ := c.do(http.MethodGet, c.address+address, "", nil)
		seen += strings.Count(body, "<li>")
		if !strings.Contains(body, "of 25") {
			t.Errorf("no total on %s", address)
		}
		_, next, more := strings.Cut(body, `<a href="/?from=`)
		if pages > 1 { // the first such link is the one back
			_, next, more = strings.Cut(next, `<a href="/?from=`)
		}
		if !more {
			if pages != 3 || seen != 25 {
				t.Errorf("%d results on %d pages", seen, pages)
			}
			return
		}
		from, _, _ := strings.Cut(next, "&amp;")
		address = "/?q=word&from=" + from
	}
}

func TestPageErrors(t *testing.T) {
	c := open(t, indexer.Settings{})
	tests := map[string]int{
		"/": 200, "/style.css": 200, "/healthz": 200, "/status": 200, "/nothing": 404, "/papi/4/x": 404,
		"/?from=-1": 400, "/?from=10001": 400, "/?q=%00": 400, "/?q=" + strings.Repeat("x", 2000): 400,
		"/api/search?size=101": 400, "/api/search?size=x": 400, "/api/search?q=%ff": 400, "/api/search?q=a&size=0": 200,
		"/documents": 400, "/documents?url=http://none": 404, "/documents?url=http://none&connector=web": 404,
	}
	for path, want := range tests {
		if code, body, _ := c.do(http.MethodGet, c.address+path, "", nil); code != want {
			t.Errorf("%.40s: %d, want %d: %s", path, code, want, body)
		}
	}
	if code, _, _ := c.do(http.MethodPost, c.address+"/", "", nil); code != 405 {
		t.Errorf("POST of the page: %d", code)
	}
}

func TestStatus(t *testing.T) {
	c := open(t, indexer.Settings{})
	c.must(c.add(page("1", "http://a/1", "x")...))
	c.must(c.post("set_checkpoint", map[string][]string{"PAPI_checkpoint": {"5"}, "PAPI_sync": {"true"}}))
	c.must(c.add(page("1", "http://a/2", "x")...))
	_, body, _ := c.do(http.MethodGet, c.address+"/status", "", nil)
	want := fmt.Sprintf(`{"documents":1,"session":%q,"connectors":{"web":{"serial":1,"pending":1,"checkpoints":{"":"5"}}}}`, c.session)
	if strings.TrimSpace(body) != want {
		t.Errorf("status %s, want %s", body, want)
	}
}
