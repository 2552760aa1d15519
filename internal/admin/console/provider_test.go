package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin/openid"
	"github.com/sextant-crawler/sextant/internal/testing/testopenid"
)

// openProvider returns a console where people may sign in at a provider.
func openProvider(t *testing.T) (*door, *testopenid.Provider) {
	t.Helper()
	d, p := openDoor(t), testopenid.New(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(p.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.console.settings.Provider = openid.New(openid.Settings{Issuer: p.Issuer, ClientID: p.ClientID, SecretFile: secret,
		Operators: "search-admins", Readers: "search"})
	return d, p
}

// atProvider begins a sign-in and returns the address that the provider sends the browser back to.
func (b *browser) atProvider(t *testing.T, next string) string {
	t.Helper()
	answer, body := b.send(t, "/signin/provider?"+url.Values{"next": {next}}.Encode(), nil)
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("to the provider: %d\n%s", answer.StatusCode, body)
	}
	at, err := b.Get(answer.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_ = at.Body.Close()
	if at.StatusCode != http.StatusFound {
		t.Fatalf("the provider refuses %s: %d", answer.Header.Get("Location"), at.StatusCode)
	}
	return strings.TrimPrefix(at.Header.Get("Location"), b.door.url)
}

func TestSignInAtProvider(t *testing.T) {
	for _, c := range []struct {
		claims             map[string]any
		name               string
		readers, operators int // status of their paths
	}{
		{map[string]any{"groups": []string{"x", "search-admins", "search"}, "preferred_username": "ann\x1b[31m"},
			"operator openid ann?[31m", 200, 422},
		{map[string]any{"groups": []string{"search"}, "email": "bob@a.test"}, "reader openid bob@a.test", 200, 403},
		{map[string]any{"roles": []string{"search"}}, "reader openid 1", 200, 403},
		{map[string]any{"groups": "search"}, "reader openid 1", 200, 403},
		{map[string]any{"groups": []string{"search-admin", "Search", ""}}, "", 401, 401},
		{map[string]any{"groups": map[string]any{"search": true}, "admin": true}, "", 401, 401},
		{map[string]any{"Groups": []string{"search"}, "ROLES": "search"}, "", 401, 401},
		{nil, "", 401, 401},
	} {
		d, p := openProvider(t)
		b := d.browser(t)
		p.Person(c.claims)
		back := b.atProvider(t, "/hosts?show=ill")
		answer, body := b.send(t, back, nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest",
			"document")
		if (answer.StatusCode == http.StatusSeeOther) != (c.name != "") || c.name != "" &&
			answer.Header.Get("Location") != "/hosts?show=ill" {
			t.Errorf("%v: %d to %q\n%s", c.claims, answer.StatusCode, answer.Header.Get("Location"), body)
		}
		if c.name == "" && !strings.Contains(body, "in no group that may use this console") {
			t.Errorf("%v: %s", c.claims, body)
		}
		if has, ok := c.claims["groups"].([]string); ok && c.name == "" &&
			!strings.Contains(d.log.String(), has[0]+", "+has[1]) {
			t.Errorf("%v: log: %s", c.claims, d.log.String())
		}
		for path, want := range map[string]int{readersPath: c.readers, operatorsPath: c.operators} {
			if answer, _ := b.send(t, path, nil); answer.StatusCode != want {
				t.Errorf("%v: %s: %d, want %d", c.claims, path, answer.StatusCode, want)
			}
		}
		if log := d.log.String(); c.name != "" && !strings.Contains(log, c.name) || strings.Contains(log, p.Secret) {
			t.Errorf("log: %s", log)
		}
		if c.name == "" {
			continue
		}
		for _, cookie := range answer.Cookies() {
			if cookie.MaxAge > 0 && (!cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.MaxAge != 12*3600) {
				t.Errorf("cookie %+v", cookie)
			}
		}
		// A form of another site is refused with the Lax cookie, too.
		if answer, _ := b.send(t, "/signout", url.Values{}, "Origin", "http://evil.test", "Sec-Fetch-Site",
			"cross-site"); answer.StatusCode != http.StatusForbidden {
			t.Errorf("a form of another site: %d", answer.StatusCode)
		}
		if answer, _ := b.send(t, "/signout", url.Values{}); answer.StatusCode != http.StatusSeeOther {
			t.Errorf("sign-out: %d", answer.StatusCode)
		}
		if answer, _ := b.send(t, readersPath, nil); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("after signing out: %d", answer.StatusCode)
		}
	}
}

// TestForgedTokens: the provider's token endpoint responds with tokens that are wrong in one point each.
func TestForgedTokens(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	d, p := openProvider(t)
	right := map[string]any{"groups": []string{"search-admins"}}
	with := func(name string, value any) func(map[string]any) string {
		return func(claims map[string]any) string {
			claims[name] = value
			return p.Sign(claims, p.Key)
		}
	}
	for what, forge := range map[string]func(map[string]any) string{
		"another key": func(claims map[string]any) string { return p.Sign(claims, other) },
		"no signature": func(claims map[string]any) string {
			return testopenid.Part(map[string]string{"alg": "none"}) + "." + testopenid.Part(claims) + "."
		},
		"none with a signature": func(claims map[string]any) string {
			return testopenid.Part(map[string]string{"alg": "none", "kid": "1"}) + "." + testopenid.Part(claims) + ".AAAA"
		},
		"the public key as a secret":    func(claims map[string]any) string { return hmacToken(claims, p.Key.N.Bytes()) },
		"another audience":              with("aud", "other"),
		"two audiences without a party": with("aud", []string{"sextant", "other"}),
		"issued to another party":       with("azp", "other"),
		"another issuer":                with("iss", "http://evil.test"),
		"an old token":                  with("exp", time.Now().Add(-time.Hour).Unix()),
		"another sign-in's nonce":       with("nonce", "other"),
		"no nonce":                      with("nonce", nil),
		"no subject":                    with("sub", nil),
		"an empty subject":              with("sub", ""),
		"changed claims": func(claims map[string]any) string {
			parts := strings.Split(p.Sign(claims, p.Key), ".")
			claims["sub"] = "2"
			return parts[0] + "." + testopenid.Part(claims) + "." + parts[2]
		},
		"nothing": func(map[string]any) string { return "" },
	} {
		p.Person(right)
		p.Forge(forge)
		b := d.browser(t)
		answer, _ := b.send(t, b.atProvider(t, "/"), nil)
		again, _ := b.send(t, readersPath, nil)
		if answer.StatusCode != http.StatusForbidden || again.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d, then %d", what, answer.StatusCode, again.StatusCode)
		}
	}
	if log := d.log.String(); !strings.Contains(log, "compare the clocks") {
		t.Errorf("log: %s", log)
	}
	clockBehind := with("exp", time.Now().Add(-time.Minute).Unix())
	for _, forge := range []func(map[string]any) string{nil, clockBehind} {
		p.Forge(forge)
		b := d.browser(t)
		if answer, body := b.send(t, b.atProvider(t, "/"), nil); answer.StatusCode != http.StatusSeeOther {
			t.Errorf("the right token: %d\n%s", answer.StatusCode, body)
		}
	}
}

func hmacToken(claims map[string]any, key []byte) string {
	text := testopenid.Part(map[string]string{"alg": "HS256", "kid": "1"}) + "." + testopenid.Part(claims)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestReplayedSignIn: a sign-in ends in the browser that began it, once, and leads nowhere else.
func TestReplayedSignIn(t *testing.T) {
	d, p := openProvider(t)
	p.Person(map[string]any{"groups": []string{"search"}})
	victim, attacker := d.browser(t), d.browser(t)
	back := attacker.atProvider(t, "/")
	if answer, _ := victim.send(t, back, nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("another browser: %d", answer.StatusCode)
	}
	_ = victim.atProvider(t, "/")
	if answer, _ := victim.send(t, back, nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("a state of another browser: %d", answer.StatusCode)
	}
	if answer, _ := victim.send(t, "/signin/callback?code=x", nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("no state: %d", answer.StatusCode)
	}
	if answer, _ := attacker.send(t, back, nil); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("the right browser: %d", answer.StatusCode)
	}
	if answer, _ := attacker.send(t, back, nil); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("once more: %d", answer.StatusCode)
	}
	for next, want := range map[string]string{"https://evil.test/": "/", "//evil.test": "/", "/\\evil.test": "/",
		"/signin/provider": "/", "/urls?text=a": "/urls?text=a"} {
		b := d.browser(t)
		if answer, _ := b.send(t, b.atProvider(t, next), nil); answer.Header.Get("Location") != want {
			t.Errorf("next %q leads to %q", next, answer.Header.Get("Location"))
		}
	}
	if answer, body := victim.send(t, "/signin", nil); answer.StatusCode != http.StatusOK || !strings.Contains(body,
		"/signin/provider") || !strings.Contains(body, `name="token"`) {
		t.Errorf("the form: %d\n%s", answer.StatusCode, body)
	}
}

// TestProviderRefuses: its error is shown as text, and one that is down stops nothing but itself.
func TestProviderRefuses(t *testing.T) {
	d, p := openProvider(t)
	b := d.browser(t)
	back, err := url.Parse(b.atProvider(t, "/"))
	if err != nil {
		t.Fatal(err)
	}
	answer, body := b.send(t, back.Path+"?"+url.Values{"state": {back.Query().Get("state")},
		"error": {"<script>access_denied"}, "error_description": {"AADSTS50105"}}.Encode(), nil)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "&lt;script&gt;access_denied") ||
		!strings.Contains(d.log.String(), "AADSTS50105") {
		t.Errorf("%d\n%s", answer.StatusCode, body)
	}
	d.console.settings.Provider = openid.New(openid.Settings{Issuer: p.Issuer + "/other", ClientID: "x", Readers: "x"})
	if answer, _ := b.send(t, "/signin/provider", nil); answer.StatusCode != http.StatusBadGateway {
		t.Errorf("an issuer of another name: %d", answer.StatusCode)
	}
	d.console.settings.Provider = nil
	for _, path := range []string{"/signin/provider", back.RequestURI()} {
		if answer, _ := b.send(t, path, nil); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s without a provider: %d", path, answer.StatusCode)
		}
	}
	b.signIn(t, d.reader)
}

// TestFlowsAreBounded in time and number.
func TestFlowsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlows()
		first, one := f.begin("/")
		time.Sleep(flowTime)
		if _, ok := f.redeem(first, one.state); ok {
			t.Error("an old sign-in is finished")
		}
		oldest, one := f.begin("/")
		for range maxFlows {
			time.Sleep(time.Nanosecond)
			f.begin("/")
		}
		if _, ok := f.redeem(oldest, one.state); ok || len(f.open) != maxFlows {
			t.Errorf("%d sign-ins, the oldest among them: %v", len(f.open), ok)
		}
	})
}
