package feeds

import "bytes"

// sniffBytes is how far into a file the root is looked for.
const sniffBytes = 64 << 10

// Sniff says by its root what an XML file is, Unknown if it is nothing that this
// package has a name for.
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

// formatOf returns the format of files with a root of that name.
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
