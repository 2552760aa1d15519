package pgkv

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/weburl"
)

// address splits what operators write into scheme and user, password, and the rest.
var address = regexp.MustCompile(`^(postgres(?:ql)?://[^:@/?]*)(:[^/?]*)?(@.*)$`)

// reference is a password that names an environment variable.
var reference = regexp.MustCompile(`^:\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// DSN returns the connection string of a database that an operator wrote as
// postgres://USER:${VARIABLE}@HOST[:PORT][,HOST...]/DATABASE, where getenv returns VARIABLE, the password. Like libpq
// it also obeys passfile= in the query and variables such as PGPASSWORD and PGPASSFILE. Servers beyond this machine
// must prove their identity unless the query or PGSSLMODE has another sslmode.
func DSN(written string, getenv func(string) string) (dsn secret.Value, err error) {
	if m := address.FindStringSubmatch(written); m != nil && m[2] != "" {
		name := reference.FindStringSubmatch(m[2])
		if name == nil {
			return dsn, errors.New("the database's address holds a password: " +
				"write ${VARIABLE} in its place, or passfile=FILE behind ?")
		}
		password := getenv(name[1])
		if password == "" {
			return dsn, fmt.Errorf("the database's password: the environment variable %s is empty or not set", name[1])
		}
		written = m[1] + url.UserPassword("", password).String() + m[3]
	}
	scheme, _, _ := strings.Cut(written, "://")
	_, query, _ := strings.Cut(written, "?")
	settings, err := url.ParseQuery(query)
	if scheme != "postgres" && scheme != "postgresql" || err != nil || settings.Has("password") {
		return dsn, errors.New("the database's address has the form " +
			"postgres://USER:${VARIABLE}@HOST/DATABASE, and no other password")
	}
	c, err := pgx.ParseConfig(written)
	if err != nil {
		return dsn, fmt.Errorf("the database's address: %w", err)
	}
	local := isLocal(c.Host)
	for _, f := range c.Fallbacks {
		local = local && isLocal(f.Host)
	}
	if !local && !settings.Has("sslmode") && !settings.Has("ssl") && getenv("PGSSLMODE") == "" {
		written += map[bool]string{true: "&", false: "?"}[query != ""] + "sslmode=verify-full"
	}
	return secret.New(written), nil
}

// isLocal reports whether a host is a Unix socket's folder or this machine.
func isLocal(host string) bool {
	return strings.HasPrefix(host, "/") || weburl.IsLoopback(host)
}
