package auth

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestChallenges(t *testing.T) {
	for line, want := range map[string][]challenge{
		"":                                    nil,
		"Basic":                               {{scheme: "basic"}},
		"NTLM":                                {{scheme: "ntlm"}},
		"Negotiate, NTLM":                     {{scheme: "negotiate"}, {scheme: "ntlm"}},
		"NTLM TlRMTVNTUAAC+/==":               {{scheme: "ntlm", token: "TlRMTVNTUAAC+/=="}},
		`Basic realm="a, b"`:                  {{scheme: "basic", params: map[string]string{"realm": "a, b"}}},
		`Basic realm=simple, charset="UTF-8"`: {{scheme: "basic", params: map[string]string{"realm": "simple", "charset": "UTF-8"}}},
		`Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple"`: {
			{scheme: "newauth", params: map[string]string{"realm": "apps", "type": "1", "title": `Login to "apps"`}},
			{scheme: "basic", params: map[string]string{"realm": "simple"}},
		}, // RFC 9110 section 11.6.1
		`Digest realm = "a" , nonce= "b",,qop="auth", REALM="c"`: {{scheme: "digest", params: map[string]string{"realm": "a", "nonce": "b", "qop": "auth"}}},
		`Digest nonce=a/b==, realm="open`:                        {{scheme: "digest", params: map[string]string{"nonce": "a/b==", "realm": "open"}}},
		`realm="x"`:                                              nil,
		"\x00\xff":                                               nil,
		`Basic realm="x" {garbage}, Digest nonce="y"`:            {{scheme: "basic", params: map[string]string{"realm": "x"}}},
	} {
		got := parseChallenges(line)
		for i := range got {
			if len(got[i].params) == 0 {
				got[i].params = nil
			}
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(challenge{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", line, d)
		}
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add("Negotiate, NTLM TlRMTVNTUAAC==, Basic realm=\"a, b\"")
	f.Add(`Digest realm="r", nonce="n", qop="auth,auth-int", algorithm=SHA-256-sess, stale=TRUE, opaque="\"`)
	f.Add(`a b=c, d=, ="", "`)
	f.Add("x " + strings.Repeat("a=b,", 100) + strings.Repeat("y,", 100))
	f.Fuzz(func(t *testing.T, line string) {
		h := http.Header{"Www-Authenticate": {line, line}}
		all := challenges(h)
		if len(all) > maxChallenges {
			t.Fatalf("%d challenges", len(all))
		}
		for _, c := range all {
			if c.scheme == "" || strings.ContainsFunc(c.scheme, func(r rune) bool { return r > '~' || !isTokenByte(byte(r)) }) || len(c.params) > maxParams {
				t.Errorf("challenge %+v", c)
			}
		}
		for _, r := range offered(h) {
			if r < ' ' || r > '~' {
				t.Errorf("words %q", offered(h))
			}
		}
		if n := findNonce(h); n != nil {
			m := &digestMethod{Digest: Digest{Username: "u", Password: secret.New("p")}, nonces: map[origin]*nonce{{}: n}}
			header, err := m.authorization(origin{}, &http.Request{Method: "GET", URL: &url.URL{Path: "/"}})
			if err != nil || !sendable(header) {
				t.Errorf("%q answered by %q, %v", line, header, err)
			}
		}
	})
}

func TestPairs(t *testing.T) {
	for form, want := range map[string]string{
		`<input name=a value=1><input value=2><input name=b disabled value=3>`:                                                   "a=1",
		`<input type=checkbox name=a><input type=checkbox name=b checked><input type=radio name=c checked value=x>`:              "b=on&c=x",
		`<select name=a><option>one <option> two  words<option selected>three</select>`:                                          "a=three",
		`<select name=a><option value=1></select><option value=2 selected>`:                                                      "a=1",
		`<select name=a></select><input name=b>`:                                                                                 "b=",
		`<select name=a><option value="">none<input name=b>`:                                                                     "a=&b=",
		"<textarea name=a>\n x &amp; y</textarea>":                                                                               "a=+x+%26+y",
		`<button name=a value=1></button><button name=b value=2></button><button type=button name=c></button>`:                   "a=1",
		`<button value=1></button><button name=b value=2></button>`:                                                              "",
		`<input type=submit name=go><input type=submit name=own>`:                                                                "own=mine",
		`<input type=reset name=a><input type=button name=b><input type=image name=c><input type=file name=d>`:                   "",
		`<input name=own value=old><input name=own value=old>`:                                                                   "own=mine",
		`<script><input name=a></script><!-- <input name=b> --><title><input name=c></title><noscript><input name=d></noscript>`: "d=",
		`<form><input name=a></form><input name=b>`:                                                                              "a=",
	} {
		p := readPage([]byte("<form>"+form+"</form>"), "text/html; charset=utf-8")
		k := Form{}
		if strings.Contains(want, "own=") {
			k.Fields = []Field{{"own", secret.New("mine")}}
		}
		if got := urlEncode(k.pairs(p.forms[0])); got != want {
			t.Errorf("%s: %q, want %q", form, got, want)
		}
	}
}

func FuzzForms(f *testing.F) {
	f.Add([]byte(`<form action=/a method=post><input name=user><input name=pw type=password><select name=s><option>a<option selected value=b></select><textarea name=t>x</textarea><button name=b></form>`), "text/html", "")
	f.Add([]byte("<table><form><tr><td><input type=password></table><input form=x><form id=x><base href='http://[::1'>"), "text/html; charset=utf-16", "x")
	f.Add([]byte("\xff\xfe<\x00f\x00o\x00r\x00m\x00>\x00"), "", "")
	f.Add([]byte("<form enctype=multipart/form-data method=POST action='//h:99999/\x01'><textarea><option><select><option></form>"), "text/html;charset=shift_jis", "")
	f.Add([]byte("<form action='https://u:p@example.com/x#y'><input type=password></form>"), "text/html", "")
	from := &url.URL{Scheme: "https", Host: "example.com", Path: "/login"}
	f.Fuzz(func(t *testing.T, body []byte, contentType, id string) {
		k := Form{ID: id, Fields: []Field{{"user", secret.New("u")}, {"pw", secret.New("p")}}}
		p := readPage(body, contentType)
		if len(p.forms) > maxForms {
			t.Fatalf("%d forms", len(p.forms))
		}
		chosen, err := k.choose(p)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("words %q", err)
			}
			return
		}
		if len(chosen.controls) > maxControls {
			t.Fatalf("%d controls", len(chosen.controls))
		}
		count := map[string]int{}
		for _, pair := range k.pairs(chosen) {
			count[pair.name]++
		}
		if count["user"] != 1 || count["pw"] != 1 {
			t.Errorf("configured fields are sent %d and %d times", count["user"], count["pw"])
		}
		r, err := k.submission(p, chosen, from)
		if err != nil {
			return
		}
		if r.url.Scheme != "http" && r.url.Scheme != "https" || r.url.Host == "" || r.url.User != nil || r.url.Fragment != "" {
			t.Errorf("sends to %q", r.url)
		}
		if req, err := r.build(); err == nil && req.URL.Host != r.url.Host {
			t.Errorf("is built for %q, not %q", req.URL.Host, r.url.Host)
		}
	})
}
