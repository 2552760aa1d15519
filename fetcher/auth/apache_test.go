package auth_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/testport"
	"github.com/sextant-crawler/sextant/secret"
	"github.com/sextant-crawler/sextant/weburl"
)

// apache is a real Apache httpd (Debian package apache2-bin) on a free port.
type apache struct {
	origin, dir string
}

const apacheModules = "/usr/lib/apache2/modules"

const apacheConfig = `
ServerRoot "{dir}"
ServerName localhost
Listen {address}
PidFile "{dir}/pid"
ErrorLog "{dir}/error.log"
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authn_file_module {modules}/mod_authn_file.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule auth_basic_module {modules}/mod_auth_basic.so
LoadModule auth_digest_module {modules}/mod_auth_digest.so
DefaultRuntimeDir "{dir}"
{user}
LogFormat "%r %>s %u" short
CustomLog "{dir}/access.log" short
DocumentRoot "{dir}/www"
<Directory "{dir}/www/basic">
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

func startApache(t *testing.T) *apache {
	t.Helper()
	binary, err := exec.LookPath("apache2")
	if err == nil {
		_, err = os.Stat(apacheModules + "/mod_auth_digest.so")
	}
	if err != nil {
		t.Skipf("no Apache httpd here (Debian: apt-get install apache2-bin): %v", err)
	}
	address := testport.Reserve(t)
	a := &apache{origin: "http://" + address, dir: t.TempDir()}
	user := ""
	if os.Geteuid() == 0 {
		user = "User nobody\nGroup nogroup"
	}
	config := strings.NewReplacer("{dir}", a.dir, "{modules}", apacheModules, "{address}", address, "{user}", user).Replace(apacheConfig)
	sum := sha1.Sum([]byte(password))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	const realm = "Digest, realm=x"
	ha1 := md5.Sum([]byte("robot:" + realm + ":" + password))
	a.write(t, "conf", config)
	a.write(t, "basic", "robot:{SHA}"+hash+"\nboss:{SHA}"+hash+"\n")
	a.write(t, "digest", "robot:"+realm+":"+hex.EncodeToString(ha1[:])+"\n")
	for _, page := range []string{"basic/1", "basic/2", "basic/secret/3", "digest/1", "digest/2", "digest/3", "once/1", "once/2", "once/3"} {
		a.write(t, "www/"+page, "content of "+page)
	}
	if err := os.Chmod(filepath.Dir(a.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	cmd := exec.Command(binary, "-f", a.dir+"/conf", "-DFOREGROUND")
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return a
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(a.dir + "/error.log")
			t.Fatalf("Apache does not start: %v\n%s%s", err, words.String(), log)
		}
		time.Sleep(20 * time.Millisecond) // a process to wait for, not an assertion
	}
}

func (a *apache) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// crawl crawls pages with a session of kind k, and says what it was answered
// and how many requests it took.
func (a *apache) crawl(t *testing.T, k auth.Kind, paths ...string) *crawl {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	c := newCrawl(newSession(t, auth.Settings{Origins: []string{a.origin}, Do: transportDo(transport)}, k))
	c.pause = func(bool) {}
	var urls []weburl.URL
	for _, p := range paths {
		urls = append(urls, parse(t, a.origin+p))
	}
	for range 20 {
		for len(urls) > 0 && c.visit(t.Context(), urls[0]) {
			urls = urls[1:]
		}
	}
	return c
}

func TestApacheBasic(t *testing.T) {
	a := startApache(t)
	c := a.crawl(t, auth.Basic{Username: "robot", Password: secret.New(password)}, "/basic/1", "/basic/2")
	if d := cmp.Diff(map[string]int{a.origin + "/basic/1": 200, a.origin + "/basic/2": 200}, c.result); d != "" || c.requests != 2 {
		t.Errorf("%d requests, want 2 (-want +got):\n%s", c.requests, d)
	}
	c = a.crawl(t, auth.Basic{Username: "robot", Password: secret.New("wrong")}, "/basic/1", "/basic/2")
	if len(c.result) > 0 || c.requests != 1 || !strings.Contains(fmt.Sprint(c.waits), "the credentials are refused: status 401, the server offers basic") {
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
	if len(c.result) > 0 || c.requests != 2 || !strings.Contains(fmt.Sprint(c.waits), "the credentials are refused: status 401, the server offers digest") {
		t.Errorf("wrong password: %v after %d requests, words %q", c.result, c.requests, c.waits[:min(2, len(c.waits))])
	}
	c = a.crawl(t, robot, "/basic/1")
	if len(c.result) > 0 || !strings.Contains(fmt.Sprint(c.waits), "the server offers basic") {
		t.Errorf("Basic offered: %v, words %q", c.result, c.waits[:min(2, len(c.waits))])
	}
}
