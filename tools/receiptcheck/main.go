// Receiptcheck checks receipts of Interlock. It shares no code with Interlock and needs
// nothing but the standard library, so that people who do not trust the one can read the
// other.
//
//	receiptcheck RECEIPT PUBLIC-KEY [WITNESS-KEY...]
//
// It checks the signature of the envelope and of the checkpoint, the cosignatures of
// witnesses, the chain of hashes over every record of the log, and that all parts fit each
// other. It does not decide anything again: interlock receipt verify does.
package main

import (
	"encoding/base64"
	"fmt"
	"os"
)

// checker collects what is wrong.
type checker struct {
	f      file
	s      statement
	faults []string
	shows  []string // what a receipt that holds shows
}

func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: receiptcheck RECEIPT PUBLIC-KEY [WITNESS-KEY...]")
		os.Exit(64)
	}
	var contents [][]byte
	for _, name := range os.Args[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(66)
		}
		contents = append(contents, data)
	}
	faults, shows := check(contents[0], contents[1], contents[2:])
	if len(faults) == 0 {
		fmt.Println("the receipt holds")
		for _, sentence := range shows {
			fmt.Println("  " + sentence)
		}
		return
	}
	for _, fault := range faults {
		fmt.Println(fault)
	}
	os.Exit(1)
}

// check says everything that is wrong with a receipt, and what one that holds shows.
func check(receipt, key []byte, witnesses [][]byte) (faults, shows []string) {
	c := &checker{}
	public, err := readKey(key)
	if err != nil {
		return []string{err.Error()}, nil
	}
	if err := strict(receipt, &c.f); err != nil {
		return []string{"it is no receipt: " + err.Error()}, nil
	}
	payload, err := base64.StdEncoding.Strict().DecodeString(c.f.Payload)
	if err != nil || base64.StdEncoding.EncodeToString(payload) != c.f.Payload {
		return []string{"the payload is no base64"}, nil
	}
	if err := strict(payload, &c.s); err != nil {
		return []string{"the payload is no statement: " + err.Error()}, nil
	}
	p := &c.s.Predicate
	c.want(c.f.PayloadType == "application/vnd.in-toto+json" && c.s.Type == "https://in-toto.io/Statement/v1" &&
		c.s.PredicateType == "https://interlock.run/receipt/v1" && p.Format == "interlock-receipt/1", "it is of another type")
	c.envelope(payload, public)
	c.note(public, witnesses)
	c.log()
	c.record()
	c.certificates()
	return c.faults, c.shows
}
