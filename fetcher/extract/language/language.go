// Package language finds the language of a text by its trigrams.
//
// It starts no goroutine, has no lock, and reads at most sampleBytes of a text.
package language

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
	"golang.org/x/text/language"
)

// Source is where a language is from.
type Source string

// The sources.
const (
	Declared  Source = "declared"  // by the page
	Detected  Source = "detected"  // in its text, as the page declares none
	Corrected Source = "corrected" // in its text, which is plainly not in the declared one
)

const (
	sampleBytes = 3 << 10 // in three parts
	// minLetters is the number of letters in which a language is looked for, plainLetters that in which a declared one
	// can be wrong.
	minLetters   = 100
	plainLetters = 300
	// detectable is the confidence from which a language counts as detected. It is not a probability.
	detectable = 0.1
)

// Of returns the language of a text in the form of BCP 47, and where it is from. It returns the declared one, which may
// be "", if the text is too short or could be in several languages.
func Of(declared, text string) (tag string, by Source) {
	kept := Declared
	if declared == "" {
		kept = ""
	}
	parts := sampleOf(text)
	sample, letters := written(strings.Join(parts, " "))
	if letters < minLetters {
		return declared, kept
	}
	found := whatlanggo.DetectWithOptions(sample, withoutTwins)
	code := codeOf(found.Lang)
	switch {
	case code == "":
	case declared == "" && found.Confidence >= detectable:
		return code, Detected
	case declared != "" && letters >= plainLetters && plainlyOther(declared, found) && agree(parts, found.Lang):
		return code, Corrected
	}
	return declared, kept
}

// agree reports whether each part of a text is plainly in a language.
func agree(parts []string, lang whatlanggo.Lang) bool {
	for _, part := range parts {
		sample, letters := written(part)
		found := whatlanggo.DetectWithOptions(sample, withoutTwins)
		if letters < minLetters || found.Lang != lang || found.Confidence < 0.5 {
			return false
		}
	}
	return true
}

// withoutTwins leaves out a model whose language has the same code as another one. It is constant.
var withoutTwins = whatlanggo.Options{Blacklist: map[whatlanggo.Lang]bool{whatlanggo.Nno: true}}

// Base returns the language of a tag without region and script, "" if it is not a tag. Languages of a macrolanguage
// have its code: Norwegian is no.
func Base(tag string) string {
	base, _, _ := language.Macro.Make(strings.TrimSpace(tag)).Raw() // Base would guess English
	if s := base.String(); s != "und" {
		return s
	}
	return ""
}

// codeOf returns the tag of a language: that of two letters if it has one.
func codeOf(lang whatlanggo.Lang) string {
	iso := whatlanggo.LangToString(lang)
	if iso == "" {
		return ""
	}
	return Base(iso)
}

// plainlyOther reports whether a text that was found to be in a language is not in the declared one. The declared one
// must be known to the models, which find another one for every text, or be written in another script. Languages that
// resemble each other are not told apart.
func plainlyOther(declared string, found whatlanggo.Info) bool {
	tag, err := language.Parse(strings.TrimSpace(declared))
	if err != nil {
		return false
	}
	base, code := Base(declared), codeOf(found.Lang)
	if base == "" || base == code {
		return false
	}
	for _, alike := range similar {
		if strings.Contains(alike, " "+base+" ") && strings.Contains(alike, " "+code+" ") {
			return false
		}
	}
	if isKnown(base) {
		return true
	}
	script, _ := tag.Script()
	table := unicode.Scripts[scriptNames[script.String()]]
	return table != nil && found.Script != nil && table != found.Script
}

// similar are languages that resemble each other. It is constant.
var similar = [...]string{
	" no da sv ", " hr sr bs sl sh ", " id ms jv ", " cs sk ", " hi mr ne bho mai ", " ru uk be bg mk ", " ar fa ur ug ",
	" zh ja ", " he yi ", " az tr ", " pt es it gl ca ",
}

// isKnown reports whether there is a model of a language.
func isKnown(base string) bool {
	for lang := whatlanggo.Aka; lang <= whatlanggo.Zul; lang++ {
		if codeOf(lang) == base {
			return true
		}
	}
	return false
}

// scriptNames are Unicode's names of scripts with languages that have no model. It is constant.
var scriptNames = map[string]string{
	"Latn": "Latin", "Cyrl": "Cyrillic", "Arab": "Arabic", "Hebr": "Hebrew", "Deva": "Devanagari", "Grek": "Greek",
}

// sampleOf returns three parts of a text: its beginning, middle and end, which together are all of a short one.
func sampleOf(text string) []string {
	part := min(sampleBytes, len(text)) / 3
	parts := make([]string, 0, 3)
	for _, from := range [...]int{0, (len(text) - part) / 2, len(text) - part} {
		parts = append(parts, strings.ToValidUTF8(text[from:from+part], " "))
	}
	return parts
}

// written returns a text for the models, and counts its letters; one of East Asia counts as three. If a fifth of the
// letters or more is not of ASCII, and of other scripts than Latin, ASCII letters are left out: they are names or code.
func written(text string) (sample string, letters int) {
	ascii, other := 0, 0
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			if r|0x20 >= 'a' && r|0x20 <= 'z' {
				ascii++
			}
		case !unicode.IsLetter(r):
		case r >= 0x2E80:
			letters, other = letters+3, other+3
		case unicode.Is(unicode.Latin, r):
			letters++
		default:
			letters, other = letters+1, other+1
		}
	}
	if other < (ascii+letters)/5 {
		return text, letters + ascii
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return ' '
		}
		return r
	}, text), letters
}
