package shell

// formatterTable holds formatters, linters and generators that rewrite files,
// always or when they are told to.
const formatterTable = `
gofmt|goimports|gofumpt|gci|golines:: @single -w:writes -cpuprofile=out -d -l -s -r=
go:: @sub @single -C=
go fmt|go fix|go generate|go get|go install|go clean:: @writes @single -n:quiet
go mod|go work:: @sub
go mod tidy|go mod download|go mod vendor|go mod init|go mod edit|go work init|go work use|go work edit|go work sync|go work vendor:: @writes @single -json:quiet -print:quiet
go env:: @single -w:writes -u:writes
go build|go run:: @opaque @single -debug-trace=out -debug-actiongraph=out -debug-runtime-trace=out -o=out -toolexec=run -exec=run -overlay= -pkgdir=writes -a -n -x -p= -tags= -ldflags= -gcflags= -asmflags= -mod= -modfile= -buildmode= -compiler= -C=
go vet|go list|go doc:: @single -debug-trace=out -debug-actiongraph=out -debug-runtime-trace=out -o=out -toolexec=run -exec=run -vettool=run -overlay= -pkgdir=writes -a -n -x -p= -tags= -ldflags=writes -gcflags=writes -asmflags=writes -mod= -modfile= -buildmode= -compiler= -C=
go test:: @opaque @single -debug-trace=out -debug-actiongraph=out -debug-runtime-trace=out -test.coverprofile=out -test.cpuprofile=out -test.memprofile=out -test.blockprofile=out -test.mutexprofile=out -test.trace=out -test.testlogfile=out -test.outputdir=writes -test.gocoverdir=writes -o=out -c:writes -toolexec=run -exec=run -vettool=run -coverprofile=out -cpuprofile=out -memprofile=out -blockprofile=out -mutexprofile=out -trace=out -outputdir=writes -run= -bench= -count= -timeout= -tags= -ldflags=writes -gcflags=writes -asmflags=writes -mod= -parallel= -p= -cpu= -covermode= -coverpkg= -fuzz= -fuzztime= -shuffle= -skip= -list= -benchtime= -v -args
go tool:: @sub @opaque
go tool compile|go tool link|go tool asm|go tool cgo|go tool pack:: @writes
go tool cover|go tool covdata|go tool trace|go tool nm|go tool objdump|go tool addr2line|go tool fix|go tool test2json:: @opaque @single -o=out -w:writes -html= -func= -i= -pkg=
go tool pprof:: @opaque @single -o=out -output=out -svg,-pdf,-png,-gif,-ps,-eps,-dot,-proto,-topproto,-callgrind,-kcachegrind,-web,-weblist,-evince,-gv:writes -http= -tools= -buildid= -base= -diff_base=
go tool buildid:: @opaque @single -w:writes
golangci-lint:: @sub
golangci-lint run:: --fix:writes
golangci-lint fmt|golangci-lint migrate:: @writes -d,--diff:quiet
prettier|prettierd:: @opaque -w,--write:writes --plugin=unseen --config= -c,--check -l,--list-different
eslint|eslint_d|xo|standard|semistandard|tslint|stylelint|oxlint|markdownlint|markdownlint-cli2|textlint|htmlhint|sass-lint|jshint|jscs:: @opaque --fix:writes --fix-dangerously:writes -o,--output-file=out --init:writes --cache-location=out -c,--config= --ext= -f,--format= --rulesdir=unseen --resolve-plugins-relative-to=
biome|rome:: @sub
biome check|biome format|biome lint|rome check|rome format:: --write:writes --fix:writes --apply:writes --apply-unsafe:writes
biome init|biome migrate|rome init:: @writes
dprint:: @sub
dprint fmt|dprint init|dprint config:: @writes
jscodeshift|codemod|lebab|npm-check-updates|ncu|lint-staged:: @writes -d,--dry:quiet
black:: @writes --check:quiet --diff:quiet -c,--code=code -l= -t= --config=
isort:: @writes -c,--check,--check-only:quiet -d,--diff:quiet --stdout:quiet
autopep8|autoflake|docformatter|yapf|pyupgrade|add-trailing-comma|unify|pyment|ssort|usort|black-macchiato|blue|djlint|djhtml|curlylint:: -i,--in-place:writes --inplace:writes --reformat:writes -r= --style= --exclude=
2to3:: -w,--write:writes -o=writes
ruff:: @sub --config=
ruff check:: --fix:writes --fix-only:writes --add-noqa:writes --unsafe-fixes -o,--output-file=out --watch
ruff format:: @writes --check:quiet --diff:quiet
ruff clean:: @writes
pylint:: @opaque --init-hook=code --load-plugins=plugin --rcfile=workspace --output=out -f,--output-format=report -d,--disable= -e,--enable= -j,--jobs= --msg-template= --source-roots=
mypy:: @opaque --install-types:writes --any-exprs-report,--cobertura-xml-report,--html-report,--linecount-report,--linecoverage-report,--lineprecision-report,--txt-report,--xml-report,--xslt-html-report,--xslt-txt-report,--junit-xml=out --config-file=workspace --python-executable=writes --cache-dir=out -m= -p= -c=
prove:: @opaque -e,--exec=run -P=plugin -a,--archive=out --state=writes --rc=workspace -I= -j= -M= -m=
fzf|sk:: --preview=script --bind=code --history=out --listen?=writes --with-shell=writes -c,--cmd=script -q,--query= -f,--filter= -d,--delimiter= -n,--nth= --with-nth= --height= --preview-window= --header= --prompt= --color=
latexmk:: @opaque @writes @single -e=code -r=unseen -latex,-pdflatex,-xelatex,-lualatex,-dvips,-dvipdf,-dvilualatex,-hlualatex,-ps2pdf,-makeindex,-bibtex,-biber,-print,-pretex,-usepretex=run
flake8|pyright|bandit|pydocstyle|pycodestyle:: @opaque --output-file=out -o=out --install-types:writes --html-report=out --xml-report=out --junit-xml=out --config= --select=
rustfmt:: @writes --check:quiet --emit=tostdout --print-config=writes --edition= --config=
clang-format|clang-tidy|astyle|uncrustify|shfmt|buf|tombi|yamlfmt|nixpkgs-fmt|gersemi|cmake-format:: -i:writes -w,--write:writes --fix:writes --fix-errors:writes --in-place:writes --replace:writes --no-backup:writes -style= --style= -export-fixes=out
dart|flutter|swift|mix|zig|gleam|elm|crystal|nim|php-cs-fixer|rubocop|standardrb|erb-lint|sqlfluff|taplo|ktlint|swiftlint|dotnet|fourmolu|ormolu|hindent|stylish-haskell|google-java-format|cljfmt|sqlformat|pg_format|perltidy|jsonnetfmt|cue|terraform-docs|tflint|mdformat|remark:: @opaque @sub -a,-A,--auto-correct,--autocorrect,--auto-correct-all,--autocorrect-all,--fix:writes -F:writes -i,--inplace,--in-place,--replace:writes -w,--write:writes -b=
mix run:: -e,--eval=code -r=
crystal eval|dotnet fsi:: @inline
dart format|dart fix|dart create|flutter format|flutter create|flutter pub|swift format|swift package|mix format|mix deps.get|mix new|zig fmt|zig init|gleam format|gleam new|elm init|elm install|crystal tool|php-cs-fixer fix|sqlfluff fix|sqlfluff format|taplo fmt|taplo format|dotnet format|dotnet new|dotnet add|dotnet remove|dotnet restore|cue fmt:: @writes --dry-run:quiet --check:quiet --check-formatted:quiet --set-exit-if-changed -o= --verify-no-changes:quiet
phpcbf|elm-format|scalafmt|swiftformat|stylua|nixfmt|alejandra|fantomas|csharpier|rufo:: @operands --check:quiet --test:quiet --validate:quiet --lint:quiet --dryrun:quiet --dry-run:quiet -c:quiet
tsc|vue-tsc:: @writes @single @folds @response -noemit,-showconfig,-listfilesonly:switch -v,-version,-h,-help,-all:quiet -b,-build,-incremental,-composite,-clean:writes -outfile,-outdir,-out,-declarationdir,-tsbuildinfofile=out -generatetrace,-generatecpuprofile=out -init:writes -p,-project= -t,-target= -m,-module= -lib= -types=
pytest|py.test:: @opaque --basetemp=writes --junitxml,--junit-xml,--log-file,--resultlog,--report-log,--html,--json-report-file,--csv,--benchmark-json=out --debug?=writes --snapshot-update,--force-regen,--regen-all,--update-snapshots:writes -p=plugin -c,--config-file,--rootdir,--confcutdir,--cov-config=workspace -o,--override-ini=setting --cov-report=report --co,--collect-only --cov?= --cache-clear:writes --pdb,--trace:code --pdbcls=code --inline-snapshot=writes -k= -m= -n= -r= -W= --tb= --maxfail= --durations= --durations-min= --ignore= --ignore-glob= --deselect= --color= --capture= --show-capture= --import-mode= --lf --ff --timeout= --dist= --log-level= --log-cli-level= --verbosity= --reruns= --ds= --junit-prefix= --log-file-level= --log-file-mode= --log-file-format= --log-file-date-format=
coverage:: @sub
coverage run:: @opaque @stops -m,--module=module --data-file=out --source= --rcfile=workspace --omit= --include= --context= --concurrency= -p,--parallel-mode -a,--append -L --branch --timid
coverage html|coverage annotate|coverage erase|coverage combine:: @writes
coverage xml|coverage json|coverage lcov:: @writes -o=tostdout
jest:: @opaque --coverage -u,--updateSnapshot:writes --outputFile,--coverageDirectory,--cacheDirectory=out --init,--clearCache:writes --globalSetup=code -t,--testNamePattern= -c,--config= -w,--maxWorkers= -i -o -b
vitest:: @opaque -u,--update:writes --outputFile?=writes --coverage.reportsDirectory=out -t,--testNamePattern= -c,--config=
pre-commit:: @opaque @sub
pre-commit install|pre-commit uninstall|pre-commit autoupdate|pre-commit clean|pre-commit gc:: @writes
`
