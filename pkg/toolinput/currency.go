package toolinput

import (
	"strings"
	"sync"
)

// currencies are the codes of ISO 4217 by the number of their decimals. Metals, funds without a unit and codes
// for tests have none.
var currencies = sync.OnceValue(func() map[string]int {
	all := map[string]int{}
	for digits, codes := range []string{
		0: `BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF`,
		2: `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU
CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT
LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB
SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG`,
		3: `BHD IQD JOD KWD LYD OMR TND`,
		4: `CLF UYW`,
	} {
		for code := range strings.FieldsSeq(codes) {
			all[code] = digits
		}
	}
	return all
})

// disputed are currencies whose minor unit payment services count otherwise than ISO 4217 does.
const disputed = " CLP CVE IDR ISK MGA MRU UGX "

// MinorDigits returns how many decimals a currency has, by its code in any case; known is false for a code that
// ISO 4217 lacks, or that has no unit.
func MinorDigits(code string) (digits int, known bool) {
	digits, known = currencies()[upper(code)]
	return digits, known
}

// MinorDisputed reports a currency whose minor unit is not the same everywhere.
func MinorDisputed(code string) bool { return strings.Contains(disputed, " "+upper(code)+" ") }

// upper leaves letters beyond ASCII alone: some of them fold to those of a code.
func upper(code string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, code)
}
