package admin

import (
	"regexp"
	"strings"
	"sync"
)

// Read is a verb of the API that only reads, and that readers may use: a GET with a response in JSON.
type Read struct {
	Name, Path string
	About      string // a sentence without its full stop
	Parameters []Parameter
}

// Parameter is a parameter of a Read.
type Parameter struct {
	Name, About string
	Type        string   // of JSON schema
	Values      []string // the only ones; empty for any
	Required    bool
}

// Reads returns the routes that only read, in the order of openapi.yaml, from which it takes their parameters and
// descriptions. It parses only the forms of lines that openapi.yaml has; a test compares it with a YAML parser.
var Reads = sync.OnceValue(func() []Read {
	d := description{shared: map[string]Parameter{}, fields: regexp.MustCompile(
		`\{name: (\w+), in: query, (required: true, )?description: (.+?), schema: \{type: (\w+)(?:, enum: \[([^\]]+)\])?`)}
	for line := range strings.Lines(string(OpenAPI())) {
		if name, words, ok := strings.Cut(strings.TrimSpace(line), ": {name: "); ok {
			d.shared[name] = d.parameter("{name: " + words)
		}
	}
	for line := range strings.Lines(string(OpenAPI())) {
		d.line(strings.TrimRight(line, "\n"))
	}
	d.end()
	return d.all
})

// description is the API's, as far as it is read.
type description struct {
	fields *regexp.Regexp // of a parameter in one line
	shared map[string]Parameter
	all    []Read
	path   string
	// now is the verb that is being read.
	now         Read
	get, reader bool
	inJSON      bool // its response
}

// end keeps the verb if it is a Read.
func (d *description) end() {
	if d.get && d.reader && d.inJSON {
		d.all = append(d.all, d.now)
	}
	d.now, d.get, d.reader, d.inJSON = Read{Path: d.path}, false, false, false
}

func (d *description) line(line string) {
	depth := len(line) - len(strings.TrimLeft(line, " "))
	key, value, _ := strings.Cut(line[depth:], ": ")
	switch {
	case depth == 2 && strings.HasPrefix(key, "/"):
		d.end()
		d.path = strings.TrimSuffix(key, ":")
	case depth == 4 && d.path != "" && strings.HasSuffix(key, ":"):
		d.end()
		d.get = key == "get:"
	case depth == 6 && key == "operationId":
		d.now.Name = value
	case depth == 6 && key == "summary":
		d.now.About = strings.Trim(value, `"`)
	case depth == 6 && key == "x-role":
		d.reader = value == Reader.String()
	case depth == 8 && key == "- {name":
		d.now.Parameters = append(d.now.Parameters, d.parameter(line[depth:]))
	case depth == 8 && key == "- $ref":
		d.now.Parameters = append(d.now.Parameters, d.shared[strings.Trim(value[strings.LastIndexByte(value, '/')+1:], `"`)])
	case depth == 12 && strings.HasPrefix(key, "application/json"):
		d.inJSON = true
	}
}

// parameter reads a parameter in one line.
func (d *description) parameter(line string) Parameter {
	m := d.fields.FindStringSubmatch(line)
	if m == nil {
		return Parameter{}
	}
	p := Parameter{Name: m[1], Required: m[2] != "", About: strings.Trim(m[3], `"`), Type: m[4]}
	if m[5] != "" {
		p.Values = strings.Split(m[5], ", ")
	}
	return p
}
