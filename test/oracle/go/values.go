package main

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"
)

// render writes a value as cel-spec's JSON does, with kinds of its own for what that has not.
func render(value ref.Val) map[string]any {
	switch v := value.(type) {
	case types.Null:
		return map[string]any{"nullValue": nil}
	case types.Bool:
		return map[string]any{"boolValue": bool(v)}
	case types.Int:
		return map[string]any{"int64Value": strconv.FormatInt(int64(v), 10)}
	case types.Uint:
		return map[string]any{"uint64Value": strconv.FormatUint(uint64(v), 10)}
	case types.Double:
		return map[string]any{"doubleValue": number(float64(v))}
	case types.String:
		return map[string]any{"stringValue": string(v)}
	case types.Bytes:
		return map[string]any{"bytesValue": base64.StdEncoding.EncodeToString(v)}
	case types.Timestamp:
		return map[string]any{"timestampValue": []string{
			strconv.FormatInt(v.Unix(), 10), strconv.Itoa(v.Nanosecond()),
		}}
	case types.Duration:
		return map[string]any{"durationValue": strconv.FormatInt(v.Nanoseconds(), 10)}
	case *types.Optional:
		if !v.HasValue() {
			return map[string]any{"noneValue": true}
		}
		return map[string]any{"optionalValue": render(v.GetValue())}
	case *types.Type:
		return map[string]any{"typeValue": v.TypeName()}
	case ext.IP:
		return map[string]any{"ipValue": v.String()}
	case ext.CIDR:
		return map[string]any{"cidrValue": v.String()}
	case traits.Lister:
		elements := []any{}
		for each := v.Iterator(); each.HasNext() == types.True; {
			elements = append(elements, render(each.Next()))
		}
		return map[string]any{"listValue": map[string]any{"values": elements}}
	case traits.Mapper:
		entries := []any{}
		for each := v.Iterator(); each.HasNext() == types.True; {
			key := each.Next()
			entries = append(entries, map[string]any{"key": render(key), "value": render(v.Get(key))})
		}
		return map[string]any{"mapValue": map[string]any{"entries": entries}}
	}
	return map[string]any{"otherValue": value.Type().TypeName()}
}

func number(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

var simple = map[string]*cel.Type{
	"bool":      cel.BoolType,
	"bytes":     cel.BytesType,
	"cidr":      ext.CIDRType,
	"double":    cel.DoubleType,
	"duration":  cel.DurationType,
	"dyn":       cel.DynType,
	"int":       cel.IntType,
	"ip":        ext.IPType,
	"null":      cel.NullType,
	"string":    cel.StringType,
	"timestamp": cel.TimestampType,
	"uint":      cel.UintType,
}

// readType reads `map(string, list(int))` and returns what follows it.
func readType(text string) (*cel.Type, string) {
	end := strings.IndexAny(text, "(,)")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	if found, ok := simple[name]; ok {
		return found, rest
	}
	if !strings.HasPrefix(rest, "(") {
		return nil, rest
	}
	first, rest := readType(rest[1:])
	switch {
	case first == nil:
		return nil, rest
	case name == "list" && strings.HasPrefix(rest, ")"):
		return cel.ListType(first), rest[1:]
	case name == "optional_type" && strings.HasPrefix(rest, ")"):
		return cel.OptionalType(first), rest[1:]
	case name == "map" && strings.HasPrefix(rest, ", "):
		second, rest := readType(rest[2:])
		if second != nil && strings.HasPrefix(rest, ")") {
			return cel.MapType(first, second), rest[1:]
		}
	}
	return nil, rest
}
