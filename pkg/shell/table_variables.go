package shell

import "strings"

// Variables that decide what programs run or what a shell does with text (R3, R4).
const (
	holdsCode    = "sets a variable whose value is run or expanded"
	decidesRuns  = "sets a variable that decides which program or code runs"
	splitsDiffer = "sets the variable by which the shell parts words"
)

// codeVariables hold commands or text that is expanded.
var codeVariables = wordSet(`
BASH_ENV ENV PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ALIASES BASH_CMDS EDITOR VISUAL PAGER BROWSER FCEDIT SUDO_EDITOR MANPAGER MANROFFSEQ
LESSOPEN LESSCLOSE LESSEDIT TAR_OPTIONS RSYNC_RSH CVS_RSH SVN_SSH SVN_EDITOR MAKEFLAGS GNUMAKEFLAGS MFLAGS NODE_OPTIONS PERL5OPT PERL5DB
RUBYOPT PYTHONSTARTUP PYTHONINSPECT PYTHONBREAKPOINT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS
RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER LUA_INIT PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER TCLINIT
SSH_ASKPASS SUDO_ASKPASS GREP_OPTIONS RIPGREP_CONFIG_PATH ACKRC LESS GZIP XZ_OPT ZIPOPT UNZIP
`)

// lookupVariables decide where programs, libraries and settings are found.
var lookupVariables = wordSet(`
PATH SHELL HOME CDPATH BASH_LOADABLES_PATH SHELLOPTS BASHOPTS BASH_XTRACEFD POSIXLY_CORRECT EXECIGNORE FPATH ZDOTDIR INPUTRC XDG_CONFIG_HOME
XDG_CONFIG_DIRS XDG_DATA_DIRS PERL5LIB PERLLIB RUBYLIB PYTHONHOME CLASSPATH TERMINFO TERMCAP GCONV_PATH LOCPATH NLSPATH NIX_PATH COMSPEC PATHEXT
`)

// harmlessGit are the variables of git that only say how it talks.
var harmlessGit = wordSet(`GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_PAGER_IN_USE GIT_CEILING_DIRECTORIES GIT_LITERAL_PATHSPECS GIT_NO_LAZY_FETCH`)

// harmlessValues, by the last part of a variable's name.
var harmlessValues = map[string][]string{"PAGER": {"", "cat"}, "MANPAGER": {"", "cat"}, "EDITOR": {"", "true", ":"}}

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// influence says what setting a variable means, or is empty.
func influence(name string) (what string, kind Kind) {
	switch {
	case codeVariables[name]:
		return holdsCode, Code
	case lookupVariables[name]:
		return decidesRuns, Writes
	case name == "IFS":
		return splitsDiffer, Writes
	case strings.HasPrefix(name, "GIT_"):
		if harmlessGit[name] {
			return "", 0
		}
		if name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_INDEX_FILE" || name == "GIT_CONFIG" {
			return decidesRuns, Writes
		}
		return holdsCode, Code
	case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"):
		return decidesRuns, Writes
	case strings.HasPrefix(name, "BASH_FUNC_"), strings.HasPrefix(name, "npm_config_"), strings.HasPrefix(name, "NPM_CONFIG_"),
		strings.HasSuffix(name, "_PAGER"), strings.HasSuffix(name, "_EDITOR"), strings.HasSuffix(name, "_BROWSER"):
		return holdsCode, Code
	}
	return "", 0
}
