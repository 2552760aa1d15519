package config

import "reflect"

// same reports whether two values are equal: by their method Equal if they have one, as secrets and certificate pools
// do, otherwise field by field.
func same(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() {
		return false
	}
	if a.Kind() == reflect.Pointer && (a.IsNil() || b.IsNil()) {
		return a.IsNil() && b.IsNil()
	}
	if equal := a.MethodByName("Equal"); equal.IsValid() && equal.Type().NumIn() == 1 && equal.Type().In(0) == a.Type() {
		return equal.Call([]reflect.Value{b})[0].Bool()
	}
	switch a.Kind() {
	case reflect.Pointer:
		return same(a.Elem(), b.Elem())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return a.IsNil() && b.IsNil()
		}
		return same(a.Elem(), b.Elem())
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for _, key := range a.MapKeys() {
			if !same(a.MapIndex(key), b.MapIndex(key)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
