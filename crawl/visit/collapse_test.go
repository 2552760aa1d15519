package visit

import (
	"testing"
)

func TestSiteAt(t *testing.T) {
	for _, tt := range []struct {
		path  string
		depth int
		want  string
	}{
		{"/", 0, ""}, {"/a", 0, "/"}, {"/a/", 0, "/"}, {"/a/b/c", 0, "/"},
		{"/a", 1, ""}, {"/a/", 1, ""}, {"/a/b", 1, "/a/"}, {"/a/b/", 1, "/a/"}, {"/a/b/c.html?q=/x/y", 2, "/a/b/"},
		{"//a//b", 1, "//a//"}, {"/a?b/c/d", 1, ""}, {"/a/b", 9, ""},
	} {
		want := tt.want
		if want != "" {
			want = "http://h" + want
		}
		if got := siteAt(parse(t, "http://h"+tt.path), tt.depth); got != want {
			t.Errorf("%s at %d: %q, want %q", tt.path, tt.depth, got, want)
		}
	}
}
