package weburl

import (
	"errors"
	"strings"

	whatwgerrors "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

// The slow path knows the whole standard. It defines what is right: what the fast
// path takes must come out the same.

func parseSlow(raw string) (URL, error) { return resolveSlow("", raw) }

// resolveSlow reads ref relative to base, which may be empty.
func resolveSlow(base, ref string) (URL, error) {
	u, err := whatwg.ParseRef(base, ref)
	if err != nil {
		return URL{}, &Error{URL: ref, Err: ErrMalformed, Detail: parserWords(err)}
	}
	return canonical(ref, u)
}

// parserWords returns the parser's message without its repetition of the URL, as the end of a sentence.
func parserWords(err error) string {
	invalid, ok := errors.AsType[*whatwgerrors.ValidationError](err)
	if !ok {
		return err.Error()
	}
	words, _, _ := strings.Cut(strings.TrimSuffix(string(invalid.Type()), "."), ", because ")
	if d := invalid.Description(); d != "" {
		words += ": '" + d + "'"
	}
	if len(words) > 1 && 'a' <= words[1] && words[1] <= 'z' || strings.HasPrefix(words, "A ") {
		words = strings.ToLower(words[:1]) + words[1:]
	}
	return words
}

func canonical(raw string, u *whatwg.Url) (URL, error) {
	scheme := u.Scheme()
	if scheme != "http" && scheme != "https" {
		return URL{}, &Error{URL: raw, Err: ErrScheme, Detail: scheme + ":"}
	}
	host := u.Hostname()
	if host == "" {
		return URL{}, &Error{URL: raw, Err: ErrMalformed, Detail: "no host"}
	}
	port, path, query := u.Port(), normalisePercent(u.Pathname()), normalisePercent(u.Query())
	if port != "" {
		port = ":" + port
	}
	if query != "" {
		query = "?" + query
	}
	length := len(scheme) + len("://") + len(host) + len(port) + len(path) + len(query)
	if length > MaxLength { // before any offset is narrowed to 16 bits
		return URL{}, &Error{URL: raw, Err: ErrTooLong}
	}
	v := URL{fragment: u.Fragment()}
	v.schemeEnd = uint16(len(scheme))
	v.hostStart = v.schemeEnd + uint16(len("://"))
	v.hostEnd = v.hostStart + uint16(len(host))
	v.pathStart = v.hostEnd + uint16(len(port))
	v.pathEnd = v.pathStart + uint16(len(path))
	var b strings.Builder
	b.Grow(length)
	for _, part := range [...]string{scheme, "://", host, port, path, query} {
		b.WriteString(part)
	}
	v.s = b.String()
	v.hashHost(nil)
	return v, nil
}
