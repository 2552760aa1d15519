package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// TestAddKilled: the kill list gets the URLs that it lacks, each once, on lines of their own.
func TestAddKilled(t *testing.T) {
	for name, c := range map[string]struct{ before, after, fault string }{
		"empty":            {"", "http://a/\nhttp://b/\n", ""},
		"without line end": {"http://c/", "http://c/\nhttp://a/\nhttp://b/\n", ""},
		"has one":          {"# ours\r\nhttp://b/ # since May\r\n", "# ours\r\nhttp://b/ # since May\r\nhttp://a/\n", ""},
		"has all":          {"http://b/\nhttp://a/\n", "http://b/\nhttp://a/\n", ""},
		"in a comment":     {"# http://a/\nhttp://b/\n", "# http://a/\nhttp://b/\nhttp://a/\n", ""},
		"UTF-16":           {"\xff\xfeh\x00", "\xff\xfeh\x00", "save it as UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			list := filepath.Join(dir, "kill.cfg")
			testdir.Write(t, list, c.before)
			text := `<CrawlConfig><Crawler name="a"><Kill exact="kill.cfg"/></Crawler></CrawlConfig>`
			// The URLs of the file must be absolute: a list that cannot be read makes no Crawler.
			add := appendList(list)
			if file, _ := Parse(filepath.Join(dir, FileName), []byte(text), Lookups{}); file != nil {
				add = file.Crawlers[0].AddKilled
			}
			err := add([]string{"http://a/", "http://b/", "http://a/"})
			if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("error %v, want %q", err, c.fault)
			}
			if after, err := os.ReadFile(list); err != nil || string(after) != c.after {
				t.Errorf("the list is %q, %v; want %q", after, err, c.after)
			}
		})
	}
}

// TestAddKilledRefused: a list that is gone is not made anew.
func TestAddKilledRefused(t *testing.T) {
	list := filepath.Join(t.TempDir(), "kill.cfg")
	if err := appendList(list)([]string{"http://a/"}); err == nil || !strings.Contains(err.Error(), list) {
		t.Errorf("error %v, want one that names %s", err, list)
	}
	if _, err := os.Stat(list); !os.IsNotExist(err) {
		t.Errorf("the list was made: %v", err)
	}
}

// TestSharedKillList: several that add to one list at once lose nothing, and write each URL once.
func TestSharedKillList(t *testing.T) {
	list := filepath.Join(t.TempDir(), "kill.cfg")
	if err := os.WriteFile(list, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var adding errgroup.Group
	for i := range 8 {
		adding.Go(func() error { return appendList(list)([]string{"http://all/", fmt.Sprintf("http://a%d/", i)}) })
	}
	if err := adding.Wait(); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(list)
	if lines := strings.Count(string(b), "\n"); err != nil || lines != 9 || strings.Count(string(b), "http://all/") != 1 {
		t.Errorf("%d lines, %v:\n%s", lines, err, b)
	}
}
