package whole_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	engine "github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/clustertest"
	"github.com/sextant-crawler/sextant/cluster/peer"

	"github.com/sextant-crawler/sextant/internal/admin/whole"
)

// TestOverHTTPS: nodes find each other by the engine, and answer for all with their token alone; who owns nothing is not asked.
func TestOverHTTPS(t *testing.T) {
	token, err := peer.ParseToken(strings.Repeat("secret", 8))
	if err != nil {
		t.Fatal(err)
	}
	other, err := peer.ParseToken(strings.Repeat("public", 8))
	if err != nil {
		t.Fatal(err)
	}
	e := clustertest.NewMemory()
	if _, err := engine.Found(t.Context(), e, engine.Founding{Seat: engine.Seat{Node: "n0", Store: "s"}, Partitions: 4}); err != nil {
		t.Fatal(err)
	}
	put := func(key, text string) {
		t.Helper()
		if _, err := e.Commit(t.Context(), engine.Step{Then: []engine.Write{{Key: key, Value: []byte(text)}}}); err != nil {
			t.Fatal(err)
		}
	}
	servers := map[string]*whole.Server{}
	for i, of := range []peer.Token{token, token, other, token} {
		name := fmt.Sprint("n", i)
		s := &whole.Server{Name: name, Cluster: &whole.Peers{Name: name, Engine: e, Client: &peer.Client{Token: token}}}
		s.Own = func(w http.ResponseWriter, r *http.Request, _ whole.Asker) {
			(&store{name: name, says: `{"known":1}`, rows: []row{{i, name}, {10 + i, name}}}).ServeHTTP(w, r)
		}
		l := httptest.NewUnstartedServer(peer.Guard(of, s.Handler(slog.New(slog.DiscardHandler))))
		if l.TLS, err = peer.ServerConfig(); err != nil {
			t.Fatal(err)
		}
		l.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		l.StartTLS()
		t.Cleanup(l.Close)
		put("beat/"+name+"/1", fmt.Sprintf(`{"peer":%q}`, l.Listener.Addr()))
		servers[name] = s
	}
	own := func(p int, node string, more string) {
		put(fmt.Sprintf("own/p%02d", p), fmt.Sprintf(`{"node":%q,"store":"s"%s}`, node, more))
	}
	ask := func(path string) (string, string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		w := httptest.NewRecorder()
		servers["n0"].Serve(w, r, whole.Asker{Role: "reader"}, rules[r.URL.Path])
		return strings.TrimSpace(w.Body.String()), w.Header().Get(whole.Missing)
	}
	for p, node := range []string{"n0", "n1", "n1", "n0"} {
		own(p, node, "")
	}
	if got, missing := ask("/api/v1/figures"); got != `{"known":2}` || missing != "" {
		t.Errorf("%s, missing %q", got, missing)
	}
	if got, missing := ask("/api/v1/list?limit=3"); got != `{"items":[{"n":0,"node":"n0"},{"n":1,"node":"n1"},{"n":10,"node":"n0"}],"next":"11"}` || missing != "" {
		t.Errorf("%s, missing %q", got, missing)
	}
	owners := map[string]bool{}
	for i := range 20 {
		var of struct{ Of string }
		if got, _ := ask(fmt.Sprintf("/api/v1/url?url=http://www.h%d/", i)); json.Unmarshal([]byte(got), &of) != nil {
			t.Fatal(got)
		}
		owners[of.Of] = true
	}
	if len(owners) != 2 {
		t.Errorf("asked %v", owners)
	}
	own(1, "n2", "")
	own(2, "n7", "")
	own(3, "n0", `,"released":true`)
	got, missing := ask("/api/v1/figures")
	if got != `{"known":1}` || !strings.Contains(missing, "n2: node at 127.0.0.1") || !strings.Contains(missing, "n7: it gives no sign of life, for p02") || !strings.Contains(missing, "no node: p03 without an owner now") {
		t.Errorf("%s, missing %q", got, missing)
	}
}
