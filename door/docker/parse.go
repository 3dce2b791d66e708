package docker

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// optionMap decodes a map of options. The engine sends numbers and booleans as text, but
// clients of its API may have given them as they are.
func optionMap(raw any) (map[string]string, error) {
	all := map[string]string{}
	if raw == nil {
		return all, nil
	}
	given, ok := raw.(map[string]any)
	if !ok {
		return nil, heddle.Errorf(heddle.BadOption, "read options", "",
			fmt.Sprintf("%s is not a map", heddle.Clip(fmt.Sprint(raw))), "give -o KEY=VALUE")
	}
	for key, value := range given {
		switch v := value.(type) {
		case string:
			all[key] = v
		case bool, float64:
			all[key] = fmt.Sprint(v)
		default:
			return nil, heddle.Errorf(heddle.BadOption, "read option", heddle.Clip(key), "its value is not a text",
				"give -o KEY=VALUE")
		}
	}
	return all, nil
}

func boolOption(options map[string]any, key string) (bool, error) {
	switch v := options[key].(type) {
	case nil:
		return false, nil
	case bool:
		return v, nil
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b, nil
		}
	}
	return false, heddle.Errorf(heddle.BadOption, "read option", key,
		fmt.Sprintf("%q is neither true nor false", heddle.Clip(fmt.Sprint(options[key]))), "give true or false")
}

// parseAddr reads an address from a text such as 10.20.0.1/24 or 10.20.0.1.
func parseAddr(s string) (netip.Addr, error) {
	text, _, _ := strings.Cut(s, "/")
	a, err := netip.ParseAddr(text)
	if err != nil {
		return a, heddle.Wrap(heddle.BadAddress, "read address", strconv.Quote(heddle.Clip(s)), err,
			"give an address such as 10.20.0.1")
	}
	return a.Unmap(), nil
}
