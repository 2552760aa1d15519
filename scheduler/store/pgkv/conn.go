package pgkv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// application returns the application_name of an incarnation's sessions, by which another node ends them.
func application(schema, node string, incarnation int64) string {
	return fmt.Sprintf("sextant/%s/%s/%d", schema, node, incarnation)
}

// settings returns how an incarnation connects. A session that waits for a dead client holds its locks, so all waits
// have limits.
func (o Options) settings(incarnation int64) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, err
	}
	c.MaxConns = 32
	for name, value := range map[string]string{
		"application_name":                    application(o.Schema, o.Node, incarnation),
		"search_path":                         pgx.Identifier{o.Schema}.Sanitize(),
		"lock_timeout":                        "5s",
		"idle_in_transaction_session_timeout": "10min",
		"tcp_keepalives_idle":                 "10",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
		"tcp_user_timeout":                    "20s",
	} {
		c.ConnConfig.RuntimeParams[name] = value
	}
	c.ConnConfig.ConnectTimeout = 5 * time.Second
	c.ConnConfig.DialFunc = dialer().DialContext
	c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	c.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			conn.CustomData()[warned] = n.Message
		}
	}
	return c, nil
}

// deadAfter is how long a connection may be without a response from the server's machine.
const deadAfter = 20 * time.Second

// dialer returns the dialer of connections, which notice that the server's machine is gone.
func dialer() *net.Dialer {
	alive := net.KeepAliveConfig{Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 4, Count: 2}
	d := &net.Dialer{KeepAliveConfig: alive}
	d.Control = func(network, _ string, c syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		return lost(c)
	}
	return d
}

// warned is the key of a connection's last warning in its CustomData.
const warned = "warned"

// errWarned reports a commit with a warning: the wait for a standby was cancelled, so a failover may lose the commit.
var errWarned = errors.New("the database warned of the commit")

// warning returns the warning that a connection has received since the last call, as an error.
func warning(c *pgx.Conn) error {
	words, ok := c.PgConn().CustomData()[warned]
	if !ok {
		return nil
	}
	delete(c.PgConn().CustomData(), warned)
	return fmt.Errorf("%w: %v", errWarned, words)
}

// passing reports whether an operation may succeed when it is repeated: the connection was lost, the server is being
// started, stopped or replaced, its disk is full, or a lock was not free.
func passing(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, new(refusal)) || errors.Is(err, pgx.ErrNoRows) {
		return false
	}
	if !errors.As(err, &pg) {
		return true
	}
	return pg.Code[:2] == "08" || pg.Code[:3] == "57P" ||
		slices.Contains([]string{"25006", "40001", "40P01", "53100", "53300", "55P03"}, pg.Code)
}

// refusal is an error that no repetition changes.
type refusal struct{ error }

// Unwrap returns the reason.
func (r refusal) Unwrap() error { return r.error }

// retry calls fn until it succeeds or fails permanently, or ctx ends.
func retry(ctx context.Context, fn func() error) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := fn()
		if err == nil || !passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}
