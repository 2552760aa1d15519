package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/whole"
)

const viewedHosts = 12

// viewed is a site whose pages link to other hosts: to pages, to what is not there, and to a redirect that leads there. In its second version pages are
// others, and some are gone.
func viewed(f *fleet, second *atomic.Bool) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, h int) {
		to := func(n int, path string) string { return f.host((h+n)%viewedHosts) + path }
		links := []string{}
		switch r.URL.Path {
		case "/":
			links = []string{to(1, "/1"), to(5, "/gone"), to(2, "/gone"), to(3, "/moved")}
		case "/1":
			links = []string{to(4, "/2"), to(7, "/closed/1")}
		case "/2":
			if second.Load() && h%2 == 0 {
				http.NotFound(w, r)
				return
			}
		case "/moved":
			http.Redirect(w, r, to(6, "/nowhere"), http.StatusMovedPermanently)
			return
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /closed\n")
			return
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>t</title><p>This is page %s of host %d, version %t", r.URL.Path, h, second.Load())
		for _, link := range links {
			_, _ = fmt.Fprintf(w, ` <a href="%s">a link</a>`, link)
		}
	}
}

// asked is what a node answers to a question over its socket.
func (f *fleet) asked(node, method, path, accept, body string) (status int, header http.Header, text string) {
	f.Helper()
	socket := admin.SocketPath(f.options(node).Data)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	r, err := http.NewRequestWithContext(f.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	a, err := client.Do(r)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, nil, err.Error()
	}
	return a.StatusCode, a.Header, string(b)
}

// view is a question, and what of its answer is not compared: with that of other nodes, and with that of a node that has all.
type view struct {
	method, path, accept, body string
	own, alone                 []string // members of the JSON
	paged                      bool
	status                     int  // 0: 200
	differs                    bool // from a node that has all
}

// views are questions about all that any node answers for all, of a crawl of hosts.
func views(f *fleet) []view {
	host := url.QueryEscape(f.host(3) + "/")
	page := url.QueryEscape(f.host(3) + "/1")
	urls := fmt.Sprintf(`{"urls":["%s/","%s/1","%s/gone","http://nobody.test/"]}`, f.host(0), f.host(1), f.host(2))
	config, err := json.Marshal(f.roots(viewedHosts - 2))
	if err != nil {
		f.Fatal(err)
	}
	own := []string{"store", "started_at", "config_loaded_at", "rates", "spent_s", "cluster"}
	times := []string{"totals", "rules", "hosts", "next_due", "uptime_s", "targets", "outbox_lag", "idle", "idle_code", "taken", "in_force"}
	first := []string{"referrer", "aliases", "read"} // which of several pages was read first is chance
	all := []view{
		{path: "/status", own: own, alone: times}, {path: "/api/v1/status", own: own, alone: times},
		{path: "hosts"}, {path: "hosts?n=3", differs: true}, {path: "hosts/ill"},
		{path: "hosts/all", alone: []string{"mean_ms"}}, {path: "hosts/all?sort=host&limit=5", alone: []string{"mean_ms"}}, {path: "hosts/all?sort=-permanent&from=4&limit=3", alone: []string{"mean_ms"}}, {path: "hosts/all?host=127.0.2.4", alone: []string{"mean_ms"}},
		{path: "host?host=" + host},
		{path: "urls?limit=7", paged: true, alone: first}, {path: "urls?sort=-depth&limit=9", paged: true, alone: first}, {path: "urls", accept: "application/jsonl", alone: first},
		{path: "urls?sort=url&class=permanent", accept: "application/jsonl", alone: first}, {path: "urls?fate=indexed&host=127.0.2.3", alone: first},
		{path: "url?url=" + page, alone: first}, {path: "document?url=" + page, alone: append(first, "seq")}, {path: "robots?url=" + page},
		{path: "url?url=" + url.QueryEscape("http://nobody.test/"), status: 404},
		{path: "moves"}, {path: "traps"}, {path: "sessions"}, {path: "duplicates"}, {path: "verify"},
		{path: "explain?url=" + page + "&url=" + host}, {method: "POST", path: "explain", body: urls, alone: first}, {method: "POST", path: "selected", body: `{"status":"404"}`},
		{method: "POST", path: "selected", body: `{"urls":["` + f.host(4) + `/"]}`},
		{path: "links?to=" + url.QueryEscape(f.host(7)+"/gone")}, {path: "links?to=" + url.QueryEscape(f.host(9)+"/nowhere")},
		{path: "outbox?limit=4", paged: true, alone: []string{"seq"}}, {path: "outbox?state=waiting", accept: "application/jsonl", alone: []string{"seq"}},
		{path: "deletions?limit=2", paged: true}, {path: "deletions/counts?by=host,reason&limit=3"}, {path: "deletions/counts?by=reason"},
		{path: "history", differs: true}, {path: "events?limit=3", paged: true, differs: true},
		{method: "POST", path: "preview", body: `{"config":` + string(config) + `}`, alone: []string{"held"}}, {method: "POST", path: "check", body: `{"config":` + string(config) + `}`, own: []string{"file"}},
		{method: "POST", path: "test", body: `{"cases":"accept ` + f.host(1) + `/x"}`},
		{path: "config"}, {path: "schema"}, {path: "openapi.yaml"},
		{path: "backup", status: 501, differs: true},
	}
	for _, kind := range []string{"broken", "errors", "documents", "changes"} {
		for _, query := range []string{"", "?format=csv", "?top=3&host=127.0.2.3", "?sort=-urls&top=0"} {
			if kind == "broken" || kind == "changes" {
				query = strings.Replace(query, "-urls&top=0", "url&limit=5&from=2", 1)
			}
			all = append(all, view{path: "report/" + kind + query, alone: []string{"example"}, differs: kind == "errors" && strings.Contains(query, "csv")}) // an example is the last in time
		}
	}
	for i := range all {
		if v := &all[i]; !strings.HasPrefix(v.path, "/") {
			v.path = "/api/v1/" + v.path
		}
	}
	return all
}

// see is what a node answers, without some members.
func (f *fleet) see(node string, v *view, without []string) string {
	f.Helper()
	method := http.MethodGet
	if v.method != "" {
		method = v.method
	}
	var out strings.Builder
	for path := v.path; path != ""; {
		status, header, text := f.asked(node, method, path, v.accept, v.body)
		if who := header.Get(whole.Missing); who != "" {
			fmt.Fprintf(&out, "missing: %s\n", who)
		}
		if want := max(v.status, http.StatusOK); status != want && (v.status != 0 || status != http.StatusOK) {
			fmt.Fprintf(&out, "%d\n", status)
		}
		next := ""
		for line := range strings.Lines(text) {
			line, next = stripped(line, without)
			out.WriteString(line)
		}
		path = ""
		if v.paged && next != "" {
			path = v.path + "&cursor=" + url.QueryEscape(next)
		}
	}
	return out.String()
}

// stripped is a line of JSON without some members, and with those that are left in order; next is its cursor, which is left out, too.
func stripped(line string, without []string) (text, next string) {
	in := json.NewDecoder(strings.NewReader(line))
	in.UseNumber()
	var v any
	if in.Decode(&v) != nil || in.More() {
		return line, ""
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range without {
				delete(v, name)
			}
			for _, one := range v {
				strip(one)
			}
		case []any:
			for _, one := range v {
				strip(one)
			}
		}
	}
	if m, ok := v.(map[string]any); ok {
		next, _ = m["next"].(string)
		delete(m, "next")
	}
	strip(v)
	if m, ok := v.(map[string]any); ok {
		if items, ok := m["items"].([]any); ok && m["groups"] == nil { // a page of a list is one item a line, however long it is
			return linesOf(items), next
		}
	}
	return linesOf([]any{v}), next
}

// linesOf are values, one a line.
func linesOf(all []any) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	for _, v := range all {
		if err := out.Encode(v); err != nil {
			return err.Error()
		}
	}
	return b.String()
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// figuresOf are those that tell whether a crawl is at rest.
func (f *fleet) figuresOf(node string) (s admin.Status) {
	_, _, text := f.asked(node, http.MethodGet, "/api/v1/status", "", "")
	var all []admin.Status
	if json.Unmarshal([]byte(text), &all) == nil && len(all) == 1 {
		s = all[0]
	}
	return s
}

// TestViews: each of three nodes gives the same answer to every question of the API, and it is that of a node which crawled the same site alone.
func TestViews(t *testing.T) {
	t.Parallel()
	var second atomic.Bool
	f := newFleet(t)
	f.answers = viewed(f, &second)
	alone := newFleet(t)
	alone.port, alone.site, alone.hook = f.port, f.site, f.hook
	alone.configure(alone.roots(viewedHosts))
	if err := alone.found("n1", ""); err != nil {
		t.Fatal(err)
	}
	alone.start("n1")
	f.divide(2)
	names := []string{"n1", "n2", "n3"}
	for _, name := range names {
		f.start(name)
	}
	f.even(names...)
	f.does("pause", func() error { return said(f.asked("n1", http.MethodPost, "/api/v1/pause", "", "")) })
	f.does("the roots come into force", func() error { return f.apply(f.roots(viewedHosts), false) })
	f.until("all nodes have them", func(*cluster.State) bool { return f.figuresOf("n1").Known == viewedHosts+1 }) // else one would exclude what another links to
	f.does("resume", func() error { return said(f.asked("n1", http.MethodPost, "/api/v1/resume", "", "")) })
	const documents, known = 3 * viewedHosts, 7*viewedHosts + 1
	rests := func(c *fleet, node string, waiting, deletions uint64) func(*cluster.State) bool {
		return func(*cluster.State) bool {
			s := c.figuresOf(node)
			var pending uint64
			for _, n := range s.Pending {
				pending += n
			}
			return s.Known == known && pending == 0 && s.InFlight == 0 && s.Indexed == documents && s.Outbox.Waiting == waiting && s.Outbox.Resting+s.Outbox.Held == deletions
		}
	}
	alone.until("one node has all", rests(alone, "n1", 0, 0))
	f.until("three nodes have all", rests(f, "n2", 0, 0))
	second.Store(true)
	f.down.Store(true)
	for c, node := range map[*fleet]string{alone: "n1", f: "n2"} {
		c.does("all is fetched again", func() error { return said(c.asked(node, http.MethodPost, "/api/v1/refresh", "", `{"status":"200"}`)) })
	}
	alone.until("one node has all again", rests(alone, "n1", documents-viewedHosts/2, viewedHosts/2))
	f.until("three nodes have all again", rests(f, "n3", documents-viewedHosts/2, viewedHosts/2))
	for c, node := range map[*fleet]string{alone: "n1", f: "n3"} {
		c.does("pause", func() error { return said(c.asked(node, http.MethodPost, "/api/v1/pause", "", "")) })
	}
	for _, v := range views(f) {
		same(f, alone, names, &v)
	}
}

// said is the error of an answer.
func said(status int, _ http.Header, text string) error {
	if status != http.StatusOK {
		return fmt.Errorf("%d %s", status, text)
	}
	return nil
}

// same wants nodes to give the same answer to a question, once what each of them does by itself, such as to note that an indexer is down, is done.
func same(f, alone *fleet, names []string, v *view) {
	f.Helper()
	f.does("the same answers", func() error {
		first := f.see(names[0], v, v.own)
		for _, name := range names[1:] {
			if got := f.see(name, v, v.own); got != first {
				return fmt.Errorf("%s: %s answers, and %s:\n%s", v.path, name, names[0], differing(got, first))
			}
		}
		if v.differs {
			return nil
		}
		without := slices.Concat(v.own, v.alone)
		plain := func(text string) string { // in what order things happened is another one
			lines := slices.Sorted(strings.Lines(moment.ReplaceAllString(text, "T")))
			return strings.Join(lines, "")
		}
		if got, want := plain(f.see(names[1], v, without)), plain(alone.see("n1", v, without)); got != want {
			return fmt.Errorf("%s: three nodes answer, and one that has all:\n%s", v.path, differing(got, want))
		}
		return nil
	})
}

// differing are the first lines that are not the same.
func differing(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return fmt.Sprintf("%d and %d lines:\n%s\n%s", len(x), len(y), a, b)
}
