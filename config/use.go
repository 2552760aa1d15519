package config

import "strings"

// Use is a resource of the machine that a configuration names: a file or folder, a program, or an environment variable.
type Use struct {
	// Attribute names it as Element.attribute: a file may be read only for the attribute that names it. It is empty for a
	// variable, which any attribute may use.
	Attribute string `json:"attribute,omitempty"`
	// Value is an absolute path, or one relative to the working directory if the configuration's own is; a program with
	// its arguments, separated by single blanks; or a variable's name.
	Value string `json:"value"`
}

// allows reports whether a configuration may use a resource. It is called before any other access to it.
func (l *Lookups) allows(u Use) bool { return l.Allow == nil || l.Allow(u) }

// expand replaces the variables in a value, if the configuration may use them.
func (p *parser) expand(value string) (string, []expandError) {
	return expand(value, func(name string) (value, complaint string) {
		if !p.lookups.allows(Use{Value: name}) {
			return "", "cannot be used by a configuration sent over the network, because the file on this machine does not use it: add it to that file"
		}
		v, ok := p.lookups.Env(name)
		if !ok {
			return "", "is not set"
		}
		return v, ""
	})
}

// mayName reports whether an attribute may use the resource in its value, and reports an error if not. written is the
// value as written in the file.
func (p *parser) mayName(element string, spec *Attribute, written, value string, at place) bool {
	use, does := Use{Attribute: element + "." + spec.Name}, "names"
	switch {
	case value == "":
		return true
	case spec.Type == Path:
		use.Value = p.resolvePath(value)
	case spec.Type == SecretString:
		file, ok := secretFile(written, value)
		if !ok {
			return true
		}
		use.Value = p.resolvePath(file)
	case spec.Type == Command:
		use.Value, does = strings.Join(strings.Fields(value), " "), "runs, with the same arguments,"
	default:
		return true
	}
	if p.lookups.allows(use) {
		return true
	}
	p.errorf(at.value, "%s: <%s %s> of a configuration sent over the network can only be what it %s in the file on this machine: add it to that file",
		p.written(spec, written), element, spec.Name, does)
	return false
}

// secretFile returns the file of a secret that is written as file:PATH. A variable whose value begins with file: is not
// one, but a secret that happens to look like it.
func secretFile(written, value string) (string, bool) {
	if !strings.HasPrefix(written, "file:") {
		return "", false
	}
	return strings.TrimPrefix(value, "file:"), true
}
