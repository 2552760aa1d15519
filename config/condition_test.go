package config

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

func TestParseCondition(t *testing.T) {
	cond, err := ParseCondition("--match", []byte(`<And><Path val="/a"/><Not><Ext val=".gif"/></Not></And>`))
	if err != nil {
		t.Fatal(err)
	}
	m, errs := actionrules.CompileCondition(cond)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for raw, want := range map[string]bool{"http://h/a/b": true, "http://h/a.gif": false, "http://h/b": false} {
		u, err := weburl.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if m.Match(u) != want {
			t.Errorf("%s: matched %v", raw, !want)
		}
	}
}

func TestParseConditionErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`<Pat val="/a"/>`, `--match:1:1: unknown element <Pat>`},
		{"<And>\n  <Path/>\n</And>", `--match:2:3: <Path> needs the attribute value`},
		{`<Path val="/a"/><Index/>`, "one condition and nothing else"},
		{`<Path val="/a"/></Rule><Rule><Path val="/b"/>`, "one condition and nothing else"},
		{``, `--match "": write one condition and nothing else, such as <Path val="/news/"/>`},
		{`/news/`, `--match "/news/": write one condition`},
		{`<Path val="/a"/><Path val="/b"/>`, "<And> and <Or> join several"},
	} {
		_, err := ParseCondition("--match", []byte(tt.in))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.in, err, tt.want)
		}
	}
}
