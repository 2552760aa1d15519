package crawlspace

import (
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/actionrules"
)

// "anything else is an error with file:line:column", which says what to write.
func TestErrorsOfRules(t *testing.T) {
	for rules, want := range map[string]string{
		"deny domain x":                     `1:1: "deny" is not an action; write allow or forbid`,
		"  Allow domain x":                  `1:3: "Allow" is not an action; write allow or forbid`,
		"äü domain x":                       `1:1: "äü" is not an action`,
		"domain x":                          `1:1: "domain" is not an action`,
		"allow":                             `1:1: allow has no target; write a rule such as: allow domain www.example.com`,
		"allow domain":                      `1:7: allow domain has no target; write a rule such as: allow domain *.example.com`,
		"forbid prefix # http://h/":         `1:8: forbid prefix has no target; write a rule such as: forbid prefix http://`,
		"forbid address":                    `1:8: forbid address has no target; write a rule such as: forbid address 9.0.0.0 255.0.0.0`,
		"allow host x":                      `1:7: "host" is not a type; write domain, prefix or address`,
		"allow Domain x":                    `1:7: "Domain" is not a type; write domain`,
		"allow addresses 9.0.0.0":           `1:7: "addresses" is not a type; write domain, prefix or address`,
		"allow domains x":                   `1:7: "domains" is not a type; write domain`,
		"allow www.ibm.com":                 `1:7: "www.ibm.com" has no type; write: allow domain www.ibm.com`,
		"forbid www.ibm.com/x":              `1:8: "www.ibm.com/x" has no type; write: forbid prefix http://www.ibm.com/x`,
		"forbid *.ibm.com":                  `1:8: "*.ibm.com" has no type; write: forbid domain *.ibm.com`,
		"allow domain http://www.ibm.com/x": `1:14: "http://www.ibm.com/x" is not a host name; write "www.ibm.com", or a prefix rule`,
		"allow domain www.ibm.com/x":        `1:14: "www.ibm.com/x" is not a host name; write "www.ibm.com"`,
		"allow domain x:0":                  `1:14: "0" is not a port; write 1 to 65535, or omit it to match all ports`,
		"allow domain x:65536":              `"65536" is not a port`,
		"allow domain x:*":                  `"*" is not a port`,
		"allow domain x:":                   `"" is not a port`,
		"allow domain :80":                  `the host name is empty; write * to match every host`,
		"allow domain 2001:db8::1":          `write an IPv6 host in brackets`,
		"allow domain [2001:db8::1":         `"[2001:db8::1" is not an IPv6 host; write one such as [2001:db8::1]`,
		"allow domain [x]":                  `"[x]" is not an IPv6 host`,
		"allow domain [1.2.3.4]":            `"[1.2.3.4]" is not an IPv6 host`,
		"allow domain [fe80::1%eth0]":       `is not an IPv6 host; write one such as [2001:db8::1], without a zone`,
		"allow domain [x*]":                 `"[x*]" is not an IPv6 host; write one such as [2001:db8:*]`,
		"allow domain server?.ibm.com":      `the only wildcard is *`,
		"allow domain a,b":                  `it contains ','`,
		"allow domain *ü.de":                `write the part "*ü" in punycode`,
		"allow domain a b":                  `1:16: unexpected "b"; a rule has one target`,
		"allow prefix http://h/a b":         `1:25: unexpected "b"`,
		"allow prefix www.ibm.com/x":        `1:14: "www.ibm.com/x" has no scheme; write "http://www.ibm.com/x" or "https://www.ibm.com/x"`,
		"allow prefix //www.ibm.com/x":      `has no scheme; write "http://www.ibm.com/x"`,
		"allow prefix *.ibm.com/x":          `has no scheme; write "http://*.ibm.com/x"`,
		"allow prefix ftp://h/":             `"ftp://h/" cannot match any URL; begin the prefix with http:// or https://`,
		"allow prefix http:/h/":             `has no scheme`,
		"allow prefix http://h/#a":          `contains #, and crawled URLs have no fragment`,
		"allow prefix http://u:p@h/":        `contains a user name`,
		"allow prefix http://[x]/":          `"[x]" is not a host`,
		"allow http://a<b/":                 `"a<b" is not a host`,
		"allow prefix http://h/" + strings.Repeat("a", 5000): `longer than the longest URL, which has 4096 bytes`,
		"allow domain " + strings.Repeat("a", 5000):          `longer than the longest URL`,
		"allow address 9.0.0.0/8":                            `1:15: /8 is not a netmask; write: allow address 9.0.0.0 255.0.0.0`,
		"forbid address 9.0.0.0 /8":                          `1:24: /8 is not a netmask; write: forbid address 9.0.0.0 255.0.0.0`,
		"forbid address 9.0.0.0 8":                           `1:24: /8 is not a netmask; write: forbid address 9.0.0.0 255.0.0.0`,
		"forbid address 2001:db8::/32":                       `/32 is not a netmask; write: forbid address 2001:db8:: ffff:ffff::`,
		"forbid address [2001:db8::]/32":                     `/32 is not a netmask; write: forbid address 2001:db8:: ffff:ffff::`,
		"forbid address ::/0":                                `/0 is not a netmask; write: forbid address :: ::`,
		"forbid address 9.0.0.0/33":                          `"9.0.0.0/33" is not an address with a netmask; write both, as in 9.0.0.0 255.0.0.0`,
		"forbid address 9.0.0":                               `"9.0.0" is not an address`,
		"forbid address 09.0.0.0":                            `"09.0.0.0" is not an address`,
		"forbid address [9.0.0.0]":                           `"[9.0.0.0]" is not an address`,
		"forbid address www.ibm.com":                         `is not an address; write one such as 9.0.0.0 or 2001:db8::1, or a domain rule for a host name`,
		"forbid address *":                                   `to match every address, write two rules, with :: :: and 0.0.0.0 0.0.0.0`,
		"forbid address fe80::1%eth0":                        `has a zone; write fe80::1`,
		"forbid address 9.0.0.0 ffff::":                      `1:24: "ffff::" is not an IPv4 netmask`,
		"forbid address 2001:db8:: 255.0.0.0":                `"255.0.0.0" is not an IPv6 netmask; write one such as ffff:ffff::`,
		"forbid address ::ffff:9.0.0.0 ::":                   `"::" is not an IPv4 netmask`,
		"forbid address 9.0.0.0 255.0.0":                     `1:24: in the netmask: "255.0.0" is not an address`,
		"forbid address 9.0.0.0 255.0.0.0 x":                 `1:34: unexpected "x"`,
		"allow domain a\x00b":                                `1:15: the line contains the control character '\x00'`,
		"allow domain ü\xffb":                                `1:15: the line contains the non-UTF-8 byte 0xff`,
	} {
		_, errs := Compile(local(rules), nil)
		if len(errs) != 1 {
			t.Errorf("%.80q: %d errors: %v", rules, len(errs), errs)
			continue
		}
		if got := errs[0].Error(); !strings.HasPrefix(got, "crawl.rules:1:") || !strings.Contains(got, want) || len(got) > 500 {
			t.Errorf("%.80q: %s, want %s", rules, got, want)
		}
	}
}

// "With a global.rules file present (same syntax, domain rules only, else an error)".
func TestErrorsOfGlobalRules(t *testing.T) {
	for rules, want := range map[string]string{
		"allow prefix http://h/":  "global.rules:2:7: global rules can only be domain rules; move this prefix rule to crawl.rules",
		"allow http://h/":         "global.rules:2:7: global rules can only be domain rules",
		"forbid address 9.0.0.0":  "global.rules:2:8: global rules can only be domain rules; move this address rule",
		"allow domain http://h/x": "global.rules:2:14: ",
	} {
		_, errs := Compile(Settings{GlobalRules: file("global.rules", "allow domain x\n"+rules)}, nil)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %s", rules, errs, want)
		}
	}
}

// All faults of all settings come at once, each with its place.
func TestAllErrorsAtOnce(t *testing.T) {
	_, errs := Compile(Settings{
		CrawlRules:   file("crawl.rules", "x\nallow domain a\nallow address 1.2.3.4/8\nallow prefix h/\n"),
		GlobalRules:  file("global.rules", "allow address ::\n"),
		Include:      text(5, "/a,regexp:b"),
		Exclude:      text(6, "regexp:("),
		RejectList:   file("reject.patterns", "ok\nregexp:a++\n"),
		KillExact:    file("kill_exact.cfg", "http://h/\nwww.h.com/\n"),
		KillPatterns: file("kill_pattern.cfg", "a b\n"),
		Extensions:   &Extensions{Extra: text(7, "*.x"), Pairs: []Pair{{text(8, "video"), text(8, "mp4")}}, At: at(7)},
		MIME:         &MIMETypes{Include: true, At: at(9)},
	}, nil)
	want := []string{"crawl.rules:1:1", "crawl.rules:3:15", "crawl.rules:4:14", "global.rules:1:7", "CrawlConfig.xml:5:5", "CrawlConfig.xml:6:5",
		"reject.patterns:2:1", "CrawlConfig.xml:7:5", "CrawlConfig.xml:9:5", "CrawlConfig.xml:8:5", "kill_pattern.cfg:1:3", "kill_exact.cfg:2:1"}
	if len(errs) != len(want) {
		t.Fatalf("%d errors, want %d: %v", len(errs), len(want), errs)
	}
	for i, err := range errs {
		if e, ok := err.(*actionrules.Error); !ok || !strings.HasPrefix(err.Error(), want[i]+": ") || e.Rule != -1 { //nolint:errorlint // the type is the contract
			t.Errorf("error %d is %v, want one at %s", i, err, want[i])
		}
	}
}

// "what RE2 lacks - look-around, back-references, possessive and atomic groups,
// \K, \h, \Z - is refused by name".
func TestPerlFeaturesAreRefusedByName(t *testing.T) {
	for expr, want := range map[string]string{
		`a(?=b)`: "character 2 of the expression: a look-ahead ((?=)", `a(?!b)`: "a negative look-ahead ((?!)", `(?<=a)b`: "a look-behind ((?<=)",
		`(?<!a)b`: "a negative look-behind ((?<!)", `(a)\1`: `character 4 of the expression: a back-reference (\1)`, `(a)\g{1}`: `a back-reference (\g)`,
		`(?<n>a)\k<n>`: `a back-reference (\k)`, `(?P<n>a)(?P=n)`: "a back-reference ((?P=)", `a++`: "character 3 of the expression: a possessive quantifier (++)",
		`a*+`: "a possessive quantifier (*+)", `a?+`: "a possessive quantifier (?+)", `a{2,3}+`: "a possessive quantifier (}+)",
		`(?>a)`: "an atomic group ((?>)", `a\Kb`: `\K; RE2 does not support it`, `a\hb`: `\h; RE2 does not support it`, `a\Z`: `character 2 of the expression: \Z; RE2 does not support it`,
		`\Gx`: `\G;`, `\Rx`: `\R;`, `(?|a)`: "a branch reset", `(?#x)a`: "a comment", `(?(1)a)`: "a condition", `(?R)`: "a recursion", `(?1)`: "a recursion",
		`(?x)a`: "the flag x", `(*FAIL)`: "a verb", `é(?=b)`: "character 2 of", `[]\Z](?=b)`: `character 3 of the expression: \Z`, `[(?=](?=b)`: "character 6 of",
		`\Q(?=\E(?=b)`: "character 8 of", `\((?=b)`: "character 3 of", `[^]](?!b)`: "character 5 of",
	} {
		_, errs := Compile(Settings{Exclude: text(3, "regexp:"+expr)}, nil)
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "CrawlConfig.xml:3:5: ") || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v, want %s", expr, errs, want)
		}
	}
	for expr, want := range map[string]string{
		"": "nothing follows regexp:", "(": "missing closing )", "a)": "unexpected )", "*a": "missing argument to repetition operator", `[z-a]`: "invalid character class range",
		`\QA`: "ok", `\d\w\s\b`: "ok", `(?i)a`: "ok", `(?<n>a)`: "ok", `a*?`: "ok", `\x41\z`: "ok", `[[:alpha:]]`: "ok", `a{,2}+`: "ok",
		strings.Repeat("a", maxExpression+1): "longer than 65536 bytes", `\Q(?=\E(`: "missing closing )",
	} {
		_, errs := Compile(Settings{Exclude: text(3, "regexp:"+expr)}, nil)
		if want == "ok" && len(errs) == 0 {
			continue
		}
		if want == "ok" || len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%.40s: %v, want %s", expr, errs, want)
		}
	}
}
