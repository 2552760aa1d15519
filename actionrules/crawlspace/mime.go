package crawlspace

import "strings"

// extensionTypes are the MIME types of the default extensions, as registered with
// IANA or in common use, each followed by its extensions.
const extensionTypes = `
application/x-7z-compressed 7z
video/x-ms-asf asf
video/x-msvideo avi
video/avi avi
application/x-bat bat cmd
image/bmp bmp
image/x-ms-bmp bmp
text/css css
application/vnd.ms-fontobject eot
application/x-msdownload exe dll com cpl
application/vnd.microsoft.portable-executable exe dll cpl
application/x-dosexec exe dll com
application/x-msdos-program com exe
video/x-flv flv
image/gif gif
application/hta hta
image/x-icon ico
image/vnd.microsoft.icon ico
application/x-iso9660-image iso
application/java-archive jar
image/jpeg jpg jpeg
text/javascript js
application/javascript js
application/x-javascript js
application/json json
audio/mpeg mp3
video/mp4 mp4
video/mpeg mpeg mpg
application/x-msi msi msp
audio/ogg ogg
video/ogg ogg
application/ogg ogg
image/png png
video/quicktime qt
application/vnd.rar rar
application/x-rar-compressed rar
image/svg+xml svg
image/tiff tiff
font/ttf ttf
application/x-font-ttf ttf
text/vbscript vb vbe vbs
video/dvd vob
audio/wav wav
audio/x-wav wav
audio/vnd.wave wav
video/x-ms-wmv wmv
font/woff woff
application/font-woff woff
font/woff2 woff2
application/xml xml
text/xml xml
application/zip zip
application/x-zip-compressed zip
`

// unknownType is the type of a response without Content-Type (RFC 9110 section 8.3).
const unknownType = "application/octet-stream"

// mimeGate judges responses by their type, before the body is read.
type mimeGate struct {
	on      bool              // MimeTypes are listed
	include bool              // they are all that is taken
	listed  map[string]Reason // type/subtype, or type/* for a whole type
	missing Reason            // reason for a type that is not included
	// ignored are the types that belong to an ignored extension.
	ignored map[string]Reason
}

// newMIMEGate returns a gate that always exists, even if it refuses nothing.
func newMIMEGate(m *MIMETypes, x *Extensions, ignored *extensionGate) (*mimeGate, []error) {
	g := &mimeGate{listed: map[string]Reason{}, ignored: map[string]Reason{}}
	var errs []error
	if m != nil {
		errs = g.list(m)
	}
	if x == nil {
		return g, errs
	}
	for entry := range strings.Lines(strings.TrimSpace(extensionTypes)) {
		fields := strings.Fields(entry)
		for _, ext := range fields[1:] {
			g.pair(fields[0], ext, ignored)
		}
	}
	for _, p := range x.Pairs {
		mime, err := mimeName(p.Type)
		if err == nil && strings.HasSuffix(mime, "/*") {
			err = fault(p.Type.At, "%s is no single type; write for example video/mp4", clip(p.Type.Value))
		}
		ext, extErr := extensionName(strings.TrimSpace(p.Extension.Value), p.Extension.At)
		for _, e := range []error{err, extErr} {
			if e != nil {
				errs = append(errs, e)
			}
		}
		g.pair(mime, ext, ignored)
	}
	return g, errs
}

// pair notes a type whose extension is ignored.
func (g *mimeGate) pair(mime, ext string, ignored *extensionGate) {
	if r, ok := ignored.ignored[ext]; ok {
		r.Gate, r.Rule = GateMIME, mime+" belongs to "+ext
		g.ignored[mime] = r
	}
}

func (g *mimeGate) list(m *MIMETypes) (errs []error) {
	names := make([]string, 0, len(m.Types))
	for _, t := range m.Types {
		name, err := mimeName(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names = append(names, name)
		g.listed[name] = reasonAt(GateMIME, t.At, name)
	}
	if m.Include && len(m.Types) == 0 {
		errs = append(errs, fault(m.At, "no MIME type is included, so nothing could be crawled; list types, such as text/html"))
	}
	g.on, g.include = len(m.Types) > 0, m.Include
	g.missing = reasonAt(GateMIME, m.At, "include "+strings.Join(names, ", "))
	return errs
}

// mimeName validates a configured type and returns it in lower case.
func mimeName(t Text) (string, error) {
	name := lower(strings.TrimSpace(t.Value))
	kind, sub, ok := strings.Cut(name, "/")
	if !ok || kind == "" || sub == "" || strings.ContainsAny(name, ";,\"") || !printable(name) || strings.Contains(kind, "*") ||
		strings.Contains(sub, "/") || strings.Contains(sub, "*") && sub != "*" {
		return "", fault(t.At, "%s is no MIME type; write for example video/mp4 or video/*, without parameters", clip(t.Value))
	}
	return name, nil
}

// JudgeMIME applies the MIME gate to the Content-Type of a response to a link that the other gates allow. Parameters
// are ignored; a missing type counts as application/octet-stream. The type lists apply to every URL; the types of
// ignored extensions apply only to paths without an extension. The body of a refused response need not be read.
func (s *Space) JudgeMIME(l Link, contentType string) Verdict {
	v := Verdict{URL: l.URL, Allowed: true}
	if !l.Exempt {
		v.Reason, v.Allowed = s.mime.judge(l, contentType)
	}
	if !v.Allowed {
		v.Status = StatusExcluded
	}
	return v
}

func (g *mimeGate) judge(l Link, contentType string) (Reason, bool) {
	mime, _, _ := strings.Cut(contentType, ";")
	if mime = lower(strings.TrimSpace(mime)); mime == "" {
		mime = unknownType
	}
	if g.on {
		r, listed := g.listed[mime]
		if kind, _, ok := strings.Cut(mime, "/"); ok && !listed {
			r, listed = g.listed[kind+"/*"]
		}
		switch {
		case listed && !g.include:
			return r, false
		case !listed && g.include:
			return g.missing, false
		}
	}
	if r, ok := g.ignored[mime]; ok && !hasExtension(l.URL.Path()) {
		return r, false
	}
	return Reason{}, true
}
