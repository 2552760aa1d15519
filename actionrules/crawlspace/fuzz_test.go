package crawlspace

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// checkErrors says what is wrong with the errors of a hostile file.
func checkErrors(t *testing.T, name string, errs []error) {
	t.Helper()
	for _, err := range errs {
		e, ok := err.(*actionrules.Error) //nolint:errorlint // the type is the contract
		if !ok || e.At.File != name || e.At.Line < 1 || e.At.Column < 1 || len(err.Error()) > 2000 {
			t.Fatalf("error without a place, or too long: %.3000v", err)
		}
	}
}

func fuzzURLs(t *testing.T) []Link {
	return []Link{to(t, "http://www.ibm.com/"), to(t, "https://Sales.IBM.com:9080/public/nfs/a.js?id=1&b"), to(t, "http://[2001:db8::1]/"), to(t, "http://h/")}
}

// judgeAll holds Judge to Trace for a few URLs.
func judgeAll(t *testing.T, s *Space) {
	t.Helper()
	for _, l := range fuzzURLs(t) {
		if fault := disagreement(s, l, s.Judge(l)); fault != "" {
			t.Fatalf("%s: %s", l.URL, fault)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, s := range []string{
		"allow domain www.ibm.com\nforbid domain server*.ibm.com:443\nforbid domain *\n", "forbid http://sales.ibm.com/*fs/* # x",
		"allow address 9.0.0.0 255.0.0.0\nforbid address :: ::\nallow address [2001:db8::1]/64", "allow prefix *://h:80/%7e\xff", "\ufeffforbid prefix http://é.*/",
		"allow domain [2001:db8:*]:80\r\nallow domain ü.de", "allow prefix http://u@h/", "forbid address ::ffff:1.2.3.4 ::", "allow prefix http*", "forbid prefix http://[::1]:080/",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, content string, global bool) {
		settings := local(content)
		settings.FoldHost = len(content)%2 == 0
		if global {
			settings.GlobalRules = file("crawl.rules", content)
		}
		s, errs := Compile(settings, nil)
		checkErrors(t, "crawl.rules", errs)
		if len(errs) > 0 {
			return
		}
		judgeAll(t, s)
		for _, addr := range []string{"9.1.2.3", "::1", "2001:db8::1", "::ffff:1.2.3.4"} {
			if allowed, matched, r := s.Addresses().Judge(ip(addr)); !allowed && !matched || matched != (r.Line > 0) {
				t.Fatalf("%s: %v %v %+v", addr, allowed, matched, r)
			}
		}
		s.Warnings(fuzzURLs(t), nil)
	})
}

func FuzzPatternValue(f *testing.F) {
	for _, s := range []string{"/red,/green,/blue", `regexp:search\?date=|^https:|\?OpenImageResource|/cgi-bin/|\.pdf$`, "a,regexp:b", `regexp:(?=a)[\]]\Q(\E*+`, "regexp:[", " , ", "regexp:\\", "a,\x00b", strings.Repeat("\xad", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		s, errs := Compile(Settings{Include: text(1, value), Exclude: text(1, value)}, nil)
		checkErrors(t, "CrawlConfig.xml", errs)
		if len(errs) == 0 {
			judgeAll(t, s)
		}
		// Nothing that RE2 takes is refused.
		expr, isRegexp := strings.CutPrefix(strings.TrimSpace(value), regexpMark)
		if _, err := regexp.Compile(expr); isRegexp && err == nil && len(errs) > 0 && strings.TrimSpace(expr) != "" && !strings.Contains(expr, ","+regexpMark) && len(expr) <= maxExpression {
			t.Fatalf("%q is valid: %v", expr, errs)
		}
	})
}

func FuzzPatternFile(f *testing.F) {
	for _, s := range []string{"# reject\n/a\nregexp:b+ # c\n", "a b", "http://h/%7E\nwww.x.com/", "regexp:", "\x00", "HTTP://H:80/?id=1&x#f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		s, errs := Compile(Settings{RejectList: file("list", content), KillPatterns: file("list", content), QueryFilter: &Text{}}, nil)
		checkErrors(t, "list", errs)
		if len(errs) == 0 {
			judgeAll(t, s)
			for _, l := range fuzzURLs(t) {
				if _, killed := s.Killed(l.URL); killed == s.Judge(l).Allowed {
					t.Fatalf("%s: the same list kills %v and rejects %v", l.URL, killed, !killed)
				}
			}
		}
		exact, errs := Compile(Settings{KillExact: file("list", content)}, nil)
		checkErrors(t, "list", errs)
		for _, line := range strings.Split(content, "\n") {
			if u, err := weburl.Parse(strings.TrimSpace(line)); len(errs) == 0 && err == nil && !strings.ContainsAny(line, "# \t\r\ufeff") {
				if _, killed := exact.Killed(u); !killed {
					t.Fatalf("%q is not killed", line)
				}
			}
		}
	})
}

func FuzzExtensionsAndQuery(f *testing.F) {
	f.Add("mp4;.Tar.gz,js", "video/mp4", "id,nr", "http://h/a.Tar.GZ;x?id=1&nr=%32&&b")
	f.Add("", "image/*", "", "http://h/a.js/?=&;")
	f.Add("\xa0,"+strings.Repeat("\xad", 200), strings.Repeat("\xb2", 200), "\x00", "T")
	f.Fuzz(func(t *testing.T, list, mime, keep, raw string) {
		settings := extensions(list, "", "", Pair{text(1, mime), text(1, "js")})
		settings.MIME = &MIMETypes{Types: []Text{text(1, mime)}}
		settings.QueryFilter = &Text{keep, at(1)}
		s, errs := Compile(settings, nil)
		checkErrors(t, "CrawlConfig.xml", errs)
		u, err := weburl.Parse(raw)
		if err != nil || len(errs) > 0 {
			return
		}
		l := Link{URL: u, Host: SpelledHost(raw, u)}
		if l.Host != "" && (l.Host == u.Host() || !strings.EqualFold(l.Host, u.Host())) {
			t.Fatalf("%q spells the host %q", raw, l.Host)
		}
		if fault := disagreement(s, l, s.Judge(l)); fault != "" {
			t.Fatal(fault)
		}
		once := s.Rewrite(u)
		if s.Rewrite(once) != once || !strings.HasPrefix(u.String(), once.Origin()+once.Path()) || once.Fragment() != u.Fragment() && len(u.Fragment()) < 100 {
			t.Fatalf("%s is rewritten to %s#%s, then to %s", u, once, once.Fragment(), s.Rewrite(once))
		}
		if v := s.JudgeMIME(l, mime); v.Allowed {
			t.Fatalf("%q is excluded by itself", mime)
		}
	})
}
