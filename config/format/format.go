// Package format lays out a CrawlConfig.xml: two spaces a level, one child a line, without changing its meaning.
// Attributes, comments and blank lines stay in their places.
package format

import "github.com/sextant-crawler/sextant/config"

// File returns the text of a configuration in the project's layout, always in UTF-8. name is the file's name in errors.
// A file that is not well-formed XML is an error with a position; one that breaks rules of the configuration is not.
func File(name string, raw []byte) ([]byte, error) {
	text, file, err := config.Tree(name, raw)
	if err != nil {
		return nil, err
	}
	p := &printer{text: text}
	p.children(file, 0)
	p.out.WriteByte('\n')
	return p.out.Bytes(), nil
}
