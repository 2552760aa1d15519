package fetcher

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/sextant-crawler/sextant/fetcher/fault"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
)

// alone is set in the process that has /etc/resolv.conf and the network for itself.
const alone = "SEXTANT_TEST_ALONE"

// TestServersOfTheSystem: the servers of resolv.conf are asked in their order, and those
// that refuse or are silent leave their turn to the next. It runs in a process of its own
// whose /etc/resolv.conf is the test's.
func TestServersOfTheSystem(t *testing.T) {
	if os.Getenv(alone) != "" {
		testServersOfTheSystem(t)
		return
	}
	conf := filepath.Join(t.TempDir(), "resolv.conf")
	// Nobody listens at the first, the second says nothing.
	const servers = "nameserver 127.0.0.1\nnameserver 127.0.0.2\nnameserver 127.0.0.3\noptions timeout:1\n"
	testdir.Write(t, conf, servers)
	const prepare = "ip link set lo up && mount --bind "
	if out, err := exec.CommandContext(t.Context(), "unshare", "-rmn", "sh", "-c", prepare+`"$0" /etc/resolv.conf`, conf).CombinedOutput(); err != nil {
		testneed.Missing(t, "no process can have a resolv.conf of its own here: %v: %s", err, out)
	}
	c := exec.CommandContext(t.Context(), "unshare", "-rmn", "sh", "-c", prepare+`"$0" /etc/resolv.conf && exec "$1" "-test.run=^$2$"`,
		conf, os.Args[0], t.Name())
	c.Env = append(os.Environ(), alone+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func testServersOfTheSystem(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(addr)
	silent := &wireServer{asked: map[string]int{}, answer: func(query) [][]byte { return nil }}
	silent.listen(t, "127.0.0.2:53")
	live := &wireServer{asked: map[string]int{}, answer: func(q query) [][]byte {
		if q.Questions[0].Name.String() != "a.test." {
			return one(q.code(dnsmessage.RCodeNameError))
		}
		m := q.reply("127.0.0.1")
		m.Truncated = !q.tcp
		return one(m)
	}}
	live.listen(t, "127.0.0.3:53")
	f := newFetcher(t, func(s *Settings) { s.Judge = allowAll })
	for range 2 {
		resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://a.test:"+port+"/")})
		if err != nil || resp.Status != http.StatusOK {
			t.Fatalf("got %+v, %v", resp, err)
		}
		f.Close() // so that the name is looked up again, without asking the dead ones
	}
	want := map[string]int{"udp TypeA": 1, "udp TypeAAAA": 1, "tcp TypeA": 1, "tcp TypeAAAA": 1}
	if d := cmp.Diff(want, live.counts()); d != "" {
		t.Errorf("the server that answers was asked (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string]int{"udp TypeA": 1, "udp TypeAAAA": 1}, silent.counts()); d != "" {
		t.Errorf("the silent server was asked (-want +got):\n%s", d)
	}
	resp, err := f.Fetch(t.Context(), Request{URL: mustURL(t, "http://b.test:"+port+"/")})
	wantFault(t, resp, err, fault.DNSNotFound)
}
