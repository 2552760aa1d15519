package service

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// machine is a folder with a configuration, as it lies on the service's machine.
type machine struct {
	*testing.T
	root string
	*configuration
}

// onMachine writes files, by their paths below a new folder. The service's configuration is
// config/CrawlConfig.xml.
func onMachine(t *testing.T, files map[string]string) *machine {
	t.Helper()
	m := &machine{T: t, root: t.TempDir()}
	for path, text := range files {
		m.write(path, text)
	}
	m.write("data/x", "")
	m.restart()
	return m
}

func (m *machine) at(name string) string { return filepath.Join(m.root, name) }

func (m *machine) write(name, text string) {
	m.Helper()
	if err := os.MkdirAll(filepath.Dir(m.at(name)), 0o750); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(m.at(name), []byte(text), 0o600); err != nil {
		m.Fatal(err)
	}
}

// restart has another process read what was kept.
func (m *machine) restart() {
	path := m.at("config/CrawlConfig.xml")
	m.configuration = &configuration{path: path, baseline: newBaseline(path, m.at("data"), slog.New(slog.DiscardHandler))}
}

// draft is what is found in a text; crawler stands inside of its Crawler.
func (m *machine) draft(text string, local bool) string {
	var words strings.Builder
	for _, f := range m.Draft([]byte(text), local).Findings {
		words.WriteString(f.Severity + " " + f.String() + "\n")
	}
	return words.String()
}

// receive puts a text that is allowed over the network in the place of the configuration.
func (m *machine) receive(text string) {
	m.Helper()
	if words := m.draft(text, false); strings.Contains(words, "error") {
		m.Fatalf("refused: %s", words)
	}
	write := func() error { return os.WriteFile(m.at("config/CrawlConfig.xml"), []byte(text), 0o600) }
	if err := m.Receive([]byte(text), write); err != nil {
		m.Fatal(err)
	}
}

// crawlerOf is a configuration of one Crawler with something inside.
func crawlerOf(inside string) string {
	return `<CrawlConfig><Crawler name="a"><Root url="http://a.test/"/>` + inside + `</Crawler></CrawlConfig>`
}

// TestDraftFromTheNetwork: a configuration that is sent may name the files that the one on
// the machine names in the same attribute, and no others, however their paths are written.
func TestDraftFromTheNetwork(t *testing.T) {
	m := onMachine(t, map[string]string{
		"config/CrawlConfig.xml": crawlerOf(`<CrawlSpace rules="../elsewhere/named.rules"/><Kill exact="kill.cfg" patterns="kill.cfg"/>`),
		"config/kill.cfg":        "# the killed word\n", "config/in.rules": "the rules' word\n",
		"elsewhere/named.rules": "allow domain *\n", "elsewhere/secret": "the secret word\n",
	})
	for link, target := range map[string]string{"config/link": "../elsewhere/secret", "config/folder": "../elsewhere"} {
		if err := os.Symlink(target, m.at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for inside, allowed := range map[string]bool{
		`<CrawlSpace rules="../elsewhere/named.rules"/>`:                                true,
		`<CrawlSpace rules="` + m.at("elsewhere/named.rules") + `"/>`:                   true,
		`<CrawlSpace rules="../config/../elsewhere/named.rules"/>`:                      true,
		`<Kill patterns="kill.cfg"/>`:                                                   true,
		`<CrawlSpace rules="` + m.at("elsewhere") + `/../elsewhere/named.rules"/>`:      false,
		`<CrawlSpace rules="folder/named.rules"/>`:                                      false,
		`<CrawlSpace rules="folder/../named.rules"/>`:                                   false,
		`<CrawlSpace global="../elsewhere/named.rules"/>`:                               false,
		`<CrawlSpace rules="kill.cfg"/>`:                                                false,
		`<CrawlSpace rules="in.rules"/>`:                                                false,
		`<CrawlSpace rules="..%2felsewhere/secret"/>`:                                   false,
		`<CrawlSpace rules="&#47;etc/passwd"/>`:                                         false,
		`<CrawlSpace rules="CrawlConfig.xml"/>`:                                         false,
		`<Roots file="kill.cfg"/>`:                                                      false,
		`<Roots file="../elsewhere/secret"/>`:                                           false,
		`<Roots file="` + m.at("elsewhere/secret") + `"/>`:                              false,
		`<Roots file="link"/>`:                                                          false,
		`<RejectList file="/etc/passwd"/>`:                                              false,
		`<Fetch name="f" caFile="kill.cfg"/>`:                                           false,
		`<Push kind="file" dir="../elsewhere"/>`:                                        false,
		`<Push kind="webhook" url="http://a.test/" secret="file:kill.cfg"/>`:            false,
		`<Push kind="webhook" url="http://a.test/" caFile="/none"/>`:                    false,
		`<Fetch name="f"><Header name="X-A" value="file:../elsewhere/secret"/></Fetch>`: false,
	} {
		words := m.draft(crawlerOf(inside), false)
		if strings.Contains(words, "over the network") == allowed || strings.Contains(words, "word\"") || strings.Contains(words, "root:") ||
			!allowed && strings.Contains(words, "no such file") {
			t.Errorf("%s over the network: %s", inside, words)
		}
		if words := m.draft(crawlerOf(inside), true); strings.Contains(words, "over the network") {
			t.Errorf("%s on the machine: %s", inside, words)
		}
	}
}

// TestDraftFromTheNetworkBeside: crawl.rules beside the configuration is read for
// everybody.
func TestDraftFromTheNetworkBeside(t *testing.T) {
	m := onMachine(t, map[string]string{"config/CrawlConfig.xml": crawlerOf(""), "config/crawl.rules": "allow\n"})
	if words := m.draft(crawlerOf(""), false); !strings.Contains(words, "crawl.rules:1:") {
		t.Errorf("found: %s", words)
	}
}

// TestDraftWithoutConfiguration: where the file on the machine cannot be read, nothing
// may be named, and it is told.
func TestDraftWithoutConfiguration(t *testing.T) {
	m := onMachine(t, nil)
	if words := m.draft(crawlerOf(""), false); !strings.Contains(words, "cannot be read") {
		t.Errorf("found: %s", words)
	}
	if err := m.Receive([]byte(crawlerOf("")), func() error { return errors.New("written") }); err == nil || strings.Contains(err.Error(), "written") {
		t.Errorf("received: %v", err)
	}
}

// TestDraftCertificateFromTheNetwork: the files of a log-in's certificate are no way
// around; those that the machine's own log-in has are read.
func TestDraftCertificateFromTheNetwork(t *testing.T) {
	login := func(attributes string) string {
		return `<CrawlConfig><Crawler name="a"><Root url="https://a.test/"/>` +
			`<Fetch auth="certificate" origins="https://a.test" ` + attributes + `><Host val="a.test"/></Fetch></Crawler></CrawlConfig>`
	}
	m := onMachine(t, map[string]string{
		"out.pem": "not PEM", "config/in.pem": "not PEM", "config/CrawlConfig.xml": login(`certFile="in.pem" keyFile="in.pem"`),
	})
	for file, want := range map[string]string{"in.pem": "no PEM block", "../out.pem": "over the network", "../none.pem": "over the network"} {
		for _, attributes := range []string{`certFile="` + file + `"`, `certFile="` + file + `" keyFile="` + file + `"`} {
			if words := m.draft(login(attributes), false); !strings.Contains(words, want) {
				t.Errorf("%s over the network: %s", attributes, words)
			}
		}
	}
}

// TestOwnFiles: nothing that a configuration names may be written over what the service keeps for itself.
func TestOwnFiles(t *testing.T) {
	data := t.TempDir()
	own := Own(data, admin.AccessSettings{}, "")
	for name, is := range map[string]bool{
		"operator.token": true, "reader.token": true, "config-baseline.json": true, "config-baseline.json.new": true,
		"notices.json.new": true, "cookies": true, "cookies.new": true, "store/000001.sst": true, "docs/store/LOCK": true,
		"crawl.log": false, "docs/crawl.log": false, "logs/reader.token": false,
	} {
		if got := own.owner(filepath.Join(own.data, name)); (got != "") != is {
			t.Errorf("%s: %q", name, got)
		}
	}
}
