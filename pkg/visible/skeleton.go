package visible

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Skeleton returns a name as it looks: letters and digits only, without accents, in lower case,
// with letters of other alphabets replaced by those of ASCII that they look like.
func Skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		r = unicode.ToLower(r)
		if plain, ok := looksLike[r]; ok {
			return plain
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(name))
}

// CouldRead reports a name that is a known one where its letters are of ASCII, and has any letter
// of another alphabet elsewhere.
func CouldRead(seen, known string) bool {
	letters := []rune(seen)
	if len(letters) != len(known) {
		return false
	}
	for i, r := range letters {
		if r <= unicode.MaxASCII && r != rune(known[i]) {
			return false
		}
	}
	return true
}

// looksLike are letters of other alphabets that stand alone in whole words.
var looksLike = map[rune]rune{
	'а': 'a', 'в': 'b', 'ь': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ғ': 'f', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm',
	'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y',
	'α': 'a', 'β': 'b', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'μ': 'm', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'τ': 't', 'υ': 'u',
	'χ': 'x', 'γ': 'y', 'ω': 'w', 'օ': 'o', 'ս': 'u', 'ո': 'n', 'հ': 'h', 'ց': 'g', 'ı': 'i', 'ɩ': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɔ': 'c', 'ᴀ': 'a',
	'ʙ': 'b', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴇ': 'e', 'ꜰ': 'f', 'ʜ': 'h', 'ɪ': 'i', 'ᴊ': 'j', 'ᴋ': 'k', 'ʟ': 'l', 'ᴍ': 'm', 'ɴ': 'n', 'ᴏ': 'o', 'ᴘ': 'p',
	'ʀ': 'r', 'ꜱ': 's', 'ᴛ': 't', 'ᴜ': 'u', 'ᴠ': 'v', 'ꭰ': 'd', 'ꭲ': 'i', 'ꮯ': 'c', 'ꮎ': 'o', 'ø': 'o', 'đ': 'd', 'ł': 'l', 'ŧ': 't', 'ħ': 'h',
}
