package whole

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// decode reads one JSON value and nothing behind it; numbers keep their digits.
func decode(b []byte) (v any, err error) {
	in := json.NewDecoder(bytes.NewReader(b))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

// Sum adds what two nodes say. Numbers are added, except those that Sums names; objects are added member by member, and the rows of
// lists that have the same identity row by row; other rows stand one after the other. Of two texts the first counts, and true is true.
func (s Sums) Sum(a, b any) (any, error) { return s.sum("", a, b) }

// Sums says of members by their names what is not simply added.
type Sums map[string]How

// How two values of a member become one.
type How uint8

// All but Add are for members that Sums names.
const (
	Add   How = iota
	Most      // the greater number, the later time
	Least     // the smaller one, the earlier one
	First     // that of the first node
)

// identities are the members by which a row is the same at two nodes, the first that a row has.
var identities = [...]string{"crawler", "name", "origin", "host", "source", "target", "kind", "class", "status", "fifo", "type", "url", "spec", "reason", "edit"}

func (s Sums) sum(name string, a, b any) (any, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	case reflect.TypeOf(a) != reflect.TypeOf(b):
		return nil, fmt.Errorf("%q is of another kind", name)
	}
	how := s[name]
	switch a := a.(type) {
	case json.Number:
		return number(how, a, b.(json.Number))
	case string:
		return text(how, a, b.(string)), nil
	case bool:
		return a || b.(bool), nil
	case map[string]any:
		if how == First {
			return a, nil
		}
		return s.object(a, b.(map[string]any))
	case []any:
		if how == First {
			return a, nil
		}
		return s.list(name, a, b.([]any))
	}
	return a, nil
}

func (s Sums) object(a, b map[string]any) (any, error) {
	out := make(map[string]any, len(a))
	for name, v := range a {
		out[name] = v
	}
	for name, v := range b {
		sum, err := s.sum(name, out[name], v)
		if err != nil {
			return nil, err
		}
		out[name] = sum
	}
	return out, nil
}

func (s Sums) list(name string, a, b []any) (any, error) {
	out := slices.Clone(a)
	at := map[string]int{}
	for i, row := range out {
		if id := identity(row); id != "" {
			at[id] = i
		}
	}
	for _, row := range b {
		i, same := at[identity(row)]
		if !same {
			out = append(out, row)
			continue
		}
		sum, err := s.sum(name, out[i], row)
		if err != nil {
			return nil, err
		}
		out[i] = sum
	}
	return out, nil
}

// identity tells rows apart; "" is none.
func identity(row any) string {
	switch row := row.(type) {
	case string:
		return "=" + row
	case map[string]any:
		var all []string
		for _, name := range identities {
			if v, ok := row[name]; ok && !isRow(v) {
				all = append(all, fmt.Sprintf("%s=%v", name, v))
			}
		}
		return strings.Join(all, "\x00")
	}
	return ""
}

func isRow(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func text(how How, a, b string) string {
	if a == "" || b == "" || how != Most && how != Least {
		return cmp.Or(a, b)
	}
	x, errX := time.Parse(time.RFC3339, a)
	y, errY := time.Parse(time.RFC3339, b)
	if errX == nil && errY == nil && (how == Most) == y.After(x) {
		return b
	}
	return a
}

// number adds exactly where both are whole numbers.
func number(how How, a, b json.Number) (any, error) {
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil {
		return nil, fmt.Errorf("%s and %s cannot be added", a, b)
	}
	switch {
	case how == First, how == Most && x >= y, how == Least && x <= y:
		return a, nil
	case how != Add:
		return b, nil
	}
	i, errI := a.Int64()
	j, errJ := b.Int64()
	if sum := i + j; errI == nil && errJ == nil && (sum >= i) == (j >= 0) {
		return json.Number(fmt.Sprint(sum)), nil
	}
	if math.IsInf(x+y, 0) {
		return nil, fmt.Errorf("%s and %s cannot be added", a, b)
	}
	return json.Number(fmt.Sprint(x + y)), nil
}
