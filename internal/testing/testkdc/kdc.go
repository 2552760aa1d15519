// Package testkdc starts MIT's KDC for tests, and an Apache httpd that accepts its tickets, as processes with temporary
// folders, under the user of the test. They are in Debian's packages krb5-kdc, krb5-admin-server, apache2-bin and
// libapache2-mod-auth-gssapi.
package testkdc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// KDC serves one realm.
type KDC struct {
	Realm   string
	Address string // host:port, TCP
	Conf    string // path of a krb5.conf

	dir string
	env []string
	cmd *exec.Cmd
	log testlog.Buffer
}

const krb5Conf = `[libdefaults]
	default_realm = {realm}
	dns_lookup_kdc = false
	dns_lookup_realm = false
	rdns = false
[realms]
	{realm} = {
		kdc = {address}
	}
`

const kdcConf = `[kdcdefaults]
	kdc_listen = ""
	kdc_tcp_listen = {address}
[realms]
	{realm} = {
		database_name = {dir}/principal
		key_stash_file = {dir}/stash
		acl_file = {dir}/acl
		max_life = 10h
		max_renewable_life = 7d
	}
[logging]
	kdc = FILE:{dir}/kdc.log
`

func program(t testing.TB, name string) string {
	t.Helper()
	return testneed.Program(t, name, "krb5-kdc krb5-admin-server")
}

// Start starts a KDC with these principals, each "name" with a random key or "name password".
func Start(t testing.TB, realm string, principals ...string) *KDC {
	t.Helper()
	server := program(t, "krb5kdc")
	k := &KDC{Realm: realm, Address: testport.Reserve(t), dir: t.TempDir()}
	k.Conf = filepath.Join(k.dir, "krb5.conf")
	fill := strings.NewReplacer("{realm}", realm, "{address}", k.Address, "{dir}", k.dir)
	testdir.Write(t, k.Conf, fill.Replace(krb5Conf))
	if err := os.Chmod(k.Conf, 0o644); err != nil { // Apache, another user, reads it
		t.Fatal(err)
	}
	testdir.Write(t, filepath.Join(k.dir, "kdc.conf"), fill.Replace(kdcConf))
	k.env = append(os.Environ(), "KRB5_CONFIG="+k.Conf, "KRB5_KDC_PROFILE="+filepath.Join(k.dir, "kdc.conf"))
	k.run(t, "", program(t, "kdb5_util"), "create", "-s", "-r", realm, "-P", "master")
	var queries strings.Builder
	for _, p := range principals {
		name, password, _ := strings.Cut(p, " ")
		if password == "" {
			fmt.Fprintf(&queries, "addprinc -randkey %s\n", name)
		} else {
			fmt.Fprintf(&queries, "addprinc +requires_preauth -pw %s %s\n", password, name)
		}
	}
	k.Admin(t, queries.String())
	k.Serve(t, server)
	return k
}

// Admin runs lines of kadmin.local.
func (k *KDC) Admin(t testing.TB, queries string) {
	t.Helper()
	k.run(t, queries, program(t, "kadmin.local"), "-r", k.Realm)
}

// Keytab writes the keys of a principal to a file without changing them.
func (k *KDC) Keytab(t testing.TB, file string, principals ...string) string {
	t.Helper()
	k.Admin(t, "ktadd -norandkey -k "+file+" "+strings.Join(principals, " ")+"\n")
	if err := os.Chmod(file, 0o644); err != nil { // Apache reads it as user nobody
		t.Fatal(err)
	}
	return file
}

// Cache logs a principal in with kinit, and returns the path of its credential cache.
func (k *KDC) Cache(t testing.TB, principal, password string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cache")
	k.run(t, password+"\n", program(t, "kinit"), "-c", "FILE:"+file, principal)
	return file
}

func (k *KDC) run(t testing.TB, input, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdin = k.env, strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Serve restarts the server after Stop, and waits until it listens.
func (k *KDC) Serve(t testing.TB, server string) {
	t.Helper()
	k.cmd = exec.Command(server, "-n", "-r", k.Realm)
	k.cmd.Env, k.cmd.Stdout, k.cmd.Stderr = k.env, &k.log, &k.log
	testport.Await(t, "krb5kdc", k.Address, k.cmd)
	t.Cleanup(func() {
		k.Stop()
		if t.Failed() {
			said, _ := os.ReadFile(filepath.Join(k.dir, "kdc.log"))
			t.Logf("krb5kdc:\n%s%s", k.log.String(), said)
		}
	})
}

// Stop ends the server, if it is running.
func (k *KDC) Stop() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
}
