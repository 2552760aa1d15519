package config

import "strings"

// Use is something of the machine that a configuration names: a file or folder, a
// program, or a variable of the environment.
type Use struct {
	// Attribute is where it is named, as Element.attribute: a file that one attribute
	// names is not read for another. Empty for a variable, which may stand anywhere.
	Attribute string `json:"attribute,omitempty"`
	// Value is an absolute path, or one from the working directory if the
	// configuration's own is; a program with its arguments, parted by single blanks; or
	// a variable's name.
	Value string `json:"value"`
}

// allows says whether a configuration may name something. It is asked before anything
// of it is looked at.
func (l *Lookups) allows(u Use) bool { return l.Allow == nil || l.Allow(u) }

// expand replaces the variables of a value, as far as they may be named.
func (p *parser) expand(value string) (string, []expandError) {
	return expand(value, func(name string) (value, complaint string) {
		if !p.lookups.allows(Use{Value: name}) {
			return "", "cannot be used over the network, because the file on this machine does not use it: write it into that file on the machine first"
		}
		v, ok := p.lookups.Env(name)
		if !ok {
			return "", "is not set"
		}
		return v, ""
	})
}

// mayName says whether an attribute of an element may name what its value means, and
// reports it where it may not. Written is the value as it stands in the file.
func (p *parser) mayName(element string, spec *Attribute, written, value string, at place) bool {
	use, what := Use{Attribute: element + "." + spec.Name}, "name only what it names"
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
		use.Value, what = strings.Join(strings.Fields(value), " "), "run only what it runs, with the same arguments,"
	default:
		return true
	}
	if p.lookups.allows(use) {
		return true
	}
	p.errorf(at.value, "%s: over the network, %s of <%s> may %s in the file on this machine: write this into that file on the machine first",
		p.written(spec, written), spec.Name, element, what)
	return false
}

// secretFile is the file that a secret is read from. Written says whether it is: a
// variable that begins with file: holds a secret of that look.
func secretFile(written, value string) (string, bool) {
	if !strings.HasPrefix(written, "file:") {
		return "", false
	}
	return strings.TrimPrefix(value, "file:"), true
}
