package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// certificates checks that each is of a definition that is there, and each definition with
// properties has one.
func (c *checker) certificates() {
	wanted := map[string]bool{}
	for _, d := range c.s.Predicate.Definitions {
		var value map[string]any
		reader := json.NewDecoder(bytes.NewReader(d.Definition))
		reader.UseNumber()
		if reader.Decode(&value) != nil {
			c.want(false, "version %d of the definition cannot be read", d.Version)
		} else if properties, ok := value["properties"]; ok && properties != nil {
			sum := sha256.Sum256(canonical(value))
			wanted[hex.EncodeToString(sum[:])] = true
		}
	}
	for _, raw := range c.s.Predicate.Certificates {
		var certificate struct{ Definition string }
		c.want(json.Unmarshal(raw, &certificate) == nil && wanted[certificate.Definition], "a certificate is of another definition")
		delete(wanted, certificate.Definition)
	}
	c.want(len(wanted) == 0, "a definition has properties and no certificate")
}

// canonical is RFC 8785, for numbers that are written as that has them.
func canonical(v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return slices.Compare(utf16s(a), utf16s(b)) })
		out := []byte{'{'}
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, canonical(name)...), ':'), canonical(v[name])...)
		}
		return append(out, '}')
	case []any:
		out := []byte{'['}
		for i, e := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, canonical(e)...)
		}
		return append(out, ']')
	default:
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(v)
		text := strings.TrimSuffix(b.String(), "\n")
		return []byte(strings.NewReplacer("\\u2028", "\u2028", "\\u2029", "\u2029").Replace(text))
	}
}

func utf16s(s string) []uint16 {
	var all []uint16
	for _, r := range s {
		if r > 0xffff {
			all = append(all, uint16(0xd800+(r-0x10000)>>10), uint16(0xdc00+(r-0x10000)&0x3ff))
			continue
		}
		all = append(all, uint16(r))
	}
	return all
}
