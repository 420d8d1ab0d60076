package shell

import "strings"

// tarArguments are the short options of tar that take an argument.
const tarArguments = "fCTXbgIFKLNVH"

// tar walks tar, which lists, reads or writes by the letters of its first word.
func (p programReader) tar(c, at int) {
	sc := p.scanWords(specOf("tar"), "tar", c, at)
	modes, archive := tarModes(sc.words[at+1:])
	for _, w := range sc.words[at+1:] {
		if strings.HasPrefix(w.Text, "--checkpoint-a") && strings.Contains(w.Text, "exec") {
			p.hide("runs a command while it works", w.String())
		}
	}
	switch {
	case modes['r'], modes['u'], modes['A'], modes['D'],
		modes['x'] && !modes['O'],
		modes['c'] && (!archive.Static || archive.Text != "-" && !harmless(archive)):
		p.builtinPart().note(Writes, c, at, "writes an archive or files from one")
	}
}

// tarLong are the letters of long options.
var tarLong = map[string]byte{
	"--extract": 'x', "--get": 'x', "--create": 'c', "--append": 'r', "--update": 'u', "--catenate": 'A', "--concatenate": 'A',
	"--delete": 'D', "--to-stdout": 'O',
}

// letters is a set of options.
type letters [256]bool

func (l *letters) add(options string) {
	for i := range len(options) {
		l[options[i]] = true
	}
}

// tarModes returns the letters of the options, and the archive.
func tarModes(words []Word) (modes letters, archive Word) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.Text == "--":
			return modes, archive
		case strings.HasPrefix(w.Text, "--"):
			if file := tarLongOption(&modes, words[i:]); file != nil {
				archive = *file
			}
		case i == 0 && !strings.HasPrefix(w.Text, "-"): // tar xzf a.tar
			modes.add(w.Text)
			for _, letter := range w.Text {
				if !strings.ContainsRune(tarArguments, letter) {
					continue
				}
				if i++; letter == 'f' && i < len(words) {
					archive = words[i]
				}
			}
		case strings.HasPrefix(w.Text, "-"):
			options, attached := w.Text[1:], ""
			if at := strings.IndexAny(options, tarArguments); at >= 0 {
				options, attached = options[:at+1], options[at+1:]
			}
			modes.add(options)
			switch {
			case !strings.HasSuffix(options, "f"):
			case attached != "":
				archive = Word{Text: attached, Static: w.Static}
			case i+1 < len(words):
				archive = words[i+1]
			}
		}
	}
	return modes, archive
}

// tarLongOption reads a long option, and gives the archive when it names one.
func tarLongOption(modes *letters, words []Word) (archive *Word) {
	name, file, attached := strings.Cut(words[0].Text, "=")
	if len(name) > 3 {
		for long, letter := range tarLong {
			if strings.HasPrefix(long, name) {
				modes[letter] = true
			}
		}
	}
	switch {
	case name != "--file":
		return nil
	case attached:
		return &Word{Text: file, Static: words[0].Static}
	case len(words) > 1:
		return &words[1]
	}
	return nil
}
