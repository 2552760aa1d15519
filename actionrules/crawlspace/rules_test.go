package crawlspace

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// The examples of the seed "Rules to limit the Web crawl space", word for word.
func TestIBMDomainRules(t *testing.T) {
	judgements{"http://server1.ibm.com/": "domain forbid domain server*.ibm.com", "http://server.x.ibm.com/": "domain forbid domain server*.ibm.com",
		"http://myserver.ibm.com/": "ok", "http://server.ibm.org/": "ok",
	}.check(t, mustCompile(t, local("forbid domain server*.ibm.com")))

	judgements{"http://www.ibm.com/": "ok", "https://www.ibm.com:8443/a": "ok", "http://w3.ibm.com/": "domain forbid domain *"}.check(t,
		mustCompile(t, local("allow domain www.ibm.com\nforbid domain *")))

	// "*.user.ibm.com matches joe.user.ibm.com and mary.smith.user.ibm.com, but not joe.user.IBM.com."
	judgements{"http://joe.user.ibm.com/": "ok", "http://mary.smith.user.ibm.com/": "ok",
		"http://joe.user.IBM.com/": "domain forbid domain *", "http://user.ibm.com/": "domain forbid domain *",
	}.check(t, mustCompile(t, local("allow domain *.user.ibm.com\nforbid domain *")))

	judgements{"http://sales.ibm.com/": "ok", "https://sales.ibm.com/": "ok", "http://sales.ibm.com:9080/": "ok"}.check(t,
		mustCompile(t, local("allow domain sales.ibm.com\nforbid domain *")))
	judgements{"https://sales.ibm.com/": "ok", "http://sales.ibm.com:443/": "ok", "http://sales.ibm.com/": "domain forbid domain *",
		"https://sales.ibm.com:444/": "domain forbid domain *"}.check(t, mustCompile(t, local("allow domain sales.ibm.com:443\nforbid domain *")))
}

// The prefix rules of the same seed.
func TestIBMPrefixRules(t *testing.T) {
	judgements{"http://sales.ibm.com/public/a/b": "ok", "http://sales.ibm.com/public/": "ok",
		"http://sales.ibm.com/private": "prefix forbid prefix http://sales.ibm.com/*", "http://sales.ibm.com/": "prefix forbid prefix http://sales.ibm.com/*",
		"https://sales.ibm.com/private": "ok", "http://www.ibm.com/": "ok",
	}.check(t, mustCompile(t, local("allow prefix http://sales.ibm.com/public/*\nforbid prefix http://sales.ibm.com/*")))

	// "any documents in a top-level directory of the sales.ibm.com site if the directory name ends in fs"
	const fs = "prefix forbid http://sales.ibm.com/*fs/*"
	judgements{"http://sales.ibm.com/nfs/a": fs, "http://sales.ibm.com/fs/": fs, "http://sales.ibm.com/xfsfs/a/b": fs,
		"http://sales.ibm.com/a/nfs/b": "ok", "http://sales.ibm.com/nfsx/a": "ok", "http://sales.ibm.com/nfs": "ok",
	}.check(t, mustCompile(t, local("forbid http://sales.ibm.com/*fs/* ")))
}

// The address rules of the same seed.
func TestIBMAddressRules(t *testing.T) {
	s := mustCompile(t, local("allow address 9.0.0.0 255.0.0.0\nallow address [2001:db8:0:1:0:0:0:1]\n"+
		"forbid address 0.0.0.0 0.0.0.0\nforbid address :: ::\n"))
	for addr, want := range map[string]string{
		"9.0.0.0": "allow address 9.0.0.0 255.0.0.0", "9.1.2.3": "allow address 9.0.0.0 255.0.0.0", "10.0.0.1": "forbid address 0.0.0.0 0.0.0.0",
		"2001:db8:0:1::1": "allow address [2001:db8:0:1:0:0:0:1]", "2001:db8:0:1::2": "forbid address :: ::", "::1": "forbid address :: ::",
	} {
		allowed, matched, reason := s.Addresses().Judge(ip(addr))
		if !matched || allowed != strings.HasPrefix(want, "allow") || reason.Rule != want || reason.Gate != GateAddress || reason.File != "crawl.rules" {
			t.Errorf("%s: %v %v %+v, want %s", addr, allowed, matched, reason, want)
		}
	}
}

// "A rule applies where (candidate XOR addr) AND mask is 0, for any mask,
// contiguous or not"; "IPv4-mapped addresses count as IPv4"; "no mask: all bits".
func TestNetmasks(t *testing.T) {
	for _, c := range []struct {
		rule    string
		in, out string
	}{
		{"10.0.0.1", "10.0.0.1 ::ffff:10.0.0.1", "10.0.0.2 ::a00:1 ::1"},
		{"10.0.0.0 255.0.0.255", "10.0.0.0 10.255.7.0", "10.0.0.1 11.0.0.0"},
		{"10.1.2.3 255.0.0.0", "10.9.9.9", "11.1.2.3"},
		{"0.0.0.1 0.0.0.1", "10.0.0.1 255.255.255.255", "10.0.0.2 ::1"},
		{"0.0.0.0 0.0.0.0", "1.2.3.4 ::ffff:1.2.3.4", "::1 ::"},
		{":: ::", ":: ::1 fe80::1%eth0", "0.0.0.0 ::ffff:0.0.0.0"},
		{"2001:db8:: ffff:ffff::", "2001:db8:1::9", "2001:db9::"},
		{"[2001:db8::] [ffff:ffff::]", "2001:db8:1::9", "2001:db9::"},
		{"2001:db8::1 ffff::ffff", "2001:1:2:3:4:5:6:1", "2001:db8::2 2002:db8::1"},
		{"::ffff:9.0.0.0 255.0.0.0", "9.9.9.9 ::ffff:9.9.9.9", "10.0.0.0"},
		{"::ffff:9.0.0.0 ffff:ffff:ffff:ffff:ffff:ffff:ff00:0", "9.9.9.9", "10.0.0.0"},
		{"::ffff:9.0.0.1", "9.0.0.1", "9.0.0.2"},
	} {
		s := mustCompile(t, local("forbid address "+c.rule))
		for want, addrs := range map[bool]string{true: c.in, false: c.out} {
			for _, a := range strings.Fields(addrs) {
				allowed, matched, _ := s.Addresses().Judge(ip(a))
				if matched != want || allowed == want {
					t.Errorf("%s of %s: matched %v, allowed %v", a, c.rule, matched, allowed)
				}
			}
		}
	}
	if allowed, matched, _ := mustCompile(t, local("forbid address :: ::")).Addresses().Judge(netip.Addr{}); !allowed || matched {
		t.Error("no address is judged")
	}
	// "Address rules are judged at dial time only, never in the background pass".
	if s := mustCompile(t, local("forbid address 0.0.0.0 0.0.0.0")); !s.Judge(to(t, "http://10.0.0.1/")).Allowed || !s.JudgeStored(to(t, "http://10.0.0.1/")).Allowed {
		t.Error("an address rule is asked about a URL")
	}
	var nobody *AddressRules
	if allowed, matched, _ := nobody.Judge(ip("::1")); !allowed || matched {
		t.Error("nil has rules")
	}
}

// "host names are compared case-sensitively, on the host as it was written in the
// link"; hostCase="fold" ignores case.
func TestHostCase(t *testing.T) {
	rules := local("forbid domain *.IBM.com\nallow domain WWW.x.org\nforbid domain www.x.org\nforbid domain [2001:DB8::1]\nforbid domain 10.0.0.1")
	judgements{"http://a.IBM.com/": "domain forbid domain *.IBM.com", "http://a.ibm.com/": "ok", "http://A.IBM.com/": "domain forbid domain *.IBM.com",
		"http://WWW.x.org/": "ok", "http://www.x.org/": "domain forbid domain www.x.org", "http://Www.x.org/": "ok",
		// What has no case, or is spelled in other ways than by case, is compared in its canonical form.
		"http://[2001:db8:0::1]/": "domain forbid domain [2001:DB8::1]", "http://0xa.1/": "domain forbid domain 10.0.0.1",
		"http://ww%77.x.org/": "domain forbid domain www.x.org",
	}.check(t, mustCompile(t, rules))
	if got := judgement(t, mustCompile(t, rules), Link{URL: mustURL(t, "http://WWW.x.org/")}); got != "domain forbid domain www.x.org" {
		t.Errorf("without a spelling: %s", got)
	}
	if got := judgement(t, mustCompile(t, rules), Link{URL: mustURL(t, "http://[2001:db8::1]/"), Host: "2001:DB8::1"}); got == "ok" {
		t.Error("an IPv6 host has a case")
	}
	rules.FoldHost = true
	judgements{"http://a.IBM.com/": "domain forbid domain *.IBM.com", "http://a.ibm.com/": "domain forbid domain *.IBM.com",
		"http://www.X.org/": "ok"}.check(t, mustCompile(t, rules))
}

// Hosts in other scripts are compared in punycode, as URLs spell them.
func TestInternationalHosts(t *testing.T) {
	s := mustCompile(t, local("forbid domain *.münchen.de\nforbid domain bücher.example:81\nforbid prefix http://é.example/a"))
	judgements{"http://www.münchen.de/": "domain forbid domain *.münchen.de", "http://www.xn--mnchen-3ya.de/": "domain forbid domain *.münchen.de",
		"http://WWW.MÜNCHEN.de/": "domain forbid domain *.münchen.de", "http://bücher.example/": "ok",
		"http://bücher.example:81/": "domain forbid domain bücher.example:81", "http://xn--9ca.example/ab": "prefix forbid prefix http://é.example/a",
	}.check(t, s)
}

// "* matches any run of characters"; "A name without * is that host alone"; "No
// port: all ports. A port: that port only (80 and 443 count where the URL names
// none). IPv6 hosts in brackets."
func TestDomainTargets(t *testing.T) {
	for _, c := range []struct{ target, in, out string }{
		{"ibm.com", "http://ibm.com/ https://ibm.com:8/", "http://www.ibm.com/ http://ibm.com.de/ http://xibm.com/ http://ibm.co/"},
		{"*", "http://x/ http://[::1]:8/ http://1.2.3.4/", ""},
		{"*:80", "http://x/ https://x:80/", "https://x/ http://x:81/"},
		{"*:0443", "https://x/", "http://x/"},
		{"*ibm*", "http://ibm/ http://www.ibm.com/ http://xibm.de/", "http://www.imb.com/"},
		{"a*b*c", "http://abc/ http://axbxc/ http://a.b.b.c.c/", "http://ab/ http://abcd/ http://acb/"},
		{"a**c", "http://ac/ http://abc/", "http://ab/"},
		{"www.*", "http://www.x/ http://www.x.y/", "http://www/ http://wwwx/"},
		{"[2001:db8:0:1:0:0:0:1]", "http://[2001:db8:0:1::1]/ https://[2001:DB8:0:1::1]:8/", "http://[2001:db8:0:1::2]/"},
		{"[::1]:81", "http://[::1]:81/", "http://[::1]/ http://[::2]:81/"},
		{"[2001:db8:*]", "http://[2001:db8::5]/ http://[2001:db8:1::]/", "http://[2001:db9::]/"},
		{"*1", "http://1/ http://[2001::1]/", "http://[2001::5]/ http://x1.y/"},
		{"10.0.0.*", "http://10.0.0.7/", "http://10.0.1.7/"},
	} {
		s := mustCompile(t, local("forbid domain "+c.target))
		for _, raw := range strings.Fields(c.in) {
			if got := judgement(t, s, to(t, raw)); got != "domain forbid domain "+c.target {
				t.Errorf("%s, %s: %s", c.target, raw, got)
			}
		}
		for _, raw := range strings.Fields(c.out) {
			if got := judgement(t, s, to(t, raw)); got != "ok" {
				t.Errorf("%s, %s: %s", c.target, raw, got)
			}
		}
	}
}

// "the pattern matches from the start of the URL and need not reach its end; *
// stands for any run of characters other than / (...; a trailing one needs to
// match nothing)"; "* anywhere, any number".
func TestPrefixTargets(t *testing.T) {
	for _, c := range []struct{ target, in, out string }{
		{"http://h/a", "http://h/a http://h/ab http://h/a/b http://h/a?b", "http://h/ http://h/A https://h/a http://hh/a"},
		{"http://h/a*", "http://h/a http://h/ab", "http://h/b"},
		{"http://h/a/*", "http://h/a/ http://h/a/b/c", "http://h/a"},
		{"http://h", "http://h/ http://hh.example/a", "http://g/"},
		{"http://*.h/a", "http://x.h/ab http://x.y.h/a", "http://h/a http://x.h/b http://x/.h/a"},
		{"http://h/*/*/c", "http://h/a/b/c http://h///c http://h/a/b/cd", "http://h/a/c http://h/a/b/b/c"},
		{"http://h/**x", "http://h/x http://h/ax", "http://h/a/x"},
		{"http://h/*x*y", "http://h/xy http://h/axbyc http://h/xxyy", "http://h/yx http://h/x/y"},
		{"http*://h/", "http://h/ https://h/", "http://g/"},
		{"*://h/", "http://h/ https://h/", "http://g/"},
		{"*", "http://h/ https://g/", ""},
		{"http://h:*/a", "http://h:81/a", "http://h/a"},
		{"http://h/*?id=", "http://h/a?id=1 http://h/?id=", "http://h/a/b?id=1 http://h/a?x"},
		{"http://h?q", "http://h/?q=1", "http://h/q"},
		{"https://*/a", "https://h/a https://h:81/a", "http://h/a"},
	} {
		s := mustCompile(t, local("forbid prefix "+c.target))
		for _, raw := range strings.Fields(c.in) {
			if got := judgement(t, s, to(t, raw)); got != "prefix forbid prefix "+c.target {
				t.Errorf("%s, %s: %s", c.target, raw, got)
			}
		}
		for _, raw := range strings.Fields(c.out) {
			if got := judgement(t, s, to(t, raw)); got != "ok" {
				t.Errorf("%s, %s: %s", c.target, raw, got)
			}
		}
	}
}

// Prefixes are brought into the form of canonical URLs, or they could never match.
func TestPrefixesAreCanonical(t *testing.T) {
	for target, raw := range map[string]string{
		"HTTP://H.Example/A": "http://h.example/A", "http://h:80/a": "http://h/a", "https://h:443/a": "https://h/a", "http://*.H:80/": "http://x.h/", "https://*.H:443/": "https://x.h/",
		"http://h/%7euser/%c3%a9%2f": "http://h/~user/%C3%A9%2F", "http://h/é": "http://h/%C3%A9", "http://h/%": "http://h/%25",
		"http://[2001:DB8:0:0::1]/a": "http://[2001:db8::1]/a", "http://0x7f.1/": "http://127.0.0.1/", "http://*.münchen.de/": "http://a.xn--mnchen-3ya.de/",
		"http://h:81": "http://h:81/", "http://H": "http://h/", "http://h/%4": "http://h/%42", "http://h/a%2": "http://h/a%2F",
	} {
		if got := judgement(t, mustCompile(t, local("forbid "+target)), to(t, raw)); target != "http://h/%4" && got == "ok" {
			t.Errorf("%s does not match %s", target, raw)
		} else if target == "http://h/%4" && got != "ok" {
			t.Errorf("%s matches a decoded character", target)
		}
	}
}

// "Within one type the first matching rule decides; the order between types means
// nothing. No rule of a type applies: allowed."
func TestFirstRuleDecides(t *testing.T) {
	s := mustCompile(t, local(strings.Join([]string{
		"forbid prefix http://a/x/y", "allow domain a", "allow prefix http://a/x", "forbid domain a:81", "forbid prefix http://a/", "forbid domain a", "forbid domain *:82",
	}, "\n")))
	judgements{
		"http://a/x/z": "ok", "http://a/x/y": "prefix forbid prefix http://a/x/y", "http://a/": "prefix forbid prefix http://a/",
		"http://a:81/": "ok", "http://b/": "ok", "http://b:82/": "domain forbid domain *:82",
	}.check(t, s)
	turned := mustCompile(t, local("forbid domain a:81\nallow domain a\nforbid domain *"))
	judgements{"http://a:81/": "domain forbid domain a:81", "http://a/": "ok", "http://b:81/": "domain forbid domain *"}.check(t, turned)
}

// The four cases of the seed "Global Web crawl space configuration", in its order.
func TestGlobalRules(t *testing.T) {
	settings := local("forbid prefix http://a.ibm.com/private/\nallow domain a.ibm.com\nforbid domain *")
	const closed = "domain forbid domain *"
	// 2. out by a local domain rule, no global file: 760.
	judgements{"http://b.ibm.com/": closed, "http://a.ibm.com/": "ok"}.check(t, mustCompile(t, settings))

	settings.GlobalRules = file("global.rules", "forbid domain secret.ibm.com\nallow domain *.ibm.com")
	judgements{
		// 1. out by a local prefix rule: 760, although global.rules allows the domain.
		"http://a.ibm.com/private/x": "prefix forbid prefix http://a.ibm.com/private/",
		// 3. out by a local domain rule, explicitly allowed by global.rules: 761.
		"http://b.ibm.com/": closed + " 761",
		// 4. not explicitly allowed: 760. "the default result (...) is to forbid".
		"http://secret.ibm.com/": closed, "http://www.lotus.com/": closed,
		// The global space lets nothing in.
		"http://a.ibm.com/": "ok",
	}.check(t, mustCompile(t, settings))

	// 1. comes before 3.: out by the domain rules and by a prefix rule.
	settings.CrawlRules = file("crawl.rules", "forbid domain *\nforbid prefix http://b.ibm.com/x")
	judgements{"http://b.ibm.com/x": closed, "http://b.ibm.com/y": closed + " 761"}.check(t, mustCompile(t, settings))

	// "out by local domain rules alone": another gate makes it 760.
	settings.Exclude = text(1, "/y")
	judgements{"http://b.ibm.com/y": "exclude /y", "http://b.ibm.com/z": closed + " 761"}.check(t, mustCompile(t, settings))

	// An empty global.rules allows nothing.
	settings.GlobalRules = file("global.rules", "# nothing\n")
	judgements{"http://b.ibm.com/z": closed}.check(t, mustCompile(t, settings))
	answers := mustCompile(t, settings).Trace(to(t, "http://b.ibm.com/z"))
	if last := answers[len(answers)-1]; last.Gate != GateGlobal || last.Allowed {
		t.Errorf("%+v", last)
	}
}

// Global rules are compared as local ones: with the case of the link's spelling, or folded.
func TestGlobalRulesKnowCaseAndPort(t *testing.T) {
	s := local("forbid domain *")
	s.GlobalRules = file("global.rules", "allow domain B.x:81")
	for _, fold := range []bool{false, true} {
		s.FoldHost = fold
		space := mustCompile(t, s)
		for raw, want := range map[string]bool{"http://B.x:81/": true, "http://b.x:81/": fold, "http://B.x/": false} {
			if got := space.Judge(to(t, raw)).Status == StatusElsewhere; got != want {
				t.Errorf("fold %v, %s: 761 is %v", fold, raw, got)
			}
			_ = judgement(t, space, to(t, raw))
		}
	}
}

// "# comments, blank lines"; blanks, tabs and line ends of Windows do not matter.
func TestLinesOfRules(t *testing.T) {
	content := "\ufeff# head\r\n\r\n \tforbid\tdomain   a # tail\r\n\t# more\nforbid prefix http://b/ #\rforbid domain c"
	_, errs := Compile(local(content), nil)
	if len(errs) != 1 || !strings.Contains(fmt.Sprint(errs), "crawl.rules:5:") {
		t.Fatalf("a lone carriage return: %v", errs)
	}
	s := mustCompile(t, local(strings.ReplaceAll(content, "#\r", "#\r\n")))
	for raw, line := range map[string]int{"http://a/": 3, "http://b/": 5, "http://c/": 6} {
		if got := s.Judge(to(t, raw)); got.Reason.Line != line {
			t.Errorf("%s: %+v, want line %d", raw, got, line)
		}
	}
}
