package scheduler

// Directives are what a page asks of crawlers, by robots metas and X-Robots-Tag,
// whether they are obeyed or not.
type Directives uint8

// The directives, any number of them together.
const (
	NoIndex Directives = 1 << iota
	NoFollow
	NoSnippet
	NoArchive
)

// Words are the directives as they are written on pages.
func (d Directives) Words() []string {
	var words []string
	for i, word := range [...]string{"noindex", "nofollow", "nosnippet", "noarchive"} {
		if d&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
