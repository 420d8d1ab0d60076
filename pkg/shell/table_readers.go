package shell

// readerTable names programs that only read, with all options but those that write or run
// something by their name. They are known by these names alone.
const readerTable = `
. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec
exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait
cat head tail wc nl tac rev cut paste join comm cmp diff gdiff tr col colrm column expand unexpand fold fmt pr look ul tsort strings
od hexdump hd hexyl basenc cksum sum b2sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum md5 crc32 b3sum
xxhsum xxh64sum xxh128sum gcat ghead gtail gwc gnl gtac gcut gpaste gjoin gcomm gtr gexpand gunexpand gfold gfmt gpr god gcksum
gsum gmd5sum gsha1sum gsha256sum gsha512sum gls gdir gstat gdu gdf gecho gprintf gtest gseq gexpr gbasename gdirname grealpath
greadlink gpwd gtrue gfalse gsleep gtsort gnumfmt gfactor guname gwhoami gid gnproc ggrep gegrep gfgrep
ls dir vdir stat du df realpath readlink basename dirname pathchk namei mountpoint findmnt exa eza lsd dust duf
grep egrep fgrep rgrep zgrep zegrep zfgrep bzgrep xzgrep zstdgrep zipgrep agrep pcregrep pcre2grep
zcat gzcat bzcat xzcat lzcat zless zmore bzless bzmore xzless xzmore zdiff zcmp bzdiff bzcmp xzdiff xzcmp zipinfo
seq expr factor numfmt yes sleep usleep bc cal ncal clear reset tput tty stty uuencode banner figlet toilet lolcat
which whereis locate plocate mlocate whoami who w users groups id logname hostid uname arch nproc uptime getconf getent locale
lsb_release sw_vers system_profiler last lastb finger
free vmstat iostat mpstat top htop btop pgrep pidof pstree pwdx pkill killall skill slabtop
fuser lscpu lsblk lsusb lspci lsmod lsmem lsipc lslocks lslogins lsns lsattr lsinitramfs getfacl getfattr getcap
modinfo sensors numastat ipcs
ping ping6 traceroute traceroute6 tracepath host dig nslookup whois netstat ipcalc
readelf addr2line c++filt otool pkg-config pkgconf
llvm-objdump llvm-readelf llvm-size llvm-cxxfilt llvm-config
dpkg-query pdfinfo pdffonts tokei gron htmlq pup jless dyff
csvlook csvcut csvgrep csvstat csvjson csvsort csvjoin csvstack in2csv csvformat
infocmp tzselect zdump showmount rpcinfo getsebool sestatus getenforce klist
ts-prune depcheck knip pipdeptree pip-licenses vulture xenon lizard pyflakes luacheck
hadolint yamllint shellcheck checkbashisms proselint kube-score
msgcmp choose
`

// opaqueTable names programs that build or test a project by its files.
const opaqueTable = `
buck buck2 pants scons waf rebar3
unit2 nosetests nosetests3 nose2 trial stestr behave
tap tape jasmine karma uvu phpunit pest behat codecept phpspec rspec cucumber minitest testrb
godog mage busted bats shellspec phan phpcs phpmd reek brakeman fasterer elm-test wasm-pack
`

// projectOptions are the options of the programs of opaqueTable that are known to be harmless, in
// any of them.
const projectOptions = `@harmless -v -q -V -h -s -x -n -j -j* -e -t -k -b -p -Q -c=workspace -f,--format,--report=choice
--verbose --quiet --help --version --filter?= --testsuite?= --group?= --exclude-group?= --stop-on-failure --stop-on-error --stop-on-defect
--testdox --debug --colors?= --color?= --no-color --no-coverage --no-progress --order-by?= --order?= --seed?= --tag?= --tags?= --example?=
--fail-fast --only-failures --next-failure --backtrace --name?= --standard?= --extensions?= --ignore?= --exclude?= --parallel?= --processes?=
--dry-run --list-tests --list-groups --single-run --no-capture --nocapture --stop --no-skipped --no-pager --module?= --suite?= --suites?=
--case?= --recursive --jobs?= --timing --filter-tags?= --include?= --test?= --changed-since?= --level?= --memory-limit?= --strict
--configuration=workspace`

// toolTable holds checkers and runners of tests that need a line.
const toolTable = `
lshw:: @single -dump=out -X:writes -c= -C= -class=
ifconfig|iwconfig:: @operands2 -a -s -v -l @harmless
route:: @sub @closed -n -e -ee -v -A= -4 -6 -F -C --numeric --extend --verbose
route get|route show|route print|route monitor:: -n
arp:: -s,--set:writes -d,--delete:writes -f,--file?=writes -i= -H= -a -n -e -v
drill:: -w=out -q=out -f= -i= -k= -o= -p= -s= -b= -c= -d= -y= -u=
pmap:: -N,--create-rc-to=out -n,--create-rc:writes -c -C,--read-rc-from= -A,--range=
javap|jps|jstat|jstack|jinfo:: -J=unseen
ldd|lddtree:: @opaque
nm|objdump|size|llvm-nm:: @response --plugin=unseen
zstdcat|lz4cat|brcat:: -o,--output=out --rm:writes -j:writes -D= -S= -T=
ctest:: @opaque -O,--output-log=out --output-junit=out --build-and-test:hidden --test-command=hidden -S=workspace -R= -E= -L= -C= -j= @harmless -V -VV --verbose --extra-verbose --output-on-failure -Q,--quiet --progress --parallel?= -N --show-only?= --stop-on-failure --rerun-failed --repeat= --timeout= --test-dir= --no-tests= --preset= -I= --schedule-random -F --test-load= -U --label-regex= --tests-regex= --exclude-regex= --build-config= -h,--help,--version --list-presets --print-labels --debug
robot|pybot:: @opaque @writes
uvicorn:: @opaque @harmless --host= --port= --uds= --reload --reload-dir= --reload-include= --reload-exclude= --workers= --log-level= --no-access-log --access-log --use-colors --no-use-colors --app-dir=workspace --factory --env-file= --root-path= --proxy-headers --no-proxy-headers --timeout-keep-alive= --lifespan= --loop= --http= --ws= --version,--help
xcodebuild:: @opaque @single @harmless -scheme= -project= -workspace= -destination= -configuration= -sdk= -arch= -target= -list -showsdks -version -quiet -json -dry-run -only-testing=  -skip-testing= -testPlan= -showBuildSettings -showdestinations -parallel-testing-enabled= -help -usage
meson:: @sub @closed
meson test|meson compile:: @opaque --wrapper=run --logbase= -C=
meson introspect|meson configure:: -D=writes
mocha:: @opaque -O,--reporter-option,--reporter-options=writes @harmless -R,--reporter=choice -g,--grep= -f,--fgrep= -i,--invert -t,--timeout= -s,--slow= -b,--bail --exit --no-exit --recursive -r,--require=loads -u,--ui= --retries= -p,--parallel -j,--jobs= --forbid-only --forbid-pending --check-leaks --full-trace -A,--async-only -c,--color,--colors -C,--no-color,--no-colors --config=workspace --package=workspace --no-config --extension= --spec= --ignore= --exclude= --file= --sort -S --diff --no-diff --inline-diffs -w,--watch --dry-run --list-files --list-reporters --list-interfaces -h,--help,-V,--version --delay --no-timeouts --fail-zero --pass-on-failing-test-suite --globals=
ava:: @opaque -u,--update-snapshots:writes @harmless -m,--match= -T,--timeout= -s,--serial -t,--tap -v,--verbose -c,--concurrency= --fail-fast --no-color --color -w,--watch --config=workspace --no-worker-threads -h,--help,--version
playwright|cypress:: @sub @closed
playwright test|playwright show-trace|cypress run|cypress verify|cypress info|cypress version:: @opaque -u,--update-snapshots:writes -c,--config=workspace @harmless -g,--grep= --grep-invert= --project= -j,--workers= --retries= --reporter=choice --headed -x --max-failures= --list --timeout= --global-timeout= --shard= --repeat-each= --forbid-only --fully-parallel --pass-with-no-tests --last-failed --only-changed?= --quiet --no-deps --spec= --browser= -b= --headless --e2e --component -C,--config-file=workspace -q -h,--help,-V,--version --tsconfig=workspace --port= --host=
nyc|c8:: @runs0 --all --reporter,-r=choice --include= -n= --exclude= -x= --check-coverage --lines= --branches= --functions= --silent -s
nx|turbo|lerna:: @sub @opaque
nx generate|nx g|nx migrate|nx reset|nx add|nx init|nx format|nx format:write|turbo gen|turbo generate|turbo prune|turbo link|lerna bootstrap|lerna clean|lerna version|lerna publish|lerna init|lerna create|lerna add|lerna import|lerna link|nx release|nx connect|nx login|nx sync|nx repair|turbo login|turbo logout|turbo unlink|turbo telemetry:: @writes
nx exec|lerna exec:: @hidden
nx show|nx list|nx report|nx graph|lerna ls|lerna list|lerna changed|lerna diff|lerna info:: --file=out
gotestsum:: @opaque --junitfile,--jsonfile,--jsonfile-timing-events,--rerun-fails-report=out --raw-command:hidden --post-run-command=script -f,--format= @harmless --packages= --no-color --hide-summary= --no-summary= --rerun-fails?= --rerun-fails-max-failures= --max-fails= --debug --watch --version -h,--help --format-icons= --format-hide-empty-pkg
gotestsum --:: @opaque @single @harmless -debug-trace,-debug-actiongraph,-debug-runtime-trace=out -test.coverprofile,-test.cpuprofile,-test.memprofile,-test.blockprofile,-test.mutexprofile,-test.trace,-test.testlogfile=out -test.outputdir,-test.gocoverdir,-test.fuzzcachedir,-test.fuzz,-fuzz=writes -test.artifacts,-artifacts:writes -o=out -c:writes -vettool=run -coverprofile,-cpuprofile,-memprofile,-blockprofile,-mutexprofile,-trace=out -outputdir=writes -ldflags,-gcflags,-asmflags=goflags -gccgoflags=writes -mod=modmode -toolexec,-exec=run -pkgdir=writes -overlay= -a -n -x -p= -tags= -modfile= -buildmode= -compiler= -C= -pgo= -run= -bench= -count= -timeout= -parallel= -cpu= -covermode= -coverpkg= -fuzztime= -shuffle= -skip= -list= -benchtime= -v -args,--args:rest -race -trimpath -buildvcs?= -msan -asan -cover -json -linkshared -h -help -failfast -short -vet= -benchmem -fullpath -test.run= -test.v?= -test.count= -test.short -test.timeout= -test.bench= -test.benchtime= -test.benchmem -test.cpu= -test.parallel= -test.failfast -test.skip= -test.list= -test.shuffle= -test.paniconexit0 -blockprofilerate= -mutexprofilefraction= -memprofilerate=
phpstan:: @opaque -b,--generate-baseline?=writes -c= -l=
psalm:: @opaque --alter:writes --set-baseline?=writes --update-baseline:writes -i,--init:writes
hlint:: --refactor:writes --refactor-options=writes --with-refactor=run --report?=writes
staticcheck|errcheck|ineffassign|revive|deadcode|gocyclo|govulncheck|nilaway|gosec:: @single -fix:writes -cpuprofile,-memprofile,-trace,-debug.cpuprofile,-debug.memprofile,-debug.trace,-out=out @harmless -checks= -tests?= -tags= -f=choice -explain= -debug.version -version -fail= -matrix -show-ignored -go= -set_exit_status -formatter=choice -config= -exclude= -json -test -C= -mode= -show= -scan= -severity= -confidence= -fmt=choice -quiet -exclude-dir= -exclude-generated -include= -over= -top= -avg -ignore= -blank -asserts -abspath -ignoretests -ignorepkg= -verbose -v -h,-help -filter= -generated -whylive=
codespell|typos|misspell:: -w,--write-changes:writes -i=
jsonlint:: -i,--in-place:writes
actionlint:: @single -shellcheck=run -pyflakes=run -init-config:writes
radon:: -O,--output-file=out
gitleaks:: -r,--report-path=out -l,--log-opts=
cloc:: --out,--report-file,--categorized,--counted,--found,--ignored,--write-lang-def,--write-lang-def-incl-dup,--xsl=out --extract-with=script --vcs=script --sql=writes --sql-append:writes --config=unseen
scc:: -o,--output=out
file:: -C,--compile:writes -m,--magic-file= -f,--files-from= -F,--separator= -P= -e=
dmesg:: -C,--clear:writes -c,--read-clear:writes -D,--console-off:writes -E,--console-on:writes -n,--console-level=writes -l= -f= -F=
dmidecode:: --dump-bin=out --from-dump= -s= -t=
lsof:: -D=writes -p= -u= -c= -i?=
ss:: -D,--diag=out -K,--kill:writes -F= -f= -A= -N=
nvidia-smi:: -f,--filename=out -pm=writes -pl=writes -r:writes -L -q -i= -l=
pygmentize:: -o=out -x:code -f= -l= -S= -O=nofile -P=nofile -F=
ffprobe|identify:: @single -o,-write=out -report:writes
pidstat:: -e:hidden
ugrep|ug:: --filter=script --pager?=run --view?=run --save-config?=writes -Q?=writes
xcrun:: @runs0 --sdk= -sdk= -v -n -l -f:quiet -find:quiet --find:quiet --show-sdk-path:quiet --show-sdk-version:quiet
`
