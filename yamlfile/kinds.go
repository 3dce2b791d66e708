package yamlfile

import (
	"encoding"
	"reflect"
	"time"
)

// addKinds adds, by its name, what is to be written for each type that a type is made of.
func addKinds(kinds map[string]string, t reflect.Type) {
	name := t.String()
	if _, known := kinds[name]; known {
		return
	}
	kinds[name] = "" // a type may hold itself
	switch t.Kind() {
	case reflect.Bool:
		kinds[name] = "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		kinds[name] = "a whole number"
		if t == reflect.TypeFor[time.Duration]() {
			kinds[name] = "a duration such as 12s"
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		kinds[name] = "a whole number that is not negative"
	case reflect.Float32, reflect.Float64:
		kinds[name] = "a number"
	case reflect.String:
		kinds[name] = "text"
	case reflect.Pointer:
		addKinds(kinds, t.Elem())
		kinds[name] = kinds[t.Elem().String()]
	case reflect.Slice, reflect.Array:
		kinds[name] = "a list"
		addKinds(kinds, t.Elem())
	case reflect.Map:
		kinds[name] = "a mapping"
		addKinds(kinds, t.Key())
		addKinds(kinds, t.Elem())
	case reflect.Struct:
		kinds[name] = "a mapping"
		for i := range t.NumField() {
			addKinds(kinds, t.Field(i).Type)
		}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		kinds[name] = "text"
	}
}
