package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/cmd/sextant/manual"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// said runs a command line and returns its exit code and what it prints.
func said(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"sextant"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestHelp: all help fits a terminal, each command is listed once and has help by itself,
// and tells of all its options.
func TestHelp(t *testing.T) {
	fits := func(name, text string) {
		t.Helper()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > manual.HelpWidth {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
	top := printed(t, "help")
	fits("help", top)
	if other := printed(t, "--help"); other != top {
		t.Errorf("--help is not help:\n%s", cmp.Diff(top, other))
	}
	if printed(t) != top || printed(t, "help", "help") != top {
		t.Error("without a command, or of itself, help is another text")
	}
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		if n := strings.Count(top, "\n  "+c.Name+" ") + strings.Count(top, "\n  "+c.Name+"\n"); n != 1 {
			t.Errorf("%s is listed %d times: give it a group in manual/help.go", c.Name, n)
		}
		if c.Name == "help" {
			continue
		}
		text := printed(t, "help", c.Name)
		fits(c.Name, text)
		if other := printed(t, c.Name, "--help"); other != text {
			t.Errorf("%s --help is not help %s:\n%s", c.Name, c.Name, other)
		}
		if other := printed(t, c.Name, "verify", "-h"); other != text { // an argument that is also the name of a command
			t.Errorf("%s verify -h is not help %s:\n%s", c.Name, c.Name, other)
		}
		for _, f := range c.Flags {
			if !strings.Contains(text, "\n  "+f.Names[0]) {
				t.Errorf("help %s does not tell of %s", c.Name, f.Names[0])
			}
		}
	}
}

// TestVariables: what is the same each time may come from the environment. What selects,
// decides or shapes one answer may not: it would do so unseen.
func TestVariables(t *testing.T) {
	var names []string
	for _, v := range manual.Variables(newApp(nil, nil, nil)) {
		names = append(names, strings.TrimPrefix(v.Name, "SEXTANT_"))
	}
	want := []string{
		"CONFIG", "CRAWLER", "DATA", "DATABASE", "INDEXER_LISTEN", "LISTEN", "LOG_FORMAT", "LOG_LEVEL", "MEMORY_LIMIT",
		"OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET_FILE", "OIDC_ISSUER", "OIDC_OPERATOR_GROUP", "OIDC_READER_GROUP",
		"OPERATOR_TOKEN_FILE",
		"PASSWORD", "READER_TOKEN_FILE", "THREADS", "TLS_CERT", "TLS_KEY", "USER", "WEBHOOK_SECRET",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// TestWrongOptions: a wrong option is answered in our words, with the one that was meant.
func TestWrongOptions(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"urls", "--hoost", "x"}, "sextant: urls: there is no option --hoost: did you mean --host? (sextant help urls lists them)\n"},
		{[]string{"urls", "-x"}, "sextant: urls: there is no option -x (sextant help urls lists them)\n"},
		{[]string{"--hlep"}, "sextant: sextant: there is no option --hlep: did you mean --help? (sextant help lists them)\n"},
		{[]string{"status", "--hosts", "many"}, "sextant: status: --hosts cannot be \"many\" (sextant help status describes its values)\n"},
		{[]string{"run", "--drain-timeout", "5"}, "sextant: run: --drain-timeout cannot be \"5\" (write a time with its unit, such as 90s or 10m)\n"},
		{[]string{"run", "--once=perhaps"}, "sextant: run: --once cannot be \"perhaps\" (sextant help run describes its values)\n"},
		{[]string{"report", "broken", "--top"}, "sextant: report: the option --top requires a value (see sextant help report)\n"},
		{[]string{"statsu"}, "sextant: there is no command \"statsu\": did you mean \"status\"? (sextant help lists them)\n"},
		{[]string{"help", "statsu"}, "sextant: there is no command \"statsu\": did you mean \"status\"?\n"},
	} {
		if code, out, errs := said(t, tt.args...); code != exitUsage || errs != tt.want || out != "" {
			t.Errorf("%s: exit %d, %s%s, want %s", tt.args, code, out, errs, tt.want)
		}
	}
}

// TestNoArguments: a command whose help names no arguments refuses them.
func TestNoArguments(t *testing.T) {
	asked := 0
	for _, c := range manual.Reference(newApp(nil, nil, nil)) {
		if c.Arguments != "" {
			continue
		}
		asked++
		want := fmt.Sprintf("sextant: %[1]s takes no arguments, found \"surplus\" (sextant help %[1]s lists its options)\n", c.Name)
		if code, out, errs := said(t, c.Name, "surplus"); code != exitUsage || errs != want || out != "" {
			t.Errorf("%s surplus: exit %d, %s%s, want %s", c.Name, code, out, errs, want)
		}
	}
	if asked < 15 {
		t.Errorf("only %d commands without arguments are found", asked)
	}
}

// TestHeadline is the first line of a status in all of its states.
func TestHeadline(t *testing.T) {
	busy := func(s crawl.Status) *admin.Status { return &admin.Status{Status: s} }
	waiting := map[string]uint64{"index": 1000, "refresh": 188}
	for want, s := range map[string]*admin.Status{
		"intranet: crawling, 0.8 pages/s, 1,188 waiting, 2 hosts resting": func() *admin.Status {
			s := busy(crawl.Status{Crawler: "intranet", Pending: waiting, IdleCode: crawl.IdleHostsClosed, Idle: "they rest", Hosts: crawl.HostsStatus{Closed: 2}})
			s.Rates.PagesPerS = 0.84
			return s
		}(),
		"a: idle (no URLs waiting), 1 deletion pending, 2 dead letters": busy(crawl.Status{
			Crawler: "a", IdleCode: crawl.IdleNoURL, Idle: "no URLs waiting", Outbox: crawl.OutboxStatus{Pending: 1, Dead: 2},
		}),
		"a: idle (no URLs waiting), 3 deletions and 60 new texts pending": {
			Status: crawl.Status{
				Crawler: "a", IdleCode: crawl.IdleNoURL, Idle: "no URLs waiting", Outbox: crawl.OutboxStatus{Pending: 63},
			},
			PendingCounts: admin.PendingCounts{NewTexts: 60},
		},
		"a: paused (no page is fetched until it is resumed), 1,188 waiting":                                        busy(crawl.Status{Crawler: "a", IdleCode: crawl.IdlePaused, Pending: waiting}),
		"a: stopped (the outbox is full, because an indexer does not accept the waiting documents), 1,188 waiting": busy(crawl.Status{Crawler: "a", IdleCode: crawl.IdleOutboxFull, Pending: waiting}),
		"a: crawling slowly (the store is slow)":                                                                   busy(crawl.Status{Crawler: "a", IdleCode: crawl.IdleStoreSlow, Idle: "the store is slow"}),
		"a: idle (all fifos are off), 1,188 waiting":                                                               busy(crawl.Status{Crawler: "a", IdleCode: crawl.IdleSourcesOff, Idle: "all fifos are off", Pending: waiting}),
		"a: not running, 1,188 waiting":                                                                            busy(crawl.Status{Crawler: "a", Idle: admin.NotRunning, Pending: waiting}),
		"crawl: not running (paused until it is resumed)":                                                          busy(crawl.Status{Idle: admin.NotRunning, Paused: true}),
	} {
		if got := headline(t, s, unpainted); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	paused := busy(crawl.Status{Crawler: "a", IdleCode: crawl.IdlePaused})
	if got := headline(t, paused, painted); got != "a: \x1b[33mpaused\x1b[0m (no page is fetched until it is resumed)" {
		t.Errorf("in colour: %q", got)
	}
}

func headline(t *testing.T, s *admin.Status, p paint) string {
	var out strings.Builder
	if err := texts(&out, p)("headline", s); err != nil {
		t.Error(err)
	}
	return out.String()
}

// TestNoColoursInPipes: what is no terminal gets none.
func TestNoColoursInPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "CrawlConfig.xml")
	testdir.Write(t, path, `<CrawlConfig><Crawler name="a"><Root url="http://a.example/"/></Crawler></CrawlConfig>`)
	if _, out, _ := said(t, "check", "-c", path); strings.Contains(out, "\x1b") || !strings.Contains(out, "Crawler ") {
		t.Errorf("check prints %q", out)
	}
}

// TestListedCommands: the commands of a category stand together, so that help names each category once.
func TestListedCommands(t *testing.T) {
	var categories []string
	for _, c := range newApp(nil, nil, nil).Commands {
		if !c.Hidden {
			categories = append(categories, c.Category)
		}
	}
	categories = slices.Compact(categories)
	if slices.Sort(categories); len(slices.Compact(slices.Clone(categories))) != len(categories) || categories[0] == "" {
		t.Errorf("the categories are %q", categories)
	}
}

// TestDescriptions: each section of descriptions.txt is that of a command.
func TestDescriptions(t *testing.T) {
	described := 0
	for _, c := range newApp(nil, nil, nil).Commands {
		if c.Description != "" {
			described++
		}
	}
	if sections := strings.Count(descriptions, "\n## "); described == 0 || described != sections {
		t.Errorf("%d commands have a description, and the file has %d", described, sections)
	}
}
