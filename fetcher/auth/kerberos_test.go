package auth_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/kerberos"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testkdc"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

const testRealm = "EXAMPLE.TEST"

func realms(k *testkdc.KDC) kerberos.Realms {
	return kerberos.Realms{Default: k.Realm, KDCs: map[string][]string{k.Realm: {k.Address}}}
}

// kerberosCrawl crawls pages of a real Apache with tickets of a real KDC.
func kerberosCrawl(t *testing.T, origin string, k auth.Kerberos, paths ...string) *crawl {
	t.Helper()
	l := &logs{}
	c := newCrawl(newSession(t, auth.Settings{Name: "intranet", Origins: []string{origin}, Do: transportDo(freshTransport(t)), Logger: l.logger()}, k))
	c.pause = func(bool) {}
	c.all(t, origin, paths, 10)
	noSecret(t, l.String()+everything(c.waits, c.session), k.Settings.Password.Reveal())
	return c
}

// TestKerberosByMIT: MIT's KDC and Apache with mod_auth_gssapi accept a password, a keytab and a credential cache.
func TestKerberosByMIT(t *testing.T) {
	kdc := testkdc.Start(t, testRealm, "robot r0b0tpassw0rd", "HTTP/127.0.0.1", "HTTP/other.example.test")
	web := kdc.StartWeb(t, kdc.Keytab(t, filepath.Join(t.TempDir(), "http.keytab"), "HTTP/127.0.0.1", "HTTP/other.example.test"), map[string]string{
		"a.html": "content", "b.html": "content", "open/c.html": "content", "boss/d.html": "content",
	})
	password := kerberos.Settings{Principal: "robot", Realms: realms(kdc), Password: secret.New("r0b0tpassw0rd")}
	c := kerberosCrawl(t, web.Origin, auth.Kerberos{Settings: password}, "/open/c.html", "/a.html", "/b.html", "/boss/d.html")
	want := map[string]int{web.Origin + "/open/c.html": 200, web.Origin + "/a.html": 200, web.Origin + "/b.html": 200, web.Origin + "/boss/d.html": 401}
	if d := cmp.Diff(want, c.result); d != "" {
		t.Errorf("(-want +got):\n%s\nwords %q", d, c.waits)
	}
	// One request without a ticket, until the server asks for it.
	asked := []string{
		"GET /open/c.html HTTP/1.1 200 -", "GET /a.html HTTP/1.1 401 -", "GET /a.html HTTP/1.1 200 robot@" + testRealm,
		"GET /b.html HTTP/1.1 200 robot@" + testRealm, "GET /boss/d.html HTTP/1.1 401 robot@" + testRealm,
	}
	if d := cmp.Diff(asked, web.Asked(t, len(asked))); d != "" {
		t.Errorf("the server was asked for (-want +got):\n%s", d)
	}

	content := testdir.Read(t, kdc.Keytab(t, filepath.Join(t.TempDir(), "robot.keytab"), "robot"))
	keytab, err := kerberos.ParseKeytab(content)
	if err != nil {
		t.Fatal(err)
	}
	cache := kdc.Cache(t, "robot", "r0b0tpassw0rd")
	text := testdir.Read(t, kdc.Conf)
	conf, err := kerberos.ParseConf(text)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]auth.Kerberos{
		"keytab":           {Settings: kerberos.Settings{Realms: conf, Keytab: keytab}},
		"credential cache": {Settings: kerberos.Settings{Realms: conf, Cache: func() ([]byte, error) { return os.ReadFile(cache) }}},
		"another service":  {Settings: password, Service: "HTTP/other.example.test"},
	} {
		if c := kerberosCrawl(t, web.Origin, k, "/a.html"); c.result[web.Origin+"/a.html"] != 200 {
			t.Errorf("%s: %v, words %q", name, c.result, c.waits)
		}
	}
}

// TestKerberosRefused: what is wrong is said in words, and no page gets an answer of its own.
func TestKerberosRefused(t *testing.T) {
	kdc := testkdc.Start(t, testRealm, "robot r0b0tpassw0rd", "HTTP/127.0.0.1", "HTTP/other.example.test")
	webKeys := kdc.Keytab(t, filepath.Join(t.TempDir(), "http.keytab"), "HTTP/127.0.0.1")
	web := kdc.StartWeb(t, webKeys, map[string]string{"a.html": "content"})
	content := testdir.Read(t, kdc.Keytab(t, filepath.Join(t.TempDir(), "robot.keytab"), "robot"))
	keytab, err := kerberos.ParseKeytab(content)
	if err != nil {
		t.Fatal(err)
	}
	good := kerberos.Settings{Principal: "robot", Realms: realms(kdc), Password: secret.New("r0b0tpassw0rd")}
	with := func(change func(*kerberos.Settings)) auth.Kerberos {
		s := good
		change(&s)
		return auth.Kerberos{Settings: s}
	}
	kdc.Admin(t, "cpw -randkey HTTP/other.example.test\ncpw -pw an0therpassw0rd robot\n")
	dead := testport.Reserve(t)
	for want, k := range map[string]auth.Kerberos{
		"the KDC rejects the password of robot@" + testRealm:                                        with(func(*kerberos.Settings) {}),
		"the KDC rejects the keytab's key of robot@" + testRealm:                                    with(func(s *kerberos.Settings) { s.Keytab = keytab }),
		"the KDC does not know nobody@" + testRealm:                                                 with(func(s *kerberos.Settings) { s.Principal = "nobody" }),
		"no KDC answers for the realm " + testRealm + " (" + dead + ": connect: connection refused": with(func(s *kerberos.Settings) { s.Realms.KDCs = map[string][]string{testRealm: {dead}} }),
		"no ticket for HTTP/absent: the realm " + testRealm + " has no such service":                {Settings: withPassword(good), Service: "HTTP/absent"},
		"the server cannot read the ticket for HTTP/other.example.test":                             {Settings: withPassword(good), Service: "HTTP/other.example.test"},
	} {
		c := kerberosCrawl(t, web.Origin, k, "/a.html")
		if said := fmt.Sprint(c.waits); len(c.result) > 0 || !strings.Contains(said, "intranet: ") || !strings.Contains(said, want) {
			t.Errorf("%v, words %q, want %q", c.result, c.waits, want)
		}
	}
}

func withPassword(s kerberos.Settings) kerberos.Settings {
	s.Password = secret.New("an0therpassw0rd")
	return s
}
