package indexer_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/internal/demo/indexer"
)

const childVariable = "SEXTANT_INDEXER_TEST_CHILD"

// runChild serves dir, says where on stdout, and waits to be killed.
func runChild(dir string) int {
	server, err := indexer.Open(dir, indexer.Settings{}, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("http://" + listener.Addr().String())
	if err := server.Run(context.Background(), listener); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// spawn starts a child on dir; kill ends it with SIGKILL.
func spawn(t *testing.T, dir string) (c *client, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := false
	kill = func() {
		if !dead {
			dead = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // "signal: killed"
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the child did not start: %v", err)
	}
	c = newClient(t, line[:len(line)-1])
	c.readSession()
	return c, kill
}

func TestKillLosesWhatIsPushedAndKeepsWhatIsSynced(t *testing.T) {
	dir := t.TempDir()
	c, kill := spawn(t, dir)
	c.must(c.add(page("1", "http://a/synced", "safe words")...))
	c.must(c.post("set_checkpoint", url.Values{"PAPI_checkpoint": {"1"}, "PAPI_sync": {"true"}}))
	c.must(c.add(page("2", "http://a/pushed", "lost words")...))
	c.must(c.post("delete_documents", one("PAPI_uri", "http://a/synced")))
	c.must(c.post("set_checkpoint", one("PAPI_checkpoint", "2")))
	before := c.session
	kill()

	c, _ = spawn(t, dir)
	if c.session == before {
		t.Error("the session did not change")
	}
	if v := c.must(c.get("get_checkpoint", nil)); v != "1" {
		t.Errorf("checkpoint %q, want the synced 1", v)
	}
	status := c.must(c.get("get_documents_status", url.Values{"PAPI_uri": {"http://a/synced", "http://a/pushed"}}))
	want := "http%3A%2F%2Fa%2Fsynced true stamp of 1\nhttp%3A%2F%2Fa%2Fpushed false \n"
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("after the crash (-want +got):\n%s", diff)
	}
	old := url.Values{"PAPI_session": {before}}
	if code, _ := c.post("sync", old); code != 400 {
		t.Errorf("the old session is answered with %d", code)
	}
}

// TestKillAtAnyTimeKeepsDocumentsAndCheckpointTogether kills while a client pushes and
// syncs without a pause. Documents are numbered, and each checkpoint is the highest
// number before it: afterwards there must be exactly the documents up to it.
func TestKillAtAnyTimeKeepsDocumentsAndCheckpointTogether(t *testing.T) {
	dir := t.TempDir()
	next := 1
	for round := range 6 {
		c, kill := spawn(t, dir)
		acknowledged := make(chan int, 1000)
		go pushUntilDead(c, next, acknowledged)
		last := next - 1
		for range round + 1 { // then kill in the middle of what comes next
			last = <-acknowledged
		}
		kill()
		for n := range acknowledged { // those that were answered on the way
			last = n
		}
		next = checkTruth(t, dir, last) + 1
	}
}

// pushUntilDead adds seven documents, then a synced checkpoint, again and again.
func pushUntilDead(c *client, from int, acknowledged chan<- int) {
	defer close(acknowledged)
	for {
		var parts []part
		for i := range 7 {
			n := strconv.Itoa(from + i)
			parts = append(parts, page(n, "http://a/"+n, "words of "+n)...)
		}
		if code, _ := c.add(parts...); code/100 != 2 {
			return
		}
		from += 7
		q := url.Values{"PAPI_checkpoint": {strconv.Itoa(from - 1)}, "PAPI_sync": {"true"}}
		if code, _ := c.post("set_checkpoint", q); code/100 != 2 {
			return
		}
		acknowledged <- from - 1
	}
}

func checkTruth(t *testing.T, dir string, acknowledged int) (checkpoint int) {
	t.Helper()
	c, server, stop := start(t, dir, indexer.Settings{})
	defer stop()
	c.readSession()
	checkpoint, err := strconv.Atoi(c.must(c.get("get_checkpoint", nil)))
	if err != nil {
		t.Fatal(err)
	}
	if checkpoint < acknowledged {
		t.Errorf("checkpoint %d, but %d was acknowledged", checkpoint, acknowledged)
	}
	count, err := server.Count()
	if err != nil {
		t.Fatal(err)
	}
	if count != checkpoint {
		t.Errorf("%d documents at checkpoint %d", count, checkpoint)
	}
	status := url.Values{}
	for n := 1; n <= checkpoint && n < 500; n++ {
		status.Add("PAPI_uri", "http://a/"+strconv.Itoa(n))
	}
	if got := c.must(c.get("get_documents_status", status)); strings.Contains(got, " false ") {
		t.Errorf("documents up to checkpoint %d are missing:\n%s", checkpoint, got)
	}
	return checkpoint
}

func TestOpeningAndClosingIsFast(t *testing.T) {
	dir := t.TempDir()
	for _, what := range []string{"new", "old"} {
		begin := time.Now()
		server, err := indexer.Open(dir, indexer.Settings{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s empty index, open and close: %v", what, time.Since(begin)) // a figure, not a check: machines differ
	}
}
