package testkdc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testlog"
	"github.com/sextant-crawler/sextant/internal/testport"
)

const modules = "/usr/lib/apache2/modules"

// Web is an Apache httpd with mod_auth_gssapi; all its pages but those below /open want a ticket.
type Web struct {
	Origin string // http://127.0.0.1:port

	dir string
	log testlog.Buffer
}

const apacheConf = `ServerRoot "{dir}"
ServerName 127.0.0.1
Listen {address}
PidFile "{dir}/pid"
ErrorLog "{dir}/error.log"
LogLevel warn auth_gssapi:debug
DefaultRuntimeDir "{dir}"
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule dir_module {modules}/mod_dir.so
LoadModule auth_gssapi_module {modules}/mod_auth_gssapi.so
{user}
TypesConfig /etc/mime.types
AddType text/html .html
LogFormat "%r %>s %u" short
CustomLog "{dir}/access.log" short
DocumentRoot "{dir}/www"
DirectoryIndex index.html
<Directory "{dir}/www">
  AuthType GSSAPI
  AuthName "intranet"
  GssapiCredStore keytab:{keytab}
  Require valid-user
</Directory>
<Directory "{dir}/www/open">
  Require all granted
</Directory>
<Directory "{dir}/www/boss">
  Require user boss@{realm}
</Directory>
`

// StartWeb starts an Apache httpd with these pages, by their path, that takes tickets for the services of a keytab.
func (k *KDC) StartWeb(t testing.TB, keytab string, pages map[string]string) *Web {
	t.Helper()
	binary := program(t, "apache2")
	if _, err := os.Stat(modules + "/mod_auth_gssapi.so"); err != nil {
		t.Skip("mod_auth_gssapi is not installed: apt-get install libapache2-mod-auth-gssapi")
	}
	address := testport.Reserve(t)
	w := &Web{Origin: "http://" + address, dir: t.TempDir()}
	user := ""
	if os.Geteuid() == 0 {
		user = "User nobody\nGroup nogroup"
	}
	types := filepath.Join(w.dir, "mime.types")
	write(t, types, "text/html html\n")
	write(t, filepath.Join(w.dir, "conf"), strings.NewReplacer("{dir}", w.dir, "{modules}", modules, "{address}", address, "{user}", user,
		"{keytab}", keytab, "{realm}", k.Realm, "/etc/mime.types", types).Replace(apacheConf))
	for page, content := range pages {
		write(t, filepath.Join(w.dir, "www", page), content)
	}
	replays := filepath.Join(w.dir, "replays")
	for _, step := range []error{os.Mkdir(replays, 0o700), os.Chmod(replays, 0o777), os.Chmod(filepath.Dir(w.dir), 0o755), os.Chmod(filepath.Dir(k.dir), 0o755)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(binary, "-f", filepath.Join(w.dir, "conf"), "-DFOREGROUND")
	cmd.Env = slices.Concat(k.env, []string{"KRB5RCACHENAME=file2:" + filepath.Join(replays, "cache")})
	cmd.Stdout, cmd.Stderr = &w.log, &w.log
	await(t, "Apache", address, cmd)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(w.dir, "error.log"))
			t.Logf("Apache:\n%s%s", w.log.String(), said)
		}
	})
	return w
}

// Asked are the requests so far, each with its status and its user. It waits until there are so many: Apache writes a
// line after it has answered.
func (w *Web) Asked(t testing.TB, requests int) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		said, err := os.ReadFile(filepath.Join(w.dir, "access.log"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(said), "\n") >= requests || time.Now().After(deadline) {
			return strings.Split(strings.TrimSpace(string(said)), "\n")
		}
	}
}
