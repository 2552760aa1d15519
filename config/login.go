package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/fetcher/auth"
	"github.com/sextant-crawler/sextant/fetcher/kerberos"
)

// login reads the authentication of a Fetch, in a form that auth.New accepts; nil if there is none, or it has errors.
func (p *parser) login(n *node) *policy.Login {
	kind := n.str("auth")
	if slices.Contains(n.faulty, "auth") || !p.belongs(n, kind) || kind == "" {
		return nil
	}
	login := &policy.Login{Name: n.str("name"), Origins: strings.Fields(n.str("origins")), Identity: loginIdentity(n), KeepCookies: n.boolean("keepCookies")}
	var err error
	if login.Kind, err = p.authKind(n, login); err != nil {
		p.errorf(n.attr("auth").name, "auth=%q: %v", kind, err)
		return nil
	}
	if login.Name == "" {
		login.Name = kind
		if at := append(slices.Clone(login.Origins), n.str("loginURL")); at[0] != "" {
			login.Name += " at " + originOf(at[0])
		}
	}
	// The error names the problem, and shows no secret.
	_, err = auth.New(auth.Settings{Name: login.Name, Origins: login.Origins, Do: noRequests}, login.Kind)
	if err != nil {
		p.errorf(n.attr("auth").name, "auth=%q: %v", kind, errors.Unwrap(err))
		return nil
	}
	p.overHTTP(n)
	return login
}

func noRequests(context.Context, *http.Request) (*http.Response, error) {
	return nil, errors.New("no requests while the configuration is read")
}

func originOf(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

// belongs reports whether all authentication settings of a Fetch belong to its kind, and all required ones are present.
func (p *parser) belongs(n *node, kind string) bool {
	good := true
	fault := func(at int, format string, args ...any) {
		good = false
		p.errorf(at, format, args...)
	}
	for _, a := range n.attrs {
		switch of := a.spec.Auth; {
		case len(of) == 0 || slices.Contains(of, kind):
		case kind == "":
			fault(a.name, "%s without auth: write auth=\"%s\", too", a.spec.Name, strings.Join(of, `" or "`))
		default:
			fault(a.name, "%s belongs to auth=\"%s\": remove it, or write that", a.spec.Name, strings.Join(of, `" or "`))
		}
	}
	for i := range n.spec.Attributes {
		if a := &n.spec.Attributes[i]; slices.Contains(a.Auth, kind) && neededForAuth(a.Name, kind) {
			switch {
			case n.missing(a.Name):
				fault(n.at, "<Fetch auth=%q> needs the attribute %s", kind, a.Name)
			case !n.written(a.Name):
				good = false // already reported
			}
		}
	}
	fields := 0
	for child := range n.all("Field") {
		if fields++; kind != "form" && kind != "oauth2" {
			fault(child.at, "<Field> belongs to auth=\"form\" or \"oauth2\": remove it, or write that")
		}
	}
	if kind == "form" && fields == 0 && !n.lost {
		fault(n.at, "<Fetch auth=\"form\"> needs the fields to fill in: write <Field name=\"...\" value=\"...\"/> for user name and password")
	}
	return good
}

func neededForAuth(name, kind string) bool {
	switch name {
	case "origins":
		return kind != "form"
	case "user", "password":
		return kind != "kerberos"
	case "certFile":
		return kind == "certificate"
	case "token", "tokenURL", "clientId", "loginURL":
		return true
	}
	return false
}

// authKind returns the kind of authentication with its own settings, whose required attributes are present.
func (p *parser) authKind(n *node, login *policy.Login) (auth.Kind, error) {
	switch n.str("auth") {
	case "basic":
		return auth.Basic{Username: n.str("user"), Password: n.secret("password")}, nil
	case "digest":
		return auth.Digest{Username: n.str("user"), Password: n.secret("password")}, nil
	case "ntlm":
		return auth.NTLM{Username: n.str("user"), Password: n.secret("password")}, nil
	case "kerberos":
		return p.kerberos(n, login)
	case "bearer":
		return auth.Bearer{Token: n.secret("token")}, nil
	case "oauth2":
		k := auth.OAuth2{
			TokenURL: n.str("tokenURL"), ClientID: n.str("clientId"), ClientSecret: n.secret("clientSecret"),
			Scopes: strings.Fields(n.str("scopes")), Params: map[string]secret.Value{},
			InBody: n.boolean("credentialsInBody"),
		}
		for _, f := range fieldsOf(n) {
			k.Params[f.Name] = f.Value
		}
		if n.written("clientSecret") == n.written("certFile") {
			return nil, errors.New("write either clientSecret or certFile")
		}
		var err error
		if n.written("certFile") {
			k.Certificate, err = clientCertificate(p, n, login)
		}
		return k, err
	case "certificate":
		var err error
		login.Certificate, err = clientCertificate(p, n, login)
		return auth.Certificate{}, err
	default:
		return p.form(n), nil
	}
}

// clientCertificate reads certFile and keyFile, which count for the identity of the log-in.
func clientCertificate(p *parser, n *node, login *policy.Login) (*tls.Certificate, error) {
	keyFile := n.str("keyFile")
	if keyFile != "" {
		keyFile = p.resolvePath(keyFile)
	}
	certificate, err := auth.LoadCertificate(p.lookups.ReadFile, p.resolvePath(n.str("certFile")), keyFile)
	if err != nil {
		return nil, err
	}
	login.Identity = sha256.Sum256(slices.Concat(append([][]byte{login.Identity[:]}, certificate.Certificate...)...))
	return &certificate, nil
}

// kerberos reads principal and realms; auth.New validates them.
func (p *parser) kerberos(n *node, login *policy.Login) (auth.Kind, error) {
	k := auth.Kerberos{Service: n.str("spn"), Settings: kerberos.Settings{Principal: n.str("user"), Password: n.secret("password")}}
	written := 0
	for _, name := range []string{"password", "keytab", "credentialCache"} {
		if n.written(name) {
			written++
		}
	}
	if written != 1 {
		return nil, errors.New("write one of password, keytab and credentialCache")
	}
	if n.written("password") && k.Settings.Principal == "" {
		return nil, errors.New("a password without user: write user, too")
	}
	var err error
	if k.Settings.Realms, err = p.realms(n, login); err != nil {
		return nil, err
	}
	p.smallRealm(n)
	if a := n.attr("keytab"); a != nil {
		content, err := p.readFor(login, a)
		if err != nil {
			return nil, err
		}
		if k.Settings.Keytab, err = kerberos.ParseKeytab(content); err != nil {
			return nil, fmt.Errorf("keytab: %w", err)
		}
	}
	if a := n.attr("credentialCache"); a != nil {
		read, path := p.lookups.ReadFile, p.resolvePath(a.text)
		k.Settings.Cache = func() ([]byte, error) {
			content, err := read(path)
			return content, withoutPath(err)
		}
	}
	return k, nil
}

// smallRealm warns of a realm in lower case: nearly all are in upper case, and KDCs are case sensitive.
func (p *parser) smallRealm(n *node) {
	for _, name := range []string{"realm", "user"} {
		a, realm := n.attr(name), n.str(name)
		if name == "user" {
			_, realm, _ = strings.Cut(realm, "@")
		}
		if large := strings.ToUpper(realm); a != nil && realm != large {
			p.warnf(a.value, "%s=%s: realms are written in capitals, and KDCs tell letters apart: write %s, unless yours is really called %s", name, quote(a.text), large, realm)
		}
	}
}

// realms returns the realms of kdc, or of the krb5.conf, with the configured realm.
func (p *parser) realms(n *node, login *policy.Login) (kerberos.Realms, error) {
	conf, kdcs := n.attr("krb5Conf"), strings.Fields(n.str("kdc"))
	if conf != nil && len(kdcs) > 0 {
		return kerberos.Realms{}, errors.New("kdc beside krb5Conf: the KDCs are written here, or read from that file; remove one of the two")
	}
	if conf == nil && len(kdcs) == 0 {
		return kerberos.Realms{}, errors.New("write where the KDCs are: kdc=\"kdc.example.com\" with realm=\"EXAMPLE.COM\", or krb5Conf=\"/etc/krb5.conf\"")
	}
	if conf != nil {
		content, err := p.readFor(login, conf)
		if err != nil {
			return kerberos.Realms{}, err
		}
		realms, err := kerberos.ParseConf(content)
		if err != nil {
			return realms, fmt.Errorf("krb5Conf=%s: %w", quote(conf.text), err)
		}
		realms.Default = cmp.Or(n.str("realm"), realms.Default)
		return realms, nil
	}
	realm := n.str("realm")
	if _, of, ok := strings.Cut(n.str("user"), "@"); ok && realm == "" {
		realm = of
	}
	if realm == "" {
		return kerberos.Realms{}, errors.New("kdc without a realm: write realm=\"EXAMPLE.COM\", too")
	}
	out := kerberos.Realms{Default: realm, KDCs: map[string][]string{}}
	for _, written := range kdcs {
		if several := strings.FieldsFunc(written, func(r rune) bool { return r == ',' || r == ';' }); written != strings.Join(several, "") {
			return out, fmt.Errorf("kdc=%s: KDCs are separated by spaces: write kdc=%s", quote(n.str("kdc")), quote(strings.Join(strings.FieldsFunc(n.str("kdc"), func(r rune) bool { return strings.ContainsRune(",; \t", r) }), " ")))
		}
		address, err := kerberos.Address(written)
		if err != nil {
			return out, err
		}
		out.KDCs[realm] = append(out.KDCs[realm], address)
	}
	return out, nil
}

// readFor reads a file that is part of a log-in, whose identity includes the content.
func (p *parser) readFor(login *policy.Login, a *attr) ([]byte, error) {
	content, err := p.lookups.ReadFile(p.resolvePath(a.text))
	if err != nil {
		return nil, fmt.Errorf("%s=%s: the file cannot be read: %w", a.spec.Name, quote(a.text), cause(err))
	}
	login.Identity = sha256.Sum256(append(login.Identity[:], content...))
	return content, nil
}

func (p *parser) form(n *node) auth.Form {
	k := auth.Form{
		URL: n.str("loginURL"), Fields: fieldsOf(n),
		Success:    auth.Success{Text: n.str("successText"), Cookie: n.str("successCookie"), Redirect: n.boolean("successRedirect")},
		LogInPages: strings.Fields(n.str("loginPage")),
	}
	if text := n.str("loggedOutText"); text != "" {
		k.LoggedOut = []string{text}
	}
	which := n.str("loginForm")
	if index, err := strconv.Atoi(which); err == nil {
		k.Index = index
		if index < 1 {
			p.errorf(n.valueAt("loginForm"), "loginForm=%s: write the form's name, #id, or its number from 1", quote(which))
			k.Index = 0
		}
	} else if id, ok := strings.CutPrefix(which, "#"); ok {
		k.ID = id
	} else {
		k.Name = which
	}
	return k
}

func fieldsOf(fetch *node) []auth.Field {
	var out []auth.Field
	for n := range fetch.all("Field") {
		out = append(out, auth.Field{Name: n.str("name"), Value: n.secret("value")})
	}
	return out
}

// loginIdentity returns a digest of all settings of a session.
func loginIdentity(fetch *node) [32]byte {
	h := sha256.New()
	write := func(n *node) {
		for _, a := range n.attrs {
			for _, s := range []string{n.spec.Name, a.spec.Name, a.text} {
				h.Write(strconv.AppendInt(nil, int64(len(s)), 10))
				h.Write([]byte{':'})
				h.Write([]byte(s))
			}
		}
	}
	for i := range fetch.attrs {
		if a := fetch.attrs[i]; a.spec.Name == "name" || len(a.spec.Auth) > 0 || a.spec.Name == "auth" {
			write(&node{spec: fetch.spec, attrs: []attr{a}})
		}
	}
	for child := range fetch.all("Field") {
		write(child)
	}
	return [32]byte(h.Sum(nil))
}

// overHTTP warns of credentials that are sent unencrypted.
func (p *parser) overHTTP(n *node) {
	for _, name := range []string{"origins", "loginURL", "tokenURL"} {
		for _, written := range strings.Fields(n.str(name)) {
			if strings.HasPrefix(strings.ToLower(written), "http:") {
				p.warnf(n.valueAt(name), "the credentials go to %s unencrypted, where others can read them: write https if the server has it", originOf(written))
			}
		}
	}
}
