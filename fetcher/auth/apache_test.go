package auth_test

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/testing/testapache"
)

const apacheConfig = `<Directory "{dir}/www/basic">
  AuthType Basic
  AuthName "Basic \"quoted\" realm"
  AuthUserFile "{dir}/basic"
  Require user robot
</Directory>
<Directory "{dir}/www/basic/secret">
  Require user boss
</Directory>
<Directory "{dir}/www/digest">
  AuthType Digest
  AuthName "Digest, realm=x"
  AuthUserFile "{dir}/digest"
  Require user robot
  AuthDigestNonceLifetime 300
</Directory>
<Directory "{dir}/www/once">
  AuthType Digest
  AuthName "Digest, realm=x"
  AuthUserFile "{dir}/digest"
  Require user robot
  AuthDigestNonceLifetime 0
</Directory>
`

// startApache starts a real Apache httpd.
func startApache(t *testing.T) *apache {
	t.Helper()
	sum := sha1.Sum([]byte(password))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	const realm = "Digest, realm=x"
	ha1 := md5.Sum([]byte("robot:" + realm + ":" + password))
	files := map[string]string{"basic": "robot:{SHA}" + hash + "\nboss:{SHA}" + hash + "\n", "digest": "robot:" + realm + ":" + hex.EncodeToString(ha1[:]) + "\n"}
	for _, page := range []string{"basic/1", "basic/2", "basic/secret/3", "digest/1", "digest/2", "digest/3", "once/1", "once/2", "once/3"} {
		files["www/"+page] = "content of " + page
	}
	return &apache{testapache.Start(t, testapache.Settings{Modules: []string{"authn_file", "auth_basic", "auth_digest"}, Conf: apacheConfig, Files: files}).Origin}
}

// apache is at an origin.
type apache struct{ origin string }

// crawl crawls pages with a session of kind k, and says what it was answered
// and how many requests it took.
func (a *apache) crawl(t *testing.T, k auth.Kind, paths ...string) *crawl {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	c := newCrawl(newSession(t, auth.Settings{Origins: []string{a.origin}, Do: transportDo(transport)}, k))
	c.pause = func(bool) {}
	c.all(t, a.origin, paths, 20)
	return c
}

func TestApacheBasic(t *testing.T) {
	a := startApache(t)
	c := a.crawl(t, auth.Basic{Username: "robot", Password: secret.New(password)}, "/basic/1", "/basic/2")
	if d := cmp.Diff(map[string]int{a.origin + "/basic/1": 200, a.origin + "/basic/2": 200}, c.result); d != "" || c.requests != 2 {
		t.Errorf("%d requests, want 2 (-want +got):\n%s", c.requests, d)
	}
	c = a.crawl(t, auth.Basic{Username: "robot", Password: secret.New("wrong")}, "/basic/1", "/basic/2")
	if len(c.result) > 0 || c.requests != 1 || !strings.Contains(fmt.Sprint(c.waits), "the server rejects the credentials: status 401; the server offers basic") {
		t.Errorf("wrong password: %v after %d requests, words %q", c.result, c.requests, c.waits[:min(2, len(c.waits))])
	}
}

func TestApacheDigest(t *testing.T) {
	a := startApache(t)
	robot := auth.Digest{Username: "robot", Password: secret.New(password)}
	for _, folder := range []string{"/digest/", "/once/"} { // a nonce for all requests; a new one in each answer
		c := a.crawl(t, robot, folder+"1", folder+"2", folder+"3")
		want := map[string]int{a.origin + folder + "1": 200, a.origin + folder + "2": 200, a.origin + folder + "3": 200}
		if d := cmp.Diff(want, c.result); d != "" || c.requests != 4 {
			t.Errorf("%s: %d requests, want 4: one challenge, three pages (-want +got):\n%s", folder, c.requests, d)
		}
	}
	c := a.crawl(t, auth.Digest{Username: "robot", Password: secret.New("wrong")}, "/digest/1", "/digest/2")
	if len(c.result) > 0 || c.requests != 2 || !strings.Contains(fmt.Sprint(c.waits), "the server rejects the credentials: status 401; the server offers digest") {
		t.Errorf("wrong password: %v after %d requests, words %q", c.result, c.requests, c.waits[:min(2, len(c.waits))])
	}
	c = a.crawl(t, robot, "/basic/1")
	if len(c.result) > 0 || !strings.Contains(fmt.Sprint(c.waits), "the server offers basic") {
		t.Errorf("Basic offered: %v, words %q", c.result, c.waits[:min(2, len(c.waits))])
	}
}
