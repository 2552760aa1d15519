package crawlspace

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// domainRule matches hosts, on one port or on all ports.
type domainRule struct {
	rule
	host string // a pattern with wildcards; IPv6 without brackets
	port string // "" for all
}

// everyDomain returns the rule that closes a list: forbid domain *.
func (r domainRule) everyDomain() bool {
	return !r.allow && r.host == string(rune(wildcard)) && r.port == ""
}

// parseDomain reads the target of a domain rule. problem describes the fault and the correction.
func parseDomain(target string, fold bool) (r domainRule, problem string) {
	if len(target) > weburl.MaxLength {
		return r, "the host name is longer than the longest URL"
	}
	if strings.Contains(target, "/") {
		_, host, found := strings.Cut(target, "://")
		if !found {
			host = target
		}
		host, _, _ = strings.Cut(host, "/")
		return r, fmt.Sprintf("%s is not a host name; write %s, or a prefix rule for a part of the host", clip(target), clip(host))
	}
	host, problem := r.cutPort(target)
	if problem != "" {
		return r, problem
	}
	if strings.HasPrefix(host, "[") {
		r.host, problem = ipv6Pattern(host)
		return r, problem
	}
	r.host, problem = hostPattern(host)
	if fold {
		r.host = lower(r.host)
	}
	return r, problem
}

// cutPort splits the port from the target.
func (r *domainRule) cutPort(target string) (host, problem string) {
	colon := strings.LastIndexByte(target, ':')
	bracket := strings.LastIndexByte(target, ']')
	ipv6 := strings.HasPrefix(target, "[")
	if colon < 0 || colon < bracket || ipv6 && bracket < 0 {
		return target, ""
	}
	host = target[:colon]
	if strings.Contains(host, ":") && !ipv6 {
		return "", fmt.Sprintf("%s is not a host name; write an IPv6 host in brackets, as in [2001:db8::1]", clip(target))
	}
	n, err := strconv.ParseUint(target[colon+1:], 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Sprintf("%s is not a port; write 1 to 65535, or omit it to match all ports", clip(target[colon+1:]))
	}
	r.port = strconv.FormatUint(n, 10)
	return host, ""
}

// ipv6Pattern returns the pattern for a host in brackets: an address in its canonical
// form, or any text with wildcards, which is compared with that form.
func ipv6Pattern(host string) (text, problem string) {
	inside, closed := strings.CutSuffix(host[1:], "]")
	if !closed || strings.ContainsAny(inside, "[]") {
		return "", fmt.Sprintf("%s is not an IPv6 host; write one such as [2001:db8::1] or [2001:db8::1]:443", clip(host))
	}
	if strings.Contains(inside, "*") {
		if strings.Trim(inside, "0123456789abcdefABCDEF:*") != "" {
			return "", fmt.Sprintf("%s is not an IPv6 host; write one such as [2001:db8:*]", clip(host))
		}
		return wildcards(lower(inside)), ""
	}
	u, err := weburl.Parse("http://" + host + "/")
	if a, bad := netip.ParseAddr(inside); err != nil || bad != nil || !a.Is6() || a.Zone() != "" {
		return "", fmt.Sprintf("%s is not an IPv6 host; write one such as [2001:db8::1], without a zone", clip(host))
	}
	return u.Host(), ""
}

// hostPattern returns the pattern for a host name. Names in other scripts are compared
// as URLs spell them, in punycode.
func hostPattern(host string) (text, problem string) {
	if host == "" {
		return "", "the host name is empty; write * to match every host"
	}
	for _, c := range host {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("-_.*~", c), c >= 0x80:
		case c == '?':
			return "", fmt.Sprintf("%s contains a question mark; the only wildcard is *, which matches any characters", clip(host))
		default:
			return "", fmt.Sprintf("%s is not a host name: it contains %q; write a name such as www.example.com or *.example.com", clip(host), c)
		}
	}
	labels := strings.Split(host, ".")
	for i, l := range labels {
		if isASCII(l) {
			continue
		}
		u, err := weburl.Parse("http://" + l + "/")
		if err != nil || strings.Contains(l, "*") {
			return "", fmt.Sprintf("%s cannot be compared; write the part %s in punycode (xn--...)", clip(host), clip(l))
		}
		labels[i] = u.Host()
	}
	return wildcards(strings.Join(labels, ".")), ""
}

// wildcards converts a text with stars into a pattern.
func wildcards(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch {
		case s[i] != '*':
			b.WriteByte(s[i])
		case i == 0 || s[i-1] != '*':
			b.WriteByte(wildcard)
		}
	}
	return b.String()
}

// lower folds the case of ASCII letters, the only ones that host names have.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// domainGate applies the domain rules; the first match decides.
type domainGate struct {
	rules  []domainRule
	fold   bool
	all    *matcher            // rules for all ports
	byPort map[string]*matcher // rules for one port
}

func newDomainGate(rules []domainRule, fold bool) *domainGate {
	if len(rules) == 0 {
		return nil
	}
	patterns := map[string][]pattern{}
	for i, r := range rules {
		patterns[r.port] = append(patterns[r.port], pattern{r.host, int32(i)})
	}
	g := &domainGate{rules: rules, fold: fold, byPort: map[string]*matcher{}}
	for port, of := range patterns {
		g.byPort[port] = newMatcher(of, whole)
	}
	g.all = g.byPort[""]
	return g
}

// size returns the number of rules, 0 for nil.
func (g *domainGate) size() int {
	if g == nil {
		return 0
	}
	return len(g.rules)
}

// host returns the host to compare with the rules. If case matters, that is the host as the link spelled it, provided
// that only the case differs.
func (g *domainGate) host(l Link) string {
	if host := l.URL.Host(); g.fold || len(host) != len(l.Host) || strings.Contains(host, ":") || !strings.EqualFold(host, l.Host) {
		return host
	}
	return l.Host
}

// decide returns the first rule that applies, or nil.
func (g *domainGate) decide(l Link) *rule {
	host := g.host(l)
	best := g.all.first(host)
	if len(g.byPort) > 1 || g.all == nil {
		best = min(best, g.byPort[l.URL.Port()].first(host))
	}
	if best == none {
		return nil
	}
	return &g.rules[best].rule
}

func (g *domainGate) judge(l Link) (Reason, bool) { return g.decide(l).judge(GateDomain) }
