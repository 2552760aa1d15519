package testsite

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client keeps no connections, so that none outlives a test, and follows no redirect.
func client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// ask sends a GET with header pairs and reads the whole answer.
func ask(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// TestGraphIsConnected crawls the site with a map and a regexp.
func TestGraphIsConnected(t *testing.T) {
	s := New(t, Options{Pages: 33, Hosts: 2})
	href := regexp.MustCompile(`href="([^"]+)"`)
	status := map[string]int{}
	var documents []string
	for queue := []string{s.URL()}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if _, seen := status[at]; seen {
			continue
		}
		res, body := ask(t, at)
		status[at] = res.StatusCode
		base, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(body, "<title>Page ") {
			documents = append(documents, at)
		}
		refs := []string{res.Header.Get("Location")}
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			refs = append(refs, m[1])
		}
		for _, ref := range refs {
			if ref == "" {
				continue
			}
			to, err := base.Parse(ref)
			if err != nil {
				t.Fatal(err)
			}
			queue = append(queue, to.String())
		}
	}
	slices.Sort(documents)
	if diff := cmp.Diff(s.Documents(), documents); diff != "" || len(documents) != 66 {
		t.Errorf("%d pages reached, want 66 (-Documents +reached):\n%s", len(documents), diff)
	}
	for path, want := range map[string]int{"/moved": 301, "/noindex.html": 200, "/missing.html": 404, "/private/secret.html": 200} {
		for _, origin := range s.Origins() {
			if got := status[origin+path]; got != want {
				t.Errorf("%s%s: status %d, want %d", origin, path, got, want)
			}
		}
	}
}

func TestRobots(t *testing.T) {
	tests := []struct {
		name     string
		disallow []string
		want     string
	}{
		{"default", nil, "User-agent: *\nDisallow:\nDisallow: /private/\n"},
		{"two", []string{"/a", "/b"}, "User-agent: *\nDisallow:\nDisallow: /a\nDisallow: /b\n"},
		{"none", []string{}, "User-agent: *\nDisallow:\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := New(t, Options{Disallow: tt.disallow})
			res, body := ask(t, s.URL()+"robots.txt")
			if res.StatusCode != 200 || body != tt.want {
				t.Errorf("status %d, body %q, want 200, %q", res.StatusCode, body, tt.want)
			}
		})
	}
}

func TestConditionalRequests(t *testing.T) {
	s := New(t, Options{})
	s.Set("/bare", Page{Body: "no validator", NoETag: true})
	res, _ := ask(t, s.URL())
	etag, modified := res.Header.Get("ETag"), res.Header.Get("Last-Modified")
	if etag == "" || modified != Modified().Format(http.TimeFormat) {
		t.Fatalf("ETag %q, Last-Modified %q", etag, modified)
	}
	later, earlier := Modified().Add(time.Hour).Format(http.TimeFormat), Modified().Add(-time.Hour).Format(http.TimeFormat)
	tests := []struct {
		name, path string
		header     []string
		want       int
	}{
		{"same tag", "", []string{"If-None-Match", etag}, 304},
		{"tag in a list", "", []string{"If-None-Match", `"x", ` + etag}, 304},
		{"other tag", "", []string{"If-None-Match", `"other"`}, 200},
		{"other tag wins over time", "", []string{"If-None-Match", `"other"`, "If-Modified-Since", modified}, 200},
		{"same time", "", []string{"If-Modified-Since", modified}, 304},
		{"later", "", []string{"If-Modified-Since", later}, 304},
		{"earlier", "", []string{"If-Modified-Since", earlier}, 200},
		{"page without validators", "bare", []string{"If-Modified-Since", later}, 200},
		{"page without validators, any tag", "bare", []string{"If-None-Match", "*"}, 200},
		{"error page", "missing.html", []string{"If-None-Match", "*"}, 404},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, body := ask(t, s.URL()+tt.path, tt.header...)
			if res.StatusCode != tt.want || (res.StatusCode == 304) != (body == "") {
				t.Errorf("status %d with %d bytes, want %d", res.StatusCode, len(body), tt.want)
			}
		})
	}
	visits := s.Visits()
	if visits[0].Conditional || !visits[1].Conditional {
		t.Errorf("Conditional of the first two visits: %v, %v, want false, true", visits[0].Conditional, visits[1].Conditional)
	}
}

func TestPagesChange(t *testing.T) {
	s := New(t, Options{Pages: 3})
	first, before := ask(t, s.URL()+"p/1.html")
	s.Set("/p/1.html", HTML("New", "Other text."))
	second, after := ask(t, s.URL()+"p/1.html", "If-None-Match", first.Header.Get("ETag"))
	if second.StatusCode != 200 || before == after || !strings.Contains(after, "Other text.") {
		t.Errorf("after Set: status %d, body %q", second.StatusCode, after)
	}
	s.Remove("/p/1.html")
	if gone, _ := ask(t, s.URL()+"p/1.html"); gone.StatusCode != 404 {
		t.Errorf("after Remove: status %d, want 404", gone.StatusCode)
	}
	s.Set("/p/2.html", Page{Status: 503, Header: map[string]string{"Retry-After": "7"}})
	if res, _ := ask(t, s.URL()+"p/2.html"); res.StatusCode != 503 || res.Header.Get("Retry-After") != "7" {
		t.Errorf("status %d, Retry-After %q, want 503, 7", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if diff := cmp.Diff([]string{s.URL()}, s.Documents()); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if n := s.Hits("/p/1.html"); n != 3 {
		t.Errorf("%d hits, want 3", n)
	}
}

func TestVisitsAreTimed(t *testing.T) {
	s := New(t, Options{})
	const late = 30 * time.Millisecond
	s.Set("/slow?a=1", Page{Body: "at last", Delay: late})
	host := strings.TrimPrefix(s.Origins()[0], "http://")
	if _, ok := s.ShortestGap(host); ok {
		t.Error("a gap without requests")
	}
	begin := time.Now()
	ask(t, s.URL()+"slow?a=1", "User-Agent", "probe")
	if _, ok := s.ShortestGap(host); ok {
		t.Error("a gap with one request")
	}
	ask(t, s.URL())
	v := s.Visits()
	if len(v) != 2 || v[0].Path != "/slow?a=1" || v[0].Host != host || v[0].UserAgent != "probe" || v[0].Status != 200 {
		t.Fatalf("visits %+v", v)
	}
	if v[0].Begin.Before(begin) || v[0].End.Sub(v[0].Begin) < late || v[1].Begin.Before(v[0].End) {
		t.Errorf("the times of %+v do not fit", v)
	}
	if gap, ok := s.ShortestGap(host); !ok || gap != v[1].Begin.Sub(v[0].End) {
		t.Errorf("gap %v, %v, want %v", gap, ok, v[1].Begin.Sub(v[0].End))
	}
	if _, ok := s.ShortestGap("other:1"); ok {
		t.Error("a gap on a host that nobody asked")
	}
}

func TestOverlapIsANegativeGap(t *testing.T) {
	s := &Site{}
	at := func(ms int) time.Time { return Modified().Add(time.Duration(ms) * time.Millisecond) }
	for _, v := range [][2]int{{0, 10}, {30, 90}, {40, 50}, {95, 99}, {200, 210}} {
		s.visits = append(s.visits, Visit{Host: "h:1", Begin: at(v[0]), End: at(v[1])})
	}
	if gap, ok := s.ShortestGap("h:1"); !ok || gap != -50*time.Millisecond {
		t.Errorf("gap %v, %v, want -50ms: the third began before the second ended", gap, ok)
	}
	s.visits = s.visits[3:]
	if gap, _ := s.ShortestGap("h:1"); gap != 101*time.Millisecond {
		t.Errorf("gap %v, want 101ms", gap)
	}
}

func TestConcurrentUse(t *testing.T) {
	s := New(t, Options{Pages: 5, Delay: time.Millisecond})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s.Set("/p/1.html", HTML("Again", strings.Repeat("x", i)))
			ask(t, s.URL()+"p/1.html")
			s.Visits()
		})
	}
	wg.Wait()
	if n := s.Hits("/p/1.html"); n != 8 {
		t.Errorf("%d hits, want 8", n)
	}
}
