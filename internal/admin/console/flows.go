package console

import (
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

// The lock of flows guards their list. Goroutines of requests take it briefly.

const (
	// flowTime is how long a person has to sign in at the provider.
	flowTime = 10 * time.Minute
	// maxFlows bounds the sign-ins that have begun; one more ends the oldest.
	maxFlows = 10_000
	// maxFinishing bounds the codes that are being redeemed.
	maxFinishing = 4
)

// flow is a sign-in at the provider that has begun in one browser.
type flow struct {
	state, nonce, verifier string
	next                   string
}

// flows are those of all browsers, by the hash of the secret in their cookie.
type flows struct {
	mu        sync.Mutex
	open      expiring[flow]
	finishing chan struct{} // has an entry for each code that is being redeemed
}

func newFlows() *flows {
	return &flows{open: expiring[flow]{}, finishing: make(chan struct{}, maxFinishing)}
}

// begin adds a flow and returns the secret of its browser.
func (f *flows) begin(next string) (secret string, one flow) {
	secret, one = newSecret(), flow{state: newSecret(), nonce: newSecret(), verifier: newSecret(), next: next}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open.add(secret, one, flowTime, maxFlows)
	return secret, one
}

// redeem returns the flow of a browser, once.
func (f *flows) redeem(secret, state string) (flow, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.open.take(secret)
	return one, ok && subtle.ConstantTimeCompare([]byte(one.state), []byte(state)) == 1
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
