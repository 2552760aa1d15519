package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDraftFromTheNetwork: a configuration that is sent names files of its folder, and
// those that the saved one names; others are not read, whatever links lead to them.
func TestDraftFromTheNetwork(t *testing.T) {
	root := t.TempDir()
	folder, elsewhere := filepath.Join(root, "config"), filepath.Join(root, "config2")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(elsewhere, 0o750); err != nil {
		t.Fatal(err)
	}
	config := func(rules string) string {
		return `<CrawlConfig><Crawler name="a"><Root url="http://a.test/"/><CrawlSpace rules="` + rules + `"/></Crawler></CrawlConfig>`
	}
	for path, text := range map[string]string{
		filepath.Join(folder, "in.rules"): "allow domain *\n", filepath.Join(elsewhere, "named.rules"): "allow domain *\n",
		filepath.Join(elsewhere, "secret"): "the secret word\n", filepath.Join(folder, "CrawlConfig.xml"): config("../config2/named.rules"),
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(elsewhere, "secret"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	s := &service{path: filepath.Join(folder, "CrawlConfig.xml")}
	for rules, allowed := range map[string]bool{
		"in.rules": true, "../config2/named.rules": true, filepath.Join(folder, "in.rules"): true,
		"../config2/secret": false, filepath.Join(elsewhere, "secret"): false, "link": false, "/etc/passwd": false,
	} {
		words := ""
		for _, f := range s.Draft([]byte(config(rules)), false).Findings {
			words += f.String() + "\n"
		}
		if strings.Contains(words, "comes over the network") == allowed || strings.Contains(words, "secret word") || strings.Contains(words, "root:") {
			t.Errorf("%s over the network: %s", rules, words)
		}
	}
	for _, f := range s.Draft([]byte(config("link")), true).Findings {
		if strings.Contains(f.Message, "network") {
			t.Errorf("over the socket: %s", f)
		}
	}
}

// TestDraftFromTheNetworkLooksForNothing: of paths elsewhere it is not said whether there
// is anything; of those in the configuration's folder it is.
func TestDraftFromTheNetworkLooksForNothing(t *testing.T) {
	root := t.TempDir()
	s := &service{path: filepath.Join(root, "config", "CrawlConfig.xml")}
	if err := os.MkdirAll(filepath.Join(root, "config", "logs"), 0o750); err != nil {
		t.Fatal(err)
	}
	for log, missing := range map[string]bool{
		"crawl.log": false, "logs/crawl.log": false, "gone/crawl.log": true, "../crawl.log": false, "../gone/crawl.log": false,
	} {
		text := `<CrawlConfig><Notify command="` + filepath.Join(root, "tell") + `"/><Crawler name="a" crawlLog="` + log + `"><Root url="http://a.test/"/></Crawler></CrawlConfig>`
		words := ""
		for _, f := range s.Draft([]byte(text), false).Findings {
			words += f.String() + "\n"
		}
		if strings.Contains(words, "there is no folder") != missing || strings.Contains(words, "there is no file") || strings.Contains(words, "error") {
			t.Errorf("%s over the network: %s", log, words)
		}
	}
}

// TestDraftCertificateFromTheNetwork: the files of a log-in's certificate are no way
// around; those of the configuration's folder are read.
func TestDraftCertificateFromTheNetwork(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "config")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(root, "out.pem"): "not PEM", filepath.Join(folder, "in.pem"): "not PEM",
		filepath.Join(folder, "CrawlConfig.xml"): `<CrawlConfig><Crawler name="a"><Root url="http://a.test/"/></Crawler></CrawlConfig>`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &service{path: filepath.Join(folder, "CrawlConfig.xml")}
	for file, want := range map[string]string{"in.pem": "no PEM block", "../out.pem": "comes over the network", "../none.pem": "comes over the network"} {
		for _, attributes := range []string{`certFile="` + file + `"`, `certFile="` + file + `" keyFile="` + file + `"`} {
			text := `<CrawlConfig><Crawler name="a"><Root url="https://a.test/"/>` +
				`<Fetch auth="certificate" origins="https://a.test" ` + attributes + `><Host val="a.test"/></Fetch></Crawler></CrawlConfig>`
			words := ""
			for _, f := range s.Draft([]byte(text), false).Findings {
				words += f.String() + "\n"
			}
			if !strings.Contains(words, want) {
				t.Errorf("%s over the network: %s", attributes, words)
			}
		}
	}
}
