package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// oneFetch reads a configuration with one Fetch.
func oneFetch(attributes string) (*File, Report) {
	text := `<CrawlConfig><Crawler name="a"><Fetch ` + attributes + `><Host val="a"/><Field name="f" value="v"/></Fetch></Crawler></CrawlConfig>`
	return Parse(FileName, []byte(text), Lookups{})
}

// TestLoginOptions: what tells a log-in apart, and how a client names itself.
func TestLoginOptions(t *testing.T) {
	const form, oauth2 = `auth="form" loginURL="https://a/login" `, `auth="oauth2" origins="https://a" tokenURL="https://a/t" clientId="c" clientSecret="s" `
	type options struct {
		Success auth.Success
		Pages   []string
		InBody  bool
	}
	for attributes, want := range map[string]options{
		form: {},
		form + `successRedirect="true" loginPage="https://sso/start"`: {
			Success: auth.Success{Redirect: true}, Pages: []string{"https://sso/start"},
		},
		form + `successText="hello" successCookie="SID"`: {Success: auth.Success{Text: "hello", Cookie: "SID"}},
		oauth2:                              {},
		oauth2 + `credentialsInBody="true"`: {InBody: true},
	} {
		file, report := oneFetch(attributes)
		if err := report.Err(); err != nil {
			t.Errorf("%s: %v", attributes, err)
			continue
		}
		var got options
		switch k := file.Crawlers[0].Fetches[0].Login.Kind.(type) {
		case auth.Form:
			got = options{Success: k.Success, Pages: k.LogInPages}
		case auth.OAuth2:
			got.InBody = k.InBody
		}
		if len(got.Pages) == 0 {
			got.Pages = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", attributes, diff)
		}
	}
	for attributes, want := range map[string]string{
		form + `loginPage="sso"`:          "CrawlConfig.xml:1:89: loginPage=\"sso\" is not an absolute URL: write http://host:port or https://host:port\n",
		form + `credentialsInBody="true"`: "CrawlConfig.xml:1:78: credentialsInBody belongs to auth=\"oauth2\": remove it, or write that\n",
		oauth2 + `successRedirect="true"`: "CrawlConfig.xml:1:126: successRedirect belongs to auth=\"form\": remove it, or write that\n",
	} {
		_, report := oneFetch(attributes)
		if diff := cmp.Diff(want, problemLines(report.Errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", attributes, diff)
		}
	}
}

// TestKerberos: what is missing or too much in a Kerberos log-in is said with its place.
func TestKerberos(t *testing.T) {
	keytab := testdir.Read(t, filepath.Join("testdata", "crawler.keytab"))
	lookups := mapLookups(map[string][]byte{
		"k": keytab, "bad": []byte("bad"), "krb5.conf": []byte("[libdefaults]\ndefault_realm = EXAMPLE.COM\n[realms]\nEXAMPLE.COM = {\nkdc = h\n}\n"), "other.conf": []byte("x"),
	}, nil)
	const complaint = `CrawlConfig.xml:1:39: auth="kerberos": `
	for attributes, want := range map[string]string{
		`keytab="k" krb5Conf="krb5.conf"`:                                    "",
		`user="crawler" keytab="k" realm="EXAMPLE.COM" kdc="h:8888 [::1]"`:   "",
		`credentialCache="c" krb5Conf="krb5.conf" spn="HTTP/a"`:              "",
		`user="crawler@EXAMPLE.COM" password="p" kdc="h"`:                    "",
		`keytab="k" kdc="h"`:                                                 complaint + "kdc requires a realm: write realm=\"EXAMPLE.COM\", too\n",
		`keytab="k" kdc="h" krb5Conf="krb5.conf"`:                            complaint + "kdc and krb5Conf exclude each other: both name the KDCs; remove one of the two\n",
		`user="crawler" krb5Conf="krb5.conf"`:                                complaint + "write one of password, keytab and credentialCache\n",
		`password="p" krb5Conf="krb5.conf"`:                                  complaint + "password requires user: write it, too\n",
		`user="other" keytab="k" krb5Conf="krb5.conf"`:                       complaint + "the keytab has no usable key of other@EXAMPLE.COM (AES or RC4): it has keys of crawler@EXAMPLE.COM\n",
		`keytab="bad" krb5Conf="krb5.conf"`:                                  complaint + "keytab: it is not a keytab, or is empty: create it with kadmin ktadd, ktutil or ktpass\n",
		`keytab="k" krb5Conf="other.conf"`:                                   complaint + "krb5Conf=\"other.conf\": line 1: \"x\" is not a line of a krb5.conf: write name = value\n",
		`keytab="absent" krb5Conf="krb5.conf"`:                               complaint + "keytab=\"absent\": the file cannot be read: no such file\n",
		`keytab="k" realm="example.com" krb5Conf="krb5.conf"`:                "",
		`user="crawler" realm="example.com" keytab="k" krb5Conf="krb5.conf"`: complaint + "no KDC of the realm example.com is named: realm names are usually in capitals, and files that a krb5.conf includes are not read\n",
		`keytab="k" krb5Conf="krb5.conf" spn="a"`:                            complaint + "write a service as its kind and host, such as HTTP/web.example.com\n",
		`keytab="k" realm="A" kdc="a/b"`:                                     complaint + "\"a/b\" is not the address of a KDC: write a host, with :port if it is not 88, such as kdc.example.com\n",
	} {
		text := `<CrawlConfig><Crawler name="a"><Fetch auth="kerberos" origins="https://a" ` + attributes + `><Host val="a"/></Fetch></Crawler></CrawlConfig>`
		_, report := Parse(FileName, []byte(text), lookups)
		if diff := cmp.Diff(want, problemLines(report.Errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", attributes, diff)
		}
	}
}

// TestSlipsOfKerberos: KDCs with commas, a realm in small letters, and both kdc and krb5Conf are told apart from a
// log-in that lacks something.
func TestSlipsOfKerberos(t *testing.T) {
	const login = `auth="kerberos" origins="https://a" password="p" user="crawler@`
	for attributes, want := range map[string]string{
		login + `EXAMPLE.COM" kdc="a,b"`:                         `kdc="a,b": KDCs are separated by spaces: write kdc="a b"`,
		login + `EXAMPLE.COM" kdc="a:88, b;c"`:                   `kdc="a:88, b;c": KDCs are separated by spaces: write kdc="a:88 b c"`,
		login + `EXAMPLE.COM" kdc="a" krb5Conf="/etc/krb5.conf"`: `kdc and krb5Conf exclude each other: both name the KDCs; remove one of the two`,
		login + `EXAMPLE.COM"`:                                   `name the KDCs: write kdc="kdc.example.com"`,
		login + `example.com" kdc="a"`:                           `1:94: user="crawler@example.com": realm names are usually in capitals, and KDCs distinguish case: write EXAMPLE.COM, unless yours is really called example.com`,
		`auth="kerberos" origins="https://a" password="p" user="crawler" realm="Example.com" kdc="a"`: `realm="Example.com": realm names are usually in capitals, and KDCs distinguish case: write EXAMPLE.COM`,
	} {
		_, report := oneKerberos(attributes)
		said := ""
		for _, p := range append(report.Errors, report.Warnings...) {
			said += p.String() + "\n"
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %q is not in\n%s", attributes, want, said)
		}
	}
	if _, report := oneKerberos(login + `EXAMPLE.COM" kdc="a b"`); len(report.Errors) > 0 || strings.Contains(fmt.Sprint(report.Warnings), "capitals") {
		t.Errorf("%v %v", report.Errors, report.Warnings)
	}
}

// oneKerberos reads a configuration with one Fetch, which has no Field.
func oneKerberos(attributes string) (*File, Report) {
	return Parse(FileName, []byte(`<CrawlConfig><Crawler name="a"><Fetch `+attributes+`><Host val="a"/></Fetch></Crawler></CrawlConfig>`), Lookups{})
}

// TestUnreadablePassword: the message names the file, and says what to do where it may not be read.
func TestUnreadablePassword(t *testing.T) {
	for err, want := range map[error]string{
		fs.ErrPermission: `password: the file /etc/sextant/password cannot be read: permission denied; give the user that runs this program read access`,
		fs.ErrNotExist:   `password: the file /etc/sextant/password cannot be read: no such file`,
	} {
		lookups := Lookups{ReadFile: func(string) ([]byte, error) { return nil, err }}
		_, report := Parse(FileName, []byte(`<CrawlConfig><Crawler name="a"><Fetch auth="basic" origins="https://a" user="u" password="file:/etc/sextant/password"><Host val="a"/></Fetch></Crawler></CrawlConfig>`), lookups)
		if said := report.Err(); said == nil || !strings.HasSuffix(strings.TrimSpace(said.Error()), want) {
			t.Errorf("%v, want %q", said, want)
		}
	}
}
