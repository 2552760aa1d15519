package render_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/render"
)

const shell = `<!DOCTYPE html><html><head><title>App</title></head><body><div id=app></div><script src=/app.js></script></body></html>`

// TestPagesOfManyKinds renders, in two browsers at once, what sites of today are made of.
func TestPagesOfManyKinds(t *testing.T) {
	r := renderer(t, render.Settings{Pages: 2, PostURLs: []string{"https://posts.example/api/graphql", "https://api.example/graphql"}})
	for name, test := range map[string]func(*testing.T, *render.Renderer){
		"client-side routes": testRoutes,
		"lazy content":       testLazy,
		"shadow DOM":         testShadow,
		"never rests":        testRestless,
		"nobody answers":     testUnanswered,
		"leads elsewhere":    testLeads,
		"waits":              testWaits,
		"deep":               testDeep,
		"workers":            testWorkers,
		"other origins":      testOrigins,
		"lacks a script":     testIncomplete,
		"refused data":       testRefusedData,
		"posts":              testPosts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

func testRoutes(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{
		"/": shell, "/products/7": shell,
		"/app.js": `const show = async () => {
			if (location.pathname === '/') history.pushState({}, '', '/home/');
			const data = await (await fetch('/api' + location.pathname)).json();
			document.title = data.title;
			document.getElementById('app').innerHTML = '<h1>' + data.title + '</h1><p>' + data.text + '</p><a href="next">next</a>';
		};
		show();`,
		"/api/home/":      `{"title":"Home & more","text":"Welcome"}`,
		"/api/products/7": `{"title":"Product 7","text":"A lamp <b>made</b> of tin"}`,
	})
	home := must(t, r, waiting(s.page(t, "http://shop.example/"), "h1"))
	wantIn(t, home.HTML, "<title>Home &amp; more</title>", "Welcome", `<base href="http://shop.example/home/">`)
	product := must(t, r, waiting(s.page(t, "http://shop.example/products/7"), "h1"))
	wantIn(t, product.HTML, "<h1>Product 7</h1>", "<b>made</b>", `<a href="next">`)
	for _, not := range []string{"<script", "<base"} {
		if strings.Contains(string(product.HTML), not) {
			t.Errorf("%s is in %s", not, product.HTML)
		}
	}
	want := []string{"GET shop.example/api/home/", "GET shop.example/api/products/7", "GET shop.example/app.js", "GET shop.example/app.js"}
	if diff := cmp.Diff(want, s.seen()); diff != "" {
		t.Error(diff)
	}
}

func testLazy(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{
		"/": `<title>Long</title><body><div style="height:3000px">top</div><div id=more>loading</div><img loading=lazy src=/i.png>
<script>new IntersectionObserver(async (seen) => { if (seen[0].isIntersecting) {
  document.getElementById('more').textContent = (await (await fetch('/api/more')).json()).text; document.body.className = 'whole'; } }).observe(document.getElementById('more'));</script>`,
		"/api/more": `{"text":"what comes into sight"}`,
	})
	out := must(t, r, waiting(s.page(t, "http://lazy.example/"), ".whole"))
	wantIn(t, out.HTML, "what comes into sight", `src="/i.png"`)
	if diff := cmp.Diff([]string{"GET lazy.example/api/more"}, s.seen()); diff != "" {
		t.Error(diff)
	}
}

func testShadow(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Shadows</title><my-card><span slot=title>In the slot</span>and <i>the rest</i></my-card><p id=declared><template shadowrootmode=open><b>declared</b></template></p>
<script>customElements.define('my-card', class extends HTMLElement { constructor() { super();
  this.attachShadow({mode: 'closed'}).innerHTML = '<style>b{}</style><h2><slot name=title>none</slot></h2><my-body><slot></slot><slot name=foot>fallback</slot></my-body>'; } });
customElements.define('my-body', class extends HTMLElement { constructor() { super();
  this.attachShadow({mode: 'open'}).innerHTML = '<section>[<slot></slot>]</section>'; } });</script>`})
	out := must(t, r, s.page(t, "http://shadow.example/"))
	wantIn(t, out.HTML, `<h2><slot name="title"><span slot="title">In the slot</span></slot></h2>`, `and <i>the rest</i>`, "fallback", "<b>declared</b>")
	if strings.Contains(string(out.HTML), "none") || strings.Count(string(out.HTML), "In the slot") != 1 {
		t.Errorf("a slot is filled wrongly: %s", out.HTML)
	}
}

// testRestless: a page that asks again and again has no more than its number of requests.
func testRestless(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{
		"/": `<title>Ticker</title><p id=n>0</p><script>
let n = 0; const poll = () => fetch('/api/tick').then(r => r.json(), () => 0).then(() => { document.getElementById('n').textContent = ++n; if (n > 45) document.body.className = 'much'; setTimeout(poll, n > 60 ? 1000 : 1); }); poll();</script>`,
		"/api/tick": `{}`,
	})
	out := must(t, r, waiting(s.page(t, "http://ticker.example/"), ".much"))
	if n := len(s.seen()); n != render.MaxRequests || out.Requests != n || !out.TooMany || out.Refused == 0 {
		t.Errorf("%d requests, and %+v", n, out.Counts)
	}
}

// testUnanswered: a request that nobody has answered when the page is read has failed.
func testUnanswered(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Silent</title><p id=n>0</p><script>fetch('/api/none').catch(() => 0); document.body.className = 'begun';</script>`})
	p := waiting(s.page(t, "http://silent.example/"), ".asked")
	asked := make(chan struct{})
	p.Body = []byte(strings.Replace(string(p.Body), "document.body.className = 'begun';", "fetch('/api/asked').then(() => document.body.className = 'asked');", 1))
	p.Fetch = func(ctx context.Context, q render.Request) (render.Answer, error) {
		if strings.HasSuffix(q.URL, "/asked") {
			<-asked
			return render.Answer{Status: http.StatusOK}, nil
		}
		close(asked)
		<-ctx.Done()
		return render.Answer{}, ctx.Err()
	}
	if out := must(t, r, p); out.Requests != 2 || out.Failed != 1 {
		t.Errorf("%+v", out.Counts)
	}
}

func testLeads(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Old</title><p>here</p><script>location.href = '/new?a=b#c'; window.open('/pop'); alert('stop'); confirm('no');</script>`})
	p := s.page(t, "http://moved.example/")
	p.After = 5 * time.Second // nothing tells the page when it has been led
	out := must(t, r, p)
	if out.Location != "http://moved.example/new?a=b" {
		t.Errorf("it leads to %q", out.Location)
	}
	wantIn(t, out.HTML, "here")
	if seen := s.seen(); len(seen) > 0 {
		t.Errorf("it asked for %q", seen)
	}
}

func testWaits(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Late</title><script>
setTimeout(() => { document.body.innerHTML = '<div class="late x">' + (window.top === window) + '</div>'; }, 700);
setTimeout(() => { document.body.innerHTML = '<div class="never">'; }, 3600000);</script>`})
	p := s.page(t, "http://late.example/")
	if out := must(t, r, p); strings.Contains(string(out.HTML), "never") || out.Restless {
		t.Errorf("it was waited for a timer: %s", out.HTML)
	}
	wantIn(t, must(t, r, waiting(p, "div.late")).HTML, "late x")
	p.After = 1500 * time.Millisecond
	if out := must(t, r, p); out.Took < p.After {
		t.Errorf("it was read after %v", out.Took)
	}
	p.After, p.Selector = 0, "div..late"
	_, err := r.Render(t.Context(), p)
	if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != render.TimedOut || !strings.Contains(e.Words, "div..late") {
		t.Errorf("a wrong selector gives %v", err)
	}
}

// testDeep: what is nested deeply is read, since nothing of it is called recursively.
func testDeep(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Deep</title><body><script>let e = document.body;
for (let i = 0; i < 700; i++) { const d = document.createElement('div'); e.append(d); e = d; } e.textContent = 'the bottom';</script>`})
	wantIn(t, must(t, r, s.page(t, "http://deep.example/")).HTML, "the bottom")
}

func testWorkers(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{
		"/": `<title>Workers</title><p id=a></p><script>
new Worker('/w.js').onmessage = (m) => { document.getElementById('a').textContent = m.data; };
new SharedWorker('/s.js').port.start();
navigator.serviceWorker && navigator.serviceWorker.register('/sw.js').catch(() => 0);</script>`,
		"/w.js":  `fetch('/api/w').then(r => r.json()).then(d => postMessage(d.text))`,
		"/s.js":  `onconnect = (e) => fetch('/api/s').then(r => r.json()).then(d => e.ports[0].postMessage(d.text))`,
		"/api/w": `{"text":"by a worker"}`, "/api/s": `{"text":"by a shared one"}`,
	})
	p := s.page(t, "https://workers.example/")
	p.Selector = "#a:not(:empty)"
	wantIn(t, must(t, r, p).HTML, "by a worker")
	if slices.Contains(s.seen(), "GET workers.example/api/s") {
		t.Error("a shared worker ran")
	}
	if slices.Contains(s.seen(), "GET workers.example/sw.js") {
		t.Error("a service worker was fetched")
	}
}

// testOrigins: what another origin does not share stays unread by the page.
func testOrigins(t *testing.T, r *render.Renderer) {
	s := newSite(nil)
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Host + r.URL.Path {
		case "open.example/api":
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			fmt.Fprint(w, "shared text")
		case "closed.example/api":
			w.Header().Set("Set-Cookie", "a=secret-cookie")
			fmt.Fprint(w, "unshared text")
		default:
			w.Header().Set("Set-Cookie", "b=secret-cookie; Path=/")
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<title>Origins</title><p></p><script>for (const h of ['open', 'closed'])
fetch('https://' + h + '.example/api', {headers: {'X-Forwarded-For': '10.0.0.1'}}).catch(() => 0);
for (const h of ['open', 'closed']) fetch('https://' + h + '.example/api').then(r => r.text(), () => h + ' unread').then(t => { document.body.append(t + ';' + document.cookie); document.body.className += ' ' + h; });</script>`)
		}
	})
	out := must(t, r, waiting(s.page(t, "https://page.example/"), ".open.closed"))
	wantIn(t, out.HTML, "shared text", "closed unread")
	for _, not := range []string{">unshared", "secret-cookie", "unshared text"} {
		if strings.Contains(string(out.HTML), not) {
			t.Errorf("%s is in %s", not, out.HTML)
		}
	}
}

func testIncomplete(t *testing.T, r *render.Renderer) {
	s := newSite(nil)
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/app.js" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, shell)
	})
	_, err := r.Render(t.Context(), s.page(t, "http://ill.example/"))
	if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != render.Incomplete || !strings.Contains(e.Words, "http://ill.example/app.js") {
		t.Errorf("a page without its script gives %v", err)
	}
	p := s.page(t, "http://ill.example/")
	p.Fetch = func(context.Context, render.Request) (render.Answer, error) {
		return render.Answer{}, fmt.Errorf("robots.txt forbids it: %w", render.ErrRefused)
	}
	if out := must(t, r, p); out.Requests != 0 || out.Refused == 0 {
		t.Errorf("a script that may not be had gives %+v", out.Counts)
	}
}

// testRefusedData: the requests for data that are not made are named, as the page may lack its text without them.
func testRefusedData(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Data</title><p>Loading</p><img src=/i.png><script>
Promise.allSettled(['serviceWorker' in navigator && navigator.serviceWorker.ready, fetch('/api/graphql', {method: 'POST', body: '{}'}), fetch('/api/closed')]).then(() => { document.body.className = 'done'; });</script>`})
	p := waiting(s.page(t, "https://data.example/"), ".done")
	p.Fetch = func(context.Context, render.Request) (render.Answer, error) {
		return render.Answer{}, render.ErrRefused
	}
	out := must(t, r, p)
	slices.Sort(out.RefusedData)
	want := []string{"GET https://data.example/api/closed", "POST https://data.example/api/graphql"}
	if diff := cmp.Diff(want, out.RefusedData); diff != "" {
		t.Errorf("%s%+v", diff, out.Counts)
	}
}

// testPosts: pages may post to the addresses that the settings name, of other origins too, and only there.
func testPosts(t *testing.T, r *render.Renderer) {
	s := newSite(map[string]string{"/": `<title>Posts</title><p id=app></p><script>
const post = (url) => fetch(url, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"query":"news"}'}).then(r => r.text(), () => 'refused');
Promise.all(['/api/graphql?op=a', 'https://api.example/graphql', '/api/graphql/delete'].map(post)).then(all => { document.getElementById('app').textContent = all.join(' | '); document.body.className = 'done'; });</script>`})
	p := waiting(s.page(t, "https://posts.example/"), ".done")
	p.Fetch = func(_ context.Context, q render.Request) (render.Answer, error) {
		header := http.Header{"Access-Control-Allow-Origin": {"*"}, "Access-Control-Allow-Headers": {"content-type"}}
		return render.Answer{Status: http.StatusOK, Header: header, Body: []byte(q.Method + " " + string(q.Body) + " " + q.Header.Get("Content-Type"))}, nil
	}
	out := must(t, r, p)
	text := html.UnescapeString(string(out.HTML))
	wantIn(t, []byte(text), `>POST {"query":"news"} application/json | POST {"query":"news"} application/json | refused<`)
	if diff := cmp.Diff([]string{"POST https://posts.example/api/graphql/delete"}, out.RefusedData); diff != "" {
		t.Error(diff)
	}
}
