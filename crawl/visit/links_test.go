package visit

import (
	"testing"
)

func TestHostIn(t *testing.T) {
	for href, want := range map[string]string{
		"": "", "/a/b": "", "a?x=//h": "h", "http://A.Test/x": "A.Test", "//A.test:80/": "A.test", "HTTP://u:p@A.test:8080?x": "A.test",
		`http://A.test\b`: "A.test", "http://[2001:DB8::1]:80/": "2001:DB8::1", "http://[::1]/": "::1", "//": "", "http://A.test#f": "A.test",
	} {
		if got := HostIn(href); got != want {
			t.Errorf("hostIn(%q) = %q, want %q", href, got, want)
		}
	}
}
