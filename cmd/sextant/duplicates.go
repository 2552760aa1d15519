package main

import (
	"fmt"

	"github.com/sextant-crawler/sextant/crawl/copies"
)

// duplicateWords tell of the detection of duplicates, in words.
func duplicateWords(d *copies.Status) string {
	words := fmt.Sprintf("%d documents are compared, %d copies of them are not indexed, %d were found since the start; %s",
		d.Documents, d.Copies, d.Found, size(d.Bytes))
	if d.Loading {
		words += "; not all are read yet"
	}
	return words
}
