package shell

// coreTable holds filters, pagers and searchers that write, run something or show
// the environment in one of their modes. Those that never do are in readerTable.
const coreTable = `
sort|gsort:: -o,--output=out --compress-program=run -k,--key= -t,--field-separator= -S,--buffer-size= -T,--temporary-directory= --files0-from= --parallel= --batch-size= --sort= --random-source=
uniq|guniq:: @out2 -f,--skip-fields= -s,--skip-chars= -w,--check-chars= --group?= --all-repeated?=
shuf|gshuf:: -o,--output=out -i,--input-range= -n,--head-count= --random-source=
iconv:: -o,--output=out -f,--from-code= -t,--to-code=
base64|base32:: -o=out -i= -w,--wrap= -b=
ptx:: @out2 -A= -w,--width= -g= -o= -i= -b= -S= -W= -F= -M=
indent:: @operands -st:quiet -kr -gnu -linux -orig -nut -i= -l=
dos2unix|unix2dos|mac2unix:: @operands -n:writes -i,--info:quiet -q,--quiet -k,--keepdate -v,--verbose
xmllint:: -o,--output=out --shell:writes --encode= --xpath= --schema= --pretty= --path=
xsltproc:: @opaque -o,--output=out --writesubtree=out
tidy:: @single @clusters -m,-modify:writes -write-back=writes -o,-output,-output-file=out -f,-file,-error-file=out -config=
xmlstarlet|xml:: @sub
xmlstarlet ed|xml ed|xmlstarlet edit|xml edit:: -L,--inplace:writes
xq|tomlq:: -i,--in-place:writes
mlr:: -I:writes --prepipe,--prepipex=run --prepipe-gunzip --load,--mload,-s=unseen !tee !split !put !filter
crudini:: @sub
crudini --set|crudini --del:: @writes
pandoc:: @listed -o,--output=outdash --filter=run -F=run -L,--lua-filter=unseen --pdf-engine=run --extract-media=out --log=out -f,-r,--from,--read=word -t,-w,--to,--write=word -s,--standalone -N,--number-sections --toc,--table-of-contents --toc-depth= --wrap= --columns= --tab-stop= -p,--preserve-tabs --strip-comments -V,--variable= -M,--metadata= --metadata-file= --shift-heading-level-by= --markdown-headings= --reference-links --reference-location= --ascii --no-highlight --highlight-style= --eol= --dpi= -C,--citeproc --mathml --track-changes= -q,--quiet --verbose --fail-if-warnings --sandbox --list-input-formats,--list-output-formats,--list-extensions,--list-highlight-languages,--list-highlight-styles:quiet -v,--version,-h,--help:quiet
dot|neato|fdp|sfdp|circo|twopi:: -o=out -O:writes -T= -G= -N= -E= -K=
enscript|a2ps:: -o,-p=out --output=out -I,--filter=script
less|more|most|pg:: @plus -o,-O=out --log-file,--LOG-FILE=out -k,--lesskey-file=unseen --lesskey-src=unseen -P= -p= -j= -h= -b= -x= -y= -z= -t= -T=
man|apropos|whatis:: -P,--pager=run -H?=writes --html?=writes -X?=writes --gxditview?=writes -C,--config-file=unseen -M,--manpath= -S,-s,--sections= -L,--locale= -m,--systems= -e,--extension= -E,--encoding= -R,--recode= -p,--preprocessor= -r,--prompt=
info:: -o,--output=out --restore=unseen --init-file=unseen -d= -f= -n= -k=
bat|batcat|delta|ag|ack:: --pager=run --build:writes --clear:writes --target=out
rg|ripgrep:: --pre=run --hostname-bin=run -e,--regexp= -f,--file= -g,--glob= --iglob= -t,--type= -T,--type-not= -A= -B= -C= -m= -r,--replace= -M= -j= -E= -d=
tree:: -o=out -L= -P= -I=
sdiff|diff3|wdiff|colordiff:: -o,--output=out --diff-program=run
rcs|ci|co|merge:: @writes
env:: @strict @stops -i,--ignore-environment -0,--null -v,--debug --list-signal-handling -u,--unset= -C,--chdir=folder -S,--split-string=split -a,--argv0= --block-signal?= --default-signal?= --ignore-signal?=
printenv|envsubst::
sed:: -i?=writes -I?=writes --in-place?=writes -e,--expression=eval -f,--file=program -l,--line-length=
awk:: @stops -f,--file=program -E,--exec=program -e,--source=eval -i,--include=program -l,--load=program -v,--assign= -F,--field-separator= -d?=writes --dump-variables?=writes -p?=writes --profile?=writes -o?=writes --pretty-print?=writes -D?=writes --debug?=writes -W=program
jq:: -f,--from-file:filter -L=filter --indent= --arg== --argjson== --slurpfile== --rawfile==
yq:: -i,--inplace,--in-place:writes -s,--split-exp=writes --split-exp-file=writes -f,--from-file:filter -o= -p= -I= --arg== --argjson==
xargs:: @strict @stops -0,--null -r,--no-run-if-empty -t,--verbose -p,--interactive -x,--exit -o,--open-tty --show-limits -I= -i?= --replace?= -n,--max-args= -P,--max-procs= -L,--max-lines= -l?= -d,--delimiter= -E= -e?= --eof?= -s,--max-chars= -a,--arg-file= --process-slot-var=
parallel:: @strict @stops -0,--null -k,--keep-order -q,--quote -r,--no-run-if-empty -t,--verbose -u,--ungroup -X -m --xargs --bar --progress --dry-run --eta --tag --will-cite --citation --line-buffer,--lb --group --no-notice -j,--jobs= -n,--max-args= -N,--max-replace-args= -a,--arg-file= -I= -d,--delimiter= -C,--colsep= -S,--sshlogin=writes --joblog=out --results=out --tmpdir= --timeout= --delay= --retries= --load= --wd,--workdir=folder --tagstring= --halt= --nice= -L= -s= --env=reads --onall:writes --return=writes --transfer:writes -D=
tar:: -f,--file= -C,--directory= -T,--files-from=unseen -X,--exclude-from= -b= -g,--listed-incremental=writes -I,--use-compress-program=run -F,--info-script,--new-volume-script=run -K= -L= -N= -V= -H= --to-command=run --rsh-command=run --rmt-command=run --index-file=out --remove-files:writes --exclude= --strip-components= --transform= --xform= --checkpoint?= --volno-file=out
make:: @opaque @targets @listed -f,--file,--makefile= -C,--directory= -I,--include-dir= -j?= --jobs?= -l?= --load-average?= --max-load?= -o,--old-file,--assume-old= -W,--what-if,--new-file,--assume-new= -O?= --output-sync?= -E,--eval=code -p,--print-data-base:dump -b -m -B,--always-make -d --debug?= -e,--environment-overrides -i,--ignore-errors -k,--keep-going -L,--check-symlink-times -n,--just-print,--dry-run,--recon -q,--question -r,--no-builtin-rules -R,--no-builtin-variables -s,--silent,--quiet,--no-silent -S,--no-keep-going,--stop -t,--touch:writes --trace -v,--version,-h,--help -w,--print-directory,--no-print-directory --warn-undefined-variables --shuffle?=
script:: -c,--command=script -T,--log-timing=out -I,--log-in=out -O,--log-out=out -B,--log-io=out -m,--logging-format= -o,--output-limit= -E,--echo= -t?=writes --timing?=writes
flock:: @strict @stops -w,--wait,--timeout= -E,--conflict-exit-code= -s,--shared -x,--exclusive -e -n,--nb,--nonblock -o,--close -u,--unlock -F,--no-fork --verbose --fcntl
cmake:: @opaque @single @listed @targets -E=module -P=unseen -S= -B= -S*= -B*= -G= -G*= -A= -T= -D=property -D*=property -U= -C=config -W* --build= -t,--target= -j?= -j* --parallel?= --config= --preset= --list-presets?= --workflow --fresh --clean-first -v,--verbose -N -L* -LA -LAH -LH --version:quiet --help?=quiet --log-level= --log-context --debug-output --trace --trace-expand --warn-uninitialized --no-warn-unused-cli --check-system-vars --toolchain=config --install:writes --open:writes --graphviz=out --trace-redirect=out --profiling-output=out --install-prefix= -k -n -s
cmake -E rm|cmake -E remove|cmake -E remove_directory|cmake -E rename|cmake -E touch|cmake -E touch_nocreate|cmake -E make_directory|cmake -E copy|cmake -E copy_directory|cmake -E copy_if_different|cmake -E create_symlink|cmake -E create_hardlink|cmake -E tar:: @writes
cmake -E environment:: @dumps
cmake -E env|cmake -E time|cmake -E chdir:: @hidden
`
