package feeds

import "bytes"

// sniffBytes is the size of the part of a file in which the root is searched.
const sniffBytes = 64 << 10

// Sniff returns the format of an XML file by its root, Unknown if the package does not support it.
func Sniff(body []byte, contentType string) Format {
	in, err := open(bytes.NewReader(body[:min(len(body), sniffBytes)]), Options{ContentType: contentType})
	if err != nil || !isXML(in) {
		return Unknown
	}
	root, err := newWalker(in.Reader).root()
	if err != nil || root.kind == endOfFile {
		return Unknown
	}
	return formatOf(root.name)
}

// formatOf returns the format of files with this root.
func formatOf(root string) Format {
	switch _, local := split(root); local {
	case "urlset":
		return URLSet
	case "sitemapindex":
		return Index
	case "rss":
		return RSS
	case "rdf":
		return RDF
	case "feed":
		return Atom
	}
	return Unknown
}
