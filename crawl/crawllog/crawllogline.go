package crawllog

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/scheduler"
)

// The result of a visit in the crawl log (doc_status); a contract, documented in docs/operations.md.
const (
	docAdded     = "added"
	docUpdated   = "updated"
	docUnchanged = "unchanged"
	docNone      = "none"
	docDeleted   = "deleted"
	docPending   = "pending"
	docRedirect  = "redirect"
	docExcluded  = "excluded"
	docTemporary = "temporary"
	docPermanent = "permanent"
)

// DocStatus returns the first of these words that applies.
func DocStatus(b scheduler.Effect) string {
	switch {
	case b.Added:
		return docAdded
	case b.Updated:
		return docUpdated
	case b.Deleted:
		return docDeleted
	case b.Pending:
		return docPending
	}
	switch b.Class {
	case scheduler.Temporary:
		return docTemporary
	case scheduler.Permanent:
		return docPermanent
	case scheduler.Redirect:
		return docRedirect
	case scheduler.Ignored:
		return docExcluded
	case scheduler.Pending, scheduler.OK:
	}
	if b.Indexed {
		return docUnchanged
	}
	return docNone
}

// Lengths of the fields of a line, in bytes as written: URLs have a separate, lower limit.
const (
	logFieldBytes   = 16 << 10
	logMessageBytes = 1 << 10
	logTimeForm     = "2006-01-02T15:04:05.000Z"
)

// Line is one line: date, doc_status, http_code, http_message, url and referrer
// with tabs between them, then a tab and the messages, each in brackets. An unknown field is a hyphen. No character
// from the network ends a line, a field or a message.
func Line(at time.Time, status string, code int, url, referrer string, messages []string) []byte {
	b := make([]byte, 0, 256)
	b = at.UTC().AppendFormat(b, logTimeForm)
	b = append(append(b, '\t'), status...)
	b = append(b, '\t')
	if code == 0 {
		b = append(b, "-\t-"...)
	} else {
		b = strconv.AppendInt(b, int64(code), 10)
		b = appendLogField(append(b, '\t'), http.StatusText(code), logFieldBytes)
	}
	b = appendLogField(append(b, '\t'), url, logFieldBytes)
	b = appendLogField(append(b, '\t'), referrer, logFieldBytes)
	b = append(b, '\t')
	begin := len(b)
	for _, m := range messages {
		if m = strings.TrimSpace(m); m == "" {
			continue
		}
		if len(b) > begin {
			b = append(b, ' ')
		}
		b = append(appendLogField(append(b, '['), m, logMessageBytes), ']')
	}
	if len(b) == begin {
		b = append(b, '-')
	}
	return append(b, '\n')
}

// appendLogField appends at most about limit bytes of s, or "-" if it is empty. Unprintable characters, backslashes and
// brackets are written as \xNN or \u{N}.
func appendLogField(b []byte, s string, limit int) []byte {
	if s == "" {
		return append(b, '-')
	}
	begin := len(b)
	for i := 0; i < len(s); {
		if len(b)-begin >= limit {
			return append(b, "..."...)
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1, r < utf8.RuneSelf && !unicode.IsPrint(r), r == '\\', r == '[', r == ']':
			b = fmt.Appendf(b, `\x%02x`, s[i])
		case !unicode.IsPrint(r):
			b = fmt.Appendf(b, `\u{%x}`, r)
		default:
			b = append(b, s[i:i+size]...)
		}
		i += size
	}
	return b
}
