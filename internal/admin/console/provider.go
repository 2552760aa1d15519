package console

import (
	"errors"
	"net/http"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/openid"
)

// callbackPath is where the provider sends a browser back to.
const callbackPath = "/signin/callback"

// redirectURL is the address of the callback, at the host that the browser used. The service has checked that host.
func redirectURL(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host + callbackPath
	}
	return "http://" + r.Host + callbackPath
}

// errNoProvider is the response without a provider.
var errNoProvider = &admin.Problem{Title: "Not found", Status: http.StatusNotFound,
	Detail: "this service has no OpenID Connect: sign in with a token"}

// toProvider sends the browser to the provider.
func toProvider(v *visit) error {
	provider := v.console.settings.Provider
	if provider == nil || v.r.Method != http.MethodGet {
		return errNoProvider
	}
	secret, one := v.console.flows.begin(nextPath(v.r.URL.Query().Get("next")))
	to, err := provider.Begin(v.r.Context(), redirectURL(v.r), one.state, one.nonce, one.verifier)
	if err != nil {
		v.console.log.Error("no sign-in at the provider", "error", err)
		return &admin.Problem{Title: "Failed", Status: http.StatusBadGateway,
			Detail: "the sign-in provider cannot be used at present; the log of the service says why. A token works"}
	}
	http.SetCookie(v.w, flowCookie(v.r, secret))
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// fromProvider begins a session for a person that comes back from the provider.
func fromProvider(v *visit) error {
	provider := v.console.settings.Provider
	if provider == nil || v.r.Method != http.MethodGet {
		return errNoProvider
	}
	query, cookies := v.r.URL.Query(), v.r.CookiesNamed(flowCookie(v.r, "").Name)
	http.SetCookie(v.w, flowCookie(v.r, ""))
	refuse := func(status int, words string, err error) error {
		v.console.log.Warn("sign-in refused", "remote", v.r.RemoteAddr, "why", words, "error", err)
		v.console.show(v, status, "signin", "Sign in", signInData{Next: "/", Wrong: words, Provider: true})
		return nil
	}
	var one flow
	ok := len(cookies) == 1
	if ok {
		one, ok = v.console.flows.redeem(cookies[0].Value, query.Get("state"))
	}
	if !ok {
		return refuse(http.StatusBadRequest, "This sign-in did not begin in this browser, or took too long: try again.", nil)
	}
	if said := query.Get("error"); said != "" {
		about := errors.New(cut(query.Get("error_description"), maxShown))
		return refuse(http.StatusForbidden, "The provider refuses: "+cut(said, maxShown)+".", about)
	}
	select {
	case v.console.flows.finishing <- struct{}{}:
		defer func() { <-v.console.flows.finishing }()
	default:
		return refuse(http.StatusServiceUnavailable, "Too many people sign in at this moment: try again.", nil)
	}
	caller, err := provider.Finish(v.r.Context(), redirectURL(v.r), query.Get("code"), one.nonce, one.verifier)
	if errors.Is(err, openid.ErrNoRole) {
		return refuse(http.StatusForbidden, "Your account is in no group that may use this console: ask its operator.", err)
	}
	if err != nil {
		return refuse(http.StatusForbidden, "The provider did not confirm who you are; the log of the service says why.", err)
	}
	caller.Remote = v.r.RemoteAddr
	v.openSession(caller, &session{caller: caller})
	http.Redirect(v.w, v.r, one.next, http.StatusSeeOther)
	return nil
}
