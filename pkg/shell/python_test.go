package shell

import "testing"

// TestPython: R3. A program that only prints is read; anything else is not.
func TestPython(t *testing.T) {
	t.Parallel()
	for _, program := range []string{
		`print(1)`, `print('a', "b", sep='-')`, "print(1+1)\nprint(2 ** 10 // 3)", `import sys; print(sys.version)`, `import sys; print(sys.version_info[0], sys.version[:3])`,
		`import json,sys; print(json.load(sys.stdin)["a"])`, `import json, sys; d = json.load(sys.stdin); print('\n'.join(sorted(d['paths'].keys())))`,
		`import sys, json; print(json.dumps(json.loads(sys.stdin.read()), indent=2, sort_keys=True))`, `x = [1, 2]; print(sum(x), max(x), len(x), x[0], x[::-1])`,
		`print({'a': 1}.get('a', 2))`, `print("a,b".split(",")[1].upper())`, `print(r"\d", b'x', '''a
b''')`, `import math; print(math.sqrt(2) * math.pi)`, `import numpy; print(numpy.__version__)`, `from sympy import S; print(bool(S.false))`,
		`print(1 < 2 and not 3 == 4, 'a' in 'abc', None is not True)`, `print((1, 2), [], {}, {1, 2})`, `1`, ``, `print('a' 'b')`, `print("# no comment")`, `print(min([], default=0))`,
		`import a.b; print(a.b.c)`, `print(type(1), isinstance('', str))`, `print('%s' % 1)`, `import sys; sys.exit(0)`,
	} {
		if !readPython(program).known {
			t.Errorf("%q is not read", program)
		}
	}
	for _, program := range []string{
		`open('f', 'w')`, `print(open('f','w'))`, `open('f','w').write('x')`, `print(1, file=open('f', 'w'))`, `import os; os.system('x')`, `import os; os.replace('a', 'b')`,
		`import os; x = os; x.replace('a', 'b')`, `import os; [os][0].replace('a', 'b')`, `import os; list([os])[0].replace('a', 'b')`, `import os; (os).replace('a', 'b')`,
		`import os; {}.get(1, os).replace('a', 'b')`, `import os; min(os, os).replace('a', 'b')`, `import os; (os or 1).replace('a', 'b')`, `import os; {1: os}[1].replace('a','b')`,
		`from os import replace; replace('a', 'b')`, `from os import system; system('x')`, `from os import system as print; print('x')`, `from os import system as len`,
		`import os as sys; sys.exit('x')`, `from x import json; json.load(1)`, `from x import *`, `from os import system; print = system; print('x')`, `print = open; print('f', 'w')`,
		`import os; sorted(['x'], key=os.system)`, `import os; max(['x'], key=os.system)`, `import os; print(sorted(['x'], reverse=os.system))`, `import json, os; json.dumps(os, default=os.system)`,
		`import json, os; json.loads('{}', object_hook=os.system)`, `__import__('os').system('x')`, `eval('1')`, `exec('x')`, `compile('x', 'y', 'exec')`, `().__class__.__base__.__subclasses__()`,
		`[print][0]('x')`, `(lambda: 1)()`, `[x for x in y]`, `print(x for x in y)`, `def f(): pass`, "if 1:\n  print(1)", `for x in y: print(x)`, `with open('f') as f: print(f)`, `class A: pass`,
		`x[0] = 1`, `x.y = 1`, `x += 1`, `(x := open)`, `del x`, `assert x`, `print(f'{__import__("os").system("x")}')`, `f'{x}'`, `rf'{x}'`, "x = 1 \\\n+ 1", "print(1) # -*- coding: utf-7 -*-",
		`ｐｒｉｎｔ = open`, `from os import ｓｙｓｔｅｍ`, `print(é)`, "print(1)\x00", "print(1)\f", "\tprint(1)", `import sys; print(sys.modules)`, `import sys; sys.modules['os'].system('x')`,
		`import sys; print(sys)`, `import sys; x = sys`, `import json; json.tool.main()`, `import json; print(json.decoder)`, `import json.tool`, `import antigravity`, `from antigravity import x`,
		`import venv.__main__`, `import a.__main__`, `from a import b; b['x'] & 1`, `from a import b; b | 1`, `from a import b; -b`, `from a import b; b > 1`, `from a import b; print(b['x'])`, `from a import b; b[0]`,
		`import os; type('T', (), {'__str__': os.getcwd})`, `print(*[1])`, `print(**{})`, `print(`, `print(1`, `'`, `"""x`, `print(1))`, `1if x else y`, `x = `, `import`, `from x`, `import x as y`, `x: int = 1`,
		`sys.exit(1)`, `json.load(1)`, `print >>f, 1`, "`x`", `a @ b`, `input()`, `breakpoint()`, `exit()`, `getattr(x, 'y')()`, `"".join.__self__()`, `print((yield))`, `print(1);;x y`, `global x`, `vars(x)`,
		`str.format` + "()", `"{}".format.x(1)`, `import sys; sys.stdin.close()`, `import sys; sys.stdin` + `.buffer.raw.write(1)`, `import math; math.x()`,
	} {
		if readPython(program).known {
			t.Errorf("%q is read", program)
		}
	}
	if e := readPython("import numpy; print(numpy.x)"); !e.opaque || !e.modules {
		t.Error("an import is code of the workspace")
	}
	if e := readPython("import sys; print(sys.path)"); e.opaque || e.modules {
		t.Error("sys is a part of the interpreter")
	}
}
