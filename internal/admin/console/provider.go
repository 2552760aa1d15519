package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/openid"
)

// The lock of flows guards their list. Goroutines of requests take it briefly.

// Provider signs people in elsewhere: an openid.Provider.
type Provider interface {
	Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error)
	Finish(ctx context.Context, redirect, code, nonce, verifier string) (admin.Caller, error)
}

const (
	// flowTime is how long a person has to sign in at the provider.
	flowTime = 10 * time.Minute
	// maxFlows bounds the sign-ins that have begun; one more ends the oldest.
	maxFlows = 10_000
	// maxFinishing bounds the codes that are being redeemed.
	maxFinishing = 4
	// callbackPath is where the provider sends a browser back to.
	callbackPath = "/signin/callback"
)

// flow is a sign-in at the provider that has begun in one browser.
type flow struct {
	state, nonce, verifier string
	next                   string
	ends                   time.Time
}

// flows are those of all browsers, by the hash of the secret in their cookie.
type flows struct {
	mu        sync.Mutex
	open      map[[sha256.Size]byte]flow
	finishing chan struct{} // has an entry for each code that is being redeemed
}

func newFlows() *flows {
	return &flows{open: map[[sha256.Size]byte]flow{}, finishing: make(chan struct{}, maxFinishing)}
}

// begin adds a flow and returns the secret of its browser.
func (f *flows) begin(next string) (secret string, one flow) {
	now := time.Now()
	secret = rand.Text() + rand.Text()
	one = flow{state: rand.Text() + rand.Text(), nonce: rand.Text() + rand.Text(), verifier: rand.Text() + rand.Text(), next: next, ends: now.Add(flowTime)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.open) >= maxFlows {
		var oldest [sha256.Size]byte
		ends := one.ends
		for key, old := range f.open {
			if old.ends.Before(ends) {
				oldest, ends = key, old.ends
			}
		}
		delete(f.open, oldest)
	}
	f.open[sha256.Sum256([]byte(secret))] = one
	return secret, one
}

// redeem returns the flow of a browser, once.
func (f *flows) redeem(secret, state string) (flow, bool) {
	key := sha256.Sum256([]byte(secret))
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.open[key]
	delete(f.open, key)
	return one, ok && one.ends.After(time.Now()) && subtle.ConstantTimeCompare([]byte(one.state), []byte(state)) == 1
}

// flowCookie returns the cookie that binds a flow to its browser; an empty secret removes it. It is Lax, since the
// provider's page leads back here.
func flowCookie(r *http.Request, secret string) *http.Cookie {
	c := cookie(r, secret)
	c.Name, c.SameSite = c.Name+"-signin", http.SameSiteLaxMode
	if secret != "" {
		c.MaxAge = int(flowTime / time.Second)
	}
	return c
}

// redirectURL is the address of the callback, at the host that the browser used. The service has checked that host.
func redirectURL(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host + callbackPath
	}
	return "http://" + r.Host + callbackPath
}

// errNoProvider is the answer where none is configured.
var errNoProvider = &admin.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "this service has no OpenID Connect: sign in with a token"}

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
		return &admin.Problem{Title: "Failed", Status: http.StatusBadGateway, Detail: "the sign-in provider cannot be used at present; the log of the service says why. A token works"}
	}
	http.SetCookie(v.w, flowCookie(v.r, secret))
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// fromProvider begins a session for a person who comes back from the provider.
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
		return refuse(http.StatusForbidden, "The provider refuses: "+cut(said, maxShown)+".", nil)
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
