package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// into sets the destination of an attribute of Crawler: to returns a pointer into the settings, of the Go type of the
// attribute's Type.
func (a Attribute) into(to func(*Crawler) any) Attribute {
	a.to = to
	return a
}

// on sets the value of an Enum that means true, for a bool destination.
func (a Attribute) on(value string) Attribute {
	a.yes = value
	return a
}

// rereads marks an attribute whose change causes pages to be read again.
func (a Attribute) rereads() Attribute {
	a.Rereads = true
	return a
}

// fill stores the values of an element's attributes, including defaults.
func (n *node) fill(c *Crawler) {
	for i := range n.spec.Attributes {
		a := &n.spec.Attributes[i]
		if a.to != nil {
			n.put(a, reflect.ValueOf(a.to(c)).Elem())
		}
	}
}

// put stores an attribute's value in its destination. A test walks the table, so that no row has another type.
func (n *node) put(a *Attribute, to reflect.Value) {
	switch at := to.Addr().Interface().(type) {
	case *time.Duration:
		*at = n.duration(a.Name)
	case *bool:
		if a.Type == Enum {
			*at = n.str(a.Name) == a.yes
		} else {
			*at = n.boolean(a.Name)
		}
	case *string:
		*at = n.str(a.Name)
	default:
		if a.Type == Enum {
			to.SetUint(uint64(n.choice(a.Name))) //nolint:gosec // an index
		} else {
			to.SetInt(n.number(a.Name))
		}
	}
}

// readingKey identifies how pages are read: it consists of the Rereads attributes that differ from their defaults, so
// that a new attribute changes nothing until it is used.
func (n *node) readingKey() string {
	var b strings.Builder
	for i := range n.spec.Attributes {
		a := &n.spec.Attributes[i]
		if v := n.plain(a); a.Rereads && v != a.Default {
			fmt.Fprintf(&b, "%s=%q\n", a.Name, v)
		}
	}
	for _, child := range n.children {
		if child.spec.Rereads {
			child.spell(&b)
		} else if key := child.readingKey(); key != "" {
			fmt.Fprintf(&b, "<%s>\n%s", child.spec.Name, key)
		}
	}
	return b.String()
}

// spell writes an element with all its attributes, including defaults.
func (n *node) spell(b *strings.Builder) {
	fmt.Fprintf(b, "<%s", n.spec.Name)
	for i := range n.spec.Attributes {
		a := &n.spec.Attributes[i]
		fmt.Fprintf(b, " %s=%q", a.Name, n.plain(a))
	}
	b.WriteString(">\n")
	for _, child := range n.children {
		child.spell(b)
	}
	fmt.Fprintf(b, "</%s>\n", n.spec.Name)
}

// plain returns an attribute's value in a normalized spelling.
func (n *node) plain(a *Attribute) string {
	v := n.str(a.Name)
	switch {
	case v == "":
		return ""
	case a.Type == Bool:
		return strconv.FormatBool(isTrue(v))
	case a.Type.isNumber():
		return strconv.FormatInt(n.number(a.Name), 10)
	}
	return strings.TrimSpace(v)
}
