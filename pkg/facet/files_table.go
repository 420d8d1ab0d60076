package facet

// filelessPrograms touch no file that their words name, with any words.
const filelessPrograms = `
: true false echo printf pwd sleep usleep type which whoami id groups users hostname uname arch nproc uptime tty tput clear reset stty
seq expr yes basename dirname factor numfmt cal getconf free lscpu ulimit umask times help jobs wait disown bg fg kill pkill killall ps pgrep pidof
export unset set shopt local declare typeset readonly let read mapfile readarray getopts shift return break continue exit cd pushd popd dirs
suspend test [ [[ (( > tr gtr tsort hash trap eval lsb_release sw_vers locale logname printenv
`

// wrapPrograms run the command behind their options, which follows by itself, and open no file of their own.
const wrapPrograms = `timeout gtimeout nice gnice time nohup setsid stdbuf command builtin exec ionice chrt taskset env sudo doas unbuffer`

// fileTable describes the programs whose files are in their words.
const fileTable = `
cat gcat:: reads -AbeEnstTuv --number --number-nonblank --squeeze-blank --show-all --show-ends --show-tabs --show-nonprinting
nl gnl:: reads -p -b= -v= -w= -s= -i= -l= -h= -f= -d= -n= --body-numbering= --number-width= --number-format= --starting-line-number=
tac gtac rev:: reads -br -s=
head tail ghead gtail:: reads number -qvzfF -n= -c= --lines= --bytes= --quiet --silent --verbose --follow --retry -s= --pid=
wc gwc:: reads -clLmw --lines --words --chars --bytes --max-line-length
cut gcut:: reads -sznz -b= -c= -d= -f= --delimiter= --fields= --characters= --bytes= --complement --output-delimiter= --only-delimited
paste gpaste:: reads -sz -d= --delimiters= --serial
join:: reads -iz -a= -e= -1= -2= -j= -o= -t= -v= --header --nocheck-order --check-order
comm gcomm:: reads -123z --nocheck-order --check-order --total --output-delimiter=
cmp:: reads -bls -n= -i= --silent --quiet --verbose --print-bytes
diff gdiff:: reads always -rabBcdeEiNnpqstTuwyZ --brief --unified --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-case --report-identical-files --new-file --text --suppress-common-lines --color --recursive -U= -C= -W= -x= --exclude= --width= --label= -L= --strip-trailing-cr --minimal
colordiff:: reads always -rabBuwyNq -U=
column fold fmt expand unexpand col:: reads -txnesbfpahi -s= -c= -o= -w= -t= --table --separator= --width= --spaces --bytes
strings:: reads -afow -n= -t= -e= --all --radix= --bytes=
od god hexdump hd:: reads -abcdfhilosxvC -A= -j= -N= -t= -w= -n= -s= -e= --address-radix= --format= --read-bytes= --skip-bytes=
base64 base32 gbase64:: reads -dDi -w= --decode --wrap= --ignore-garbage
cksum sum md5 crc32:: reads -a= -rq
md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum gmd5sum gsha256sum:: reads -btz -a= --binary --text --tag --zero
sort gsort:: reads -bdfghiMnRrVcCmsuz -k= -t= -S= -T= -o=w --key= --field-separator= --output=w --numeric-sort --reverse --unique --general-numeric-sort --human-numeric-sort --version-sort --ignore-case --stable --check --zero-terminated --parallel=
shuf gshuf:: reads -erz -i= -n= -o=w --head-count= --output=w --input-range=
iconv:: reads -cs -f= -t= -o=w --from-code= --to-code= --output=w
less more:: reads -EeFfGgiIJmMNnQqRrSsuUVwWX
bat batcat:: reads -pnAPf --plain --number --style= --color= --paging= --line-range= -r= -l= --language= --no-pager --theme= --decorations= --wrap=
zcat gzcat bzcat xzcat zstdcat:: reads -fvq
jq:: reads skip1 -rcnsSMCeaRj --raw-output --compact-output --null-input --slurp --sort-keys --monochrome-output --color-output --exit-status --raw-input --join-output --tab --ascii-output --indent=
file:: reads -bihikLNnpsz --brief --mime --mime-type --mime-encoding --dereference
stat gstat:: reads -Lftx -c= -f= --format= --printf= --dereference --terse --file-system -s
ls gls dir vdir:: reads here -aAbBcCdfFgGhHiklLmnNopqrRsStTuUvwxXZ1 --all --almost-all --color --human-readable --recursive --reverse --sort= --time= --full-time --time-style= --group-directories-first --directory --inode --size --classify --no-group --file-type --ignore= -I= --hide= --format= --block-size= -w=
tree:: reads here -adfpshDuglNqFrtcUixQX -L= -I= -P= --dirsfirst --du --noreport --prune --gitignore --filelimit= --charset= --filesfirst --matchdirs
du gdu:: reads here -abcDHhklLmPSsx0 -d= -t= --max-depth= --exclude= --human-readable --summarize --total --apparent-size --all --bytes
df:: none -ahHiklmPT --human-readable --type= -t= --total --output=
realpath readlink grealpath greadlink:: reads -efmnqsLPzv --canonicalize --canonicalize-existing --canonicalize-missing --relative-to= --no-newline --strip
date gdate:: none -uRI -d= --date= --utc --iso-8601 --rfc-3339= --universal -j -v=
grep egrep fgrep ggrep gegrep gfgrep zgrep zegrep zfgrep:: reads skip1:-e,--regexp,-f,--file deep:-r,-R,--recursive,--dereference-recursive number -abcEFGHhIiLlnoPqsTUVvwxyZz -A= -B= -C= -m= -e= -f=r --regexp= --file=r --include= --exclude= --exclude-dir= --color --colour --extended-regexp --fixed-strings --perl-regexp --basic-regexp --ignore-case --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --max-count= --only-matching --quiet --silent --no-messages --line-number --with-filename --no-filename --null --context= --after-context= --before-context= --text --binary-files= --line-buffered --label= --initial-tab --byte-offset
rgrep:: reads always skip1:-e,-f -abcEFGHhIiLlnoPqsvwxz -A= -B= -C= -m= -e= -f=r --include= --exclude= --exclude-dir=
rg ripgrep:: reads always here skip1:-e,--regexp,-f,--file,--files,--type-list number -aceFHhIilLnNopPqsSuUvVwx0z. -A= -B= -C= -e= -f=r -g= -j= -m= -M= -t= -T= -E= -r= -d= --regexp= --file=r --glob= --iglob= --type= --type-not= --max-count= --max-depth= --context= --after-context= --before-context= --color= --colors= --files --files-with-matches --files-without-match --hidden --no-ignore --no-ignore-vcs --no-heading --heading --line-number --no-line-number --with-filename --no-filename --fixed-strings --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --only-matching --count --count-matches --invert-match --multiline --multiline-dotall --pcre2 --json --quiet --vimgrep --column --trim --stats --sort= --sortr= --replace= --follow --null --text --unrestricted --max-columns= --max-filesize= --threads= --passthru --type-list --no-messages --no-config --binary --crlf --pretty
sed gsed:: reads skip1:-e,-f,--expression,--file -nEruszilba -e= -f=r -l= --expression= --file=r --quiet --silent --regexp-extended --separate --null-data --in-place --line-length= --unbuffered --posix --debug --sandbox --follow-symlinks
awk gawk mawk nawk:: reads skip1 -F= -v= --field-separator= --assign= --posix --re-interval -S --sandbox
uniq guniq:: none -cdDuiz -f= -s= -w= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars=
xxd:: none -abCeEipurv -c= -g= -l= -o= -s= -R= -ps
find gfind:: none
xargs:: none
tee gtee:: writes -aip --append --ignore-interrupts
touch gtouch:: writes -acfhm -d= -t= -r=r --date= --reference=r --time= --no-create --no-dereference
truncate:: writes -co -s= -r=r --size= --reference=r --no-create
rm grm:: writes deep:-r,-R,--recursive -dfiIv --force --interactive --dir --verbose --one-file-system --preserve-root --no-preserve-root
srm shred gshred:: writes -fuvxz -n= -s= --force --remove --verbose --zero --iterations= --size= --exact
rmdir unlink:: writes -v --ignore-fail-on-non-empty --verbose
mkdir gmkdir mkfifo:: writes -pvZ -m= --parents --mode= --verbose
chmod chown chgrp gchmod:: writes skip1:--reference deep:-R,--recursive -cfvhLPH --changes --quiet --silent --verbose --no-dereference --dereference --reference=r --from=
cp gcp:: none deep:-r,-R,-a,--recursive,--archive -dfHiLlnPpsTuvxZ -t= --target-directory= --no-target-directory --force --interactive --no-clobber --update --verbose --preserve --no-preserve= --dereference --no-dereference --link --symbolic-link --sparse= --reflink --remove-destination --attributes-only --one-file-system
mv gmv:: none -finTuvZ -t= --target-directory= --no-target-directory --force --interactive --no-clobber --update --verbose
install ginstall:: none -cCDdpsTvZ -t= -m= -o= -g= --target-directory= --mode= --owner= --group= --directory --no-target-directory --verbose --preserve-timestamps --compare --strip
ln gln link:: none -dFfiLnPrsTvh -t= --symbolic --force --relative --no-dereference --target-directory= --no-target-directory --verbose --interactive
dd:: none
mktemp:: none -dqu -p= --tmpdir --suffix= --directory --dry-run --quiet
tar gtar bsdtar:: none
rsync:: none -ahHlLnoOgDiIkKpPqrRStuvWxzcmAX0 -b= --archive --verbose --compress --recursive --delete --delete-after --delete-before --delete-during --delete-excluded --dry-run --progress --partial --stats --exclude= --include= --links --copy-links --times --perms --owner --group --human-readable --update --ignore-existing --existing --checksum --itemize-changes --size-only --no-owner --no-group --no-perms --mkpath --info= --prune-empty-dirs --quiet --whole-file --safe-links --filter=
gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 compress uncompress:: none -cdfklnNqtv0123456789 --stdout --to-stdout --decompress --uncompress --compress --force --keep --list --quiet --test --verbose --fast --best --no-name
unzip:: none -lopqnjtvzZC12L -d= -x= -P=
zip:: none deep:-r,--recurse-paths -0123456789jmqvyuXx9 -x= -i= -P=
curl:: none -sSfLkiIvGgNaOJRj46#01p --silent --show-error --fail --location --insecure --include --head --verbose --get --compressed --http1.1 --http2 --http1.0 --http3 --no-progress-meter --progress-bar --remote-name --remote-header-name --fail-with-body --no-buffer --globoff --ipv4 --ipv6 --raw --tlsv1.2 --tlsv1.3 --retry-all-errors --retry-connrefused --create-dirs --path-as-is --basic --digest --append --remote-time --proto-default= -X= -H= -A= -u= -e= -m= -w= -x= -r= -U= -Y= -y= -z= -b= -d= -F= --request= --header= --user-agent= --user= --referer= --max-time= --connect-timeout= --retry= --retry-delay= --retry-max-time= --write-out= --proxy= --url= --range= --max-redirs= --limit-rate= --resolve= --connect-to= --noproxy= --interface= --proto= --cookie= --data= --data-raw= --data-ascii= --data-binary= --data-urlencode= --json= --form= --form-string= --oauth2-bearer= --output-dir= -T=r --upload-file=r --cacert=r --capath=r --netrc-file=r -o=w --output=w -D=w --dump-header=w -c=w --cookie-jar=w --trace=w --trace-ascii=w --stderr=w --unix-socket= -C= --continue-at= --max-filesize= --parallel
wget:: none -qvcNSx4k6r --quiet --verbose --no-verbose --continue --timestamping --no-check-certificate --show-progress --content-disposition --server-response --spider --no-clobber -O=w -P= -T= -t= -U= --output-document=w --directory-prefix= --timeout= --tries= --user-agent= --header= --method= --body-data= --post-data= --max-redirect= -o=w --output-file=w
git:: none
sh bash dash zsh:: none
`
