package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/openid"
	"github.com/sextant-crawler/sextant/internal/service"
	"github.com/sextant-crawler/sextant/weburl"
)

// tokenFlags name the files of the tokens.
func tokenFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "operator-token-file", EnvVars: env("operator-token-file"), Usage: "`FILE` with the operator's token (default: operator.token in the data directory, created if missing)"},
		&cli.StringFlag{Name: "reader-token-file", EnvVars: env("reader-token-file"), Usage: "`FILE` with the readers' token (default: reader.token in the data directory, if it exists)"},
	}
}

// accessFlags control access to the service over TCP.
func accessFlags() []cli.Flag {
	return append(tokenFlags(),
		&cli.StringFlag{Name: "tls-cert", EnvVars: env("tls-cert"), Usage: "PEM `FILE` with the certificate for --listen and its chain"},
		&cli.StringFlag{Name: "tls-key", EnvVars: env("tls-key"), Usage: "PEM `FILE` with its key"},
	)
}

// accessSettings reads the flags for tokens and certificate.
func accessSettings(c *cli.Context) admin.AccessSettings {
	return admin.AccessSettings{
		OperatorToken: c.String("operator-token-file"), ReaderToken: c.String("reader-token-file"),
		Certificate: c.String("tls-cert"), Key: c.String("tls-key"),
	}
}

// ownFiles returns the files of the data directory, and those that flags name.
func ownFiles(c *cli.Context) service.OwnFiles {
	return service.Own(c.String("data"), accessSettings(c), c.String("oidc-client-secret-file"))
}

// openIDFlags name the provider where people sign in to the console.
func openIDFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "oidc-issuer", EnvVars: env("oidc-issuer"),
			Usage: "`URL` of an OpenID Connect provider where people may sign in to the console"},
		&cli.StringFlag{Name: "oidc-client-id", EnvVars: env("oidc-client-id"), Usage: "`ID` of the console there"},
		&cli.StringFlag{Name: "oidc-client-secret-file", EnvVars: env("oidc-client-secret-file"),
			Usage: "`FILE` that holds the client's secret; none for a public client"},
		&cli.StringFlag{Name: "oidc-operator-group", EnvVars: env("oidc-operator-group"),
			Usage: "`GROUP` or role of those who get the operator's rights"},
		&cli.StringFlag{Name: "oidc-reader-group", EnvVars: env("oidc-reader-group"),
			Usage: "`GROUP` or role of those who get a reader's rights"},
	}
}

// openIDSettings reads them.
func openIDSettings(c *cli.Context) openid.Settings {
	return openid.Settings{
		Issuer: c.String("oidc-issuer"), ClientID: c.String("oidc-client-id"), SecretFile: c.String("oidc-client-secret-file"),
		Operators: c.String("oidc-operator-group"), Readers: c.String("oidc-reader-group"),
	}
}

// checkOpenID refuses settings that admit no account, and a provider whose responses others could change.
func checkOpenID(c *cli.Context) error {
	s := openIDSettings(c)
	if s == (openid.Settings{}) {
		return nil
	}
	issuer, err := url.Parse(s.Issuer)
	switch {
	case err != nil || issuer.Host == "" || issuer.Scheme != "https" && (issuer.Scheme != "http" ||
		!weburl.IsLoopback(issuer.Hostname())):
		return wrongUse("--oidc-issuer %q: write the provider's https URL, as its /.well-known/openid-configuration names it", s.Issuer)
	case s.ClientID == "":
		return wrongUse("--oidc-issuer needs --oidc-client-id")
	case s.Operators == "" && s.Readers == "":
		return wrongUse("--oidc-issuer needs --oidc-operator-group or --oidc-reader-group: without a group, no account may sign in")
	case s.SecretFile != "":
		return admin.CheckSecretFile(s.SecretFile)
	}
	return nil
}

// checkListen refuses malformed addresses, and those beyond loopback without TLS.
func checkListen(c *cli.Context) error {
	address, certificate, key := c.String("listen"), c.String("tls-cert"), c.String("tls-key")
	if (certificate == "") != (key == "") {
		return wrongUse("--tls-cert and --tls-key require each other: name both files")
	}
	if address == "off" {
		return nil
	}
	if certificate != "" {
		return checkAddress(address, "")
	}
	return checkAddress(address, "on an address other than loopback (127.0.0.1, [::1], localhost) the service requires --tls-cert and --tls-key")
}

// checkAddress returns an error if the value of --listen is not HOST:PORT. If it is not a loopback address, the error
// is beyond, unless that is empty.
func checkAddress(address, beyond string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return wrongUse("--listen %q: write HOST:PORT, for example 127.0.0.1:7370", address)
	}
	if beyond != "" && !service.IsLoopback(address) {
		return wrongUse("--listen %q: %s", address, beyond)
	}
	return nil
}

func printToken(c *cli.Context) error {
	role, ok := map[string]admin.Role{"operator": admin.Operator, "reader": admin.Reader}[c.String("role")]
	if !ok {
		return wrongUse("--role %q: write operator or reader", c.String("role"))
	}
	path := c.String(role.String() + "-token-file")
	if path == "" {
		made := false
		var err error
		path, made, err = admin.EnsureToken(c.String("data"), role)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the data directory %s does not exist: start the service first, or name its directory with --data", c.String("data"))
		}
		if err != nil {
			return err
		}
		if made && role == admin.Reader {
			if running, err := admin.Dial(c.Context, c.String("data"), ""); running != nil || err != nil {
				fmt.Fprintln(c.App.ErrWriter, "sextant: the token is new: run sextant reload before you use it")
			}
		}
	}
	if err := admin.CheckToken(path); err != nil && !errors.Is(err, os.ErrPermission) { // naming it requires no right to read it
		return err
	}
	return printResult(c, map[string]string{"role": role.String(), "file": path}, path)
}

// listenLoopback listens on a loopback address, for services without tokens.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	if err := checkAddress(address, "this version supports only loopback addresses (127.0.0.1, [::1], localhost)"); err != nil {
		return nil, err
	}
	return service.ListenTCP(ctx, address)
}
