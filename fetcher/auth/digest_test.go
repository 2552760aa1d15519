package auth_test

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// digestServer checks responses by RFC 7616 section 3.4, written here once more.
type digestServer struct {
	algorithm, qop, realm string
	userhash              bool
	life                  int  // requests that a nonce is good for; 0: endless
	next                  bool // each answer names the next nonce
	n, used               int
	counts                []string
}

func (d *digestServer) nonce() string { return fmt.Sprint("nonce/", d.n, "==") }

func (d *digestServer) hash(parts ...string) string {
	h := map[string]func() hash.Hash{
		"": md5.New, "MD5": md5.New, "SHA-256": sha256.New, "SHA-512-256": sha512.New512_256,
	}[strings.TrimSuffix(d.algorithm, "-sess")]()
	h.Write([]byte(strings.Join(parts, ":")))
	return hex.EncodeToString(h.Sum(nil))
}

var digestParam = regexp.MustCompile(`([a-z]+)=("((?:[^"\\]|\\.)*)"|[^," ]*)`)

func (d *digestServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := map[string]string{}
	for _, m := range digestParam.FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
		if strings.HasPrefix(m[2], `"`) {
			p[m[1]] = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[3])
		} else {
			p[m[1]] = m[2]
		}
	}
	stale := d.life > 0 && d.used >= d.life
	if stale {
		d.n, d.used = d.n+1, 0
	}
	if len(p) == 0 || stale || p["nonce"] != d.nonce() || !d.good(r, p) {
		w.Header().Add("WWW-Authenticate", "Negotiate")
		w.Header().Add("WWW-Authenticate", fmt.Sprintf(
			`Basic realm="a, b", Digest algorithm=UNKNOWN-1, realm="x", nonce="x", qop=auth, digest ReAlm="%s", nonce="%s", opaque="o\"p", stale=%t%s`,
			strings.ReplaceAll(d.realm, `"`, `\"`), d.nonce(), stale, d.more()))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d.used++
	d.counts = append(d.counts, p["nc"])
	if d.next {
		d.n++
		w.Header().Set("Authentication-Info", `qop=auth, nextnonce="`+d.nonce()+`"`)
	}
	_, _ = w.Write([]byte("content"))
}

func (d *digestServer) more() string {
	s := ""
	if d.algorithm != "" {
		s += ", algorithm=" + d.algorithm
	}
	if d.qop != "" {
		s += `, qop="` + d.qop + `"`
	}
	if d.userhash {
		s += ", charset=UTF-8, userhash=true"
	}
	return s
}

func (d *digestServer) good(r *http.Request, p map[string]string) bool {
	user := "robot"
	if d.userhash {
		user = d.hash("robot", d.realm)
	}
	a1 := d.hash("robot", d.realm, password)
	if strings.HasSuffix(d.algorithm, "-sess") {
		a1 = d.hash(a1, p["nonce"], p["cnonce"])
	}
	a2 := d.hash(r.Method, r.RequestURI)
	if p["qop"] == "auth-int" {
		a2 = d.hash(r.Method, r.RequestURI, d.hash(""))
	}
	want := d.hash(a1, p["nonce"], a2)
	if p["qop"] != "" {
		want = d.hash(a1, p["nonce"], p["nc"], p["cnonce"], p["qop"], a2)
	}
	return p["response"] == want && p["username"] == user && p["uri"] == r.RequestURI &&
		p["realm"] == d.realm && p["opaque"] == `o"p` && p["algorithm"] == d.algorithm && strings.Contains(","+strings.ReplaceAll(d.qop, " ", "")+",", ","+p["qop"]+",")
}

func TestDigestAlgorithms(t *testing.T) {
	for _, d := range []*digestServer{
		{algorithm: "", qop: ""},
		{algorithm: "MD5", qop: "auth"},
		{algorithm: "MD5-sess", qop: "auth"},
		{algorithm: "SHA-256", qop: "auth-int, auth"},
		{algorithm: "SHA-256", qop: "auth-int"},
		{algorithm: "SHA-256-sess", qop: "auth"},
		{algorithm: "SHA-512-256", qop: "auth", userhash: true},
	} {
		d.realm = "the \"realm\", gesch\xfctzt" // not UTF-8
		t.Run(fmt.Sprintf("%s %s", d.algorithm, d.qop), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logs{}
				s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(d), Logger: l.logger()},
					auth.Digest{Username: "robot", Password: secret.New(password)})
				c := newCrawl(s)
				c.run(t.Context(), 20, pages(t, origin, "/a?x=1&y=%22", "/b", "/c%20d")...)
				if len(c.result) != 3 || c.requests != 4 {
					t.Errorf("%v after %d requests, words %q", c.result, c.requests, c.waits)
				}
				if want := []string{"00000001", "00000002", "00000003"}; d.qop != "" && !cmp.Equal(want, d.counts) {
					t.Errorf("counts %q, want %q", d.counts, want)
				}
				noSecret(t, l.String()+everything(s), password)
			})
		})
	}
}

func TestDigestNonces(t *testing.T) {
	for name, c := range map[string]struct {
		server   *digestServer
		requests int
		counts   []string
	}{
		"kept":           {&digestServer{}, 5, []string{"00000001", "00000002", "00000003", "00000004"}},
		"stale after 2":  {&digestServer{life: 2}, 6, []string{"00000001", "00000002", "00000001", "00000002"}},
		"next in answer": {&digestServer{next: true}, 5, []string{"00000001", "00000001", "00000001", "00000001"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := c.server
				d.qop, d.realm = "auth", "r"
				crawl := newCrawl(newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(d)},
					auth.Digest{Username: "robot", Password: secret.New(password)}))
				crawl.run(t.Context(), 20, pages(t, origin, "/a", "/b", "/c", "/d")...)
				if crawl.requests != c.requests || len(crawl.result) != 4 {
					t.Errorf("%d requests, want %d; %v", crawl.requests, c.requests, crawl.result)
				}
				if d := cmp.Diff(c.counts, d.counts); d != "" {
					t.Errorf("counts (-want +got):\n%s", d)
				}
			})
		})
	}
}

// A server that finds every nonce stale is refused after a few, for minutes.
func TestDigestEndlesslyStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := newCrawl(newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n++
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="r", nonce="%d", qop="auth", stale=true`, n))
			w.WriteHeader(http.StatusUnauthorized)
		}))}, auth.Digest{Username: "robot", Password: secret.New(password)}))
		c.run(t.Context(), 6, pages(t, origin, "/a")...)
		if len(c.waits) == 0 || n > 6 || len(c.result) > 0 {
			t.Errorf("%d requests, waits %q, results %v", n, c.waits, c.result)
		}
	})
}

// Where nothing asks for credentials, nothing holds the crawl up.
func TestDigestOnOpenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(scripted{})},
			auth.Digest{Username: "robot", Password: secret.New(password)})
		a, b := s.Step(parse(t, origin+"/ok")), s.Step(parse(t, origin+"/ok/b"))
		if a.Action != auth.Proceed || b.Action != auth.Proceed {
			t.Errorf("%s and %s at once, want proceed: no credentials are sent", a.Action, b.Action)
		}
	})
}
