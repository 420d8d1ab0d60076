package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"io"
	"slices"
	"strings"
	"unicode"
)

// shape has the measures of a package that its language does not show.
type shape struct {
	names   map[string]bool // first words of functions
	methods int
	typ     string // that has the most methods
	uphill  float64
}

func shapeOf(files []*ast.File) shape {
	s := shape{names: map[string]bool{}}
	methods := map[string]int{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			s.names[firstWord(f.Name.Name)] = true
			if typ := receiver(f); typ != "" {
				methods[typ]++
			}
		}
	}
	for typ, n := range methods {
		if n > s.methods || n == s.methods && typ < s.typ {
			s.methods, s.typ = n, typ
		}
	}
	s.uphill = uphill(uses(files))
	return s
}

// firstWord returns the first word of a name, in lower case. The first word of JSONOf is json.
func firstWord(name string) string {
	letters := []rune(name)
	end := 1
	for end < len(letters) && unicode.IsUpper(letters[end]) == unicode.IsUpper(letters[0]) {
		end++
	}
	switch {
	case end == len(letters) || !unicode.IsLower(letters[end]) || !unicode.IsUpper(letters[0]):
	case end > 1: // the last capital begins the next word
		end--
	default:
		for end < len(letters) && !unicode.IsUpper(letters[end]) {
			end++
		}
	}
	return strings.ToLower(string(letters[:end]))
}

// receiver returns the type of a method; empty for functions.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// uses counts, for files i and j, how often i uses a name of j.
func uses(files []*ast.File) [][]int {
	names, members := map[string]int{}, map[string][]int{}
	for i, file := range files {
		for _, declaration := range file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = i
				} else {
					members[d.Name.Name] = append(members[d.Name.Name], i)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = i
					case *ast.ValueSpec:
						for _, name := range s.Names {
							names[name.Name] = i
						}
					}
				}
			}
		}
	}
	count := make([][]int, len(files))
	for i, file := range files {
		count[i] = make([]int, len(files))
		selected := map[*ast.Ident]bool{}
		local := map[*ast.Ident]bool{}
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.SelectorExpr:
				selected[n.Sel] = true
				if in := members[n.Sel.Name]; len(in) == 1 {
					count[i][in[0]]++
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					local[key] = true
				}
			case *ast.Field:
				for _, name := range n.Names {
					local[name] = true
				}
			case *ast.Ident:
				// The parser resolves names of functions' bodies; those have another object.
				declared := n.Obj != nil && file.Scope.Lookup(n.Name) != n.Obj
				if j, ok := names[n.Name]; ok && !selected[n] && !local[n] && !declared {
					count[i][j]++
				}
			}
			return true
		})
	}
	return count
}

// uphill returns the percentage of uses between files that go against their best order: each
// file stands above those that it uses. The order takes out files that use no other, then
// those that no other uses, then the one with the most uses over being used, and moves
// single files while that helps.
func uphill(count [][]int) float64 {
	total, order := 0, make([]int, 0, len(count))
	for i := range count {
		count[i][i] = 0
		for _, n := range count[i] {
			total += n
		}
	}
	var top, bottom []int
	left := make([]int, len(count))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		out := func(i int) (n int) {
			for _, j := range left {
				n += count[i][j]
			}
			return n
		}
		in := func(i int) (n int) {
			for _, j := range left {
				n += count[j][i]
			}
			return n
		}
		at := slices.IndexFunc(left, func(i int) bool { return out(i) == 0 })
		if at >= 0 {
			bottom = append(bottom, left[at])
		} else {
			best := slices.MaxFunc(left, func(a, b int) int { return cmp.Compare(out(a)-in(a), out(b)-in(b)) })
			at = slices.Index(left, best)
			top = append(top, best)
		}
		left = slices.Delete(left, at, at+1)
	}
	slices.Reverse(bottom)
	order = append(append(order, top...), bottom...)
	for improved := true; improved; {
		improved = false
		for from := range order {
			// delta is the change of uphill uses with the file at another place.
			best, place := 0, from
			for _, step := range []int{-1, 1} {
				delta := 0
				for to := from + step; to >= 0 && to < len(order); to += step {
					a, b := order[from], order[to]
					delta += step * (count[a][b] - count[b][a])
					if delta < best {
						best, place = delta, to
					}
				}
			}
			if place != from {
				moved := order[from]
				order = slices.Insert(slices.Delete(order, from, from+1), place, moved)
				improved = true
			}
		}
	}
	against := 0
	for above, a := range order {
		for _, b := range order[above+1:] {
			against += count[b][a]
		}
	}
	return percent(against, total)
}

// print writes the table: packages, pages, and what the product adds up to.
func (h *house) print(out io.Writer) {
	fmt.Fprintf(out, "%-52s %7s %8s %6s %6s %6s %8s %7s %6s\n", "package", "words", "relative", "vague", "form", "names", "methods", "uphill", "lines")
	var all subject
	names, lines, wide := map[string]bool{}, 0, []string{}
	for _, r := range h.packages {
		s := shapeOf(r.files)
		if !r.support {
			fmt.Fprintf(out, "%-52s %7d %8.1f %6.1f %5.0f%% %6d %8d %6.0f%% %6d\n", r.name, r.comments.words, perThousand(r.comments.relative, r.comments.words),
				perThousand(r.comments.vague, r.comments.words), percent(r.comments.form, r.comments.functions), len(s.names), s.methods, s.uphill, r.lines)
			all.add(r.comments)
			lines += r.lines
			for name := range s.names {
				names[name] = true
			}
			if s.methods > 60 {
				wide = append(wide, fmt.Sprintf("%s.%s has %d methods", r.name, s.typ, s.methods))
			}
		}
	}
	fmt.Fprintf(out, "%-52s %7d %8.1f %6.1f %5.0f%% %6d %8s %7s %6d\n\n", "all", all.words, perThousand(all.relative, all.words),
		perThousand(all.vague, all.words), percent(all.form, all.functions), len(names), "", "", lines)
	kinds := map[string]*subject{}
	fmt.Fprintf(out, "%-62s %7s %8s %6s\n", "pages, and strings and tests of packages", "words", "relative", "vague")
	for _, s := range h.subjects {
		kind, _, _ := strings.Cut(s.name, " ")
		if kind == "comments" {
			continue
		}
		if kinds[kind] == nil {
			kinds[kind] = &subject{name: "all: " + kind}
		}
		kinds[kind].add(s)
		fmt.Fprintf(out, "%-62s %7d %8.1f %6.1f\n", s.name, s.words, perThousand(s.relative, s.words), perThousand(s.vague, s.words))
	}
	for _, kind := range []string{"strings", "tests", "page"} {
		if s := kinds[kind]; s != nil {
			fmt.Fprintf(out, "%-62s %7d %8.1f %6.1f\n", s.name, s.words, perThousand(s.relative, s.words), perThousand(s.vague, s.words))
		}
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(wide, "\n"))
}

func (s *subject) add(other *subject) {
	s.words += other.words
	s.relative += other.relative
	s.vague += other.vague
	s.functions += other.functions
	s.form += other.form
}
