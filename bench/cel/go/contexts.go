package main

import (
	"bytes"
	"encoding/json"
	"net/netip"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

func readContexts(all []json.RawMessage) ([]cel.Activation, error) {
	contexts := make([]cel.Activation, 0, len(all))
	for _, raw := range all {
		var context map[string]map[string]any
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		if err := decoder.Decode(&context); err != nil {
			return nil, err
		}
		address, err := netip.ParseAddr(context["source"]["address"].(string))
		if err != nil {
			return nil, err
		}
		context["source"]["address"] = ext.IP{Addr: address}
		activation, err := cel.NewActivation(map[string]any{
			"jwt":     exact(context["jwt"]),
			"request": exact(context["request"]),
			"source":  context["source"],
		})
		if err != nil {
			return nil, err
		}
		contexts = append(contexts, activation)
	}
	return contexts, nil
}

// exact makes ints of integral numbers, as claims are read on the other side.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		fraction, _ := v.Float64()
		return fraction
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exact(v[key])
		}
	}
	return value
}
