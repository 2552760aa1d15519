package office

import (
	"strconv"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
)

// word handles a control word.
func (r *rtfReader) word(word string, n int, has bool) {
	ignorable := r.ignorable
	r.ignorable = false
	if word == "u" {
		r.unicode(n)
		return
	}
	if word == "bin" {
		r.at = min(r.at+max(n, 0), len(r.in))
		return
	}
	if r.skipping > 0 { // part of the fallback for \u
		r.skipping--
		return
	}
	if r.destination(word) || r.drawn(word) || r.character(word) {
		return
	}
	switch word {
	case "uc":
		r.group.skip = min(max(n, 0), 16)
	case "v", "deleted": // hidden text
		r.flush()
		r.group.hidden = !has || n != 0
	case "plain":
		r.flush()
		r.group.hidden = false
	case "f":
		r.flush()
		r.group.font = n
	case "fcharset":
		if page := charsetPage(n); page != nil && r.group.to == toFonts && len(r.fonts) < maxFonts {
			r.fonts[r.group.font] = page
		}
	case "ansicpg":
		if page := codePage(n); page != nil {
			r.page = page
		}
	case "mac":
		r.page = charmap.Macintosh
	case "pc":
		r.page = charmap.CodePage437
	case "pca":
		r.page = charmap.CodePage850
	case "nofpages":
		if r.group.to == toInfo && n > 0 {
			r.info["pages"] = strconv.AppendInt(nil, int64(n), 10)
		}
	case "cs", "ds", "ts": // styles, which some writers mark as destinations
	case "yr", "mo", "dy", "hr", "min", "sec":
		r.group.stamp.set(word, n)
	default:
		if ignorable {
			r.flush()
			r.group.to = toNowhere
		}
	}
}

// destination handles words that set where the text of the group goes. All groups inside a skipped one are skipped,
// too.
func (r *rtfReader) destination(word string) bool {
	to, property := toNowhere, ""
	var at *stamp
	switch word {
	case "fonttbl":
		to = toFonts
	case "fldinst":
		to = toInstruction
	case "info":
		to = toInfo
	case "title", "author", "subject", "keywords":
		to, property = toProperty, word
	case "doccomm":
		to, property = toProperty, "description"
	case "creatim":
		to, at = toInfo, &r.created
	case "revtim":
		to, at = toInfo, &r.modified
	case "colortbl", "stylesheet", "pict", "objdata", "objclass", "objname", "listtext", "pntext", "nonshppict", "shprslt",
		"bkmkstart", "bkmkend", "xe", "tc", "template", "printim", "buptim", "operator", "manager", "company",
		"category", "hlinkbase", "nextfile", "filetbl", "listtable", "themedata", "datastore", "xmlnstbl":
	default:
		return false
	}
	r.flush()
	inInfo := r.group.to == toInfo
	switch {
	case r.group.to == toNowhere:
	case property != "" || at != nil:
		if inInfo {
			r.group.to, r.group.property, r.group.stamp = to, property, at
		}
	default:
		r.group.to = to
	}
	return true
}

// drawn handles the words of drawings and annotations. Destinations with a drawing have text only in its text box.
func (r *rtfReader) drawn(word string) bool {
	from, to := toText, toText
	switch word {
	case "shpinst", "do":
		to = toShape
	case "shptxt", "dptxbxtext":
		from = toShape
	case "annotation":
	default:
		return false
	}
	if r.flush(); r.group.to == from {
		r.group.to, r.group.box = to, true
		r.b.Break()
	}
	return true
}

// character handles words for a character or a break.
func (r *rtfReader) character(word string) bool {
	var c rune
	switch word {
	case "par", "line", "tab", "cell", "row", "nestcell", "nestrow", "sect", "page", "column", "softline":
		r.separate()
		return true
	case "emdash":
		c = '\u2014'
	case "endash":
		c = '\u2013'
	case "lquote":
		c = '\u2018'
	case "rquote":
		c = '\u2019'
	case "ldblquote":
		c = '\u201c'
	case "rdblquote":
		c = '\u201d'
	case "bullet":
		c = '\u2022'
	case "emspace", "enspace", "qmspace":
		c = ' '
	case "zwj":
		c = '\u200d'
	case "zwnj":
		c = '\u200c'
	default:
		return false
	}
	r.rune(c)
	return true
}

// stamp is a time in parts.
type stamp struct{ year, month, day, hour, minute, second int }

func (s *stamp) set(word string, n int) {
	if s == nil {
		return
	}
	switch word {
	case "yr":
		s.year = n
	case "mo":
		s.month = n
	case "dy":
		s.day = n
	case "hr":
		s.hour = n
	case "min":
		s.minute = n
	case "sec":
		s.second = n
	}
}

// time returns the time in UTC, since RTF has no zones. It is zero for an invalid date.
func (s *stamp) time() time.Time {
	t := time.Date(s.year, time.Month(s.month), s.day, s.hour, s.minute, s.second, 0, time.UTC)
	if s.year <= 0 || t.Year() != s.year || int(t.Month()) != s.month || t.Day() != s.day {
		return time.Time{}
	}
	return t
}

// codePage returns the encoding of a Windows code page, nil if unknown.
func codePage(n int) encoding.Encoding {
	switch n {
	case 437:
		return charmap.CodePage437
	case 850:
		return charmap.CodePage850
	case 852:
		return charmap.CodePage852
	case 866:
		return charmap.CodePage866
	case 874:
		return charmap.Windows874
	case 932:
		return japanese.ShiftJIS
	case 936:
		return simplifiedchinese.GBK
	case 949:
		return korean.EUCKR
	case 950:
		return traditionalchinese.Big5
	case 10000:
		return charmap.Macintosh
	case 10007:
		return charmap.MacintoshCyrillic
	case 65001:
		return unicode.UTF8
	}
	pages := [...]encoding.Encoding{
		charmap.Windows1250, charmap.Windows1251, charmap.Windows1252, charmap.Windows1253, charmap.Windows1254,
		charmap.Windows1255, charmap.Windows1256, charmap.Windows1257, charmap.Windows1258,
	}
	if n >= 1250 && n-1250 < len(pages) {
		return pages[n-1250]
	}
	return nil
}

// charsetPage returns the encoding of a font's charset, nil for that of the document.
func charsetPage(charset int) encoding.Encoding {
	pages := map[int]int{
		0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
		177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
	}
	return codePage(pages[charset])
}
