package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
)

// maxShown bounds the displayed characters of a URL or title.
const maxShown = 300

// functions returns the templates' functions.
func functions(f *files) template.FuncMap {
	return template.FuncMap{
		"static":    f.address,
		"when":      when,
		"zone":      func() string { return time.Now().Format("-07:00") },
		"ago":       ago,
		"bytes":     byteWords,
		"count":     count,
		"rate":      rate,
		"lasting":   lasting,
		"text":      func(s string) template.HTML { return shown(s, maxShown) },
		"textN":     func(n int, s string) template.HTML { return shown(s, n) },
		"plural":    plural,
		"url":       broken,
		"words":     spaced,
		"textPlain": func(s string) string { return cut(s, 80) },
		"minus":     func(n, by any) float64 { return number(n) - number(by) },
		"percent":   percent,
		"countMost": func() int { return admin.MostCounted },
		"total":     admin.Sum,
		"escaped":   url.QueryEscape,
		"sentence":  func(a admin.Answer) string { return sentence(a.String()) },
		"sources":   scheduler.SourceWords,
		"classes":   scheduler.ClassWords,
	}
}

// moment converts a time.Time or a *time.Time; ok is false for none.
func moment(at any) (t time.Time, ok bool) {
	switch at := at.(type) {
	case time.Time:
		t = at
	case *time.Time:
		if at != nil {
			t = *at
		}
	}
	return t, !t.IsZero()
}

// when returns a time in the zone that the page's foot names: the service's, until the script changes both to the
// browser's. UTC is its title.
func when(at any) template.HTML {
	t, ok := moment(at)
	if !ok {
		return "–"
	}
	return element(t, t.Local().Format(time.DateTime))
}

// ago returns the distance of a time from now, in the past or the future.
func ago(at any) template.HTML {
	t, ok := moment(at)
	if !ok {
		return "–"
	}
	d := time.Since(t)
	switch {
	case d < 0:
		return element(t, "in "+lasting(-d))
	case d < time.Second:
		return element(t, "now")
	}
	return element(t, lasting(d)+" ago")
}

// element returns a time as HTML. The words must not contain markup.
func element(t time.Time, words string) template.HTML {
	utc := t.UTC().Format(time.RFC3339)
	kind := ""
	if words[0] >= '0' && words[0] <= '9' && strings.Contains(words, ":") {
		kind = ` data-local`
	}
	return template.HTML(`<time datetime="` + utc + `" title="` + t.UTC().Format("2006-01-02 15:04:05 UTC") + `"` + kind + `>` + words + `</time>`) //nolint:gosec // digits and fixed words
}

// lasting returns a duration: a time.Duration, or seconds.
func lasting(of any) string {
	var d time.Duration
	switch of := of.(type) {
	case time.Duration:
		d = of
	case float64:
		d = time.Duration(of * float64(time.Second))
	case int64:
		d = time.Duration(of) * time.Second
	}
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 2*time.Minute:
		return strconv.FormatInt(int64(d.Seconds()), 10) + " s"
	case d < 2*time.Hour:
		return strconv.FormatInt(int64(d.Minutes()), 10) + " min"
	case d < 48*time.Hour:
		return strconv.FormatInt(int64(d.Hours()), 10) + " h"
	}
	return strconv.FormatInt(int64(d.Hours()/24), 10) + " days"
}

// number converts any number.
func number(n any) float64 {
	switch n := n.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case uint64:
		return float64(n)
	case float64:
		return n
	}
	return math.NaN()
}

// byteWords returns a number of bytes with its unit.
func byteWords(n any) string { return humanize.IBytes(uint64(max(number(n), 0))) }

// count shows a whole number in groups of three digits.
func count(n any) string { return humanize.Comma(int64(math.RoundToEven(number(n)))) }

// rate returns a number per second with three figures.
func rate(n any) string {
	f := number(n)
	switch {
	case f == 0:
		return "0"
	case f >= 100:
		return count(f)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// sentence makes the first letter upper case.
func sentence(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + words[size:]
}

func percent(part, all any) string {
	if number(all) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*number(part)/number(all))
}

// spaced returns a word of the API with spaces.
func spaced(word string) string { return strings.ReplaceAll(word, "_", " ") }

// plural returns a count with its noun.
func plural(n any, one, many string) string {
	if number(n) == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// shown returns external text: shortened, without characters that change the display of the text around it, and
// isolated from the direction of the page. Time stamps in it are shown like other times.
func shown(s string, n int) template.HTML {
	stamped := func(t time.Time) string { return string(when(t)) }
	return template.HTML("<bdi>" + clock.Replace(cut(s, n), stamped, template.HTMLEscapeString) + "</bdi>") //nolint:gosec // escaped
}

// cut returns the first n characters of s with control characters made visible.
func cut(s string, n int) string {
	return cutBy(s, n, func(r rune) bool { return r == '\u00a0' || r == '\u202f' })
}

// cutBy returns the first n characters of s with control characters made visible. It keeps the white space that keep
// accepts, and replaces the rest by spaces.
func cutBy(s string, n int, keep func(rune) bool) string {
	var b strings.Builder
	for _, r := range s {
		if n == 0 {
			b.WriteString("…")
			break
		}
		n--
		switch {
		case r == utf8.RuneError, hidden(r):
			r = '\uFFFD'
		case unicode.IsSpace(r) && !keep(r):
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hidden reports whether a character is invisible but changes the display: controls, and those that change the
// direction of what follows (UAX 9).
func hidden(r rune) bool {
	return unicode.IsControl(r) && !unicode.IsSpace(r) || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200B || r == 0xFEFF
}
