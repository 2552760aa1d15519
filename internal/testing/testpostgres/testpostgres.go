// Package testpostgres starts PostgreSQL servers on loopback, each in a new data directory.
package testpostgres

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// Server is a PostgreSQL server. PostgreSQL refuses to run as root: then it runs as the user postgres.
type Server struct {
	Dir     string // its data
	Address string // host:port
	release func() error
}

// NoSync are settings for tests that stop no server without warning.
var NoSync = []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}

// Start starts a server, which the end of the test stops.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	Need(t)
	dir, err := os.MkdirTemp("", "postgres-")
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // the server's user must reach it
	}
	var s *Server
	if err == nil {
		s, err = New(dir, settings...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Need ends a test if there is no PostgreSQL.
func Need(t testing.TB) {
	t.Helper()
	if Programs() == "" {
		testneed.Missing(t, "PostgreSQL is not installed: apt-get install postgresql")
	}
}

// Programs returns the folder of the newest installed server's programs, "" without one.
func Programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return ""
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
}

// New makes a data directory within dir, and starts a server on it with settings of the form name=value.
func New(dir string, settings ...string) (*Server, error) {
	return made(dir, settings, func(s *Server) error {
		return s.Run("initdb", "-D", s.Dir, "-U", "sextant", "-A", "trust", "-N", "-E", "UTF8", "--locale=C",
			"--data-checksums")
	})
}

// Follow starts a standby of s, with its data within dir. name is its application_name.
func (s *Server) Follow(dir, name string, settings ...string) (*Server, error) {
	return made(dir, settings, func(standby *Server) error {
		return standby.Run("pg_basebackup", "-D", standby.Dir, "-d", s.dsn("postgres", name), "-R", "-c", "fast", "-N")
	})
}

func made(dir string, settings []string, fill func(*Server) error) (*Server, error) {
	s := &Server{Dir: filepath.Join(dir, "data")}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		return nil, err
	}
	if uid, gid, err := account(); err != nil {
		return nil, err
	} else if uid != 0 {
		if err := os.Chown(s.Dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
	}
	err := fill(s)
	if err == nil {
		s.Address, s.release, err = testport.New()
	}
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(s.Address)
	all := append([]string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=", "max_connections=200",
	}, settings...)
	var conf strings.Builder
	for _, setting := range all {
		name, value, _ := strings.Cut(setting, "=")
		fmt.Fprintf(&conf, "%s = '%s'\n", name, value)
	}
	f, err := os.OpenFile(filepath.Join(s.Dir, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(conf.String())
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = s.Resume()
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	return s, nil
}

// account returns the user that runs servers, 0 for this one.
func account() (uid, gid uint32, err error) {
	if os.Getuid() != 0 {
		return 0, 0, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return 0, 0, err
	}
	id, err := strconv.ParseUint(u.Uid, 10, 32)
	group, groupErr := strconv.ParseUint(u.Gid, 10, 32)
	return uint32(id), uint32(group), errors.Join(err, groupErr)
}

// Run runs one of PostgreSQL's programs as the user of the servers.
func (s *Server) Run(program string, args ...string) error {
	cmd := exec.Command(filepath.Join(Programs(), program), args...) //nolint:noctx // they end by themselves
	cmd.Dir = "/"
	uid, gid, err := account()
	if err != nil {
		return err
	}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	}
	out, err := os.CreateTemp("", "postgres-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }()
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out // a file, since a server keeps it open
	if err := cmd.Run(); err != nil {
		words, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w\n%s", program, err, words)
	}
	return nil
}

// DSN returns the connection string.
func (s *Server) DSN() string { return s.dsn("postgres", "") }

// URL returns the address in the form that operators write.
func (s *Server) URL() string { return "postgres://sextant@" + s.Address + "/postgres?sslmode=disable" }

func (s *Server) dsn(database, application string) string {
	host, port, _ := net.SplitHostPort(s.Address)
	return fmt.Sprintf("host=%s port=%s user=sextant dbname=%s sslmode=disable application_name='%s'",
		host, port, database, application)
}

// Stop stops the server: in mode immediate without a checkpoint, as if it had been killed.
func (s *Server) Stop(mode string) error {
	return s.Run("pg_ctl", "stop", "-D", s.Dir, "-m", mode, "-w")
}

// Resume starts a stopped server.
func (s *Server) Resume() error {
	return s.Run("pg_ctl", "start", "-D", s.Dir, "-w", "-t", "120", "-l", s.Dir+"/server.log")
}

// Promote makes a standby a primary.
func (s *Server) Promote() error { return s.Run("pg_ctl", "promote", "-D", s.Dir, "-w") }

// Processes returns the server's processes: the first one and its children.
func (s *Server) Processes() (all []int, err error) {
	first, err := os.ReadFile(filepath.Join(s.Dir, "postmaster.pid"))
	if err != nil {
		return nil, err
	}
	pid, _, _ := strings.Cut(string(first), "\n")
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	for _, word := range append([]string{pid}, strings.Fields(string(children))...) {
		n, _ := strconv.Atoi(word)
		all = append(all, n)
	}
	return all, err
}

// Close stops the server if it runs.
func (s *Server) Close() error {
	var err error
	if _, missing := os.Stat(filepath.Join(s.Dir, "postmaster.pid")); missing == nil {
		err = s.Stop("immediate")
	}
	return errors.Join(err, s.release())
}
