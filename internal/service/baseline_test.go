package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// naming is a configuration that names those of four things whose bits are set.
func naming(bits int) string {
	attributes, notify, inside := "", "", ""
	if bits&1 != 0 {
		notify = `<Notify command="/bin/true  --now"/>`
	}
	if bits&2 != 0 {
		inside = `<Kill exact="kill.cfg"/>`
	}
	if bits&4 != 0 {
		attributes = ` from="${BASELINE_TEST}"`
	}
	if bits&8 != 0 {
		attributes += ` crawlLog="../data/crawl.log"`
	}
	return `<CrawlConfig>` + notify + `<Crawler name="a"` + attributes + `><Root url="http://a.test/"/>` + inside + `</Crawler></CrawlConfig>`
}

// TestReceivedWidensNothing: after any steps over the network and on the machine, with
// restarts between them, a configuration over the network may name exactly what was named
// on the machine last; and where what was kept is lost, never more than that.
func TestReceivedWidensNothing(t *testing.T) {
	t.Setenv("BASELINE_TEST", "a@b.test")
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("SEXTANT_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("SEXTANT_TEST_SEED=%d", seed)
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // steps of a test
	m := onMachine(t, map[string]string{"config/CrawlConfig.xml": naming(15), "config/kill.cfg": ""})
	local, disk, lost := 15, 15, false
	for step := range 400 {
		next := chance.IntN(16)
		what := ""
		switch chance.IntN(8) {
		case 0:
			what = fmt.Sprintf("written on the machine: %04b", next)
			if next != disk { // else nothing is written
				local, disk, lost = next, next, false
			}
			m.write("config/CrawlConfig.xml", naming(next))
			m.baseline.look()
		case 1:
			what = "restart"
			m.restart()
		case 2:
			if chance.IntN(4) == 0 {
				what, lost = "lost", true
				m.write("data/"+baselineFile, []string{"", "{", `{"uses":7}`}[chance.IntN(3)])
				m.restart()
			}
		default:
			what = fmt.Sprintf("received: %04b", next)
			words := m.draft(naming(next), false)
			refused := strings.Contains(words, "over the network")
			if beyond := next&^local != 0; refused != beyond && (beyond || !lost) {
				t.Fatalf("step %d, %s after %04b on the machine, lost %v: %s", step, what, local, lost, words)
			}
			if !refused {
				m.receive(naming(next))
				disk = next
			}
		}
		if step%50 == 0 {
			t.Log(step, what)
		}
	}
}

// TestReceivedButNotWritten: a text that could not be written is the machine's own when
// somebody puts it there by hand.
func TestReceivedButNotWritten(t *testing.T) {
	t.Setenv("BASELINE_TEST", "a@b.test")
	m := onMachine(t, map[string]string{"config/CrawlConfig.xml": naming(15), "config/kill.cfg": ""})
	readOnly := errors.New("read-only")
	if err := m.Receive([]byte(naming(1)), func() error { return readOnly }); !errors.Is(err, readOnly) {
		t.Errorf("received: %v", err)
	}
	m.write("config/CrawlConfig.xml", naming(1))
	if words := m.draft(naming(2), false); !strings.Contains(words, "over the network") {
		t.Errorf("what is on the machine no more: %s", words)
	}
	// One that failed behind the writing came over the network.
	err := m.Receive([]byte(naming(0)), func() error {
		m.write("config/CrawlConfig.xml", naming(0))
		return readOnly
	})
	if !errors.Is(err, readOnly) {
		t.Errorf("received: %v", err)
	}
	m.restart()
	if words := m.draft(naming(1), false); strings.Contains(words, "error") {
		t.Errorf("what the machine names: %s", words)
	}
}

// TestReceivedAndKilled: a process that is killed between its note and the writing leaves
// the baseline as it was.
func TestReceivedAndKilled(t *testing.T) {
	t.Setenv("BASELINE_TEST", "a@b.test")
	m := onMachine(t, map[string]string{"config/CrawlConfig.xml": naming(15), "config/kill.cfg": ""})
	m.receive(naming(3))
	noted := func() (k kept) {
		if err := json.Unmarshal(testdir.Read(t, m.at("data/"+baselineFile)), &k); err != nil {
			t.Fatal(err)
		}
		return k
	}
	func() {
		defer func() { _ = recover() }()
		_ = m.Receive([]byte(naming(1)), func() error { panic("killed") })
	}()
	if got := noted().Received; len(got) != 2 {
		t.Fatalf("noted: %v", got)
	}
	m.restart()
	if words := m.draft(naming(15), false); strings.Contains(words, "error") {
		t.Errorf("what the machine names: %s", words)
	}
	m.receive(naming(15))
	if got := len(noted().Received); got != 1 {
		t.Errorf("%d texts are kept in mind, want the last one", got)
	}
}
