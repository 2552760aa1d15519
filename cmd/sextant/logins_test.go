package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testkdc"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
)

// guarded is a site of four pages for those whom admit lets in; it answers the others
// itself.
type guarded struct {
	*httptest.Server
	admit func(s *guarded, w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	known map[string]string // what admit remembers
	asked int
}

func (s *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if !s.admit(s, w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, `<title>%s</title>some text of %s <a href="/a">a</a> <a href="/b">b</a> <a href="/c">c</a>`, r.URL.Path, r.URL.Path)
}

func refuse(w http.ResponseWriter, challenge string) bool {
	w.Header().Set("WWW-Authenticate", challenge)
	w.WriteHeader(http.StatusUnauthorized)
	return false
}

// logIn is a case: what stands in the Fetch, with %s for the origin, and "Password",
// which becomes another word in the second crawl.
type logIn struct {
	fetch string
	admit func(s *guarded, w http.ResponseWriter, r *http.Request) bool
}

// logInSteps are what fetch tells of each, in this order, with %s for the origin.
var logInSteps = map[string][]string{
	"basic":  {"steps     GET %s/robots.txt: 200; with credentials (Basic)\n", "GET %s/: 200; with credentials (Basic)\n"},
	"bearer": {"steps     GET %s/robots.txt: 200; with credentials (Bearer)\n", "GET %s/: 200; with credentials (Bearer)\n"},
	"digest": {"steps     GET %s/robots.txt: 401; the server offers digest\n", "GET %s/robots.txt: 200; with credentials (Digest)\n", "GET %s/: 200; with credentials (Digest)\n"},
	"ntlm": {
		"steps     GET %s/robots.txt: 401; the server offers ntlm\n", "GET %s/robots.txt: 401; with credentials (NTLM); the server offers ntlm\n",
		"GET %s/robots.txt: 200; with credentials (NTLM)\n", "GET %s/: 200\n",
	},
	"oauth2": {"steps     POST %s/token: 200; with credentials (Basic)\n", "the log-in here worked\n", "GET %s/: 200; with credentials (Bearer)\n"},
	"form": {
		"steps     GET %s/login: 200\n", `form 1 of 1 (name "", id "") is filled in: u, p; it is submitted with POST to %s/login` + "\n",
		"POST %s/login: 303; leads to %s/; sets the cookie SID\n", "GET %s/: 200; with the cookie SID\n", "the log-in here worked: the response does not contain the log-in form\n",
		"GET %s/: 200; with the cookie SID\n",
	},
	"certificate": {"steps     GET %s/robots.txt: 200\n", "GET %s/: 200\n"},
}

// followEachOther fails unless the text has all of it, one after the other.
func followEachOther(t *testing.T, text string, all ...string) {
	t.Helper()
	rest := text
	for _, want := range all {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Errorf("%q is not in, or not behind what comes before it:\n%s", want, text)
			return
		}
		rest = after
	}
}

var logIns = map[string]logIn{
	"basic": {`auth="basic" user="robot" password="Password" origins="%s">`, func(_ *guarded, w http.ResponseWriter, r *http.Request) bool {
		_, password, _ := r.BasicAuth()
		return password == "Password" || refuse(w, `Basic realm="x"`)
	}},
	"bearer": {`auth="bearer" token="Password" origins="%s">`, func(_ *guarded, w http.ResponseWriter, r *http.Request) bool {
		return r.Header.Get("Authorization") == "Bearer Password" || refuse(w, "Bearer")
	}},
	"digest": {`auth="digest" user="robot" password="Password" origins="%s">`, admitDigest},
	"ntlm":   {`auth="ntlm" user="CORP\robot" password="Password" origins="%s">`, admitNTLM},
	"oauth2": {`auth="oauth2" clientId="robot" clientSecret="Password" tokenURL="%[1]s/token" origins="%[1]s">`, func(_ *guarded, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" {
			return r.Header.Get("Authorization") == "Bearer t0" || refuse(w, "Bearer")
		}
		w.Header().Set("Content-Type", "application/json")
		if _, secret, _ := r.BasicAuth(); secret != "Password" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"invalid_client"}`)
			return false
		}
		_, _ = io.WriteString(w, `{"access_token":"t0","token_type":"Bearer","expires_in":3600}`)
		return false
	}},
	"form": {`auth="form" loginURL="%s/login"><Field name="u" value="robot"/><Field name="p" value="Password"/>`, func(s *guarded, w http.ResponseWriter, r *http.Request) bool {
		if c, err := r.Cookie("SID"); err == nil && c.Value == s.known["SID"] && r.URL.Path != "/login" {
			return true
		}
		if r.URL.Path == "/login" && r.Method == http.MethodPost && r.FormValue("p") == "Password" {
			s.known["SID"] = "1"
			http.SetCookie(w, &http.Cookie{Name: "SID", Value: "1", Path: "/"})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return false
		}
		if r.URL.Path != "/login" {
			http.Redirect(w, r, "/login", http.StatusFound)
			return false
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<title>Log in</title><form method="post"><input name="u"><input type="password" name="p"></form>`)
		return false
	}},
	"certificate": {`auth="certificate" certFile="Password.pem" caFile="ca.pem" origins="%s">`, func(_ *guarded, w http.ResponseWriter, r *http.Request) bool {
		if len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Subject.CommonName == "Password" {
			return true
		}
		w.WriteHeader(http.StatusForbidden)
		return false
	}},
}

// admitDigest is RFC 7616 with SHA-256.
func admitDigest(s *guarded, w http.ResponseWriter, r *http.Request) bool {
	p := map[string]string{}
	for _, m := range regexp.MustCompile(`(\w+)="?([^",]*)"?`).FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
		p[m[1]] = m[2]
	}
	h := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, ":")))
		return hex.EncodeToString(sum[:])
	}
	want := h(h("robot", "x", "Password"), "n0", p["nc"], p["cnonce"], "auth", h(r.Method, r.RequestURI))
	if p["response"] == want && p["uri"] == r.RequestURI && p["nc"] > s.known["nc"] {
		s.known["nc"] = p["nc"]
		return true
	}
	return refuse(w, `Digest realm="x", nonce="n0", qop="auth", algorithm=SHA-256`)
}

// ntHash is that of "Password" (MS-NLMP section 4.2.2.1.2).
const ntHash = "a4f49c406510bdcab6824ee7c30fd852"

// admitNTLM is NTLMv2 (MS-NLMP section 3.3.2), by connection.
func admitNTLM(s *guarded, w http.ResponseWriter, r *http.Request) bool {
	const challenge = "\x01\x02\x03\x04\x05\x06\x07\x08"
	wide := func(text string) (b []byte) {
		for _, u := range utf16.Encode([]rune(text)) {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
		return b
	}
	m, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "NTLM "))
	switch {
	case s.known[r.RemoteAddr] == "in":
		return true
	case len(m) > 12 && m[8] == 1:
		b := append([]byte("NTLMSSP\x00"), 2, 0, 0, 0)
		name := wide("CORP")
		info := append(append([]byte{2, 0, 8, 0}, name...), 0, 0, 0, 0)
		for _, f := range [][2]int{{len(name), 48}, {}} {
			if f[0] == 0 {
				break
			}
			b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, uint16(f[0])), uint16(f[0]))
			b = binary.LittleEndian.AppendUint32(b, uint32(f[1]))
		}
		b = binary.LittleEndian.AppendUint32(b, 0x1|0x800000|0x200|0x80000)
		b = append(append(b, challenge...), make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, uint16(len(info))), uint16(len(info)))
		b = binary.LittleEndian.AppendUint32(b, uint32(48+len(name)))
		return refuse(w, "NTLM "+base64.StdEncoding.EncodeToString(append(append(b, name...), info...)))
	case len(m) > 64 && m[8] == 3:
		at, length := binary.LittleEndian.Uint32(m[24:]), binary.LittleEndian.Uint16(m[20:])
		response := m[at : at+uint32(length)]
		mac := func(key []byte, parts ...[]byte) []byte {
			h := hmac.New(md5.New, key)
			h.Write(bytes.Join(parts, nil))
			return h.Sum(nil)
		}
		hash, _ := hex.DecodeString(ntHash)
		key := mac(hash, wide("ROBOT"), wide("CORP"))
		if len(response) > 16 && bytes.Equal(response[:16], mac(key, []byte(challenge), response[16:])) {
			s.known[r.RemoteAddr] = "in"
			return true
		}
	}
	return refuse(w, "NTLM")
}

// clientCertificate writes a certificate of that name with its key.
func clientCertificate(t *testing.T, file, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	template.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	content := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLogIns crawls a site behind each kind of log-in by the program, and crawls it
// again with other credentials, which the site refuses: no document is lost.
func TestLogIns(t *testing.T) {
	for name, l := range logIns {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			site := &guarded{admit: l.admit, known: map[string]string{}}
			site.Server = httptest.NewUnstartedServer(site)
			site.Config.ErrorLog = log.New(io.Discard, "", 0)
			if name == "certificate" {
				site.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
				site.StartTLS()
				authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})
				if err := os.WriteFile(filepath.Join(dir, "ca.pem"), authority, 0o600); err != nil {
					t.Fatal(err)
				}
				clientCertificate(t, filepath.Join(dir, "Password.pem"), "Password")
				clientCertificate(t, filepath.Join(dir, "Wr0ngW0rd.pem"), "Wr0ngW0rd")
			} else {
				site.Start()
			}
			t.Cleanup(site.Close)
			config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
			host, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(site.URL, "http://"), "https://"), ":")
			text := fmt.Sprintf(`<CrawlConfig><Crawler name="intranet" nthreads="2" throttleTimeMS="1" errorPolicy="smartsite" deletionBrake="off">
				<Root url="%s/" site="true"/><Push kind="file"/><Fetch name="here" `+l.fetch+`<Host val="%s"/></Fetch></Crawler></CrawlConfig>`,
				site.URL, site.URL, host)
			if strings.Contains(l.fetch, "%[1]s") {
				text = fmt.Sprintf(`<CrawlConfig><Crawler name="intranet" nthreads="2" throttleTimeMS="1" errorPolicy="smartsite" deletionBrake="off">
				<Root url="%[1]s/" site="true"/><Push kind="file"/><Fetch name="here" `+l.fetch+`<Host val="%[2]s"/></Fetch></Crawler></CrawlConfig>`,
					site.URL, host)
			}
			crawl := func(text string, commands ...[]string) []string {
				testdir.Write(t, config, text)
				commands = append(commands, []string{"run", "--once", "--listen=off", "--log-level=error"})
				for _, c := range commands {
					if code, out, errOut := sextant(t, "", append(c, "-c", config, "-d", data)...); code != exitOK {
						t.Fatalf("%v: exit %d\n%s%s", c, code, out, errOut)
					}
				}
				return slices.Sorted(maps.Keys(testrun.Documents(t, filepath.Join(data, "out"))))
			}
			want := []string{site.URL + "/", site.URL + "/a", site.URL + "/b", site.URL + "/c"}
			if diff := cmp.Diff(want, crawl(text)); diff != "" {
				t.Fatalf("documents (-want +got):\n%s", diff)
			}
			var steps []string
			for _, step := range logInSteps[name] {
				steps = append(steps, strings.ReplaceAll(step, "%s", site.URL))
			}
			for _, form := range [][]string{nil, {"--json"}} {
				site.mu.Lock()
				delete(site.known, "nc") // a dry run begins anew
				site.mu.Unlock()
				code, out, errOut := sextant(t, "", append(append([]string{"fetch", "-c", config}, form...), site.URL+"/")...)
				if code != exitOK || strings.Contains(out+errOut, "Password") || strings.Contains(out, "t0") || strings.Contains(out, "SID=") {
					t.Errorf("fetch: exit %d\n%s%s", code, out, errOut)
				}
				if form == nil {
					followEachOther(t, out, steps...)
				} else if !strings.Contains(out, `"log_in":[{"`) {
					t.Error(out)
				}
			}
			site.mu.Lock()
			clear(site.known)
			site.asked = 0
			site.mu.Unlock()
			wrong := strings.ReplaceAll(text, "Password", "Wr0ngW0rd")
			if diff := cmp.Diff(want, crawl(wrong, []string{"refresh", "--all", "--full"})); diff != "" {
				t.Errorf("documents after a crawl with other credentials (-want +got):\n%s", diff)
			}
			if site.asked == 0 {
				t.Error("nobody asked with them")
			}
			if code, out, errOut := sextant(t, "", "explain", "-c", config, "-d", data, site.URL+"/a"); code != exitOK || !strings.Contains(out, "here") || strings.Contains(out+errOut, "Wr0ngW0rd") && name != "certificate" {
				t.Errorf("explain: exit %d\n%s%s", code, out, errOut)
			}
		})
	}
}

// TestSingleSignOn: the example of docs/single-sign-on.md, with a KDC and an Apache in place of its own, is a
// configuration without errors, by which the program crawls a site that wants tickets; and fetch says which step fails.
func TestSingleSignOn(t *testing.T) {
	const pages = `<title>Home</title><p>All that is here.</p><a href="/a.html">a</a>`
	kdc := testkdc.Start(t, "EXAMPLE.COM", "crawler", "HTTP/127.0.0.1")
	dir := t.TempDir()
	web := kdc.StartWeb(t, kdc.Keytab(t, filepath.Join(dir, "http.keytab"), "HTTP/127.0.0.1"), map[string]string{"index.html": pages, "a.html": "<title>A</title>Text of a."})
	content := testdir.Read(t, filepath.Join("..", "..", "docs", "single-sign-on.md"))
	example := regexp.MustCompile("(?s)```xml\n(.*?)```").FindStringSubmatch(string(content))[1]
	keytab := kdc.Keytab(t, filepath.Join(dir, "crawler.keytab"), "crawler")
	text := strings.NewReplacer("https://wiki.example.com", web.Origin, "wiki.example.com", "127.0.0.1", "/etc/sextant/crawler.keytab", keytab,
		"kdc1.example.com kdc2.example.com", testport.Reserve(t)+" "+kdc.Address, `<Crawler name="intranet">`, `<Crawler name="intranet" throttleTimeMS="1"><Push kind="file"/>`).Replace(example)
	config, data := filepath.Join(dir, "CrawlConfig.xml"), filepath.Join(dir, "data")
	testdir.Write(t, config, "<CrawlConfig>"+text+"</CrawlConfig>")
	for _, c := range [][]string{{"check"}, {"run", "--once", "--listen=off", "--log-level=error", "-d", data}} {
		if code, out, errOut := sextant(t, "", append(c, "-c", config)...); code != exitOK {
			t.Fatalf("%v: exit %d\n%s%s", c, code, out, errOut)
		}
	}
	if diff := cmp.Diff([]string{web.Origin + "/", web.Origin + "/a.html"}, slices.Sorted(maps.Keys(testrun.Documents(t, filepath.Join(data, "out"))))); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	_, out, _ := sextant(t, "", "fetch", "-c", config, web.Origin+"/")
	followEachOther(t, out, "steps     requests a ticket-granting ticket from the KDC\n", "the log-in intranet worked\n", "GET "+web.Origin+"/robots.txt: 401; the server offers negotiate\n",
		"has a ticket for HTTP/127.0.0.1\n", "GET "+web.Origin+"/robots.txt: 404; with credentials (Negotiate)", "GET "+web.Origin+"/: 200; with credentials (Negotiate)\n", "the server proves that it is HTTP/127.0.0.1\n")
	if !strings.Contains(out, "header    Www-Authenticate: Negotiate\n") {
		t.Errorf("the server's token is shown, or nothing:\n%s", out)
	}
	kdc.Admin(t, "delprinc -force HTTP/127.0.0.1\n")
	code, out, errOut := sextant(t, "", "fetch", "-c", config, web.Origin+"/")
	if want := "no ticket for HTTP/127.0.0.1: the realm EXAMPLE.COM has no such service"; code != exitNo || !strings.Contains(out, want) {
		t.Errorf("fetch: exit %d, want %q\n%s%s", code, want, out, errOut)
	}
}
