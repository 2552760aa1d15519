package render_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/render"
)

// trap is a server on loopback that counts what comes, over TCP and UDP.
type trap struct {
	address string
	came    atomic.Int64
}

func openTrap(t *testing.T) *trap {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Skipf("the port is taken over UDP: %v", err)
	}
	trap := &trap{address: tcp.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			trap.came.Add(1)
			b := make([]byte, 200)
			n, _ := c.Read(b)
			t.Logf("TCP: %q", b[:n])
			_ = c.Close()
		}
	})
	serving.Go(func() {
		for {
			b := make([]byte, 200)
			n, _, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			trap.came.Add(1)
			t.Logf("UDP: %q", b[:n])
		}
	})
	t.Cleanup(func() {
		_, _ = tcp.Close(), udp.Close()
		serving.Wait()
	})
	return trap
}

// allWays are the ways in which a page can ask for something.
const allWays = `<!DOCTYPE html><html><head><title>Every way</title>
<link rel=preconnect href="http://TRAP/"><link rel=dns-prefetch href="//TRAP"><link rel=prefetch href="http://TRAP/prefetch"><link rel=preload as=fetch href="http://TRAP/preload">
<link rel=prerender href="http://TRAP/prerender"><link rel=modulepreload href="http://TRAP/m.js"><link rel=icon href="http://TRAP/favicon.ico"><link rel=manifest href="http://TRAP/manifest">
<link rel=stylesheet href="http://TRAP/style.css"><style>@import "http://TRAP/import.css"; @font-face { font-family: F; src: url(http://TRAP/font.woff2); } body { background: url(http://TRAP/bg.png); font-family: F; }</style>
<script type=speculationrules>{"prefetch":[{"source":"list","urls":["http://TRAP/spec"]}],"prerender":[{"source":"list","urls":["http://TRAP/specr"]}]}</script>
<script src="http://TRAP/script.js"></script></head><body>text
<img src="http://TRAP/img.png"><video src="http://TRAP/v.mp4" autoplay></video><audio src="http://TRAP/a.mp3" autoplay></audio><object data="http://TRAP/o"></object><embed src="http://TRAP/e.swf">
<iframe src="http://TRAP/frame"></iframe><iframe srcdoc="<img src='http://TRAP/srcdoc.png'><script>fetch('http://TRAP/infr')</script>"></iframe><svg><image href="http://TRAP/svg.png"/></svg>
<form id=f action="http://TRAP/form" method=post><input name=a></form><form id=g action="http://TRAP/get"></form><a id=d download href="http://TRAP/download">d</a><a id=p ping="http://TRAP/ping" href="#">p</a>
<p id=done></p><script>
const tried = [];
const attempt = (name, f) => { try { const r = f(); tried.push(name); if (r && r.catch) r.catch(() => 0); } catch (e) { tried.push(name + ' throws'); } };
const H = 'TRAP';
let reports = 0;
const reported = () => { if (++reports === 4) setTimeout(end, 1000); };
attempt('fetch', () => fetch('http://' + H + '/fetch').finally(reported));
attempt('no-cors', () => fetch('http://' + H + '/nocors', {mode: 'no-cors', keepalive: true}).finally(reported));
attempt('post', () => fetch('http://' + H + '/post', {method: 'POST', body: 'x'}));
attempt('preflight', () => fetch('http://' + H + '/pre', {headers: {'X-A': 'b'}}));
attempt('localhost', () => fetch('http://localhost:' + H.split(':')[1] + '/'));
attempt('xhr', () => { const x = new XMLHttpRequest(); x.open('GET', 'http://' + H + '/xhr'); x.onloadend = reported; x.send(); });
attempt('beacon', () => navigator.sendBeacon('http://' + H + '/beacon', 'x'));
attempt('websocket', () => { new WebSocket('ws://' + H + '/ws'); });
attempt('stream', () => { new WebSocketStream('ws://' + H + '/wss'); });
attempt('webtransport', () => new WebTransport('https://' + H + '/wt').ready);
attempt('eventsource', () => { new EventSource('http://' + H + '/es'); });
attempt('worker', () => { const w = new Worker(URL.createObjectURL(new Blob(["new WebSocket('ws://" + H + "/ww'); try { importScripts('http://" + H + "/wi') } catch (e) {} fetch('http://" + H + "/wf').catch(() => 0).then(() => postMessage(0))"]))); w.onmessage = reported; });
attempt('shared', () => { const s = new SharedWorker('data:text/javascript,' + encodeURIComponent("onconnect = (e) => { new WebSocket('ws://" + H + "/sw'); fetch('http://" + H + "/sf').catch(() => 0).then(() => e.ports[0].postMessage(0)) }")); s.port.start(); });
attempt('service', () => navigator.serviceWorker.register('/sw.js'));
attempt('open', () => { window.open('http://' + H + '/open'); });
attempt('noopener', () => { window.open('http://' + H + '/noopener', '_blank', 'noopener'); });
attempt('rtc', () => { const c = new RTCPeerConnection({iceServers: [{urls: 'stun:' + H}, {urls: 'turn:' + H + '?transport=tcp', username: 'a', credential: 'b'}]});
  c.createDataChannel('x'); return c.createOffer().then((o) => c.setLocalDescription(o)); });
attempt('post form', () => document.getElementById('f').submit());
attempt('form', () => document.getElementById('g').submit());
attempt('download', () => document.getElementById('d').click());
attempt('ping', () => document.getElementById('p').click());
attempt('meta', () => { const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0;url=http://' + H + '/refresh'; document.head.append(m); });
attempt('import', () => import('http://' + H + '/import.js'));
attempt('location', () => { location = 'http://' + H + '/location'; });
const end = () => { document.getElementById('done').textContent = tried.length + ' tried'; document.getElementById('done').className = 'now'; };
</script></body></html>`

// TestNothingPassesByTheFetcher: whatever a page tries, a server on this machine gets nothing, also where the browser
// has the machine's own network.
func TestNothingPassesByTheFetcher(t *testing.T) {
	command := chromium(t)
	for name, command := range map[string][]string{"of its own": command, "behind a socket": {"unix:" + serveBrowsers(t, command)}} {
		t.Run(name, func(t *testing.T) {
			trap := openTrap(t)
			r := renderer(t, render.Settings{Command: command})
			s := newSite(map[string]string{"/": strings.ReplaceAll(allWays, "TRAP", trap.address)})
			p := s.page(t, "https://hostile.example/")
			p.Selector = "#done.now"
			var asked sync.Map
			p.Fetch = func(_ context.Context, r render.Request) (render.Answer, error) {
				asked.Store(r.URL, r.Method)
				return render.Answer{}, fmt.Errorf("the address is refused: %w", render.ErrRefused)
			}
			out := must(t, r, p)
			wantIn(t, out.HTML, "24 tried")
			if n := trap.came.Load(); n > 0 {
				t.Errorf("%d requests came past the fetcher", n)
			}
			for _, path := range []string{"/script.js", "/fetch", "/nocors", "/xhr", "/wf", "/style.css"} {
				if _, ok := asked.Load("http://" + trap.address + path); !ok {
					t.Errorf("%s was not paused", path)
				}
			}
			asked.Range(func(url, method any) bool {
				for _, not := range []string{".png", ".mp4", "/post", "/form", "/beacon", "/open", "/frame", "/favicon", "/sw.js", "/prefetch", "/spec"} {
					if strings.Contains(url.(string), not) {
						t.Errorf("the fetcher was asked for %s %s", method, url)
					}
				}
				return true
			})
		})
	}
}

// serveBrowsers returns what the unit sextant-browser does: each connection to the socket is the pipe of a browser of
// its own, here with the machine's network.
func serveBrowsers(t *testing.T, command []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serveBrowser(t, command, c.(*net.UnixConn)) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return path
}

func serveBrowser(t *testing.T, command []string, c *net.UnixConn) {
	file, err := c.File()
	_ = c.Close()
	if err != nil {
		t.Error(err)
		return
	}
	profile, err := os.MkdirTemp("", "sextant-browser-")
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { // children may write for a moment after the end
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	args := append([]string{"-c", `exec "$@" 3<&0 4>&0`, "sh"}, command...)
	args = append(append(args, render.Flags()...), "--user-data-dir="+profile)
	browser := exec.Command("sh", args...)
	browser.Stdin = file
	browser.WaitDelay = time.Second
	if err := browser.Start(); err != nil {
		t.Error(err)
	}
	_ = file.Close()
	_ = browser.Wait()
}

// TestPagesThatHarm: a page that eats memory and one whose scripts do not pause fail by themselves; the pages after
// them are rendered.
func TestPagesThatHarm(t *testing.T) {
	settings := render.Settings{Command: chromium(t), Timeout: 10 * time.Minute, MaxMemory: 900 << 20}
	r := renderer(t, settings)
	s := newSite(map[string]string{
		"/eats":  `<title>Eats</title><script>const all = []; const eat = () => { for (let i = 0; i < 8; i++) all.push(new Uint8Array(8 << 20).fill(all.length + 1)); setTimeout(eat, 1); }; eat();</script>`,
		"/mines": `<title>Mines</title><script>for (let n = 0;; n++) Math.sqrt(n);</script>`,
		"/workers": `<title>Mines beside</title><p>is read all the same</p><script>
for (let i = 0; i < 2; i++) new Worker(URL.createObjectURL(new Blob(['for (let n = 0;; n++) Math.sqrt(n);'])));</script>`,
		"/good": `<title>Good</title><script>document.write('<p>' + 'all is ' + 'well')</script>`,
	})
	wantError := func(path string, want render.Kind) {
		t.Helper()
		_, err := r.Render(t.Context(), s.page(t, "http://harm.example"+path))
		if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != want {
			t.Errorf("%s gives %v", path, err)
		}
	}
	good := func() {
		t.Helper()
		wantIn(t, must(t, r, s.page(t, "http://harm.example/good")).HTML, "all is well")
	}
	p := s.page(t, "http://harm.example/eats")
	p.Selector = ".never"
	_, err := r.Render(t.Context(), p)
	if e, ok := errors.AsType[*render.Error](err); !ok || e.Kind != render.Crashed || !strings.Contains(e.Words, "memory") {
		t.Errorf("what eats memory gives %v", err)
	}
	good()
	wantIn(t, must(t, r, s.page(t, "http://harm.example/workers")).HTML, "is read all the same")
	good()
	settings.Timeout = time.Second
	r.Set(settings)
	wantError("/mines", render.TimedOut)
	settings.Timeout = 10 * time.Minute
	r.Set(settings)
	good()
}
