// Package testapache starts a real Apache httpd (Debian: apache2-bin) for tests.
package testapache

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

const modules = "/usr/lib/apache2/modules"

// Settings configures a server.
type Settings struct {
	Modules []string          // besides those that every server loads, such as auth_basic
	Conf    string            // configuration of the content; {dir} is the server's folder
	Files   map[string]string // in that folder, by path; www has the pages
	Env     []string          // besides that of the test
}

// Server serves until the test ends.
type Server struct {
	Origin string // http://127.0.0.1:port

	dir string
	log testlog.Buffer
}

const base = `ServerRoot "{dir}"
ServerName 127.0.0.1
Listen {address}
PidFile "{dir}/pid"
ErrorLog "{dir}/error.log"
DefaultRuntimeDir "{dir}"
{modules}
{user}
LogFormat "%r %>s %u" short
CustomLog "{dir}/access.log" short
DocumentRoot "{dir}/www"
`

// Start starts a server.
func Start(t testing.TB, s Settings) *Server {
	t.Helper()
	var load strings.Builder
	for _, name := range append([]string{"mpm_event", "authn_core", "authz_core", "authz_user"}, s.Modules...) {
		file := testneed.File(t, filepath.Join(modules, "mod_"+name+".so"), "apache2-bin libapache2-mod-auth-gssapi")
		fmt.Fprintf(&load, "LoadModule %s_module %s\n", name, file)
	}
	binary := testneed.Program(t, "apache2", "apache2-bin")
	user := ""
	if os.Geteuid() == 0 {
		user = "User nobody\nGroup nogroup"
	}
	address := testport.Reserve(t)
	w := &Server{Origin: "http://" + address, dir: t.TempDir()}
	w.write(t, "conf", strings.NewReplacer("{dir}", w.dir, "{address}", address, "{modules}", load.String(), "{user}", user).Replace(base+s.Conf))
	for name, content := range s.Files {
		w.write(t, name, content)
	}
	if err := os.Chmod(filepath.Dir(w.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-f", filepath.Join(w.dir, "conf"), "-DFOREGROUND")
	cmd.Env = append(os.Environ(), s.Env...)
	cmd.Stdout, cmd.Stderr = &w.log, &w.log
	testport.Await(t, "Apache", address, cmd)
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

func (w *Server) write(t testing.TB, name, content string) {
	t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Asked returns the requests so far, each with its status and its user. It waits until there are so many, since Apache
// writes a line after its response.
func (w *Server) Asked(t testing.TB, requests int) []string {
	t.Helper()
	for deadline := time.Now().Add(testport.Patience); ; time.Sleep(10 * time.Millisecond) {
		said := testdir.Read(t, filepath.Join(w.dir, "access.log"))
		if strings.Count(string(said), "\n") >= requests || time.Now().After(deadline) {
			return strings.Split(strings.TrimSpace(string(said)), "\n")
		}
	}
}
