package console

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// SignedIn returns the caller of a request's session; admin.Access calls it. A request that changes something must
// declare that it comes from a page of this service.
func (c *Console) SignedIn(tokens interface {
	ByToken(token string) (admin.Caller, bool)
},
) func(*http.Request) (admin.Caller, bool) {
	return func(r *http.Request) (admin.Caller, bool) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !fromPage(r) {
			return admin.Caller{}, false
		}
		s := c.sessions.of(r)
		if s == nil {
			return admin.Caller{}, false
		}
		if s.token == "" {
			return s.caller, true
		}
		return tokens.ByToken(s.token)
	}
}

// signInData is the data of the form.
type signInData struct {
	Next, Wrong string
	Provider    bool // people may sign in there
}

// Admit accepts a ticket that signs in once, in place of its token: the path /signin?ticket=TICKET. The ticket must be
// unpredictable.
func (c *Console) Admit(ticket, token string) { c.sessions.admit(ticket, token) }

func signInForm(v *visit) (any, error) {
	next := nextPath(v.r.URL.Query().Get("next"))
	// A HEAD, as for a preview of the link, must not use it up.
	if written := v.r.URL.Query().Get("ticket"); written != "" && v.r.Method == http.MethodGet {
		return signInByTicket(v, written, next)
	}
	if v.caller.Role >= admin.Reader {
		return nil, &elsewhere{path: next}
	}
	return v.signInData(next, ""), nil
}

// signInByTicket begins a session for an unused link, or shows the form.
func signInByTicket(v *visit, written, next string) (any, error) {
	token, ok := v.console.sessions.redeem(written)
	if !ok && v.caller.Role >= admin.Reader { // opened again in the browser that used it
		return nil, &elsewhere{path: next}
	}
	if !ok {
		return v.signInData(next, "This link was already used or has expired: sign in with a token."), nil
	}
	caller, problem := v.console.service.SignIn(v.r, token)
	if problem != nil {
		return v.signInData(next, problem.Detail), nil
	}
	v.openSession(caller, &session{token: token})
	return nil, &elsewhere{path: next}
}

func (v *visit) signInData(next, wrong string) signInData {
	return signInData{Next: next, Wrong: wrong, Provider: v.console.settings.Provider != nil}
}

// openSession begins a session for the browser. Its previous session ends, so that an attacker cannot make it use a
// known session.
func (v *visit) openSession(caller admin.Caller, one *session) {
	v.console.sessions.end(v.r)
	c := cookie(v.r, v.console.sessions.begin(one))
	if one.token == "" {
		c.SameSite = http.SameSiteLaxMode // the provider's page, another site, leads to the first request with it
	}
	http.SetCookie(v.w, c)
	v.console.log.Info("signed in", "who", caller.String())
}

// signIn begins a session for a token.
func signIn(v *visit) error {
	form := v.r.PostForm
	token, next := strings.TrimSpace(form.Get("token")), nextPath(form.Get("next"))
	caller, problem := v.console.service.SignIn(v.r, token)
	if problem != nil {
		v.console.log.Warn("sign-in refused", "remote", v.r.RemoteAddr, "why", problem.Detail)
		if problem.Status == http.StatusTooManyRequests {
			v.w.Header().Set("Retry-After", "1")
		}
		v.console.show(v, problem.Status, "signin", "Sign in", v.signInData(next, problem.Detail))
		return nil
	}
	v.openSession(caller, &session{token: token})
	http.Redirect(v.w, v.r, next, http.StatusSeeOther)
	return nil
}

func signOut(v *visit) error {
	if v.session != nil {
		v.console.log.Info("signed out", "who", v.caller.String())
	}
	v.console.sessions.end(v.r)
	http.SetCookie(v.w, cookie(v.r, ""))
	http.Redirect(v.w, v.r, "/signin", http.StatusSeeOther)
	return nil
}

// nextPath returns where to go after signing in: a page of this service, else the overview.
func nextPath(written string) string {
	u, err := url.Parse(written)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(u.EscapedPath(), "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(written, "\\\r\n\t") ||
		strings.HasPrefix(u.Path, "/sign") {
		return "/"
	}
	return withQuery(u.EscapedPath(), u.Query())
}
