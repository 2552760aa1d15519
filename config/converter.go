package config

import (
	"mime"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

func converterElement() Element {
	return Element{Name: "Converter", Parents: []string{"Crawler"}, Rereads: true, Attributes: []Attribute{
		required("mediaType", String, "Media type that it reads, such as image/tiff, or image/* for all that begin so."),
		{Name: "command", Type: Command, Required: true, Doc: "Program to run, by its absolute path, and its arguments, parted by blanks; no shell reads them. {file} stands for the file with the document, which is the program's input otherwise."},
		{Name: "when", Type: Enum, Default: "always", Values: []string{"always", "no-text"},
			Doc: "Whether it reads all documents of the type, in place of Sextant, or only those in which Sextant finds no text."},
		{Name: "output", Type: Enum, Default: "text", Values: []string{"text", "html"}, Doc: "What the program writes, in UTF-8."},
		ranged("timeoutS", Seconds, "60", 1, 3600, "Time for one document; then the program is killed with its children."),
		ranged("maxMemoryMB", Int, "1024", 16, 65_536, "Memory of each of its processes, in MiB."),
		ranged("maxOutputBytes", Bytes, "10485760", 1024, giB, "How much is read of what it writes; the rest is cut off."),
	}, Doc: "An external program that reads the documents of a media type, such as one for OCR; of several for a type, the first counts. A configuration that comes over the network may name only programs that the file on the machine names."}
}

// converter reads one external program. What it is for must not be read as pages.
func (p *parser) converter(n *node, c *Crawler) {
	made := extract.Converter{
		MediaType: strings.ToLower(strings.TrimSpace(n.str("mediaType"))), Command: strings.Fields(n.str("command")),
		Timeout: n.duration("timeoutS"), MaxMemory: n.number("maxMemoryMB") << 20, MaxOutput: n.number("maxOutputBytes"),
		HTML: n.str("output") == "html", OnlyWithoutText: n.str("when") == "no-text",
	}
	if n.written("mediaType") {
		p.checkConverted(n, c, made.MediaType)
	}
	if command := n.attr("command"); command != nil && !slices.Contains(n.faulty, "command") {
		p.checkProgram(command)
	}
	c.Converters = append(c.Converters, made)
}

// checkConverted sees to the media type of a converter.
func (p *parser) checkConverted(n *node, c *Crawler, mediaType string) {
	at := n.valueAt("mediaType")
	top, sub, _ := strings.Cut(mediaType, "/")
	parsed, parameters, err := mime.ParseMediaType(mediaType)
	switch {
	case sub == "*" && top != "" && !strings.ContainsAny(top, "* "):
		if top == "text" {
			p.errorf(at, "mediaType=%s holds text/html, which Sextant reads itself: write one type, such as text/markdown", quote(mediaType))
		}
	case err != nil || parsed != mediaType || len(parameters) > 0 || sub == "" || strings.Contains(mediaType, "*"):
		p.errorf(at, "mediaType=%s is no media type: write one such as image/tiff, or image/* for all that begin so", quote(mediaType))
	case slices.Contains([]string{"text/html", "application/xhtml+xml"}, mediaType):
		p.errorf(at, "mediaType=%s: pages are read by Sextant itself: write another type", quote(mediaType))
	}
	if earlier := extract.ConverterOf(c.Converters, mediaType); earlier != nil {
		p.warnf(at, "this Converter is never asked: the one for %s above has its documents", earlier.MediaType)
	}
}

// checkProgram sees to a command, as far as it can without running it.
func (p *parser) checkProgram(command *attr) {
	words := strings.Fields(command.text)
	switch {
	case len(words) == 0 || !filepath.IsAbs(words[0]):
		p.errorf(command.value, "command=%s does not begin with an absolute path: write one, such as /usr/local/bin/program", quote(command.text))
	case !p.lookups.Exists(words[0]):
		p.warnf(command.value, "command=%s: there is no file %s: nothing is run until there is", quote(command.text), words[0])
	}
}
