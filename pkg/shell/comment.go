package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// continuesComment reports a comment that ends in a backslash. To bash the next
// line is a command, to the parser it belongs to the one before.
func continuesComment(script string, file *syntax.File) bool {
	hashes := hashesBeforeContinuation(script)
	if len(hashes) == 0 {
		return false
	}
	// A # that is not a comment is in the text of a word or a here-document.
	inText := make([]bool, len(hashes))
	covers := func(from, to syntax.Pos) {
		for i, _ := slices.BinarySearch(hashes, int(from.Offset())); i < len(hashes) && hashes[i] < int(to.Offset()); i++ {
			inText[i] = true
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			covers(n.Pos(), n.End())
		case *syntax.ParamExp: // ${#x} ${x#y}: the # is no node
			if n.Param != nil && n.Index == nil {
				covers(n.Pos(), n.Param.End())
				if n.Exp != nil && n.Exp.Word != nil {
					covers(n.Param.End(), n.Exp.Word.Pos())
				}
			}
		}
		return true
	})
	return slices.Contains(inText, false)
}

// continuesOperator reports a character of an operator before a backslash that continues
// the line: bash joins the next line to the operator, the parser does not. In quotes no
// character is of an operator.
func continuesOperator(script string, file *syntax.File) bool {
	places := operatorsBeforeContinuation(script)
	if len(places) == 0 {
		return false
	}
	inText := make([]bool, len(places))
	covers := func(n syntax.Node, but string) {
		from, to := int(n.Pos().Offset()), int(n.End().Offset())
		for i, _ := slices.BinarySearch(places, from); i < len(places) && places[i] < to; i++ {
			inText[i] = !strings.Contains(but, script[places[i]:places[i]+1])
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			if !n.Dollar {
				covers(n, "")
			}
		case *syntax.DblQuoted:
			for _, part := range n.Parts {
				if lit, ok := part.(*syntax.Lit); ok {
					covers(lit, "$`")
				}
			}
		}
		return true
	})
	return slices.Contains(inText, false)
}

func operatorsBeforeContinuation(script string) (places []int) {
	for i := 1; i+1 < len(script); i++ {
		if script[i] == '\\' && script[i+1] == '\n' && strings.IndexByte("$<>&|()`", script[i-1]) >= 0 {
			places = append(places, i-1)
		}
	}
	return places
}

// hashesBeforeContinuation returns the places of # in lines that end in a backslash.
func hashesBeforeContinuation(script string) []int {
	var hashes []int
	from := 0
	for line := range strings.Lines(script) {
		if strings.HasSuffix(line, "\\\n") {
			for i := range len(line) {
				if line[i] == '#' {
					hashes = append(hashes, from+i)
				}
			}
		}
		from += len(line)
	}
	return hashes
}
