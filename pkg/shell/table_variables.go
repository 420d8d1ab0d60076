package shell

import (
	"slices"
	"strings"
	"sync"
)

// Variables that decide which programs run or how a shell treats text (R3, R4).
const (
	holdsCode    = "sets a variable whose value is run or expanded"
	decidesRuns  = "sets a variable that decides which program or code runs"
	splitsDiffer = "sets the variable by which the shell parts words"

	passesVariable = "sets a variable that is not known to be harmless to the program that reads it"
)

// codeVariables hold commands or text that is expanded.
var codeVariables = sync.OnceValue(func() map[string]bool {
	return wordSet(`
BASH_ENV ENV PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND BASH_ALIASES BASH_CMDS EDITOR VISUAL PAGER BROWSER FCEDIT SUDO_EDITOR MANPAGER MANROFFSEQ
LESSOPEN LESSCLOSE LESSEDIT TAR_OPTIONS RSYNC_RSH CVS_RSH SVN_SSH SVN_EDITOR MAKEFLAGS GNUMAKEFLAGS MFLAGS NODE_OPTIONS PERL5OPT PERL5DB
RUBYOPT PYTHONSTARTUP PYTHONINSPECT PYTHONBREAKPOINT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS
RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER LUA_INIT PHPRC PHP_INI_SCAN_DIR R_PROFILE R_PROFILE_USER TCLINIT
SSH_ASKPASS SUDO_ASKPASS GREP_OPTIONS RIPGREP_CONFIG_PATH ACKRC LESS GZIP XZ_OPT ZIPOPT UNZIP
GOFLAGS MAKEFILES PYTEST_ADDOPTS PYTEST_PLUGINS PYTHONPATH NODE_PATH OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES CURL_HOME CC CXX
PYTHONPLATLIBDIR PYTHONUSERBASE PYTHONWARNINGS BUNDLE_GEMFILE RUSTFLAGS RUSTDOCFLAGS CARGO_HOME GOENV GOROOT GOTOOLDIR
`)
})

// lookupVariables decide where programs, libraries and settings are found.
var lookupVariables = sync.OnceValue(func() map[string]bool {
	return wordSet(`
SSLKEYLOGFILE NODE_V8_COVERAGE PYTHONPYCACHEPREFIX COVERAGE_FILE GOCOVERDIR PATH SHELL HOME CDPATH BASH_LOADABLES_PATH SHELLOPTS BASHOPTS BASH_XTRACEFD POSIXLY_CORRECT EXECIGNORE FPATH ZDOTDIR INPUTRC XDG_CONFIG_HOME
XDG_CONFIG_DIRS XDG_DATA_DIRS PERL5LIB PERLLIB RUBYLIB PYTHONHOME CLASSPATH TERMINFO TERMCAP GCONV_PATH LOCPATH NLSPATH NIX_PATH COMSPEC PATHEXT
`)
})

// harmlessGit are the variables of git that only say how it talks.
var harmlessGit = sync.OnceValue(func() map[string]bool {
	return wordSet(`GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE
GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_PAGER_IN_USE GIT_CEILING_DIRECTORIES GIT_LITERAL_PATHSPECS GIT_NO_LAZY_FETCH`)
})

// harmlessValues, by the last part of a variable's name.
var harmlessValues = map[string][]string{"PAGER": {"", "cat"}, "MANPAGER": {"", "cat"}, "EDITOR": {"", "true", ":"}}

func wordSet(words string) map[string]bool {
	all := strings.Fields(words)
	set := make(map[string]bool, len(all))
	for _, word := range all {
		set[word] = true
	}
	return set
}

// judgedVariables are those of the above whose value shows that it is harmless.
var judgedVariables = map[string]func(value string) bool{
	"GOFLAGS":        harmlessGoFlags,
	"IFS":            func(value string) bool { return strings.Trim(value, " \t\n") == "" }, // parts words no further than they are
	"PYTHONPATH":     withinWorkspace,
	"NODE_PATH":      withinWorkspace,
	"PYTHONWARNINGS": func(value string) bool { return !strings.ContainsAny(value, "./") },
}

// harmlessGoFlags reports options of go that neither write nor run anything.
func harmlessGoFlags(value string) bool {
	for field := range strings.FieldsSeq(value) {
		name, _, _ := strings.Cut(strings.TrimLeft(field, "-"), "=")
		switch name {
		case "count", "race", "v", "short", "buildvcs", "tags", "trimpath", "p", "timeout", "failfast", "parallel", "cpu":
		default:
			return false
		}
	}
	return !strings.ContainsAny(value, "'\"")
}

// harmlessToolFlags reports options of go's compiler, linker and assembler that neither
// write nor run anything. They may begin with a pattern of packages, as all=-N.
func harmlessToolFlags(value string) bool {
	first := true
	fields := strings.Fields(value)
	for i := 0; i < len(fields); i++ {
		field := strings.Trim(fields[i], `'"`)
		if pattern, flag, ok := strings.Cut(field, "="); ok && first && !strings.HasPrefix(pattern, "-") {
			field = flag
		}
		first = false
		name, _, attached := strings.Cut(field, "=")
		switch name {
		case "-X":
			if !attached {
				i++
			}
		case "", "-s", "-w", "-N", "-l", "-m", "-e", "-B", "-C", "-race", "-trimpath":
		default:
			return false
		}
	}
	return true
}

// withinWorkspace reports folders of the workspace, whose code may run as any
// other code of the workspace may.
func withinWorkspace(value string) bool {
	for folder := range strings.SplitSeq(value, ":") {
		if strings.HasPrefix(folder, "/") || strings.HasPrefix(folder, "~") || strings.Contains(folder, "..") {
			return false
		}
	}
	return true
}

// harmlessVariables change how a program looks or talks, not its writes or programs, with
// any value.
var harmlessVariables = sync.OnceValue(func() map[string]bool {
	return wordSet(`
LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE GREP_COLOR GREP_COLORS LS_COLORS JQ_COLORS
BLOCK_SIZE TIME_STYLE QUOTING_STYLE LESSCHARSET CI DEBUG VERBOSE QUIET LOG_LEVEL LOGLEVEL DEBIAN_FRONTEND DISPLAY QT_QPA_PLATFORM
SDL_VIDEODRIVER SOURCE_DATE_EPOCH DO_NOT_TRACK HUSKY PORT HOST HOSTNAME USER LOGNAME NODE_NO_WARNINGS RUST_BACKTRACE RUST_LOG RUST_TEST_THREADS
PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8 PYTHONHASHSEED PYTHONFAULTHANDLER PYTHONASYNCIODEBUG PYTHONDEVMODE
PYTHONOPTIMIZE PYTHONNOUSERSITE PYTHONSAFEPATH PYTHONTRACEMALLOC PYTHONMALLOC DJANGO_SETTINGS_MODULE FLASK_APP
GOOS GOARCH GOARM GOAMD64 CGO_ENABLED GO111MODULE GOMAXPROCS GOGC GOMEMLIMIT GODEBUG GOTRACEBACK GOPROXY GOPRIVATE GONOSUMDB GOSUMDB
CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN CARGO_INCREMENTAL CARGO_NET_OFFLINE CARGO_BUILD_JOBS OMP_NUM_THREADS CUDA_VISIBLE_DEVICES
TF_CPP_MIN_LOG_LEVEL PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE AWS_REGION AWS_DEFAULT_REGION AWS_PROFILE GTEST_COLOR GTEST_FILTER
http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY
`)
})

// harmlessEndings are the endings of names whose values are plain text: an account,
// an address or a mode of the user's own program.
var harmlessEndings = []string{
	"_PASSWORD", "_TOKEN", "_SECRET", "_KEY", "_USER", "_USERNAME", "_HOST", "_PORT", "_URL", "_URI", "_REGION", "_ENV", "_ID", "_TIMEOUT",
	"_LEVEL", "_COLOR", "_THREADS", "_DEBUG", "_VERBOSE", "_SEED",
}

// tellingParts of a name say that even a switch may make a program write or run.
var tellingParts = []string{
	"FILE", "DIR", "PATH", "PREFIX", "COV", "OUT", "LOG", "DUMP", "TRACE", "HOME", "ROOT", "UPDATE", "WRITE", "FIX", "SNAPSHOT", "BLESS", "RECORD",
	"REGEN", "PROF", "HIST", "CACHE", "TMP", "TEMP", "SAVE", "STORE", "CMD", "COMMAND", "EDITOR", "SHELL", "PAGER", "OPT", "FLAGS", "ARGS", "LOAD",
	"PLUGIN", "CONF", "INIT", "LIB", "WRAPPER", "EXEC", "RUN", "HOOK",
}

// harmlessVariable reports a variable that a program may be given.
func harmlessVariable(name, value string, static bool) bool {
	if harmlessVariables()[name] || strings.HasPrefix(name, "LC_") || harmlessGit()[name] ||
		slices.ContainsFunc(harmlessEndings, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return true
	}
	return static && isSwitch(value) &&
		!slices.ContainsFunc(tellingParts, func(part string) bool { return strings.Contains(strings.ToUpper(name), part) })
}

// isSwitch reports a number, or a word that turns something on or off.
func isSwitch(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "y", "n", "none", "auto":
		return true
	}
	return strings.Trim(value, "0123456789.") == ""
}

// influence describes the effect of setting a variable, or is empty.
func influence(name string) (what string, kind Kind) {
	switch {
	case codeVariables()[name]:
		return holdsCode, Code
	case lookupVariables()[name]:
		return decidesRuns, Writes
	case name == "IFS":
		return splitsDiffer, Writes
	case strings.HasPrefix(name, "GIT_"):
		if harmlessGit()[name] {
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
