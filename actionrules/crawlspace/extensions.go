package crawlspace

import (
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/weburl"
)

// DefaultExtensions are the extensions that are ignored by default (Smartsite, "Source").
const DefaultExtensions = "7z, asf, avi, bat, bmp, cmd, com, cpl, css, dll, eot, exe, flv, gif, hta, ico, inf, iso, jar, jpeg, jpg, " +
	"js, json, mp3, mp4, mpeg, mpg, msi, msp, ogg, pif, png, ps1, qt, rar, reg, scr, svg, tiff, ttf, vb, vbe, vbs, vob, wav, wmv, " +
	"woff, woff2, xml, zip"

// longestExtension is the maximum length of an extension in bytes. It bounds the cost of hostile paths.
const longestExtension = 32

// extensionGate refuses URLs whose path names an ignored extension.
type extensionGate struct {
	ignored map[string]Reason // in lower case, without the leading dot
	longest int
}

// newExtensionGate returns nil if the gate is off.
func newExtensionGate(x *Extensions) (*extensionGate, []error) {
	if x == nil {
		return nil, nil
	}
	g := &extensionGate{ignored: map[string]Reason{}}
	list := x.List
	if strings.TrimSpace(list.Value) == "" {
		list = Text{DefaultExtensions, x.At}
	}
	var errs []error
	for _, t := range []Text{list, x.Extra, x.Always} {
		errs = append(errs, g.add(t)...)
	}
	return g, errs
}

func (g *extensionGate) add(t Text) (errs []error) {
	for _, s := range strings.FieldsFunc(t.Value, func(r rune) bool { return r == ',' || r == ';' }) {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		name, err := extensionName(s, t.At)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, known := g.ignored[name]; !known {
			g.ignored[name] = reasonAt(GateExtension, t.At, name)
			g.longest = max(g.longest, len(name))
		}
	}
	return errs
}

// extensionName converts an extension to the form used in comparisons.
func extensionName(s string, at actionrules.Position) (string, error) {
	name := lower(strings.TrimPrefix(s, "."))
	bad := strings.ContainsAny(name, "*/?#&;,") || !printable(name)
	if bad || name == "" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		return "", fault(at, "%s is not an extension; write one such as mp4 or .mp4, and separate several with , or ;", clip(s))
	}
	if len(name) > longestExtension {
		return "", fault(at, "the extension %s is longer than %d bytes; use an exclude pattern", clip(s), longestExtension)
	}
	return name, nil
}

// lastSegment returns the file name at the end of a path, without path parameters.
func lastSegment(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name, _, _ = strings.Cut(name, ";")
	return name
}

// hasExtension reports whether the path names any extension.
func hasExtension(path string) bool {
	name := lastSegment(path)
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && dot+1 < len(name)
}

// judge looks up the text after each dot of the file name, so that lists can contain tar.gz too.
func (g *extensionGate) judge(l Link) (Reason, bool) {
	if l.Exempt {
		return Reason{Gate: GateExtension}, true
	}
	name := lastSegment(l.URL.Path())
	var buf [longestExtension]byte
	for i := max(0, len(name)-g.longest-1); i < len(name); i++ {
		if name[i] != '.' {
			continue
		}
		n := copy(buf[:], name[i+1:])
		for j := range n {
			buf[j] = lowerByte(buf[j])
		}
		if r, ok := g.ignored[string(buf[:n])]; ok {
			return r, false
		}
	}
	return Reason{Gate: GateExtension}, true
}

// IgnoresExtension reports whether a page is excluded for its extension.
func (s *Space) IgnoresExtension(u weburl.URL) bool {
	if s.extensions == nil {
		return false
	}
	_, allowed := s.extensions.judge(Link{URL: u})
	return !allowed
}
