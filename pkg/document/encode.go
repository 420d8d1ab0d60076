package document

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends v as compact JSON: numbers as they were written, keys in
// their order. Missing is written as null.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.truth)
	case Number:
		return append(dst, v.text...)
	case String:
		return appendString(dst, v.text)
	case Array:
		dst = append(dst, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		if v.tree != nil {
			for i := range v.tree.members {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = append(appendString(dst, v.tree.members[i].Name), ':')
				dst = v.tree.members[i].Value.AppendJSON(dst)
			}
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

// appendString quotes s. Text that is not UTF-8 gets replacement characters:
// there is none in a Value that was parsed.
func appendString(dst []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, s)
	return quoted
}

// MarshalJSON implements the standard interface; it never fails.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// String returns v as JSON.
func (v Value) String() string { return string(v.AppendJSON(nil)) }

// Canonical returns the canonical form of v (RFC 8785): no white space, keys
// sorted by UTF-16 code units, minimal escapes, numbers as ECMAScript writes
// them. So two documents that are Equal have the same bytes.
//
// It deviates in one point. RFC 8785 rounds numbers to float64, so that
// different 64-bit ids become the same. Here a number whose value a float64's
// shortest form does not give back is written as its exact digits and exponent
// (9007199254740993 as 9007199254740993, 0.1000000000000000055 as
// 1000000000000000055e-19): documents that are not Equal never have the same
// bytes.
func Canonical(v Value) []byte { return appendCanonical(nil, v) }

// Digest returns the SHA-256 of the canonical form, in lower-case hexadecimal.
func Digest(v Value) string {
	sum := sha256.Sum256(Canonical(v))
	return hex.EncodeToString(sum[:])
}

func appendCanonical(dst []byte, v Value) []byte {
	switch v.kind {
	case Number:
		return appendCanonicalNumber(dst, v.text)
	case Array:
		dst = append(dst, '[')
		for i, e := range v.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCanonical(dst, e)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range sortedMembers(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, m.Name), ':')
			dst = appendCanonical(dst, m.Value)
		}
		return append(dst, '}')
	default:
		return v.AppendJSON(dst)
	}
}

func sortedMembers(v Value) []Member {
	if v.tree == nil {
		return nil
	}
	members := slices.Clone(v.tree.members)
	slices.SortFunc(members, func(a, b Member) int { return compareUTF16(a.Name, b.Name) })
	return members
}

// compareUTF16 orders as RFC 8785 section 3.2.3 wants, which differs from code
// points only above U+FFFF.
func compareUTF16(a, b string) int {
	if plain(a) && plain(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// plain reports that s has no character from U+E000 on, where the orders differ.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] >= 0xee {
			return false
		}
	}
	return true
}

func appendCanonicalNumber(dst []byte, text string) []byte {
	if len(text) < 16 && leadingDigits(text) == len(text) {
		return append(dst, text...) // most numbers; each is a float64
	}
	exact := normalise(text)
	if exact.digits == "" {
		return append(dst, '0')
	}
	f, _ := strconv.ParseFloat(text, 64)
	shortest := jsontext.AppendFloat(nil, f, 64)
	if normalise(string(shortest)) == exact {
		return append(dst, shortest...)
	}
	if exact.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, exact.digits...)
	if exact.exponent == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exact.exponent), 10)
}
