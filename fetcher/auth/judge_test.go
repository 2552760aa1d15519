package auth_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/fetcher/auth"
)

// scripted answers by the path: "/401/x" is a 401. The log-ins always work.
type scripted struct{}

func (s scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(r.URL.Path[1:], "/")
	switch first {
	case "token":
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"t0ken","token_type":"Bearer"}`)
	case "login":
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, "welcome")
			return
		}
		_, _ = io.WriteString(w, `<form method=post><input name=user><input name=pw type=password></form>`)
	case "in":
		http.Redirect(w, r, "/login?from=there", http.StatusFound)
	case "form":
		_, _ = io.WriteString(w, `<form method=post action=/login><input name=user><input name=pw type=password></form>`)
	case "text":
		_, _ = io.WriteString(w, "<b>Please sign in</b>")
	case "ok":
		_, _ = io.WriteString(w, "content")
	case "sso":
		http.Redirect(w, r, "https://sso.example.com/start;id=1?x", http.StatusSeeOther)
	case "302":
		http.Redirect(w, r, "/ok/there", http.StatusFound)
	default:
		status, _ := strconv.Atoi(first)
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Digest realm="r", nonce="n", qop="auth"`)
		}
		w.WriteHeader(status)
	}
}

var kinds = map[string]auth.Kind{
	"basic":       auth.Basic{Username: "robot", Password: secret.New(password)},
	"bearer":      auth.Bearer{Token: secret.New("tok")},
	"certificate": auth.Certificate{},
	"oauth2":      auth.OAuth2{TokenURL: origin + "/token", ClientID: "me", ClientSecret: secret.New(password)},
	"form": auth.Form{URL: origin + "/login", LoggedOut: []string{"Please sign in"}, LogInPages: []string{"https://sso.example.com/start"}, Fields: []auth.Field{
		{Name: "user", Value: secret.New("robot")}, {Name: "pw", Value: secret.New(password)},
	}},
}

// Each line is one cell of the table in the package's documentation: what is
// asked for before, then the answer in question, the action, and the session's
// state after it.
func TestDecisions(t *testing.T) {
	const (
		direct = "basic bearer certificate"
		renews = "oauth2 form"
		all    = direct + " " + renews
	)
	kindOf := func(k string) auth.Kind {
		if k == "digest" {
			return auth.Digest{Username: "robot", Password: secret.New(password)}
		}
		return kinds[k]
	}
	for _, cell := range []struct{ kinds, before, asked, action, state string }{
		{all, "", "ok", "proceed", "good"},
		{all, "", "302", "proceed", "unproven"},
		{all, "", "404", "proceed", "unproven"},
		{all, "", "500", "proceed", "unproven"},
		{all, "", "304", "proceed", "good"},
		{all, "ok", "302", "proceed", "good"},
		{all, "ok", "404", "proceed", "good"},
		{all, "ok", "500", "proceed", "good"},

		{direct, "", "401", "wait", "failed"},
		{direct, "ok", "401", "wait", "unproven"},
		{direct, "ok 401/b", "401", "wait", "unproven"},
		{direct, "ok 401/b 401/c", "401", "wait", "failed"},
		{direct, "ok 401 ok", "401", "proceed", "good"},
		{renews, "", "401", "wait", "unproven"},
		{renews, "401/b 401/c", "401", "wait", "failed"},
		{renews, "ok", "401", "return", "logged out"},
		{renews, "ok 401", "401", "wait", "unproven"},
		{renews, "ok 401 ok/b", "401", "proceed", "good"},

		{all, "", "403", "wait", "unproven"},
		{all, "403/b", "403", "wait", "unproven"},
		{all, "403/b 403/c", "403", "wait", "failed"},
		{direct + " oauth2", "ok", "403", "proceed", "good"},
		{"form", "ok", "403", "wait", "good"},
		{"form", "ok 403/b", "403", "return", "logged out"},
		{"form", "ok 403 ok", "403", "proceed", "good"},
		{"form", "ok 403", "403", "return", "logged out"},

		// Others were good after the URL was denied, but the session is in doubt again.
		{direct, "ok 401/u ok 401/v", "401/u", "wait", "unproven"},
		{renews, "ok 401/u ok/a ok/b 401/v", "401/u", "wait", "unproven"},

		{"form", "", "in", "temporary", "unproven"},
		{"form", "", "form", "temporary", "unproven"},
		{"form", "", "text", "temporary", "unproven"},
		{"form", "in/b form/c", "text", "wait", "failed"},
		{"form", "ok", "in", "return", "logged out"},
		{"form", "ok", "form", "return", "logged out"},
		{"form", "ok", "text", "return", "logged out"},
		{"form", "ok in", "in", "temporary", "unproven"},
		{"form", "ok in ok/b", "in", "temporary", "good"},
		{"form", "ok in ok/b in", "in", "temporary", "good"},
		{"form", "ok", "login", "temporary", "good"},
		{"form", "", "login", "temporary", "unproven"},
		{"form", "ok", "sso", "return", "logged out"},
		{direct, "ok", "form", "proceed", "good"}, // nothing known of forms
		{direct, "ok", "sso", "proceed", "good"},

		// The first 401 brings the nonce.
		{"digest", "", "ok", "proceed", "unproven"},
		{"digest", "", "401", "return", "unproven"},
		{"digest", "401", "ok", "proceed", "good"},
		{"digest", "401", "401", "wait", "failed"},
		{"digest", "401", "403", "wait", "unproven"},
		{"digest", "401 ok", "403", "proceed", "good"},
		{"digest", "401 ok", "401", "return", "unproven"},
		{"digest", "401 ok 401", "401", "wait", "unproven"},
		{"digest", "401 ok 401 ok", "401", "proceed", "good"},

		{"certificate", "ok", "400", "proceed", "good"},
		{"certificate", "ok", "496", "wait", "unproven"},
		{"certificate", "", "495", "wait", "failed"},
	} {
		for k := range strings.FieldsSeq(cell.kinds) {
			t.Run(fmt.Sprintf("%s %s then %s", k, cell.before, cell.asked), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(scripted{})}, kindOf(k))
					for path := range strings.FieldsSeq(cell.before) {
						judged(t, s, path)
					}
					action := judged(t, s, cell.asked).Action.String()
					if state := s.Status().State; action != cell.action || state != cell.state {
						t.Errorf("%s, session %s; want %s, session %s", action, state, cell.action, cell.state)
					}
				})
			})
		}
	}
}

// judged asks for a page, after the log-in that it needs.
func judged(t *testing.T, s *auth.Session, path string) auth.Answer {
	t.Helper()
	u := parse(t, origin+"/"+path)
	for range 10 {
		step := s.Step(u)
		switch step.Action {
		case auth.LogIn:
			step.LogIn(t.Context())
		case auth.Proceed:
			response, err := fetch(t.Context(), u, step.Do)
			return step.Judge(response, err)
		default:
			t.Fatalf("%s: %s %s", path, step.Action, step.Words)
		}
		step.End()
	}
	t.Fatalf("%s: no end of log-ins", path)
	return auth.Answer{}
}

func TestBackoffDoublesAndIsCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(scripted{}), MaxBackoff: 10 * time.Minute}, kinds["basic"])
		for _, want := range []time.Duration{2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
			a := judged(t, s, "401")
			others := s.Step(parse(t, origin+"/ok"))
			if got := time.Until(others.Until); others.Action != auth.Wait || got != want {
				t.Errorf("others %s for %v, want %v", others.Action, got, want)
			}
			if got := time.Until(a.Until); got != 2*want {
				t.Errorf("the denied URL waits for %v, want %v: others must come first", got, 2*want)
			}
			time.Sleep(want)
		}
		judged(t, s, "ok")
		if st := s.Status(); st.State != "good" || st.Words != "" {
			t.Errorf("after a good page %+v", st)
		}
		judged(t, s, "401/a")
		judged(t, s, "401/b")
		judged(t, s, "401/c")
		if got := time.Until(s.Status().Until); got != 2*time.Minute {
			t.Errorf("after a good page the back-off begins with %v, want 2m", got)
		}
	})
}

// While nothing is proven, one page at a time is asked for: a wrong password
// that goes out once locks no account.
func TestOnePageAtATimeUntilProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(scripted{})}, kinds["basic"])
		u := parse(t, origin+"/ok")
		first := s.Step(u)
		if second := s.Step(u); second.Action != auth.Return || !second.Until.After(time.Now()) {
			t.Errorf("second page: %s until %v", second.Action, second.Until)
		}
		first.End()
		third := s.Step(u)
		if third.Action != auth.Proceed {
			t.Fatalf("after the first ended: %s", third.Action)
		}
		time.Sleep(11 * time.Minute) // a worker that never ends its step keeps nobody back for ever
		fourth := s.Step(u)
		if fourth.Action != auth.Proceed {
			t.Errorf("after a step that was forgotten: %s", fourth.Action)
		}
		response, err := fetch(t.Context(), u, fourth.Do)
		if a := fourth.Judge(response, err); a.Action != auth.Proceed {
			t.Fatalf("judged %s", a.Action)
		}
		if a, b := s.Step(u), s.Step(u); a.Action != auth.Proceed || b.Action != auth.Proceed {
			t.Errorf("proven: %s and %s at once, want proceed", a.Action, b.Action)
		}
	})
}

// An answer to a request made before the log-in tells nothing about it.
func TestAnswersOfAnOlderLogIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, auth.Settings{Do: inMemory(scripted{})}, kinds["form"])
		judged(t, s, "ok")
		u, v := parse(t, origin+"/in/u"), parse(t, origin+"/in/v")
		late := s.Step(v)
		response, err := fetch(t.Context(), v, late.Do)
		if a := judged(t, s, "in/u"); a.Action != auth.Return {
			t.Fatalf("%v: %s", u, a.Action)
		}
		if a := late.Judge(response, err); a.Action != auth.Return {
			t.Errorf("late answer: %s, want return", a.Action)
		}
	})
}

// A good answer to a request made before a denial does not show that the session
// was good after it.
func TestGoodAnswersThatCameLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, auth.Settings{Do: inMemory(scripted{})}, kinds["form"])
		judged(t, s, "ok")
		u := parse(t, origin+"/ok/slow")
		slow := s.Step(u)
		response, err := fetch(t.Context(), u, slow.Do)
		if a := judged(t, s, "403/u"); a.Action != auth.Wait {
			t.Fatalf("first 403: %s", a.Action)
		}
		slow.Judge(response, err)
		if a := judged(t, s, "403/u"); a.Action == auth.Proceed {
			t.Error("a 403 became permanent by an answer that is older")
		}
		judged(t, s, "ok")
		if a := judged(t, s, "403/u"); a.Action != auth.Proceed {
			t.Errorf("after a good page: %s", a.Action)
		}
	})
}

// The log-in of a session belongs to the origin that began it, so that this
// origin's pause lies between the steps.
func TestLogInStepsKeepTheirPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := "https://other.example.com"
		s := newSession(t, auth.Settings{Origins: []string{origin, other}, Do: inMemory(scripted{})}, kinds["form"])
		u, v := parse(t, origin+"/ok"), parse(t, other+"/ok")
		first := s.Step(u)
		if first.Action != auth.LogIn || first.Asked.Path != "/login" {
			t.Fatalf("first step %s %v", first.Action, first.Asked)
		}
		if same := s.Step(u); same.Action != auth.Return {
			t.Errorf("a second log-in at once: %s", same.Action)
		}
		first.LogIn(t.Context())
		first.End()
		if foreign := s.Step(v); foreign.Action != auth.Return {
			t.Errorf("another origin goes on with the log-in: %s", foreign.Action)
		}
		time.Sleep(6 * time.Minute)
		if foreign := s.Step(v); foreign.Action != auth.LogIn {
			t.Errorf("an origin that has no leases any more holds the log-in: %s", foreign.Action)
		}
	})
}

// A page of which nothing can be said, because the request failed, leaves all as it is.
func TestFaultsAreThePagesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for k := range kinds {
			s := newSession(t, auth.Settings{Origins: []string{origin}, Do: inMemory(scripted{})}, kinds[k])
			judged(t, s, "ok")
			step := s.Step(parse(t, origin+"/ok"))
			if a := step.Judge(nil, errors.New("connection reset")); a.Action != auth.Proceed {
				t.Errorf("%s: %s", k, a.Action)
			}
			if st := s.Status(); st.State != "good" {
				t.Errorf("%s: session %s", k, st.State)
			}
		}
	})
}
