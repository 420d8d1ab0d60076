package shell

import (
	"slices"
	"strings"
	"sync"
)

// A small part of Python is read, so that `python -c` which only prints is not code that may do
// anything: imports, names for values, literals, operators, attributes, and calls of functions and
// methods that are known to be harmless. Other code is not read.

// pythonEffects are the effects of such a program. Values of modules that the reader does not
// know are foreign: they can be shown, and not called.
type pythonEffects struct {
	known    bool // the program has been read
	opaque   bool // it imports code, which the folder that it is in may have
	modules  bool // it imports something whose output the reader does not know
	variable map[string]bool
	files    []string // that an import may run
}

// actingModules do something when they are imported.
var actingModules = sync.OnceValue(func() map[string]bool {
	return wordSet(`antigravity idlelib turtledemo test lib2to3 venv ensurepip pip`)
})

// pythonModules are those that the reader knows, and the names that a program may use; a name with
// () may be called.
var pythonModules = sync.OnceValue(func() map[string]map[string]bool {
	return map[string]map[string]bool{
		"sys": wordSet(`version version_info path platform executable argv stdin maxsize byteorder prefix base_prefix implementation flags
api_version copyright float_info int_info hash_info builtin_module_names stdlib_module_names _xoptions maxunicode hexversion exit() getrecursionlimit()
getdefaultencoding() getfilesystemencoding() stdin.read() stdin.readline() stdin.readlines()`),
		"json": wordSet(`load() loads() dumps() __file__ __version__`),
		"math": wordSet(`pi e tau inf nan sqrt() floor() ceil() log() log2() log10() exp() pow() sin() cos() tan() gcd() lcm() factorial() comb() perm() isnan()
isclose() hypot() prod() degrees() radians() trunc() fabs() isqrt()`),
	}
})

// pythonCalls are functions that are harmless; those of pythonValues return no foreign value.
var (
	pythonValues = sync.OnceValue(func() map[string]bool {
		return wordSet(`print len str int float repr bool ord chr hex bin oct isinstance abs round ascii format hash range bytes`)
	})
	pythonCalls = sync.OnceValue(func() map[string]bool {
		return wordSet(`list tuple dict set frozenset sorted min max sum type reversed enumerate zip divmod any all hasattr`)
	})
	pythonWords = sync.OnceValue(func() map[string]bool { return wordSet(`and or not in is True False None`) })
	// pythonMethods are those of texts, numbers, lists and maps.
	pythonMethods = sync.OnceValue(func() map[string]bool {
		return wordSet(`join split rsplit strip lstrip rstrip upper lower title capitalize swapcase casefold replace startswith endswith encode decode
format count index find rfind splitlines isascii isdigit isalpha isalnum isspace isupper islower isidentifier zfill ljust rjust center partition rpartition
removeprefix removesuffix expandtabs keys values items get copy bit_length hex as_integer_ratio union intersection difference issubset issuperset`)
	})
	pythonKeywords = sync.OnceValue(func() map[string]bool { return wordSet(`sep end flush default indent reverse ensure_ascii sort_keys`) })
	pythonClauses  = sync.OnceValue(func() map[string]bool {
		return wordSet(`as assert async await break class continue def del elif else except exec finally for global if lambda nonlocal pass
raise return try while with yield match case import from`)
	})
)

// readPython reads a program.
func readPython(text string) pythonEffects {
	r := pythonReader{text: text}
	r.next()
	for !r.failed && r.token != "" {
		switch r.token {
		case "\n", ";":
			r.next()
		default:
			r.statement()
			if r.token != "" && r.token != "\n" && r.token != ";" {
				r.failed = true
			}
		}
	}
	r.known = !r.failed
	return r.pythonEffects
}

// pythonReader reads tokens: names, numbers, texts (as a quote), operators and ends of lines.
type pythonReader struct {
	pythonEffects
	text   string
	at     int
	token  string
	depth  int // of brackets, in which lines do not end
	nested int
	failed bool
}

func (r *pythonReader) fail() bool { r.failed, r.token = true, ""; return true }

// take reads a token if it is the next.
func (r *pythonReader) take(token string) bool {
	if r.token != token {
		return false
	}
	r.next()
	return true
}

func (r *pythonReader) next() {
	if r.failed {
		return
	}
	blanks := r.at
	for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\t' || r.depth > 0 && r.text[r.at] == '\n') {
		r.at++
	}
	if r.at == len(r.text) {
		r.token = ""
		return
	}
	begin := r.at
	c := r.text[begin]
	indented := r.depth == 0 && begin > blanks && (blanks == 0 || r.text[blanks-1] == '\n')
	switch {
	case c == '\n':
		r.at++
	case indented: // a block
		r.fail()
		return
	case c == '"' || c == '\'':
		r.quoted("")
		return
	case pythonByte(c):
		for r.at < len(r.text) && (pythonByte(r.text[r.at]) || r.text[r.at] == '.' && c >= '0' && c <= '9') {
			r.at++
		}
		if r.at < len(r.text) && (r.text[r.at] == '"' || r.text[r.at] == '\'') {
			r.quoted(strings.ToLower(r.text[begin:r.at]))
			return
		}
	case strings.IndexByte("()[]{},:;.=+-*/%<>!~&|^@", c) >= 0:
		r.at++
		for r.at < len(r.text) && strings.IndexByte("=*/<>", r.text[r.at]) >= 0 && strings.IndexByte("=+-*/%<>!&|^@:", c) >= 0 {
			r.at++
		}
	default:
		r.fail()
		return
	}
	r.token = r.text[begin:r.at]
	switch r.token {
	case "(", "[", "{":
		r.depth++
	case ")", "]", "}":
		r.depth--
	}
}

// quoted reads a text. One with fields, which are code, is not read.
func (r *pythonReader) quoted(prefix string) {
	if !slices.Contains([]string{"", "r", "b", "u", "rb", "br"}, prefix) {
		r.fail()
		return
	}
	end := r.text[r.at : r.at+1]
	if strings.HasPrefix(r.text[r.at:], strings.Repeat(end, 3)) {
		end = strings.Repeat(end, 3)
	}
	r.at += len(end)
	for !strings.HasPrefix(r.text[r.at:], end) {
		if r.at < len(r.text) && r.text[r.at] == '\\' {
			r.at++
		}
		if r.at >= len(r.text) || len(end) == 1 && r.text[r.at] == '\n' {
			r.fail()
			return
		}
		r.at++
	}
	r.at += len(end)
	r.token = `"`
}

// pythonByte reports a character of a name or number. Others than of ASCII may be spellings of them.
func pythonByte(c byte) bool { return c < 0x80 && wordByte(c) }

func (r *pythonReader) name() string {
	name := r.token
	if name == "" || !pythonByte(name[0]) || name[0] >= '0' && name[0] <= '9' || pythonClauses()[name] || pythonWords()[name] {
		r.fail()
		return ""
	}
	r.next()
	return name
}

// free reports a name that a program may give to a value: not one on which the reader
// relies.
func (r *pythonReader) free(name string) bool {
	return pythonModules()[name] == nil && !pythonCalls()[name] && !pythonValues()[name]
}

func (r *pythonReader) statement() {
	switch r.token {
	case "import":
		for ok := true; ok && !r.failed; ok = r.token == "," {
			r.next()
			r.imports(r.dotted())
		}
	case "from":
		r.next()
		r.imports(r.dotted())
		if r.token != "import" {
			r.fail()
		}
		for ok := true; ok && !r.failed; ok = r.token == "," {
			r.next()
			name := r.name()
			r.modules = true
			if !r.free(name) {
				r.fail()
			}
			r.set(name, true)
		}
	default:
		before := *r
		if name := r.token; pythonByte(name[0]) && !pythonWords()[name] {
			r.next()
			if r.token == "=" && r.free(name) {
				r.next()
				r.set(name, r.tuple())
				return
			}
		}
		*r = before
		r.tuple()
	}
}

func (r *pythonReader) set(name string, foreign bool) {
	if r.variable == nil {
		r.variable = make(map[string]bool)
	}
	r.variable[name] = foreign
}

// imports notes the code that an import runs.
func (r *pythonReader) imports(module string) {
	root, _, _ := strings.Cut(module, ".")
	r.opaque = r.opaque || module != "sys"
	if pythonModules()[module] == nil {
		r.modules = true
		if pythonModules()[root] != nil || !r.free(root) || actingModules()[root] || strings.Contains(module, "__main__") {
			r.fail()
		}
	}
	if module != "sys" {
		r.files = append(r.files, strings.ReplaceAll(module, ".", "/")+".py")
	}
	r.set(root, true)
}

func (r *pythonReader) dotted() string {
	name := r.name()
	for r.token == "." && !r.failed {
		r.next()
		name += "." + r.name()
	}
	return name
}

// tuple reads expressions with commas between, and says whether one is foreign.
func (r *pythonReader) tuple() (foreign bool) {
	foreign = r.expression()
	for r.take(",") {
		if r.token == "" || r.token == "\n" || r.token == ";" || r.token == ")" || r.token == "]" || r.token == "}" {
			break
		}
		foreign = r.expression() || foreign
	}
	return foreign
}

// pythonOperators are those of values; pythonTests may have foreign ones, whose other operators may run
// something.
var (
	pythonOperators = sync.OnceValue(func() map[string]bool { return wordSet(`+ - * / // % ** < > <= >= << >> & | ^`) })
	pythonTests     = sync.OnceValue(func() map[string]bool { return wordSet(`== != and or in is not`) })
)

func (r *pythonReader) expression() (foreign bool) {
	if r.nested++; r.nested > maxNesting {
		return r.fail()
	}
	defer func() { r.nested-- }()
	calculates := false
	for {
		for r.token == "-" || r.token == "+" || r.token == "~" || r.token == "not" {
			calculates = calculates || r.token != "not"
			r.next()
		}
		foreign = r.operand() || foreign
		switch {
		case foreign && calculates:
			return r.fail()
		case pythonOperators()[r.token]:
			calculates = true
		case !pythonTests()[r.token]:
			return foreign
		}
		r.next()
	}
}

// operand reads an atom, and attributes, places and calls of it.
func (r *pythonReader) operand() (foreign bool) {
	path, callee := "", "" // of a module that is known; a function that may be called
	switch c := r.token; {
	case c == `"`:
		for r.token == `"` {
			r.next()
		}
	case c == "(" || c == "[" || c == "{":
		foreign = r.bracket()
	case c == "":
		return r.fail()
	case c[0] >= '0' && c[0] <= '9', c == "True", c == "False", c == "None":
		r.next()
	case pythonByte(c[0]):
		name := r.name()
		var known bool
		foreign, known = r.variable[name]
		switch {
		case known && pythonModules()[name] != nil:
			path = name
		case !known:
			foreign, callee = true, name
		}
		if path != "" && r.token != "." {
			return r.fail()
		}
	default:
		return r.fail()
	}
	for !r.failed {
		switch r.token {
		case ".":
			r.next()
			name := r.name()
			switch {
			case path != "":
				if path, foreign = r.ofModule(path, name); r.failed {
					return true
				}
				callee = ""
				if r.token == "(" {
					r.call("")
					path, foreign = "", false
				}
			case r.token == "(" && !foreign && pythonMethods()[name]:
				foreign = r.call("")
			case r.token == "(":
				return r.fail()
			default:
				callee = ""
			}
		case "[":
			if foreign {
				return r.fail()
			}
			foreign = r.bracket()
			callee, path = "", ""
		case "(":
			if !pythonCalls()[callee] && !pythonValues()[callee] {
				return r.fail()
			}
			foreign = r.call(callee) && !pythonValues()[callee]
			callee = ""
		default:
			return foreign
		}
	}
	return foreign
}

// ofModule judges an attribute of a module that is known, and gives the path that it leads to.
func (r *pythonReader) ofModule(path, name string) (further string, foreign bool) {
	module, within, deep := strings.Cut(path, ".")
	key := name
	if deep {
		key = within + "." + name
	}
	allowed := pythonModules()[module]
	switch {
	case r.token == "(" && allowed[key+"()"], r.token != "(" && allowed[key]:
		if key == "stdin" && r.token == "." {
			return path + "." + name, true
		}
		return "", key == "stdin"
	}
	return "", r.fail()
}

// bracket reads what is in brackets: values, pairs, a slice.
func (r *pythonReader) bracket() (foreign bool) {
	end := map[string]string{"(": ")", "[": "]", "{": "}"}[r.token]
	r.next()
	for !r.failed && r.token != end {
		if r.token != ":" {
			foreign = r.expression() || foreign
		}
		for r.take(":") {
			if r.token != end && r.token != ":" && r.token != "," {
				foreign = r.expression() || foreign
			}
		}
		if r.token != end && !r.take(",") {
			return r.fail()
		}
	}
	r.take(end)
	return foreign
}

// call reads arguments, and says whether one is foreign.
func (r *pythonReader) call(callee string) (foreign bool) {
	r.next()
	for !r.failed && r.token != ")" {
		before := *r
		if name := r.token; pythonKeywords()[name] {
			if r.next(); r.take("=") {
				if r.expression() {
					return r.fail() // may be a function
				}
				name = ""
			}
			if name != "" {
				*r = before
				foreign = r.expression() || foreign
			}
		} else {
			foreign = r.expression() || foreign
		}
		if r.token != ")" && (callee == "type" || !r.take(",")) {
			return r.fail()
		}
	}
	r.take(")")
	return foreign
}

// pythonCode walks the program of python -c.
func (s *scan) pythonCode(arg Word, at int) {
	s.coded = true
	e := pythonEffects{}
	if arg.Static {
		e = readPython(arg.Text)
	}
	switch {
	case !e.known:
		s.builtinPart().note(Code, s.c, at, "runs code that is given in the line")
		return
	case e.modules:
		s.builtinPart().note(Dumps, s.c, at, "imports code, which may show the environment")
	}
	if e.modules || e.opaque && !s.isolated {
		s.builtinPart().note(Opaque, s.c, at, runsWorkspace)
		for _, file := range e.files {
			s.ran = append(s.ran, ran{file, s.c, at})
		}
	}
}
