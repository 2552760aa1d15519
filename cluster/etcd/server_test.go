package etcd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/testport"
)

// patience is how long a server may take to do what it must: far longer than on any machine.
const patience = 2 * time.Minute

// server is one member of an etcd that a test started.
type server struct {
	program            string
	name, client, peer string
	dir                string
	cluster            string
	cmd                *exec.Cmd
	log                output
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// start starts an etcd of so many members and waits until it answers. Their ports are reserved by the system
// until the test ends.
func start(t *testing.T, members int) []*server {
	t.Helper()
	program := cmp.Or(os.Getenv("SEXTANT_ETCD"), "etcd")
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: apt-get install etcd-server", program)
	}
	all := make([]*server, members)
	var peers []string
	for i := range all {
		all[i] = &server{program: program, name: fmt.Sprintf("m%d", i), client: "http://" + testport.Reserve(t), peer: "http://" + testport.Reserve(t), dir: t.TempDir()}
		peers = append(peers, all[i].name+"="+all[i].peer)
	}
	for _, s := range all {
		s.cluster = strings.Join(peers, ",")
		s.run(t)
		t.Cleanup(func() {
			s.kill()
			if t.Failed() {
				t.Logf("etcd %s:\n%s", s.name, s.log.b.String())
			}
		})
	}
	e := open(t, "wait/", all...)
	deadline := time.Now().Add(patience)
	for {
		if _, err := e.Read(t.Context(), "x"); err == nil {
			return all
		} else if time.Now().After(deadline) {
			t.Fatalf("etcd does not answer: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// run starts the member. It does not sync its files: nobody pulls a plug here, and the disk may be slow.
func (s *server) run(t *testing.T) {
	t.Helper()
	s.cmd = exec.Command(s.program, "--name", s.name, "--data-dir", s.dir+"/data",
		"--listen-client-urls", s.client, "--advertise-client-urls", s.client,
		"--listen-peer-urls", s.peer, "--initial-advertise-peer-urls", s.peer,
		"--initial-cluster", s.cluster, "--unsafe-no-fsync", "--log-level", "warn")
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill ends the member at once; it may be ended already.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func open(t *testing.T, prefix string, servers ...*server) *Engine {
	t.Helper()
	s := Settings{Prefix: prefix}
	for _, server := range servers {
		s.Endpoints = append(s.Endpoints, server.client)
	}
	e, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// eventually calls until call says that it is done.
func eventually(t *testing.T, what string, call func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !call(ctx) {
		if ctx.Err() != nil {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
