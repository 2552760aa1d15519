package auth_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// cookieSite has a form, a session that it may forget, and pages for who is logged in.
type cookieSite struct{ sid, logIns, forms int }

func (s *cookieSite) do() auth.Do {
	return inMemory(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch c, err := r.Cookie("SID"); {
		case r.URL.Path == "/do":
			s.logIns++
			http.SetCookie(w, &http.Cookie{Name: "SID", Value: fmt.Sprintf("s3cret%d", s.sid), Path: "/", MaxAge: 3600})
			_, _ = io.WriteString(w, "welcome")
		case r.URL.Path == "/login":
			s.forms++
			_, _ = io.WriteString(w, plainForm)
		case err != nil || c.Value != fmt.Sprintf("s3cret%d", s.sid):
			http.Redirect(w, r, "/login", http.StatusFound)
		default:
			_, _ = io.WriteString(w, "content")
		}
	}))
}

// run is one process: it crawls a page with what the file has kept, and keeps what there is then.
func (s *cookieSite) run(t *testing.T, path string, identity byte) (status int, said string) {
	t.Helper()
	l := &logs{}
	file := auth.OpenCookieFile(path, l.logger())
	session := newSession(t, auth.Settings{Name: "wiki", Do: s.do(), Logger: l.logger()}, auth.Form{
		URL: origin + "/login", Fields: []auth.Field{{Name: "p", Value: secret.New(password)}},
	})
	file.ResumeSession([32]byte{identity}, session)
	c := newCrawl(session)
	c.run(t.Context(), 20, pages(t, origin, "/a", "/b")...)
	if err := file.Save(map[[32]byte]*auth.Session{{identity}: session}, nil); err != nil {
		t.Fatal(err)
	}
	noSecret(t, l.String()+everything(session, file), password, "s3cret")
	if c.result[origin+"/b"] != c.result[origin+"/a"] {
		t.Errorf("%v", c.result)
	}
	return c.result[origin+"/a"], l.String()
}

// TestKeptSession: a log-in goes on after a restart, if nothing of it has changed; else it is made anew, and no page is
// lost.
func TestKeptSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cookies")
	synctest.Test(t, func(t *testing.T) {
		s := &cookieSite{}
		step := func(what string, identity byte, logIns int) string {
			t.Helper()
			status, said := s.run(t, path, identity)
			if status != http.StatusOK || s.logIns != logIns {
				t.Errorf("%s: status %d after %d log-ins, want 200 after %d\n%s", what, status, s.logIns, logIns, said)
			}
			return said
		}
		step("the first run", 1, 1)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("%v, %v, want a file for its owner only", info.Mode(), err)
		}
		content, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(content), "s3cret0") {
			t.Fatalf("%v: the cookie is not in\n%s", err, content)
		}
		noSecret(t, string(content), password)
		if said := step("a restart", 1, 1); !strings.Contains(said, "continues with the cookies of its last run") {
			t.Errorf("said: %s", said)
		}
		s.sid++
		step("the server has forgotten it", 1, 2)
		step("after that", 1, 2)
		step("other settings", 2, 3)
		step("the old ones again", 1, 4)
		time.Sleep(2 * time.Hour)
		step("a cookie that is over", 1, 5)
		for what, damage := range map[string]func([]byte) []byte{
			"cut":            func(b []byte) []byte { return b[:len(b)-5] },
			"changed":        func(b []byte) []byte { return []byte(strings.Replace(string(b), "s3cret", "s4cret", 1)) },
			"something else": func([]byte) []byte { return []byte("what") },
			"empty":          func([]byte) []byte { return nil },
		} {
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, damage(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := s.logIns
			if said := step(what, 1, before+1); !strings.Contains(said, "cannot read the stored cookies") || !strings.Contains(said, "it is damaged") {
				t.Errorf("%s: said: %s", what, said)
			}
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if said := step("a file that others may read", 1, s.logIns+1); !strings.Contains(said, "others may have read") {
			t.Errorf("said: %s", said)
		}
	})
}

// TestNothingKept: a session that is logged out leaves no cookies behind, nor does one that is kept no more.
func TestNothingKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cookies")
	testdir.Write(t, path+".new", "left of a crash")
	synctest.Test(t, func(t *testing.T) {
		s := &cookieSite{}
		s.run(t, path, 1)
		if _, err := os.Stat(path + ".new"); err == nil {
			t.Error("what a crash left is still there")
		}
		file := auth.OpenCookieFile(path, (&logs{}).logger())
		if err := file.Save(nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the file of a session that is kept no more is still there")
		}
		var none *auth.CookieFile
		none.ResumeSites(auth.NewJar())
		none.ResumeSession([32]byte{}, nil)
		if err := none.Save(nil, nil); err != nil {
			t.Error(err)
		}
	})
}
