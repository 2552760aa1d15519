package admin

import (
	_ "embed"
	"encoding/csv"
	"strings"
	"sync"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/scheduler"
)

//go:embed reasons.txt
var reasonFile string

// reasonText is the text of a reason.
type reasonText struct {
	words string // a sentence without its full stop
	more  string // the detail that a stored URL adds; see reasons.txt
	note  string // automatic consequences, or references; may be empty
	help  string // remedies for the operator; may be empty
}

// Help texts that several reasons share.
const (
	changeRules = "To crawl it, change the setting at the named place. Try the URL in the editor of the console, or with sextant explain, before you save."
	lookAgain   = "A dry run shows how the site responds now. When the site works again, recrawl the URL."
	otherURL    = "The document is indexed under the other URL."
)

// reasonWords returns the text of a reason, the only one there is.
func reasonWords(r scheduler.Reason) reasonText { return reasonTexts()[r] }

// reasonTexts returns the texts of all reasons. A test reads the file, so it has no errors.
var reasonTexts = sync.OnceValue(func() map[scheduler.Reason]reasonText {
	shared := strings.NewReplacer("$rules", changeRules, "$look", lookAgain, "$other", otherURL)
	file := csv.NewReader(strings.NewReader(shared.Replace(reasonFile)))
	file.Comma, file.Comment, file.LazyQuotes = '|', '#', true
	rows, _ := file.ReadAll()
	texts := make(map[scheduler.Reason]reasonText, len(rows))
	for _, row := range rows {
		reason, _ := scheduler.ParseReason(row[0])
		texts[reason] = reasonText{more: row[1], words: row[2], note: row[3], help: row[4]}
	}
	return texts
})

// because describes the reason for one URL.
func (t *reasonText) because(s *report.StoredURL) string {
	detail := t.other(s)
	switch {
	case t.more == "text alone" && s.LastError != "":
		return s.LastError
	case t.more == "text" && s.LastError != "":
		return t.words + " (" + s.LastError + ")"
	case t.words == "" || detail == "":
		return t.words
	}
	return t.words + ": " + detail
}

// other returns the URL that has the document.
func (t *reasonText) other(s *report.StoredURL) string {
	switch t.more {
	case "duplicate":
		return s.DuplicateOf
	case "redirect":
		return s.RedirectTo
	}
	return ""
}
