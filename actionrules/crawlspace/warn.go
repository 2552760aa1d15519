package crawlspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// Warnings lists settings that are allowed but probably unintended. roots are the start URLs as written. ignored
// reports which URLs the action rules ignore; nil means none. converted are the media types that programs read.
func (s *Space) Warnings(roots []Link, ignored func(weburl.URL) bool, converted ...string) []actionrules.Warning {
	var ws []actionrules.Warning
	add := func(at actionrules.Position, format string, args ...any) {
		ws = append(ws, actionrules.Warning{At: at, Text: fmt.Sprintf(format, args...)})
	}
	if s.settings.CrawlRules != nil {
		s.warnOfDomains(add)
		s.warnOfAddresses(add)
	}
	for _, l := range roots {
		if v := s.Judge(l); !v.Allowed {
			add(actionrules.Position{File: v.Reason.File, Line: v.Reason.Line},
				"the start URL %s is not in the crawl space: %s gate, %s", l.URL, v.Reason.Gate, v.Reason.Rule)
		}
	}
	if s.reject != nil {
		add(actionrules.Position{File: s.settings.RejectList.Name},
			"the reject list is for a running crawl; move its %d patterns into exclude of Patterns in the end", len(s.reject.list.entries))
	}
	wantsImages := slices.ContainsFunc(converted, func(mediaType string) bool { return strings.HasPrefix(mediaType, images) })
	switch kinds := s.unexcluded(roots, ignored, wantsImages); {
	case kinds == "":
	case wantsImages: // the default list has them
		add(actionrules.Position{}, "nothing excludes %s; write <IgnoredExtensions list=\"js,css\"/>, which leaves images to the Converter", kinds)
	default:
		add(actionrules.Position{}, "nothing excludes %s; write <IgnoredExtensions/>", kinds)
	}
	return ws
}

func (s *Space) warnOfDomains(add func(actionrules.Position, string, ...any)) {
	end := actionrules.Position{File: s.settings.CrawlRules.Name}
	closed := false
	n := s.domain.size()
	if n == 0 {
		add(end, "there is no domain rule: with this file every URL is accepted that no rule forbids, so that the crawl may go through the whole Internet; write allow domain for each site and, behind them, forbid domain *")
		return
	}
	last := s.domain.rules[n-1]
	end.Line, closed = last.reason.Line, last.everyDomain()
	if !closed {
		add(end, "the domain rules do not end in \"forbid domain *\", so that the crawl may go through the whole Internet")
	}
	if !s.settings.FoldHost {
		add(actionrules.Position{File: end.File}, "domain rules tell WWW.example.com from www.example.com; write hostCase=\"fold\" to ignore the case")
	}
}

func (s *Space) warnOfAddresses(add func(actionrules.Position, string, ...any)) {
	var closed [2]*addressRule // IPv4, IPv6
	for i := range s.addresses.rules {
		r := &s.addresses.rules[i]
		family := 1
		if r.v4 {
			family = 0
		}
		if !r.allow && r.mask == (bits{}) {
			closed[family] = r
		}
	}
	at := func(r *addressRule) actionrules.Position {
		return actionrules.Position{File: r.reason.File, Line: r.reason.Line}
	}
	switch {
	case closed[0] != nil && closed[1] == nil:
		add(at(closed[0]), "only IPv4 addresses are closed; write \"forbid address :: ::\" too")
	case closed[1] != nil && closed[0] == nil:
		add(at(closed[1]), "only IPv6 addresses are closed; write \"forbid address 0.0.0.0 0.0.0.0\" too")
	}
	if len(s.addresses.rules) > 0 && s.settings.Proxy {
		add(at(&s.addresses.rules[0]), "address rules do not limit what a proxy fetches: it resolves the names; limit hosts by domain rules")
	}
}

// images is what their media types begin with.
const images = "image/"

// unexcluded says which of images, if they are not wanted, scripts and styles would be visited: those
// unexcluded returns which of unwanted images, scripts and styles would be visited: those for which a file in the
// folder of some start URL passes all gates and rules.
func (s *Space) unexcluded(roots []Link, ignored func(weburl.URL) bool, wantsImages bool) string {
	var kinds []string
	for _, k := range []struct{ name, file, mime string }{
		{"images", "picture.png", "image/png"}, {"scripts", "script.js", "text/javascript"}, {"styles", "style.css", "text/css"},
	} {
		if wantsImages && strings.HasPrefix(k.mime, images) {
			continue
		}
		for _, root := range roots {
			folder := root.URL.Path()[:strings.LastIndexByte(root.URL.Path(), '/')+1]
			u, err := weburl.Parse(root.URL.Origin() + folder + k.file)
			if err != nil || ignored != nil && ignored(u) {
				continue
			}
			if l := (Link{URL: u, Host: root.Host, Depth: root.Depth}); s.Judge(l).Allowed && s.JudgeMIME(l, k.mime).Allowed {
				kinds = append(kinds, k.name)
				break
			}
		}
	}
	return strings.Join(kinds, ", ")
}
