package actionrules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/weburl"
)

// mix makes rules and URLs as a large search installation has them, the same for
// the same number of rules.
type mix struct {
	*rand.Rand
	rules int
	set   RuleSet
	// urls hold for half of them by one of the rules.
	urls []weburl.URL
}

// extensions are the 50 kinds that rules name.
var extensions = strings.Fields(`7z aac ai apk avi bak bin bmp bz2 cab css csv dat deb dll dmg doc docx dwg eot eps exe
	flac flv gif gz ico iso jar jpg js log m4a mkv mov mp3 mp4 mpg msi odt ogg otf pdf png ppt psd rar rpm svg tar`)

func newMix(tb testing.TB, rules int) *mix {
	m := &mix{Rand: rand.New(rand.NewPCG(1, uint64(rules))), rules: rules}
	m.set.Roots = []Root{root(tb, "http://www.example.com/", true)}
	var matched []string
	for i := range rules {
		c, url := m.rule(i)
		m.set.Rules = append(m.set.Rules, when(c, m.action()))
		if url != "" {
			matched = append(matched, url)
		}
	}
	for i := range 2000 {
		raw := fmt.Sprintf("http://www.%s-%d.net%s", m.word(), i, m.path())
		if i%2 == 0 {
			raw = matched[m.IntN(len(matched))]
		}
		m.urls = append(m.urls, mustURL(tb, m.varied(raw)))
	}
	return m
}

// rule is the rule with number i, and for most a URL that it holds for.
func (m *mix) rule(i int) (c Condition, url string) {
	n := Norm(m.IntN(len(normNames)))
	host := m.host()
	switch k := i % 100; {
	case k < 40:
		prefix := fmt.Sprintf("http://%s/%s/%d/", host, m.word(), m.IntN(m.rules))
		return atom(FieldURL, KindPrefix, n, prefix), prefix + m.path()[1:]
	case k < 50:
		return Host(host, n, false, nowhere), "http://" + host + m.path()
	case k < 60:
		return Domain(strings.TrimPrefix(host, "www."), n, false, nowhere), "http://" + host + m.path()
	case k < 75:
		return Ext("."+extensions[m.IntN(len(extensions))], n, false, nowhere), ""
	case k < 85:
		word := fmt.Sprintf("%s-%d", m.word(), m.IntN(m.rules))
		if i%2 == 0 {
			return InQuery("tag="+word, n, false, nowhere), "http://" + host + m.path() + "?id=1&tag=" + word
		}
		return atom(FieldURL, KindInside, n, "/"+word+"/"), "http://" + host + "/" + word + m.path()
	case k < 95:
		word := fmt.Sprintf("%s%d", m.word(), m.IntN(m.rules))
		return atom(FieldPath, KindInside, n, "/"+word+`/\[0-9\]\{4\}/\w\+/`), "http://" + host + "/" + word + "/2024/april" + m.path()
	default:
		section := fmt.Sprintf("/%s%d/", m.word(), m.IntN(m.rules))
		return And{[]Condition{
			Host(host, n, false, nowhere),
			Or{[]Condition{Path(section, n, false, nowhere), Path("/"+m.word(), n, false, nowhere)}},
			Not{Ext("."+extensions[0], n, false, nowhere)},
			Not{And{[]Condition{InQuery("print=1", n, false, nowhere), Length(FieldURL, "[100:]", n, false, nowhere)}}},
		}}, "http://" + host + section + "page"
	}
}

func (m *mix) action() Action {
	return Action{Verb: Verb(m.IntN(len(verbNames))), Name: "origin", Value: m.word(), Shift: m.IntN(5) - 2}
}

// host is one of a fiftieth as many as there are rules.
func (m *mix) host() string {
	n := m.IntN(m.rules/50 + 1)
	return fmt.Sprintf("www.%s%d.com", [...]string{"news", "shop", "wiki", "blog", "docs", "forum"}[n%6], n)
}

func (m *mix) word() string {
	const consonants, vowels = "bcdfglmnprstv", "aeiou"
	var b strings.Builder
	for range 2 + m.IntN(3) {
		b.WriteByte(consonants[m.IntN(len(consonants))])
		b.WriteByte(vowels[m.IntN(len(vowels))])
	}
	return b.String()
}

func (m *mix) path() string {
	return fmt.Sprintf("/%s/%s-%s-%d.html", m.word(), m.word(), m.word(), m.IntN(10_000))
}

// varied gives some URLs an upper-case letter or an encoded character at the end.
func (m *mix) varied(url string) string {
	switch m.IntN(10) {
	case 0, 1:
		return url + "#Top"
	case 2:
		return strings.Replace(url, ".html", "-Page.html", 1)
	case 3:
		return strings.Replace(url, ".html", "-caf%C3%A9.html", 1)
	}
	return url
}

// TestMix holds the mix to its description, and the index to the scan.
func TestMix(t *testing.T) {
	for _, rules := range []int{100, 10_000} {
		m := newMix(t, rules)
		e := compile(t, m.set)
		matching, some := 0, 0
		for _, u := range m.urls[:400] {
			n, tried := 0, regexpsBehindLiterals(e, u)
			v := view{url: u}
			for i := range e.rules {
				if e.rules[i].cond.holds(&v) {
					n++
				}
			}
			if n > 20 || tried > 2 {
				t.Errorf("%d rules: %s: %d hold, %d expressions are tried", rules, u, n, tried)
			}
			if n > 0 {
				matching++
			}
			some++
			if got, want := fmt.Sprint(e.Decide(u)), fmt.Sprint(scanRules(e, u)); got != want {
				t.Errorf("%s: %s, the scan says %s", u, got, want)
			}
		}
		if share := 100 * matching / some; share < 45 || share > 55 {
			t.Errorf("%d rules: %d %% of the URLs have a rule that holds", rules, share)
		}
	}
}

// regexpsBehindLiterals is how many regular expressions the index runs for u.
func regexpsBehindLiterals(e *Engine, u weburl.URL) int {
	s := new(Scratch)
	e.DecideInto(u, s)
	n := 0
	for _, memo := range s.memos {
		if memo/2 == s.epoch {
			n++
		}
	}
	return n
}
