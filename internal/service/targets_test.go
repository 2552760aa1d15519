package service

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/push"
)

// TestTargetTakesOtherSource: the first start with another source of a known target warns of what that does not do.
func TestTargetTakesOtherSource(t *testing.T) {
	store, press, web := teststore.New(t), "press", "web"
	target := func(name string, source *string) config.Push {
		return config.Push{Name: name, TargetSettings: push.TargetSettings{Source: source}}
	}
	for i, tt := range []struct {
		targets []config.Push
		warns   string
	}{
		{[]config.Push{target("a", nil)}, ""},
		{[]config.Push{target("a", nil), target("b", &web)}, ""},
		{[]config.Push{target("a", &press), target("b", &web)}, "target=a before=[] now=[press]"},
		{[]config.Push{target("a", &press), target("b", &web)}, ""},
	} {
		var out bytes.Buffer
		if err := rememberSources(t.Context(), store, tt.targets, slog.New(slog.NewTextHandler(&out, nil))); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); (got != "") != (tt.warns != "") || !strings.Contains(got, tt.warns) {
			t.Errorf("start %d logs %q, want %q", i, got, tt.warns)
		}
	}
}
