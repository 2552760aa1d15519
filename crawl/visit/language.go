package visit

import (
	"github.com/sextant-crawler/sextant/fetcher/extract/language"
	"github.com/sextant-crawler/sextant/push"
)

// Metas of a document with its language, without region, and where that is from.
const (
	langMeta       = "lang"
	langSourceMeta = "lang_source"
)

// detectLanguage sets the language of a document by its text if its page declares none, or plainly a wrong one.
func detectLanguage(d *push.Document) {
	tag, by := language.Of(d.Language, d.Text)
	d.Language = tag
	if base := language.Base(tag); base != "" {
		d.Metas[langMeta], d.Metas[langSourceMeta] = []string{base}, []string{string(by)}
	}
}
