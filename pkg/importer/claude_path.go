package importer

import (
	"errors"
	"slices"
	"strings"
)

// files translates a rule on paths, which are patterns of gitignore from one of four places.
func (c *claude) files(list string, n Note, pattern string, whole bool, facet string, tools []string) {
	if whole && list == allow {
		if facet == "reads" {
			tools = tools[:1]
		}
		c.tool(list, n, tools)
		return
	}
	if whole {
		c.tool(list, n, tools)
		return
	}
	globs, err := c.globs(pattern, list != allow)
	if err != nil {
		n.Why = err.Error()
		c.leave(n, tools)
		return
	}
	when := one(facet, texts(globs))
	if list == allow {
		c.allowWhen(n, tools, when)
		return
	}
	c.restrict(list, n, slices.Concat(tools, claudeShell), clause{when: when})
	c.widen(Note{Line: n.Line, Text: n.Text, Why: "a command line with unknown files, such as `npm test`, is denied; the rule of bash can be removed where that is too strict"})
}

// globs returns patterns of Interlock that match the files of a gitignore pattern: at least
// that where a rule restricts, and no more where it allows.
func (c *claude) globs(pattern string, restricts bool) ([]string, error) {
	switch {
	case strings.ContainsAny(pattern, "{}"):
		return nil, errors.New("braces are plain characters of a name to Claude Code; write one rule for each name")
	case strings.HasPrefix(pattern, "!"), strings.Contains(pattern, `\`):
		return nil, errors.New("! and \\ in a path are not translated")
	case slices.Contains(strings.Split(pattern, "/"), ".."):
		return nil, errors.New("a path with .. is not translated")
	case strings.HasPrefix(pattern, "//"):
		return c.absolute(pattern[1:], restricts)
	case strings.HasPrefix(pattern, "~/"):
		if c.options.Home == "" {
			return nil, errors.New("the home folder is not known; give --home")
		}
		return c.absolute(c.options.Home+pattern[1:], restricts)
	case strings.HasPrefix(pattern, "~"):
		return nil, errors.New("a path of another user's home is not translated")
	case strings.HasPrefix(pattern, "/"):
		if c.options.User {
			return nil, errors.New("a path from the root is not one of the workspace in a person's settings; write it with ~/ or //")
		}
		return below(pattern[1:], restricts)
	}
	relative := strings.TrimPrefix(pattern, "./")
	anywhere := !strings.Contains(strings.TrimSuffix(relative, "/"), "/")
	if restricts && anywhere { // a name alone is one at any depth
		relative = "**/" + relative
	}
	return below(relative, restricts)
}

// below returns a pattern, and where it may be a folder's name that of all that is in it.
func below(pattern string, restricts bool) ([]string, error) {
	folder, isFolder := strings.CutSuffix(pattern, "/")
	switch {
	case folder == "":
		return nil, errors.New("the path is empty")
	case isFolder:
		return []string{folder + "/**"}, nil
	case !restricts, strings.HasSuffix(pattern, "/**"), pattern == "**":
		return []string{pattern}, nil
	default:
		return []string{pattern, pattern + "/**"}, nil
	}
}

// absolute returns the patterns of an absolute one, which are relative where they lead into the
// workspace.
func (c *claude) absolute(pattern string, restricts bool) ([]string, error) {
	workspace := strings.TrimSuffix(c.options.Workspace, "/")
	if workspace == "" {
		return nil, errors.New("the workspace is not known; give --workspace")
	}
	parts := strings.Split(pattern, "/")
	stem := pattern // up to the first part that is a pattern
	if i := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, "*?[") }); i > 0 {
		stem = strings.Join(parts[:i], "/")
	}
	inside, exact := strings.CutPrefix(pattern, workspace+"/")
	switch {
	case slices.Contains(parts, "."):
		return nil, errors.New("a path with . in the middle is not translated")
	case exact && within(stem, workspace):
		return below(inside, restricts)
	case within(stem, workspace), within(workspace, stem):
		return nil, errors.New("the pattern covers the workspace, whose files have relative names")
	default:
		return below(pattern, restricts)
	}
}

// within reports that a folder is another or is below it, without letter case.
func within(folder, top string) bool {
	folder, top = strings.ToLower(folder), strings.ToLower(strings.TrimSuffix(top, "/"))
	return folder == top || strings.HasPrefix(folder, top+"/")
}
