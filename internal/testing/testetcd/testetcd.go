// Package testetcd starts etcd for tests, as processes of their own: Debian's, or the one that SEXTANT_ETCD names. A test that
// needs it is skipped where there is none.
package testetcd

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testing/testlog"
	"github.com/sextant-crawler/sextant/internal/testing/testport"
)

// patience is how long a server may take to answer: far longer than on any machine.
const patience = 2 * time.Minute

// Server is one member of an etcd that a test started.
type Server struct {
	Client string // its URL

	program    string
	secure     *Secure // nil: no TLS
	name, peer string
	dir        string
	cluster    string
	cmd        *exec.Cmd
	log        testlog.Buffer
}

// Secure are the PEM files of a server that its clients reach over TLS, and which asks them for a certificate.
type Secure struct {
	Authority        string // of the clients' certificates
	Certificate, Key string // of the server; it may be a client, too
	// Ask is the TLS by which Start asks the server whether it runs.
	Ask *tls.Config
}

// Start starts an etcd of so many members and waits until all of them answer. Their ports are reserved by the system
// until the test ends.
func Start(t testing.TB, members int) []*Server {
	t.Helper()
	return start(t, members, nil)
}

// StartSecure is Start of one member with TLS.
func StartSecure(t testing.TB, s Secure) *Server {
	t.Helper()
	return start(t, 1, &s)[0]
}

func start(t testing.TB, members int, secure *Secure) []*Server {
	t.Helper()
	program := cmp.Or(os.Getenv("SEXTANT_ETCD"), "etcd")
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: apt-get install etcd-server, or make sextant-etcd and set SEXTANT_ETCD", program)
	}
	all := make([]*Server, members)
	var peers []string
	scheme := "http://"
	if secure != nil {
		scheme = "https://"
	}
	for i := range all {
		all[i] = &Server{program: program, secure: secure, name: fmt.Sprintf("m%d", i), Client: scheme + testport.Reserve(t), peer: "http://" + testport.Reserve(t), dir: t.TempDir()}
		peers = append(peers, all[i].name+"="+all[i].peer)
	}
	for _, s := range all {
		s.cluster = strings.Join(peers, ",")
		s.Run(t)
		t.Cleanup(func() {
			s.Kill()
			if t.Failed() {
				t.Logf("etcd %s:\n%s", s.name, s.log.String())
			}
		})
	}
	for _, s := range all {
		s.await(t)
	}
	return all
}

// await waits until the member answers, and sees a leader.
func (s *Server) await(t testing.TB) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	if s.secure != nil {
		transport.TLSClientConfig = s.secure.Ask
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: transport}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		answer, err := client.Get(s.Client + "/health")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("etcd %s does not answer: %v", s.name, err)
		}
	}
}

// syncs, in the environment, has members sync their files: for measurements.
const syncs = "SEXTANT_ETCD_SYNCS"

// Run starts the member, again after Kill. It does not sync its files: nobody pulls a plug here, and the disk may be slow.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	arguments := []string{
		"--name", s.name, "--data-dir", s.dir + "/data",
		"--listen-client-urls", s.Client, "--advertise-client-urls", s.Client,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer,
		"--initial-cluster", s.cluster, "--log-level", "warn",
	}
	if os.Getenv(syncs) == "" {
		arguments = append(arguments, "--unsafe-no-fsync")
	}
	if s.secure != nil {
		arguments = append(arguments, "--client-cert-auth", "--trusted-ca-file", s.secure.Authority, "--cert-file", s.secure.Certificate, "--key-file", s.secure.Key)
	}
	s.cmd = exec.Command(s.program, arguments...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the member at once; it may be ended already.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Process is the ID of the member's process.
func (s *Server) Process() int { return s.cmd.Process.Pid }

// URL is how sextant --engine names the servers.
func URL(servers []*Server) string {
	hosts := make([]string, len(servers))
	for i, s := range servers {
		hosts[i] = strings.TrimPrefix(s.Client, "http://")
	}
	return "etcd://" + strings.Join(hosts, ",")
}

// Leader is the member that leads, once one does.
func Leader(t testing.TB, servers []*Server) *Server {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		for _, s := range servers {
			answer, err := client.Post(s.Client+"/v3/maintenance/status", "application/json", strings.NewReader("{}"))
			if err != nil {
				continue
			}
			var status struct {
				Header struct {
					Member string `json:"member_id"`
				} `json:"header"`
				Leader string `json:"leader"`
			}
			err = json.NewDecoder(answer.Body).Decode(&status)
			_ = answer.Body.Close()
			if err == nil && status.Leader != "" && status.Leader == status.Header.Member {
				return s
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("no member of etcd leads")
		}
	}
}

// Freeze stops the member's process for a while, as a disk does on which a sync hangs: its connections stay.
func (s *Server) Freeze(t testing.TB, long time.Duration) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(long)
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
