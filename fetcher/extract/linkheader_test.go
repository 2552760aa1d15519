package extract

import "testing"

func TestCanonicalLink(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values []string
		want   string
	}{
		{[]string{`<https://example.com/a>; rel="canonical"`}, "https://example.com/a"},
		{[]string{`<a.html>;rel=canonical`}, "a.html"},
		{[]string{` < /a > ; REL = "nofollow Canonical" `}, "/a"},
		{[]string{`</style.css>; rel=preload; as=style, </a,b>; rel="canonical"`}, "/a,b"},
		{[]string{`</x>; title="a, <b>; \"rel=canonical"; rel=next`, `</a>; rel=canonical`, `</b>; rel=canonical`}, "/a"},
		{[]string{`</a>; rel=canonical; anchor="/other"`}, ""},
		{[]string{`</a>; rel=alternate; rel=canonical`}, ""},
		{[]string{`</a>; rel="canonical-of"`, `</a`, `rel=canonical`, `<>; rel=canonical`, "", `</a>; title="rel=canonical`}, ""},
	} {
		if got := CanonicalLink(tt.values); got != tt.want {
			t.Errorf("CanonicalLink(%q) = %q, want %q", tt.values, got, tt.want)
		}
	}
}
