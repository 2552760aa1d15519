package kerberos

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/sextant-crawler/sextant/config/secret"
)

func TestParseConf(t *testing.T) {
	const text = `# a comment
includedir /etc/krb5.conf.d/
[libdefaults]
	default_realm = EXAMPLE.COM
	kdc_timesync = 1
[realms]
	EXAMPLE.COM = {
		kdc = kdc1.example.com
		auth_to_local_names = {
			kdc = not.one
		}
		kdc = [::1]:8888
		kdc* = tcp/kdc2.example.com:1088
		kdc = after.the.last
	}
	OTHER.ORG = { }
	LAST.ORG = {
		admin_server = a
		kdc = k
	}
[domain_realm]
	.Example.com = EXAMPLE.COM
	www.other.org = OTHER.ORG
	.org = LAST.ORG
[appdefaults]
	pam = {
		kdc = not.one.either
	}
`
	got, err := ParseConf([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Realms{
		Default: "EXAMPLE.COM",
		KDCs:    map[string][]string{"EXAMPLE.COM": {"kdc1.example.com:88", "[::1]:8888", "kdc2.example.com:1088"}, "LAST.ORG": {"k:88"}},
		Domains: map[string]string{".example.com": "EXAMPLE.COM", "www.other.org": "OTHER.ORG", ".org": "LAST.ORG"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for host, realm := range map[string]string{"a.b.EXAMPLE.com": "EXAMPLE.COM", "example.com": "", "www.other.org": "OTHER.ORG", "ftp.other.org": "LAST.ORG"} {
		if got.of(host) != realm {
			t.Errorf("%s is of the realm %q, want %q", host, got.of(host), realm)
		}
	}
	for text, want := range map[string]string{
		"[realms]\nA = {\nkdc = https://proxy/\n}": "line 3: kdc = https://proxy/: a KDC behind an HTTP proxy is not supported: write its host and port",
		"[realms]\nA = {\nkdc = a b\n}":            `line 3: "a b" is not the address of a KDC: write a host, with :port if it is not 88, such as kdc.example.com`,
		"[realms]\nA = {\n":                        "line 2: a { is never closed: write the missing }",
		"}":                                        "line 1: a } closes no {: remove it",
		"[realms":                                  `line 1: "[realms" is not a section: write one such as [realms], after the } of the section before`,
		"\nwhat":                                   `line 2: "what" is not a line of a krb5.conf: write name = value`,
	} {
		if _, err := ParseConf([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestIterations: a KDC that asks for an endless derivation of the key is refused.
func TestIterations(t *testing.T) {
	// ETYPE-INFO2 of AES-256 with 2^32 iterations, which is written as zero (RFC 3962 section 4).
	hint := types.PAData{PADataType: 19, PADataValue: []byte("\x30\x0f\x30\x0d\xa0\x03\x02\x01\x12\xa2\x06\x04\x04\x00\x00\x00\x00")}
	if _, err := keyInfo(types.PADataSequence{hint}, func(int32) bool { return true }); err == nil || !strings.Contains(err.Error(), "too many iterations") {
		t.Errorf("%v", err)
	}
	binary.BigEndian.PutUint32(hint.PADataValue[len(hint.PADataValue)-4:], 32_768)
	if cipher, err := keyInfo(types.PADataSequence{hint}, func(int32) bool { return true }); cipher != 18 || err != nil {
		t.Errorf("%d, %v", cipher, err)
	}
}

// FuzzFiles reads any bytes as each of the files: nothing panics, and no error shows what is in a keytab.
func FuzzFiles(f *testing.F) {
	keytab, err := os.ReadFile(filepath.Join("..", "..", "config", "testdata", "crawler.keytab"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(keytab)
	f.Add([]byte("[realms]\nA = {\nkdc = b:1\n}\n"))
	f.Add([]byte("\x05\x04\x00\x0c\x00\x01\x00\x08\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01A\x00\x00\x00\x01a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if realms, err := ParseConf(b); err == nil {
			_ = realms.of(string(b))
		}
		if k, err := ParseKeytab(b); err == nil {
			_ = k.principals()
		} else if len(b) > 40 && strings.Contains(err.Error(), string(b)) {
			t.Errorf("%v", err)
		}
		if _, _, c, err := cached(b); err == nil && !time.Now().Before(c.end) {
			t.Errorf("a ticket that is over since %s", c.end)
		}
	})
}

// FuzzAnswers takes any bytes for the answer of a KDC, and for the token of a server: none logs in or proves anything.
func FuzzAnswers(f *testing.F) {
	k := realmA(f)
	c := k.client(f, "a:88")
	if err := c.LogIn(f.Context()); err != nil {
		f.Fatal(err)
	}
	ticket, err := c.Service(f.Context(), "HTTP/web")
	if err != nil {
		f.Fatal(err)
	}
	token, proof, err := ticket.Token()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add([]byte{0xa1, 7, 0x30, 5, 0xa0, 3, 0x0a, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = Accepts(b)
		if proved, _ := proof.Verify(b); proved {
			t.Error("proved")
		}
		answer := append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
		c, err := New(Settings{Principal: "robot@A", Password: secret.New("p"), Realms: Realms{KDCs: map[string][]string{"A": {"a:88"}}}, Dial: func(context.Context, string, string) (net.Conn, error) {
			return &canned{Reader: bytes.NewReader(answer)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.LogIn(t.Context()); err == nil {
			t.Error("logged in")
		}
	})
}

// canned is a connection on which the answer is there already.
type canned struct {
	net.Conn
	*bytes.Reader
}

func (c *canned) Read(b []byte) (int, error) { return c.Reader.Read(b) }
func (*canned) Write(b []byte) (int, error)  { return len(b), nil }
func (*canned) Close() error                 { return nil }
func (*canned) SetDeadline(time.Time) error  { return nil }
