#!/bin/sh
# The text of the scanned document $1: a PDF, or a picture that tesseract reads.
# Debian: apt install poppler-utils tesseract-ocr tesseract-ocr-deu
set -eu
languages=${2:-eng}
export OMP_THREAD_LIMIT=1 # one core a document: the crawler has work, too

if [ "$(head -c 5 "$1")" = "%PDF-" ]; then
	# The folder is the document's own, and goes with it. Fifty pages are enough to find it by.
	pdftoppm -r 150 -gray -l 50 "$1" page
	for page in page-*.pgm; do
		tesseract "$page" - -l "$languages"
	done
else
	tesseract "$1" - -l "$languages"
fi
