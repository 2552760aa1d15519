package kerberos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"go.uber.org/goleak"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// realmA has what most tests need.
func realmA(t testing.TB) *kdc {
	return newKDC(t, [2]string{"robot", "A"}, [2]string{"krbtgt/A", "A"}, [2]string{"HTTP/web", "A"})
}

func (k *kdc) client(t testing.TB, kdcs ...string) *Client {
	t.Helper()
	c, err := New(Settings{Principal: "robot@A", Password: secret.New("password of robot"), Realms: Realms{KDCs: map[string][]string{"A": kdcs}}, Dial: k.dial})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRenewal: tickets are renewed before they end, and a KDC that is away for a while costs nothing.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := realmA(t)
		c := k.client(t, "a:88")
		if c.Ready(time.Now()) {
			t.Error("ready before the log-in")
		}
		if _, err := c.Service(t.Context(), "HTTP/web"); !errors.Is(err, ErrLoggedOut) {
			t.Errorf("before the log-in: %v", err)
		}
		if err := c.LogIn(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := c.Service(t.Context(), "HTTP/web"); err != nil {
				t.Fatal(err)
			}
		}
		if len(k.dialed) != 2 {
			t.Errorf("%d connections, want one for the log-in and one for the service", len(k.dialed))
		}
		time.Sleep(8 * time.Hour)
		if !c.Ready(time.Now()) {
			t.Error("a ticket of ten hours is renewed after eight")
		}
		time.Sleep(30 * time.Minute)
		if c.Ready(time.Now()) {
			t.Error("a ticket of ten hours is not renewed after eight and a half")
		}
		k.set(func() { k.away["a:88"] = true })
		if err := c.LogIn(t.Context()); !errors.Is(err, ErrUnreachable) || !c.Ready(time.Now()) {
			t.Errorf("%v, ready %v: the old ticket still holds", err, c.Ready(time.Now()))
		}
		if _, err := c.Service(t.Context(), "HTTP/web"); err != nil {
			t.Errorf("the old ticket of the service still holds: %v", err)
		}
		time.Sleep(2 * time.Hour)
		if c.Ready(time.Now()) {
			t.Error("ready with a ticket that is over")
		}
		k.set(func() { k.away["a:88"] = false })
		if err := c.LogIn(t.Context()); err != nil || !c.Ready(time.Now()) {
			t.Errorf("%v after the KDC came back", err)
		}
		c.Forget()
		if c.Ready(time.Now()) {
			t.Error("ready without tickets")
		}
	})
}

// TestUnreachable: a KDC that says nothing, or that is not one, costs its time; the next one is asked.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := realmA(t)
		k.silent["a:88"], k.away["b:88"] = true, true
		c, begin := k.client(t, "a:88", "b:88"), time.Now()
		err := c.LogIn(t.Context())
		const want = "no KDC answers for the realm A (a:88: no response within 10s; b:88: connection refused): check that this machine can reach TCP port 88 there"
		if err == nil || err.Error() != want || time.Since(begin) != 10*time.Second {
			t.Errorf("after %s: %v, want %s", time.Since(begin), err, want)
		}
		c = k.client(t, "a:88", "c:88")
		if err := c.LogIn(t.Context()); err != nil {
			t.Errorf("the second KDC answers: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if err := k.client(t, "a:88").LogIn(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		for name, answer := range map[string][]byte{
			"its response is not that of a KDC":               {255, 255, 255, 255, 1},
			"it closed the connection without a response":     {0, 0, 0, 9, 1},
			"cannot decrypt the KDC's response: the password": {0, 0, 0, 3, 1, 2, 3},
		} {
			k.set(func() { k.answer = answer })
			if err := k.client(t, "c:88").LogIn(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, want %q", err, name)
			}
		}
	})
}

// TestRefusals: an error of the KDC is told in words, once in two minutes for a service.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := realmA(t)
		for code, want := range map[int32]string{
			errorcode.KRB_AP_ERR_SKEW:        "the clocks of this machine and of the KDC differ ",
			errorcode.KDC_ERR_KEY_EXPIRED:    "the password of robot@A has expired",
			errorcode.KDC_ERR_CLIENT_REVOKED: "the account robot@A is locked or disabled",
			errorcode.KDC_ERR_ETYPE_NOSUPP:   "encryption type for which robot@A has keys",
			errorcode.KDC_ERR_WRONG_REALM:    "the KDC does not belong to the realm of robot@A",
			errorcode.KDC_ERR_POLICY:         "the KDC refuses: (12) KDC_ERR_POLICY KDC policy rejects request (told)",
		} {
			k.set(func() { k.code = code })
			if err := k.client(t, "a:88").LogIn(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: %v, want %q", code, err, want)
			}
		}
		k.set(func() { k.code = 0 })
		c := k.client(t, "a:88")
		if err := c.LogIn(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.dialed = nil
		for range 3 {
			_, err := c.Service(t.Context(), "HTTP/absent")
			if want := "no ticket for HTTP/absent: the realm A has no such service: register it (setspn -S, kadmin addprinc), or name another one in spn"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		time.Sleep(putOff)
		_, _ = c.Service(t.Context(), "HTTP/absent")
		if len(k.dialed) != 2 {
			t.Errorf("asked %d times, want once, and once two minutes later", len(k.dialed))
		}
	})
}

// TestReferrals: other realms are asked if their KDCs are named, over one between, and no others.
func TestReferrals(t *testing.T) {
	k := newKDC(t, [2]string{"robot", "A"}, [2]string{"krbtgt/A", "A"}, [2]string{"krbtgt/B", "A"}, [2]string{"krbtgt/C", "B"}, [2]string{"HTTP/far", "C"})
	k.refer["A"], k.refer["B"] = "B", "C"
	c := k.client(t, "a:88")
	c.settings.Realms.KDCs["B"], c.settings.Realms.Domains = []string{"b:88"}, map[string]string{".far.test": "B"}
	if err := c.LogIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Service(t.Context(), "HTTP/far"); err == nil || !strings.Contains(err.Error(), "no KDC of the realm C is known") {
		t.Errorf("a realm without KDCs: %v", err)
	}
	c.settings.Realms.KDCs["C"] = []string{"c:88"}
	c.Forget()
	if err := c.LogIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.dialed = nil
	ticket, err := c.Service(t.Context(), "HTTP/far")
	if err != nil {
		t.Fatal(err)
	}
	if ticket.ticket.ticket.Realm != "C" || !slices.Equal(k.dialed, []string{"a:88", "b:88", "c:88"}) {
		t.Errorf("a ticket of %s, asked %v", ticket.ticket.ticket.Realm, k.dialed)
	}
	k.refer["C"] = "C"
	if err := k.keys.AddEntry("krbtgt/C", "C", "x", time.Unix(1, 0), 1, cipher); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Service(t.Context(), "HTTP/nowhere"); err == nil || !strings.Contains(err.Error(), "from realm to realm endlessly") {
		t.Errorf("a circle: %v", err)
	}
}

// reply returns a server's answer to a token, by the key of its service, for a request of that moment.
func reply(t *testing.T, p *Proof, later time.Duration) []byte {
	t.Helper()
	part := struct {
		CTime time.Time `asn1:"generalized,explicit,tag:0"`
		Cusec int       `asn1:"explicit,tag:1"`
	}{p.proof.CTime.Add(later), p.proof.Cusec}
	plain, err := asn1.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart), p.key, keyusage.AP_REP_ENCPART, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	if err != nil {
		t.Fatal(err)
	}
	return framed(apReply, asn1tools.AddASNAppTag(b, asnAppTag.APREP))
}

func framed(kind string, inner []byte) []byte {
	return asn1tools.AddASNAppTag(append([]byte(oidKerberos+kind), inner...), 0)
}

// TestProof: a server proves itself by the time of this request under the ticket's key, and by nothing else.
func TestProof(t *testing.T) {
	k := realmA(t)
	c := k.client(t, "a:88")
	if err := c.LogIn(t.Context()); err != nil {
		t.Fatal(err)
	}
	ticket, err := c.Service(t.Context(), "HTTP/web")
	if err != nil {
		t.Fatal(err)
	}
	token, proof, err := ticket.Token()
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := ticket.Token(); err != nil || bytes.Equal(again, token) {
		t.Errorf("two requests with one token, %v", err)
	}
	good := reply(t, proof, 0)
	if proved, err := proof.Verify(good); err != nil || !proved || !Accepts(good) {
		t.Errorf("a good answer: %v, %v", proved, err)
	}
	other := *proof
	other.key.KeyValue = bytes.Repeat([]byte{1}, 32)
	skew := messages.NewKRBError(grantingService("A"), "A", errorcode.KRB_AP_ERR_SKEW, "")
	refused, err := skew.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"the server does not prove that it is HTTP/web":           reply(t, proof, time.Second),
		"the server does not prove that it is HTTP/web ":          reply(t, &other, 0),
		"the clocks of this machine and of the server":            framed(krbError, refused),
		"does not respond to the ticket with a Kerberos message":  token2(t, token),
		"the server: its Negotiate token is malformed":            []byte("NTLMSSP\x00"),
		"the server: it rejects the ticket":                       {0xa1, 7, 0x30, 5, 0xa0, 3, 0x0a, 1, 2},
		"the server's Negotiate token has 20000 bytes, more than": make([]byte, 20_000),
	} {
		if proved, err := proof.Verify(b); proved || err == nil || !strings.Contains(err.Error()+" ", name) {
			t.Errorf("%v, %v, want %q", proved, err, name)
		}
	}
	if proved, err := proof.Verify([]byte{0xa1, 7, 0x30, 5, 0xa0, 3, 0x0a, 1, 1}); proved || err != nil {
		t.Errorf("a token that goes on for ever: %v, %v", proved, err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s", c, c, ticket, ticket)
	if strings.Contains(shown, "password of") || strings.Contains(shown, fmt.Sprintf("%v", proof.key.KeyValue)) {
		t.Errorf("shown: %s", shown)
	}
}

// token2 returns the request of Kerberos in a token, as if a server sent it back.
func token2(t *testing.T, token []byte) []byte {
	t.Helper()
	i := bytes.Index(token, []byte(oidKerberos+apRequest))
	if i < 0 {
		t.Fatal("no request in the token")
	}
	return framed(apRequest, token[i+len(oidKerberos+apRequest):])
}
