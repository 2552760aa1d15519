package config

import (
	"reflect"
	"time"
)

// into says where the value of an attribute of Crawler goes: to gives a pointer into the
// settings, of the type that the attribute's own becomes.
func (a Attribute) into(to func(*Crawler) any) Attribute {
	a.to = to
	return a
}

// on says which value of an Enum is true, where it goes into a bool.
func (a Attribute) on(value string) Attribute {
	a.yes = value
	return a
}

// fill puts the values of an element's attributes, written or not, where they go.
func (n *node) fill(c *Crawler) {
	for i := range n.spec.Attributes {
		a := &n.spec.Attributes[i]
		if a.to != nil {
			n.put(a, reflect.ValueOf(a.to(c)).Elem())
		}
	}
}

// put sets what an attribute's value goes into. A test goes through the table, so that no
// row has another type.
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
