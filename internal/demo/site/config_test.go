package site

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

const testOrigin = "http://127.0.0.1:4711"

func loadConfig(t *testing.T) config.Crawler {
	t.Helper()
	text := Config(Places{Site: testOrigin + "/", Indexer: "http://127.0.0.1:10002"})
	file, report := config.Parse(config.FileName, []byte(text), config.Lookups{})
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(report.Warnings, report.Notes...) {
		t.Errorf("the sample configuration is not clean: %v", p)
	}
	return file.Crawlers[0]
}

func TestConfigIsClean(t *testing.T) {
	c := loadConfig(t)
	if c.Frontier.Policy != scheduler.Cautious || c.Frontier.Throttle.Milliseconds() != 5 {
		t.Errorf("error policy %v, throttle %v", c.Frontier.Policy, c.Frontier.Throttle)
	}
	if len(c.Push) != 2 || c.Push[0].Kind != "papi" || c.Push[1].Kind != "file" {
		t.Errorf("targets %+v, want papi and file", c.Push)
	}
}

// TestConfigDecides says what the sample's comments promise.
func TestConfigDecides(t *testing.T) {
	engine := loadConfig(t).Engine
	meta := func(pairs ...string) (metas []actionrules.Meta) {
		for i := 0; i < len(pairs); i += 2 {
			metas = append(metas, actionrules.Meta{Name: pairs[i], Value: pairs[i+1]})
		}
		return metas
	}
	tests := []struct {
		path          string
		index, follow bool // neither: ignored
		source        string
		shift         int
		metas         []actionrules.Meta
	}{
		{"/", true, true, "", 0, nil},
		{"/about", true, true, "", 0, nil},
		{"/products/", false, true, "products", -1, meta("department", "Sales")},
		{"/products/heron-200", true, true, "products", -1, meta("department", "Sales")},
		{"/support/faq", true, true, "support", 0, meta("department", "Support")},
		{"/support/faq?print=1", false, false, "", 0, nil},
		{"/news/2025/desk-6", true, true, "news", 0, meta("department", "Press")},
		{"/news/2024/storm-edda", true, true, "news", 1, meta("department", "Press", "archive", "true")},
		{"/news/2023/", false, true, "news", 1, meta("department", "Press", "archive", "true")},
		{"/people/", false, true, "intranet", 0, meta("department", "Staff")},
		{"/people/jun-sato", true, false, "intranet", 0, meta("department", "Staff")},
		{"/internal/handbook", true, true, "intranet", 0, meta("department", "Staff")},
		{"/internal/lunch", false, false, "", 0, nil},
		{"/internal/rooms", false, false, "", 0, nil},
		{"/downloads/heron-firmware-3.2.zip", false, false, "", 0, nil},
		{"/images/gauge.svg", false, false, "", 0, nil},
		{"/style.css", false, false, "", 0, nil},
	}
	for _, tt := range tests {
		u, err := weburl.Parse(testOrigin + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		d := engine.Decide(u)
		if !tt.index && !tt.follow {
			if d.Crawl() {
				t.Errorf("%s: %+v, want it ignored", tt.path, d)
			}
			continue
		}
		got := []any{d.Accept, d.Index, d.Follow, d.Source, d.Shift, d.Metas}
		want := []any{true, tt.index, tt.follow, tt.source, tt.shift, tt.metas}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
	if u, err := weburl.Parse("https://example.org/"); err != nil || engine.Decide(u).Crawl() {
		t.Errorf("another site is crawled, or no URL: %v", err)
	}
}
