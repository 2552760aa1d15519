package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

func TestSecretPrintsNowhere(t *testing.T) {
	s := secret.New(password)
	if s.Reveal() != password || s.IsEmpty() || !(secret.Value{}).IsEmpty() {
		t.Error("a secret is not what was hidden")
	}
	type holder struct {
		Public  secret.Value
		private secret.Value
		Field   auth.Field
		Kind    auth.Kind
	}
	h := holder{s, s, auth.Field{Name: "pw", Value: s}, auth.Form{Fields: []auth.Field{{Name: "pw", Value: s}}}}
	var l logs
	l.logger().Info("x", "secret", s, "holder", h, "pointer", &h)
	slog.New(slog.NewJSONHandler(&l, nil)).Info("x", "secret", s, "holder", h)
	encoded, err := json.Marshal(map[string]any{"s": s, "h": h, "p": &s})
	if err != nil {
		t.Fatal(err)
	}
	all := everything(s, &s, h, &h, []secret.Value{s}, map[string]secret.Value{"k": s}, auth.Basic{Username: "u", Password: s}) +
		fmt.Sprint(s, h.private) + fmt.Sprintf("%d %t %c %U %e %p", s, s, s, s, s, s) + l.String() + string(encoded)
	noSecret(t, all, password, fmt.Sprintf("%x", password))
	if !strings.Contains(all, "[redacted]") {
		t.Error("nothing says that something was redacted")
	}
}

// A session prints its name only, even with cookies and tokens inside.
func TestSessionPrintsNoSecret(t *testing.T) {
	for name, k := range kinds {
		s := newSession(t, auth.Settings{Name: "n", Origins: []string{origin}, Do: inMemory(scripted{})}, k)
		if name != "form" {
			judged(t, s, "ok")
		}
		j := auth.NewJar()
		set(t, j, origin, "a=c00kie")
		noSecret(t, everything(s, struct{ S *auth.Session }{s}, j), password, "t0ken", "c00kie")
		if got := fmt.Sprintf("%+v", s); !strings.HasPrefix(got, "n (") {
			t.Errorf("%s prints as %s", name, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	do := inMemory(scripted{})
	hidden := secret.New("x")
	field := []auth.Field{{Name: "pw", Value: hidden}}
	for name, c := range map[string]struct {
		set  auth.Settings
		kind auth.Kind
		want string
	}{
		"no Do":             {auth.Settings{Origins: []string{origin}}, auth.Basic{}, "no Do"},
		"no origins":        {auth.Settings{Do: do}, auth.Basic{Username: "u"}, "no origins: say which servers"},
		"origin no URL":     {auth.Settings{Do: do, Origins: []string{"intranet"}}, auth.Basic{}, `origin "intranet" is not an origin`},
		"origin with path":  {auth.Settings{Do: do, Origins: []string{origin + "/x"}}, auth.Basic{}, "scheme, host and port only"},
		"origin all":        {auth.Settings{Do: do, Origins: []string{"https://*"}}, auth.Basic{}, "star for whole names"},
		"origin top level":  {auth.Settings{Do: do, Origins: []string{"https://*.com"}}, auth.Basic{}, "star for whole names"},
		"origin inner star": {auth.Settings{Do: do, Origins: []string{"https://a*.example.com"}}, auth.Basic{}, "star for whole names"},
		"colon":             {auth.Settings{Do: do, Origins: []string{origin}}, auth.Basic{Username: "a:b"}, "no colon"},
		"bearer empty":      {auth.Settings{Do: do, Origins: []string{origin}}, auth.Bearer{}, "bearer token is empty"},
		"bearer word":       {auth.Settings{Do: do, Origins: []string{origin}}, auth.Bearer{Token: secret.New("Bearer abc")}, "without the word Bearer"},
		"digest nobody":     {auth.Settings{Do: do, Origins: []string{origin}}, auth.Digest{}, "no user name"},
		"ntlm nobody":       {auth.Settings{Do: do, Origins: []string{origin}}, auth.NTLM{}, `DOMAIN\user`},
		"oauth2 URL":        {auth.Settings{Do: do, Origins: []string{origin}}, auth.OAuth2{TokenURL: "token"}, "write it whole"},
		"oauth2 secret":     {auth.Settings{Do: do, Origins: []string{origin}}, auth.OAuth2{TokenURL: tokens, ClientID: "me"}, "need a client id"},
		"form URL":          {auth.Settings{Do: do}, auth.Form{URL: "/login", Fields: field}, "write it whole"},
		"form URL garbage":  {auth.Settings{Do: do}, auth.Form{URL: "http://[", Fields: field}, "write it whole"},
		"form fields":       {auth.Settings{Do: do}, auth.Form{URL: origin}, "no fields"},
		"form field name":   {auth.Settings{Do: do}, auth.Form{URL: origin, Fields: []auth.Field{{}}}, "has no name"},
		"form index":        {auth.Settings{Do: do}, auth.Form{URL: origin, Fields: field, Index: -1}, "count from 1"},
		"form log-in pages": {auth.Settings{Do: do}, auth.Form{URL: origin, Fields: field, LogInPages: []string{"x"}}, "write it whole"},
	} {
		c.set.Name = "wiki"
		_, err := auth.New(c.set, c.kind)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "wiki: ") {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestOrigins(t *testing.T) {
	requests := 0
	do := func(ctx context.Context, req *http.Request) (*http.Response, error) {
		requests++
		return inMemory(scripted{})(ctx, req)
	}
	s := newSession(t, auth.Settings{
		Name: "wiki", Do: do, Origins: []string{"https://Wiki.example.com/", "http://old.example.com:8080", "https://*.corp.example.com"},
	}, kinds["basic"])
	for u, words := range map[string]string{
		"https://wiki.example.com/ok":            "",
		"https://wiki.example.com:443/ok":        "",
		"http://old.example.com:8080/ok":         "",
		"https://a.corp.example.com/ok":          "",
		"https://a.b.corp.example.com/ok":        "",
		"https://corp.example.com/ok":            "not for https://corp.example.com",
		"https://evilcorp.example.com/ok":        "not for https://evilcorp.example.com",
		"http://wiki.example.com/ok":             "would go to http://wiki.example.com unencrypted",
		"http://a.corp.example.com/ok":           "would go to http://a.corp.example.com unencrypted",
		"https://wiki.example.com:8443/ok":       "not for https://wiki.example.com:8443",
		"https://old.example.com:8080/ok":        "not for https://old.example.com:8080",
		"https://wiki.example.com.evil.org/ok":   "not for https://wiki.example.com.evil.org",
		"https://wiki.example.com@evil.org/ok":   "not for https://evil.org",
		"https://evil.org/https://a.example.com": "not for https://evil.org",
	} {
		step := s.Step(parse(t, u))
		if words == "" && step.Action != auth.Proceed || words != "" && (step.Action != auth.Wait || !strings.Contains(step.Words, words)) {
			t.Errorf("%s: %s %q, want %q", u, step.Action, step.Words, words)
		}
		step.End()
	}
	// Even where a worker mistakes one request for another.
	step := s.Step(parse(t, "https://wiki.example.com/ok"))
	response, err := fetch(t.Context(), parse(t, "https://evil.org/"), step.Do)
	if err == nil || requests != 0 {
		t.Fatalf("the credentials went to another host: %v", err)
	}
	if a := step.Judge(response, err); a.Action != auth.Wait || !strings.Contains(a.Words, "not for https://evil.org") {
		t.Errorf("judged %s %q", a.Action, a.Words)
	}
	if _, err := fetch(t.Context(), parse(t, "https://evil.org/"), s.Step(parse(t, "https://evil.org/")).Do); err == nil {
		t.Error("a step that says to wait makes requests")
	}
}

// Many workers log in once.
func TestWorkersLogInOnce(t *testing.T) {
	p := newPortal()
	s := newSession(t, auth.Settings{Do: inMemory(p)}, p.kind())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				u := parse(t, fmt.Sprint(origin, "/", i, "/", n))
				for done := false; !done; {
					step := s.Step(u)
					switch step.Action {
					case auth.LogIn:
						step.LogIn(t.Context())
					case auth.Proceed:
						response, err := fetch(t.Context(), u, step.Do)
						done = step.Judge(response, err).Action == auth.Proceed
						if done && (err != nil || response.Status != 200) {
							t.Errorf("%v: %v %v", u, response, err)
						}
					}
					step.End()
					_ = s.Status()
				}
			}
		})
	}
	wg.Wait()
	if n := s.Status().LogIns; n != 1 {
		t.Errorf("%d log-ins, want 1", n)
	}
}

// A log-in that the end of the crawl interrupts is not a failure, and starts over.
func TestLogInInterrupted(t *testing.T) {
	p, l := newPortal(), &logs{}
	s := newSession(t, auth.Settings{Do: inMemory(p), Logger: l.logger()}, p.kind())
	u := parse(t, origin+"/a")
	first := s.Step(u)
	first.LogIn(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	second := s.Step(u)
	second.LogIn(ctx)
	if st := s.Status(); st.State != "logged out" || l.String() != "" {
		t.Errorf("%+v, log %s", st, l)
	}
	if third := s.Step(u); third.Action != auth.LogIn || third.Asked.Path != "/login" {
		t.Errorf("then %s %v", third.Action, third.Asked)
	}
}
