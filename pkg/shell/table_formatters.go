package shell

// formatterTable holds formatters, linters and generators that rewrite files,
// always or when they are told to.
const formatterTable = `
gofmt|goimports|gofumpt|gci|golines:: @single -w:writes -cpuprofile=out -d -l -s -r=
go:: @sub @single -C=
go fmt|go generate|go install|go clean:: @writes @single -n:quiet -x -cache -modcache -testcache -fuzzcache -i -r -v -mod= -tags= -p= -run= -skip=
go get:: @writes
go fix:: @writes @single -diff:quiet -v
go mod|go work:: @sub
go mod edit|go work edit:: @writes @single -json,-print:quiet
go mod tidy:: @writes @single -diff:quiet -v -x -e -go= -compat=
go mod download|go mod vendor|go mod init|go work init|go work use|go work sync|go work vendor:: @writes
go telemetry:: @operands
go env:: @single -w:writes -u:writes
go build|go run:: @opaque @single -debug-trace,-debug-actiongraph,-debug-runtime-trace=out -o=out -ldflags,-gcflags,-asmflags=goflags -gccgoflags=writes -mod=modmode -toolexec,-exec=run -pkgdir=writes -overlay= -a -n -x -p= -tags= -modfile= -buildmode= -compiler= -C= -pgo=
go vet|go list|go doc:: @single -debug-trace,-debug-actiongraph,-debug-runtime-trace=out -o=out -vettool=run -fix:writes -cpuprofile,-memprofile,-trace=out -ldflags,-gcflags,-asmflags=goflags -gccgoflags=writes -mod=modmode -toolexec,-exec=run -pkgdir=writes -overlay= -a -n -x -p= -tags= -modfile= -buildmode= -compiler= -C= -pgo=
go test:: @opaque @single -debug-trace,-debug-actiongraph,-debug-runtime-trace=out -test.coverprofile,-test.cpuprofile,-test.memprofile,-test.blockprofile,-test.mutexprofile,-test.trace,-test.testlogfile=out -test.outputdir,-test.gocoverdir,-test.fuzzcachedir,-test.fuzz,-fuzz=writes -test.artifacts,-artifacts:writes -o=out -c:writes -vettool=run -coverprofile,-cpuprofile,-memprofile,-blockprofile,-mutexprofile,-trace=out -outputdir=writes -ldflags,-gcflags,-asmflags=goflags -gccgoflags=writes -mod=modmode -toolexec,-exec=run -pkgdir=writes -overlay= -a -n -x -p= -tags= -modfile= -buildmode= -compiler= -C= -pgo= -run= -bench= -count= -timeout= -parallel= -cpu= -covermode= -coverpkg= -fuzztime= -shuffle= -skip= -list= -benchtime= -v -args
go tool:: @sub @opaque @programs -n:quiet
go tool compile|go tool link|go tool asm|go tool cgo|go tool pack|go tool preprofile|go tool distpack|go tool api:: @writes
go tool fix:: @writes @single -diff:quiet -v -r= -force=
go tool vet:: @single -fix:writes
go tool cover:: @opaque @single -o,-outfilelist=out -html=writes -func= -mode= -var= -pkgcfg=
go tool covdata|go tool trace|go tool nm|go tool objdump|go tool addr2line:: @opaque @single -o,-cpuprofile,-memprofile=out -i= -pkg= -pprof= -http=
go tool test2json:: @runs0 @single -p= -t
go tool pprof:: @opaque @writes @single -top,-text,-tree,-traces,-raw,-tags,-comments:quiet -peek,-list,-disasm=quiet -o,-output=out -tools=unseen -svg,-pdf,-png,-gif,-ps,-eps,-dot,-proto,-topproto,-callgrind,-kcachegrind,-web,-weblist,-evince,-gv:writes -http= -buildid= -base= -diff_base= -focus= -ignore= -sample_index= -nodecount=
go tool buildid:: @opaque @single -w:writes
go tool dist:: @sub @closed
go tool dist list|go tool dist version|go tool dist banner|go tool dist env::
golangci-lint:: @sub
golangci-lint run:: --fix:writes
golangci-lint fmt|golangci-lint migrate:: @writes -d,--diff:quiet -c,--config= -E,--enable= -v,--verbose --no-config --color=
prettier|prettierd:: @opaque -w,--write:writes --plugin=unseen --config= -c,--check -l,--list-different
eslint|eslint_d|xo|standard|semistandard|tslint|stylelint|oxlint|markdownlint|markdownlint-cli2|textlint|htmlhint|sass-lint|jshint|jscs:: @opaque --fix:writes --fix-dangerously:writes -o,--output-file=out --init:writes --cache-location=out -c,--config= --ext= -f,--format= --rulesdir=unseen --resolve-plugins-relative-to=
biome|rome:: @sub
biome check|biome format|biome lint|rome check|rome format:: --write:writes --fix:writes --apply:writes --apply-unsafe:writes
biome init|biome migrate|rome init:: @writes
dprint:: @sub
dprint fmt|dprint init|dprint config:: @writes
jscodeshift|codemod|lebab|npm-check-updates|ncu|lint-staged:: @writes -d,--dry:quiet -p,--print -t,--transform= --parser= --extensions= -c,--cpus= -s,--silent -v,--verbose= --ignore-pattern= --filter= -f -x,--reject= -u
black:: @writes --check:quiet --diff:quiet -c,--code=code -l,--line-length= -t,--target-version= --config= -q,--quiet -v,--verbose --color --no-color -S,--skip-string-normalization -C,--skip-magic-trailing-comma --preview --unstable --fast --safe --pyi --ipynb --include= --exclude= --extend-exclude= --force-exclude= --required-version= -W,--workers= --line-ranges= --stdin-filename= --no-cache
isort:: @writes -c,--check,--check-only:quiet -d,--diff:quiet --stdout:quiet --profile= -l,--line-length,--line-width= -q,--quiet -v,--verbose --color --settings-path,--settings-file,--sp= --skip= -s= --skip-glob= --sg= --extend-skip= --filter-files --src= -p= -o= -m= --show-files:quiet --show-config:quiet --float-to-top --force-sort-within-sections --trailing-comma -e,--balanced --atomic -j,--jobs= --combine-as --gitignore --skip-gitignore -V,--version:quiet
autopep8|autoflake|docformatter|yapf|pyupgrade|add-trailing-comma|unify|pyment|ssort|usort|black-macchiato|blue|djlint|djhtml|curlylint:: -i,--in-place:writes --inplace:writes --reformat:writes -r= --style= --exclude=
2to3:: -w,--write:writes -o=writes
ruff:: @sub --config=
ruff check:: @response --fix:writes --fix-only:writes --add-noqa:writes --unsafe-fixes -o,--output-file=out --watch
ruff format:: @writes --check:quiet --diff:quiet --preview --no-preview -q,--quiet -s,--silent -v,--verbose --target-version= --line-length= --config=override --isolated -n,--no-cache --exclude= --extension= --respect-gitignore --force-exclude --no-force-exclude --range= --stdin-filename=
ruff clean:: @writes
pylint:: @opaque --init-hook=code --load-plugins=plugin --rcfile=workspace --output=out -f,--output-format=report -d,--disable= -e,--enable= -j,--jobs= --msg-template= --source-roots=
mypy:: @opaque @response --install-types:writes --any-exprs-report,--cobertura-xml-report,--html-report,--linecount-report,--linecoverage-report,--lineprecision-report,--txt-report,--xml-report,--xslt-html-report,--xslt-txt-report,--junit-xml=out --config-file=workspace --python-executable=writes --cache-dir=out -m= -p= -c=
prove:: @opaque -e,--exec=run -P=plugin -a,--archive=out --state=writes --rc=workspace -I= -j= -M= -m=
fzf|sk:: --preview=script --bind=code --history=out --listen?=writes --with-shell=writes -c,--cmd=script -q,--query= -f,--filter= -d,--delimiter= -n,--nth= --with-nth= --height= --preview-window= --header= --prompt= --color=
latexmk:: @opaque @writes @single -e=code -r=unseen -latex,-pdflatex,-xelatex,-lualatex,-dvips,-dvipdf,-dvilualatex,-hlualatex,-ps2pdf,-makeindex,-bibtex,-biber,-print,-pretex,-usepretex=run
flake8|pyright|bandit|pydocstyle|pycodestyle:: @opaque --output-file=out -o=out --install-types:writes --html-report=out --xml-report=out --junit-xml=out --config= --select=
rustfmt:: @writes --check:quiet --emit=tostdout --print-config=writes --edition= --config= -l,--files-with-diff -q,--quiet -v,--verbose --color= --config-path= --unstable-features --skip-children --version,-V,-h,--help:quiet
clang-format|clang-tidy:: @single @response -i,-fix,-fix-errors,-fix-notes:writes -export-fixes=out -load=unseen -style= -checks= -p= -vfsoverlay=
astyle|uncrustify|shfmt|tombi|yamlfmt|nixpkgs-fmt|gersemi|cmake-format:: -i:writes -w,--write:writes --fix:writes --fix-errors:writes --in-place:writes --replace:writes --no-backup:writes -style= --style= -export-fixes=out
php-cs-fixer|rubocop|standardrb|erb-lint|sqlfluff|taplo|ktlint|swiftlint|fourmolu|ormolu|hindent|stylish-haskell|google-java-format|cljfmt|sqlformat|pg_format|perltidy|jsonnetfmt|cue|terraform-docs|tflint|mdformat|remark:: @opaque @sub -a,-A,--auto-correct,--autocorrect,--auto-correct-all,--autocorrect-all,--fix:writes -F:writes -i,--inplace,--in-place,--replace:writes -w,--write:writes -b=
dotnet:: @opaque @sub @closed -d,--diagnostics --info,--list-sdks,--list-runtimes,--version,-h,--help:quiet
dotnet build|dotnet test:: @opaque @harmless @colons -c,--configuration= -f,--framework= -r,--runtime= --no-restore --no-build --nologo -nologo -v,--verbosity= --no-incremental --no-dependencies --filter= --list-tests -t -l,--logger=choice -p=property -a,--arch= --os= --disable-build-servers --self-contained --tl?= -m -h,--help -e,--environment=
dotnet test --:: @writes
dotnet run:: @opaque @harmless -c,--configuration= -f,--framework= -r,--runtime= --project= --no-build --no-restore --launch-profile= --no-launch-profile -v,--verbosity= -a,--arch= --os= -h,--help
dart analyze|dart test|dart run|flutter analyze|flutter test:: @opaque @harmless --fatal-infos --fatal-warnings --no-fatal-warnings --no-fatal-infos -n,--name= -N,--plain-name= -t,--tags= -x,--exclude-tags= -p,--platform= -j,--concurrency= -r,--reporter=choice --chain-stack-traces --run-skipped --timeout= --no-pub --color --no-color --fail-fast --test-randomize-ordering-seed= --machine
mix compile|mix deps|mix credo|mix dialyzer|mix xref|mix hex.info|mix hex.outdated|mix hex.audit|mix hex.search|mix phx.routes|mix help|mix routes|mix sobelow|mix coveralls|mix lint|mix check:: @opaque
mix test:: @opaque @harmless --only= --exclude= --include= --trace --seed= --max-failures= --failed --stale --cover --color --no-color --slowest= --max-cases= --timeout= --warnings-as-errors --no-start --no-compile --no-deps-check --raise --exit-status=
zig build|zig test|gleam build|gleam test|gleam check|gleam run|crystal spec|crystal run|nim check:: @opaque @harmless --verbose --error-trace --no-color --summary= --example= -e= --order= --target=
elm make:: @opaque @writes --output=tostdout --debug --optimize
dotnet nuget|dotnet package|dotnet workload|dotnet tool|dotnet sln|dotnet solution|dotnet reference:: @sub @client
dotnet list|dotnet help|dotnet nuget list|dotnet nuget verify|dotnet nuget why|dotnet tool list|dotnet tool search|dotnet package search|dotnet package list|dotnet sln list|dotnet reference list|dotnet workload list|dotnet workload search:: @opaque --outdated --deprecated --vulnerable --include-transitive --format= -g
dart|flutter:: @opaque @sub @closed --version,-h,--help:quiet --no-version-check --suppress-analytics -v,--verbose
dart pub|flutter pub:: @sub @client
dart pub deps|dart pub outdated|flutter pub deps|flutter pub outdated|dart help|dart info|flutter doctor|flutter devices|flutter help:: --json --style= --no-dev
mix:: @opaque @sub @closed @bare --version,-v,-h,--help:quiet
zig|gleam|elm|crystal|nim:: @opaque @sub @closed --version,-v,-h,--help:quiet
zig version|zig env|zig targets|zig ast-check|gleam deps list|crystal env|crystal version|elm diff|nim dump:: --color=
gleam deps:: @sub @closed
mix run:: @opaque -e,--eval=code -r=loads
mix cmd|mix do:: @hidden
mix eval:: @inline
mix escript.install|mix escript.build|mix archive.install|mix archive.build|mix local.hex|mix local.rebar|mix deps.update|mix deps.clean|mix deps.unlock|mix release|mix clean:: @writes
mix hex.publish|mix hex.owner|mix hex.organization|mix hex.user|mix hex.retire|mix hex.registry|mix hex.package|mix ecto.migrate|mix ecto.rollback|mix ecto.drop|mix ecto.reset:: @elsewhere
swift:: @opaque @sub @closed @bare -e=code -v,--version,-version,--help,-h:quiet
swift build|swift test|swift run:: @opaque @harmless --filter= --skip= -c,--configuration= --parallel --no-parallel --enable-code-coverage -v,--verbose -q,--quiet --package-path= --product= --target= --list-tests -l -j,--jobs= --skip-build --sanitize= --num-workers= --build-tests
swift repl:: @inline
crystal eval|dotnet fsi:: @inline
dart format|dart fix|dart create|flutter format|flutter create|dart pub get|dart pub add|dart pub remove|dart pub upgrade|dart pub downgrade|flutter pub get|flutter pub add|flutter pub remove|flutter pub upgrade|swift format|swift package|mix format|mix deps.get|mix new|zig fmt|zig init|gleam format|gleam new|elm init|elm install|crystal tool|php-cs-fixer fix|sqlfluff fix|sqlfluff format|taplo fmt|taplo format|dotnet format|dotnet new|dotnet add|dotnet remove|dotnet restore|cue fmt:: @writes --dry-run:quiet --check:quiet --check-formatted:quiet --set-exit-if-changed -o= --verify-no-changes:quiet -l,--line-length= --fix --show=  --indent= --exclude= --no-restore -v,--verbosity= --severity= --diagnostics= --dot-formatter= -q,--quiet
phpcbf|elm-format|swiftformat|stylua|nixfmt|alejandra|fantomas|csharpier|rufo:: @operands --check:quiet --test:quiet --validate:quiet --lint:quiet --dryrun:quiet --dry-run:quiet -c:quiet -q,--quiet -l -v --verbose -p --color --no-color --config= --line-length= --include= --exclude= -t -s -n --strict --search-parent-directories
scalafmt:: @writes --test,--check,--list,--version:quiet -c,--config= --quiet --non-interactive --git --mode= --exclude=
tsc:: @writes @single @folds @response -noemit,-showconfig,-listfilesonly:switch -v,-version,-h,-help,-all:quiet -b,-build,-incremental,-composite,-clean:writes -outfile,-outdir,-out,-declarationdir,-tsbuildinfofile=out -generatetrace,-generatecpuprofile=out -init:writes -p,-project= -t,-target= -m,-module= -lib= -types= -pretty,-skiplibcheck,-strict,-watch,-w,-preservewatchoutput,-esmoduleinterop,-allowjs,-checkjs,-resolvejsonmodule,-noimplicitany,-nounusedlocals,-nounusedparameters,-noimplicitreturns,-nofallthroughcasesinswitch,-nouncheckedindexedaccess,-noimplicitoverride,-strictnullchecks,-strictfunctiontypes,-strictbindcallapply,-strictpropertyinitialization,-exactoptionalpropertytypes,-allowsyntheticdefaultimports,-isolatedmodules,-experimentaldecorators,-emitdecoratormetadata,-forceconsistentcasinginfilenames,-declaration,-d,-declarationmap,-sourcemap,-noemitonerror,-extendeddiagnostics,-diagnostics,-listfiles,-explainfiles,-traceresolution,-noerrortruncation,-skipdefaultlibcheck,-downleveliteration,-allowimportingtsextensions,-verbatimmodulesyntax,-usedefineforclassfields,-nolib,-importhelpers,-alwaysstrict,-noimplicitthis,-useunknownincatchvariables,-noresolve,-isolateddeclarations,-erasablesyntaxonly -jsx= -moduleresolution= -moduledetection= -baseurl= -paths= -rootdir= -typeroots= -jsxfactory= -jsximportsource= -maxnodemodulejsdepth= -customconditions= -ignoredeprecations= -locale= -removecomments -stripinternal
vue-tsc:: @opaque @writes @single @folds @response -noemit,-showconfig,-listfilesonly:switch -v,-version,-h,-help,-all:quiet -b,-build,-incremental,-composite,-clean:writes -outfile,-outdir,-out,-declarationdir,-tsbuildinfofile=out -generatetrace,-generatecpuprofile=out -init:writes -p,-project= -t,-target= -m,-module= -lib= -types= -pretty,-skiplibcheck,-strict,-watch,-w,-preservewatchoutput,-esmoduleinterop,-allowjs,-checkjs,-resolvejsonmodule,-noimplicitany,-nounusedlocals,-nounusedparameters,-noimplicitreturns,-nofallthroughcasesinswitch,-nouncheckedindexedaccess,-noimplicitoverride,-strictnullchecks,-strictfunctiontypes,-strictbindcallapply,-strictpropertyinitialization,-exactoptionalpropertytypes,-allowsyntheticdefaultimports,-isolatedmodules,-experimentaldecorators,-emitdecoratormetadata,-forceconsistentcasinginfilenames,-declaration,-d,-declarationmap,-sourcemap,-noemitonerror,-extendeddiagnostics,-diagnostics,-listfiles,-explainfiles,-traceresolution,-noerrortruncation,-skipdefaultlibcheck,-downleveliteration,-allowimportingtsextensions,-verbatimmodulesyntax,-usedefineforclassfields,-nolib,-importhelpers,-alwaysstrict,-noimplicitthis,-useunknownincatchvariables,-noresolve,-isolateddeclarations,-erasablesyntaxonly -jsx= -moduleresolution= -moduledetection= -baseurl= -paths= -rootdir= -typeroots= -jsxfactory= -jsximportsource= -maxnodemodulejsdepth= -customconditions= -ignoredeprecations= -locale= -removecomments -stripinternal
pytest|py.test:: @opaque @response --basetemp=writes --junitxml,--junit-xml,--log-file,--resultlog,--report-log,--html,--json-report-file,--csv,--benchmark-json=out --debug?=writes --snapshot-update,--force-regen,--regen-all,--update-snapshots:writes -p=plugin -c,--config-file,--rootdir,--confcutdir,--cov-config=workspace -o,--override-ini=setting --cov-report=report --co,--collect-only --cov?= --cache-clear:writes --pdb,--trace:code --pdbcls=code --inline-snapshot=writes -k= -m= -n= -r= -W= --tb= --maxfail= --durations= --durations-min= --ignore= --ignore-glob= --deselect= --color= --capture= --show-capture= --import-mode= --lf --ff --timeout= --dist= --log-level= --log-cli-level= --verbosity= --reruns= --ds= --junit-prefix= --log-file-level= --log-file-mode= --log-file-format= --log-file-date-format=
coverage:: @sub
coverage run:: @opaque @stops -m,--module=module --data-file=out --source= --rcfile=workspace --omit= --include= --context= --concurrency= -p,--parallel-mode -a,--append -L --branch --timid
coverage html|coverage annotate|coverage erase|coverage combine:: @writes
coverage xml|coverage json|coverage lcov:: @writes -o=tostdout
jest:: @opaque --coverage -u,--updateSnapshot:writes --outputFile,--coverageDirectory,--cacheDirectory=out --init,--clearCache:writes --globalSetup=code -t,--testNamePattern= -c,--config= -w,--maxWorkers= -i -o -b
vitest:: @opaque -u,--update:writes --outputFile?=writes --coverage.reportsDirectory=out -t,--testNamePattern= -c,--config=
pre-commit:: @opaque @sub
pre-commit install|pre-commit uninstall|pre-commit autoupdate|pre-commit clean|pre-commit gc:: @writes
`
