package shell

// interpreterTable holds programs that run code given in the line or on their
// input (R3, R4). A script in a file is opaque, as ./x.sh is.
const interpreterTable = `
python|python2|python3|pypy|pypy3|python3.8|python3.9|python3.10|python3.11|python3.12|python3.13|python3.14|python2.7|micropython|jython:: @code @stops -c=python -m=module -W= -X= -Q= --check-hash-based-pycs= -i:code -V,--version,-h,--help:quiet -B -b -d -E -I:isolates -O -P:isolates -q -s -S -t -u -v -x -3 -R
python -m json.tool|python -m base64|python -m quopri|python -m uu:: @out2 --indent=
python -m zipfile|python -m tarfile:: -e,--extract=writes -c,--create=writes
python -m unittest:: @opaque @harmless -v,--verbose -q,--quiet -f,--failfast -c,--catch -b,--buffer -k= -s,--start-directory= -p,--pattern= -t,--top-level-directory= --locals --durations= -h,--help
pydoc|pydoc3|python -m pydoc:: @opaque -w:writes -b -p= -n= -k=
python -m zipapp|python -m venv|python -m virtualenv|python -m compileall|python -m py_compile|python -m ensurepip|python -m lib2to3|python -m build|python -m gzip:: @writes
python -m timeit|python -m code|python -m pdb|python -m doctest|python -m runpy|python -m asyncio|python -m sqlite3|python -m IPython:: @inline
python -m cProfile|python -m profile|python -m trace:: @opaque @stops -o,--outfile=out -s= -m=module --count:writes -C,--coverdir=writes -f,--file=out
ipython|ipython3|bpython|ptpython:: @code @stops -c=code -m=module --version,-h,--help:quiet
node|nodejs|node18|node20|node22|node24|electron:: @code @stops -e,--eval=code -p,-pe=code --print?=code -r,--require=datacode --import=datacode --loader,--experimental-loader=datacode -C,--conditions= --env-file= --env-file-if-exists= --max-old-space-size= --stack-size= -i,--interactive:code -c,--check:checks -v,--version,-h,--help,--v8-options:quiet --test:project --test-only --test-name-pattern= --test-skip-pattern= --test-concurrency= --test-timeout= --test-reporter=datacode --test-shard= --test-isolation= --test-force-exit --test-coverage-include= --test-coverage-exclude= --test-coverage-lines= --test-update-snapshots:writes --test-reporter-destination=out --experimental-test-coverage --experimental-test-module-mocks --experimental-strip-types --experimental-transform-types --experimental-vm-modules --experimental-sqlite --experimental-websocket --experimental-default-type= --run=project --watch --watch-path= --watch-preserve-output --no-warnings --no-deprecation --throw-deprecation --trace-warnings --trace-deprecation --trace-uncaught --trace-exit --enable-source-maps --expose-gc --unhandled-rejections= --input-type= --no-experimental-fetch --preserve-symlinks --use-openssl-ca --use-system-ca --dns-result-order= --icu-data-dir= --title= --inspect?= --inspect-brk?= --cpu-prof:writes --heap-prof:writes --heapsnapshot-signal=writes --report-on-signal:writes --prof:writes --build-snapshot:writes --redirect-warnings=out
deno:: @sub @code @stops -q,--quiet -V,--version,-h,--help:quiet -A,--allow-all --allow-read?= --allow-write?= --allow-net?= --allow-env?= --allow-run?= --no-check --check --watch --no-lock --cached-only
deno eval|deno repl|deno jupyter:: @inline
deno run|deno serve:: @code @stops -c,--config= --import-map= -A,--allow-all -q -r --allow-read?= --allow-write?= --allow-net?= --allow-env?= --allow-run?= --no-check --check --watch --no-lock --cached-only --port= --host=
deno fmt:: @writes --check:quiet -c,--config= -q,--quiet --ext= --ignore= --watch --unstable --line-width= --indent-width= --use-tabs --single-quote --prose-wrap= --no-semicolons --options-line-width=
deno install|deno i|deno add|deno remove|deno uninstall|deno compile|deno upgrade|deno init|deno vendor|deno bundle|deno cache|deno clean|deno publish:: @writes
deno lint:: --fix:writes
deno test|deno check|deno info|deno doc|deno bench|deno types:: @opaque @listed --coverage?=writes -A,--allow-all --allow-read?= --allow-write?= --allow-net?= --allow-env?= --allow-run?= --no-check --check --watch --no-lock --cached-only -q,--quiet -c,--config= --filter= --fail-fast?= --parallel --reporter= --no-run --all --json --ignore= --doc --trace-leaks --shuffle?= --permit-no-files --html:writes --junit-path=out
deno task:: @opaque @listed --eval:code -q,--quiet -c,--config= --cwd= -r,--recursive -f,--filter=
bun:: @opaque @sub @programs @code @stops -e,--eval=code -p,--print=code -r,--preload=datacode -v,--version,--revision,-h,--help:quiet --cwd= -c= --bun --hot --watch --silent
bun test:: @opaque -u,--update-snapshots:writes
bun exec:: @inline
ts-node|tsx|esno|babel-node|coffee|swc-node|vite-node|zx|jiti:: @code @stops -e,--eval=code -p,--print=code -pe=code -r,--require=datacode -v,--version,-h,--help:quiet -P,--project= -T --esm --watch --tsconfig=
perl|perl5|raku|perl6:: @code @stops -e,-E=code -i?=writes -I= -M?=module_name -m?=module_name -v,-h:quiet -c -n -p -a -w -W -T -t -u -s -S -U -X -l -0 -1 -2 -3 -4 -5 -6 -7 -8 -9
ruby|jruby|truffleruby|irb|pry:: @code @stops -e=code -i?=writes -r=loads -I= -C= -E= -l -n -p -a -W -0 -1 -2 -3 -v,--version,-h,--help,--copyright:quiet -c -w -d -s -S -y --yjit --jit --enable= --disable= --encoding=
php|php7|php8|php5|php-cgi:: @code @stops -r,--run=code -R,--process-code=code -B,--process-begin=code -E,--process-end=code -F,--process-file=script_file -f,--file=script_file -i,--info:dump -a,--interactive:code -d,--define=datacode -c,--php-ini= -z= -l,--syntax-check:checks -s -w -n -q -v,--version,-h,--help,-m,--modules,--ini:quiet -S,--server=project -t,--docroot=
lua|lua5.1|lua5.2|lua5.3|lua5.4|luajit|texlua|fennel:: @code @stops -e=code -l=loads -i:code -v:quiet -b=writes -j=loads -O?= -W -E
tclsh|tclsh8.6|wish|expect|jimsh:: @code @stops -c=code -e=code -f=script_file -b= -d -D= -v:quiet
osascript|runhaskell|runghc|elixir|iex|erl|escript|scala|groovy|kotlin|clojure|clj|racket|guile|sbcl|clisp|ecl|csi|janet|ghci|ocaml|utop|jshell|qjs|gjs|mongo|mongosh|psql|pgcli|mysql|mariadb|mycli|sqlplus|sqlcmd|duckdb|clickhouse-client|cqlsh|gdb|gdb-multiarch|lldb|radare2|r2|dc|m4|maxima|octave|gnuplot|R|Rscript|julia|swipl|gforth|pwsh|powershell|powershell.exe|cmd.exe|cscript|wscript:: @inline
erb:: @code @stops -r=loads -T= -U -v -x -n -P -E= -S= -h,--help,--version:quiet
java:: @opaque @single @colons @stops @listed @response -javaagent=unseen -agentpath=unseen -agentlib=unseen -jar=stop -m,--module=stop -cp,-classpath,--class-path,-p,--module-path,--upgrade-module-path,--add-modules= --add-opens,--add-exports,--add-reads= --enable-native-access= -D* -Xms*,-Xmx*,-Xss*,-Xmn* -XX?=virtual -Xlog?=virtual -ea* -enableassertions* -da* -disableassertions* -esa -dsa -server -client -d64 -Xint -Xcomp -Xmixed -Xshare -verbose* -showversion --show-version --enable-preview --source= --dry-run --validate-modules -version,--version,-help,--help,-h,-X,--list-modules,-fullversion,--full-version:quiet --describe-module=quiet
`
