package admin

import (
	"cmp"
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

// The forms in which openapi.yaml writes a read, its parameters, and the components among these; a test compares them
// with a YAML parser.
const (
	readForm = `(?m)^  (/.*):\n    get:\n      operationId: (.*)\n      tags: .*\n      summary: "?(.*?)"?\n` +
		`      x-role: reader\n((?:      .*\n)+)`
	usedForm   = `(?m)^        - (?:\$ref: "#/components/parameters/(\w+)"|\{name: .*)`
	sharedForm = `(?m)^    (\w+): (\{name: .*)`
	fieldsForm = `\{name: (\w+), in: query, (required: true, )?description: (.+?), ` +
		`schema: \{type: (\w+)(?:, enum: \[([^\]]+)\])?`
)

// Reads returns the routes that only read, in the order of openapi.yaml, from which it takes their parameters and
// descriptions.
var Reads = sync.OnceValue(func() (all []Read) {
	api, shared := string(OpenAPI()), map[string]string{}
	for _, m := range regexp.MustCompile(sharedForm).FindAllStringSubmatch(api, -1) {
		shared[m[1]] = m[2]
	}
	used, fields := regexp.MustCompile(usedForm), regexp.MustCompile(fieldsForm)
	for _, m := range regexp.MustCompile(readForm).FindAllStringSubmatch(api, -1) {
		if !strings.Contains(m[4], "\n            application/json") {
			continue
		}
		r := Read{Path: m[1], Name: m[2], About: m[3]}
		for _, p := range used.FindAllStringSubmatch(m[4], -1) {
			f := fields.FindStringSubmatch(cmp.Or(shared[p[1]], p[0]))
			one := Parameter{Name: f[1], Required: f[2] != "", About: strings.Trim(f[3], `"`), Type: f[4]}
			if f[5] != "" {
				one.Values = strings.Split(f[5], ", ")
			}
			r.Parameters = append(r.Parameters, one)
		}
		all = append(all, r)
	}
	return all
})
