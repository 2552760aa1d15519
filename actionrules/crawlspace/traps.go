package crawlspace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// TrapSettings are the settings of Traps. Zero means the default.
type TrapSettings struct {
	// MaxRepeats is how often one segment may occur in a path, or one pair of name and value in a query; 3.
	MaxRepeats int
	// MaxURLsPerPattern is the number of accepted URLs that differ only in digits; 10,000.
	MaxURLsPerPattern int
	// MaxURLsPerHost is the maximum number of known URLs of an origin; no limit.
	MaxURLsPerHost int
	// Patterns is the maximum number of patterns counted, 16 bytes each; 65,536.
	Patterns int
	// At is the place of the Traps element.
	At actionrules.Position
}

// The defaults of TrapSettings.
const (
	DefaultMaxRepeats        = 3
	DefaultMaxURLsPerPattern = 10_000
	DefaultTrapPatterns      = 1 << 16
)

func (s TrapSettings) withDefaults() TrapSettings {
	or := func(n, d int) int {
		if n <= 0 {
			return d
		}
		return n
	}
	s.MaxRepeats = or(s.MaxRepeats, DefaultMaxRepeats)
	s.MaxURLsPerPattern = or(s.MaxURLsPerPattern, DefaultMaxURLsPerPattern)
	s.Patterns = or(s.Patterns, DefaultTrapPatterns)
	return s
}

// HostURLs returns the number of known URLs of an origin.
type HostURLs interface {
	// HostURLs is called for each new link if there is a limit, so it must be fast. It must be safe for concurrent use.
	HostURLs(weburl.HostKey) int
}

// Traps keep a crawl out of URLs without end: segments that pile up because of a
// wrong relative link, calendars, hosts that make up pages. They are asked of new
// links only, never of stored URLs, so that no limit takes a document out again.
//
// A crawl asks Admit last of all, of a link that is not known yet and that all
// gates and the action rules let in: a link that is refused elsewhere must not use
// up a budget. The order in which explain shows the gates is that of Explain
// between Space.Trace and the rules.
//
// The counts of patterns live in a table of fixed size. Where it is full, the
// pattern with the fewest URLs of a few gives way, so that a trap is not forgotten
// while it is in use; a pattern that was forgotten starts over. URLs that are
// removed give nothing back. Traps are safe for concurrent use.
type Traps struct {
	settings TrapSettings
	hosts    HostURLs
	counts   *patternCounts
}

// NewTraps makes Traps that have counted nothing yet. hosts may be nil where
// MaxURLsPerHost is 0.
func NewTraps(s TrapSettings, hosts HostURLs) *Traps {
	s = s.withDefaults()
	return &Traps{settings: s, hosts: hosts, counts: newPatternCounts(s.Patterns)}
}

// With are the traps with other settings and the same counts, for a reload. The
// size of the table stays.
func (t *Traps) With(s TrapSettings) *Traps {
	return &Traps{settings: s.withDefaults(), hosts: t.hosts, counts: t.counts}
}

// Admit reports whether a new link may be taken, and if so counts it. The reason is set only on refusal. Concurrent
// calls never exceed MaxURLsPerPattern; a host may exceed its limit by the links that HostURLs does not count yet.
func (t *Traps) Admit(u weburl.URL) (Reason, bool) {
	if part, kind := t.repeated(u); kind != "" {
		return t.repetition(part, kind), false
	}
	if t.hostIsFull(u) {
		return t.hostReason(u), false
	}
	var buf [patternBytes]byte
	pattern, general := appendPattern(buf[:0], u)
	if general && !t.counts.take(patternKey(pattern), t.limit()) {
		return t.patternReason(string(pattern)), false
	}
	return Reason{}, true
}

// Explain returns the answer of each trap about a link as if it were new, to a host with hostURLs known URLs. It counts
// nothing, and names the limit even if the link passes. Traps allow known URLs; the answer then describes the trap's
// state.
func (t *Traps) Explain(u weburl.URL, known bool, hostURLs int) []GateAnswer {
	answer := func(r Reason, refuses bool, stands string) GateAnswer {
		if known {
			return GateAnswer{r, true, stands}
		}
		return GateAnswer{r, !refuses, ""}
	}
	answers := []GateAnswer{answer(reasonAt(GateRepetition, t.settings.At, number("maxRepeats", t.settings.MaxRepeats)), false, "it would pass")}
	if part, kind := t.repeated(u); kind != "" {
		answers[0] = answer(t.repetition(part, kind), true, "it would be refused")
	}
	if most := t.settings.MaxURLsPerHost; most > 0 {
		full := hostURLs >= most
		answers = append(answers, answer(t.hostReason(u), full, standing(full, hostURLs, most)))
	}
	pattern, general := appendPattern(nil, u)
	full, stands := false, "it would pass"
	if general {
		n := t.counts.count(patternKey(pattern))
		full = n >= t.limit()
		stands = standing(full, int(n), int(t.limit()))
	}
	return append(answers, answer(t.patternReason(string(pattern)), full, stands))
}

func standing(full bool, n, most int) string {
	if full {
		return fmt.Sprintf("full, %d of %d", n, most)
	}
	return fmt.Sprintf("%d of %d", n, most)
}

// limit is the budget of a pattern as the table counts.
func (t *Traps) limit() uint32 { return uint32(min(t.settings.MaxURLsPerPattern, maxPatternCount)) }

func (t *Traps) hostIsFull(u weburl.URL) bool {
	return t.settings.MaxURLsPerHost > 0 && t.hosts != nil && t.hosts.HostURLs(u.HostKey()) >= t.settings.MaxURLsPerHost
}

// repeated returns a part of u that occurs in it too often, with its kind; kind is "" if no part does.
func (t *Traps) repeated(u weburl.URL) (part, kind string) {
	// A slash at the end is not an empty segment.
	if part, ok := repeats(strings.TrimSuffix(u.Path()[1:], "/"), '/', t.settings.MaxRepeats); ok {
		return part, "segment"
	}
	if part, ok := repeats(u.Query(), '&', t.settings.MaxRepeats); ok {
		return part, "query pair"
	}
	return "", ""
}

// quadratic is up to how many parts each is compared with each.
const quadratic = 24

// repeats returns a part of s, between separators, that occurs more than most times.
func repeats(s string, separator byte, most int) (string, bool) {
	n := strings.Count(s, string(separator)) + 1
	if n <= most {
		return "", false
	}
	if n > quadratic {
		return repeatsOfMany(s, separator, most)
	}
	var parts [quadratic]string
	for i := range n {
		parts[i], s, _ = strings.Cut(s, string(separator))
		same := 1
		for _, before := range parts[:i] {
			if before == parts[i] {
				same++
			}
		}
		if same > most {
			return parts[i], true
		}
	}
	return "", false
}

func repeatsOfMany(s string, separator byte, most int) (string, bool) {
	counts := map[string]int{}
	for part := range strings.SplitSeq(s, string(separator)) {
		if counts[part]++; counts[part] > most {
			return part, true
		}
	}
	return "", false
}

func (t *Traps) repetition(part, kind string) Reason {
	return reasonAt(GateRepetition, t.settings.At,
		number("maxRepeats", t.settings.MaxRepeats)+", passed by the "+kind+" "+clip(part))
}

func (t *Traps) hostReason(u weburl.URL) Reason {
	return reasonAt(GateHostURLs, t.settings.At, number("maxURLsPerHost", t.settings.MaxURLsPerHost)+" of "+u.Origin())
}

func (t *Traps) patternReason(pattern string) Reason {
	return reasonAt(GateURLPattern, t.settings.At, number("maxURLsPerPattern", t.settings.MaxURLsPerPattern)+" of "+clip(pattern))
}

func number(name string, n int) string { return name + `="` + strconv.Itoa(n) + `"` }
