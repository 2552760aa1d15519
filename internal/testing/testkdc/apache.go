package testkdc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testapache"
)

// All pages except those below /open require a ticket.
const apacheConf = `LogLevel warn auth_gssapi:debug
TypesConfig "{dir}/mime.types"
AddType text/html .html
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

// StartWeb starts an Apache httpd with these pages, by path, that accepts tickets for the services of a keytab.
func (k *KDC) StartWeb(t testing.TB, keytab string, pages map[string]string) *testapache.Server {
	t.Helper()
	files := map[string]string{"mime.types": "text/html html\n"}
	for page, content := range pages {
		files[filepath.Join("www", page)] = content
	}
	replays := filepath.Join(t.TempDir(), "replays")
	for _, step := range []error{os.Mkdir(replays, 0o700), os.Chmod(replays, 0o777), os.Chmod(filepath.Dir(replays), 0o755), os.Chmod(filepath.Dir(filepath.Dir(replays)), 0o755), os.Chmod(filepath.Dir(k.dir), 0o755)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	return testapache.Start(t, testapache.Settings{
		Modules: []string{"mime", "dir", "auth_gssapi"}, Conf: strings.NewReplacer("{keytab}", keytab, "{realm}", k.Realm).Replace(apacheConf),
		Files: files, Env: append(k.env, "KRB5RCACHENAME=file2:"+filepath.Join(replays, "cache")),
	})
}
