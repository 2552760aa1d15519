package config

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/config/secret"
	"github.com/sextant-crawler/sextant/config/words"
	"github.com/sextant-crawler/sextant/fetcher/extract/tree"
)

// attributes reads the attributes of n and keeps the valid ones.
func (p *parser) attributes(n *node, e *Markup, scope *namespaces) {
	p.places = attributePlaces(p.places[:0], p.src.data, e.Start, e.End)
	places := p.places
	if len(places) != len(e.attrs) { // encoding/xml disagrees, which was never seen and is not worth guessing
		p.errorf(e.Start, "the attributes of <%s> cannot be read: write each as name=\"value\"", n.spec.Name)
		return
	}
	n.attrs = make([]attr, 0, len(e.attrs))
	first := firstNamed(e.attrs)
	for i, a := range e.attrs {
		at := places[i]
		if before := first(i); before < i {
			p.errorf(at.name, "attribute %s is written twice (first at %s): remove one", clip(rawName(a.Name)), p.lineAndColumn(places[before].name))
			continue
		}
		if isForeign(a, scope) {
			continue
		}
		if n.spec.attribute(a.Name.Local) == nil && a.Name.Space == "" && p.passes(scope.uri(e.name.Space)) {
			p.warnf(at.name, "unknown attribute %s of <%s> is passed over", clip(a.Name.Local), n.spec.Name)
			continue
		}
		if !p.attribute(n, a, at) {
			n.faulty = append(n.faulty, a.Name.Local)
		}
	}
	for i := range n.spec.Attributes {
		spec := &n.spec.Attributes[i]
		if spec.Required && n.missing(spec.Name) {
			p.errorf(n.at, "<%s> needs the attribute %s", n.spec.Name, spec.Name)
		}
	}
}

// fewAttributes is the number up to which a linear search is cheaper than a map.
const fewAttributes = 8

// firstNamed returns a function from the index of an attribute to that of the first one with the same name.
func firstNamed(attrs []xml.Attr) func(i int) int {
	if len(attrs) <= fewAttributes {
		return func(i int) int {
			return slices.IndexFunc(attrs, func(a xml.Attr) bool { return a.Name == attrs[i].Name })
		}
	}
	first := make(map[xml.Name]int, len(attrs))
	for i, a := range attrs {
		if _, ok := first[a.Name]; !ok {
			first[a.Name] = i
		}
	}
	return func(i int) int { return first[attrs[i].Name] }
}

// attribute reads one attribute and keeps it; false if it is invalid, which is reported.
func (p *parser) attribute(n *node, a xml.Attr, at place) bool {
	var spec *Attribute
	if a.Name.Space == "" {
		spec = n.spec.attribute(a.Name.Local)
	}
	if spec == nil {
		p.unknownAttribute(n, a, at)
		return false
	}
	if spec.Status == NoEffect {
		if spec.Instead != "" && isTrue(a.Value) == isTrue(spec.InsteadOf) {
			p.report.notef(p.position(at.name), "%s has no effect here: %s", spec.Name, spec.Instead)
			return true
		}
		p.inert = append(p.inert, inert{at.name, spec.Name})
		return true
	}
	value, ok := p.resolve(n.spec.Name, spec, a.Value, at)
	if !ok {
		return false
	}
	if trimmed := strings.TrimSpace(value); spec.Type.isNumber() || spec.Type == Bool || spec.Type == Enum {
		value = trimmed
	}
	if complaint := spec.check(value); complaint != "" {
		p.errorf(at.value, "%s %s", p.written(spec, a.Value), complaint)
		return false
	}
	if slices.Contains(spec.NotYet, value) || spec.Status == Refused && !spec.isInert(value) {
		p.errorf(at.name, "%s is not supported by this version yet", p.written(spec, a.Value))
		return false
	}
	n.attrs = append(n.attrs, attr{spec: spec, place: at, text: value})
	return true
}

// unknownAttribute reports an attribute that the table does not have.
func (p *parser) unknownAttribute(n *node, a xml.Attr, at place) {
	if p.report.full() {
		return
	}
	known := n.spec.attributeNames()
	near := words.Nearest(a.Name.Local, known)
	write := words.MeantIn(n.spec.Name, a.Name.Local, words.Attributes())
	hint := ""
	switch {
	case write != "" && a.Name.Space == "":
		hint = ": " + write
	case a.Name.Space != "" && slices.Contains(known, a.Name.Local):
		hint = ": write " + a.Name.Local + " without prefix"
	case near != "":
		hint = ": did you mean " + near + "?"
		n.faulty = append(n.faulty, near)
	case len(known) == 0:
		hint = ", which has no attributes: remove it"
	case len(strings.Join(known, ", ")) > knownNames/2 && p.schema.owner(a.Name.Local) != "":
		hint = ": its place is in <" + p.schema.owner(a.Name.Local) + ">"
	case len(strings.Join(known, ", ")) > knownNames:
		hint = inManual
	case len(a.Name.Local) <= longestName:
		hint = ": known are " + strings.Join(known, ", ")
	}
	p.errorf(at.name, "unknown attribute %s of <%s>%s", clip(rawName(a.Name)), n.spec.Name, hint)
}

// written returns an attribute as written in the file, with variables unresolved, so that no secret gets into a
// message.
func (p *parser) written(spec *Attribute, value string) string {
	if spec.Type == SecretString || spec.Type == HTTPURL && strings.Contains(value, "@") {
		return spec.Name
	}
	return spec.Name + "=" + quote(value)
}

// resolve replaces ${ENV}, and file:PATH in a secret; false if they have errors, or use something that is not allowed.
func (p *parser) resolve(element string, spec *Attribute, value string, at place) (string, bool) {
	raw := p.src.data[at.value:at.end]
	resolved, errs := p.expand(value)
	read, written := 0, 0 // consumed bytes of value and raw
	for _, e := range errs {
		written += rawLength(raw[written:], e.offset-read)
		read = e.offset
		p.errorf(at.value+written, "%s: %s", spec.Name, e.message)
	}
	if len(errs) > 0 || !p.mayName(element, spec, value, resolved, at) {
		return "", false
	}
	file, ok := secretFile(value, resolved)
	if spec.Type != SecretString || !ok {
		return resolved, true
	}
	content, err := p.lookups.ReadFile(p.resolvePath(file))
	if err != nil {
		words := fmt.Sprintf("%s: the file %s cannot be read: %v", spec.Name, p.resolvePath(file), cause(err))
		if errors.Is(err, fs.ErrPermission) {
			words += "; let the user who runs this read it"
		}
		p.errorf(at.value, "%s", words)
		return "", false
	}
	return strings.TrimRight(string(content), "\r\n"), true
}

// resolvePath resolves a relative path against the file's folder.
func (p *parser) resolvePath(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(p.src.file), path)
}

// cause returns a file error without its path, which the message has already.
func cause(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no such file")
	}
	return withoutPath(err)
}

func withoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// isInert reports whether a value requires nothing that this version lacks.
func (a *Attribute) isInert(value string) bool {
	if a.Type == Bool && a.Inert != "" {
		return isTrue(value) == isTrue(a.Inert)
	}
	if a.Type.isNumber() && a.Inert != "" {
		n, _ := strconv.ParseInt(value, 10, 64)
		inert, _ := strconv.ParseInt(a.Inert, 10, 64)
		return n == inert
	}
	return value == a.Inert
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// check returns what is wrong with a value, as the continuation of name="value", and what to write instead; "" if it is
// valid.
func (a *Attribute) check(value string) string {
	if value == "" && (a.NotEmpty || a.Required && !a.MayBeEmpty) {
		if a.Type.isNumber() {
			return "must not be empty: write " + a.allowedRange()
		}
		return "must not be empty"
	}
	switch a.Type {
	case Bool:
		if !slices.Contains([]string{"true", "false", "1", "0"}, value) {
			return "is neither true nor false: write true, false, 1 or 0"
		}
	case Int, Milliseconds, Seconds, Bytes:
		return a.checkNumber(value)
	case Enum:
		return a.checkEnum(value)
	case Pattern:
		if value == "" {
			return `must not be empty: write \.\* for anything`
		}
	case SecretString, Path:
		if value == "" {
			return "must not be empty"
		}
	case HTTPURL:
		return checkURL(value)
	case HeaderValue:
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			return "holds characters that a header cannot carry: write printable ASCII"
		}
	case Product:
		if value == "" || strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" {
			return "is not a product token: write letters, _ and - only (RFC 9309)"
		}
	case HourRanges:
		_, complaint := parseHours(value)
		return complaint
	case Selector:
		if _, err := tree.Parse(value); err != nil {
			return err.Error()
		}
	case String, KeyValues, Command:
	}
	return ""
}

func (a *Attribute) checkNumber(value string) string {
	allowed := "write " + a.allowedRange()
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "is out of range: " + allowed
	case err != nil:
		return "is not a whole number: " + allowed
	case n < a.Min || n > a.Max:
		return "is out of range: " + allowed
	}
	return ""
}

func (a *Attribute) allowedRange() string {
	return strconv.FormatInt(a.Min, 10) + " to " + strconv.FormatInt(a.Max, 10)
}

func (a *Attribute) checkEnum(value string) string {
	if slices.Contains(a.Values, value) {
		return ""
	}
	if write := words.Meant(value, words.Values()); slices.Contains(a.Values, write) {
		return "is unknown: did you mean " + quote(write) + "?"
	}
	if near := words.Nearest(value, a.Values); near != "" {
		return "is unknown: did you mean " + quote(near) + "?"
	}
	return "is unknown: write " + strings.Join(a.Values, ", ")
}

func checkURL(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "is not an absolute URL: write http://host:port or https://host:port"
	}
	if u.User != nil {
		return "holds credentials: write them as user and password"
	}
	return ""
}

// The methods below are for attributes that check has accepted, and for defaults, which a test checks.

func (n *node) boolean(name string) bool { return isTrue(n.str(name)) }

func (n *node) secret(name string) secret.Value { return secret.New(n.str(name)) }

func (n *node) number(name string) int64 {
	v, _ := strconv.ParseInt(n.str(name), 10, 64)
	return v
}

func (n *node) duration(name string) time.Duration {
	unit := time.Second
	if n.spec.attribute(name).Type == Milliseconds {
		unit = time.Millisecond
	}
	return time.Duration(n.number(name)) * unit
}

// choice returns the index of an Enum's value.
func (n *node) choice(name string) int {
	v := n.str(name)
	for i, s := range n.spec.attribute(name).Values {
		if s == v {
			return i
		}
	}
	return 0
}
