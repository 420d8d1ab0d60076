package shell

// writerTable holds the programs that write with all options, or unless an option says
// that they only look (R3). options.go describes the form.
const writerTable = `
grm|grmdir|gunlink|gshred|gtruncate|gtouch|gmkdir|gmkfifo|gmknod|gcp|gmv|gln|glink|ginstall|gmktemp|gchmod|gchown|gchgrp|gsplit|gcsplit:: @writes
rm|rmdir|unlink|shred|truncate|touch|mkdir|mkfifo|mknod|cp|mv|ln|link|install|tempfile|rename|prename|fallocate|srm|trash|trash-put|rimraf|mkdirp|del:: @writes
chmod|chown|chgrp|chattr|setfacl|setfattr|setcap|chcon|restorecon:: @writes
mktemp:: @writes -u,--dry-run:quiet -p,--tmpdir= --suffix= -d,--directory -q,--quiet -t
rsync:: @writes -n,--dry-run:quiet --list-only:quiet -e,--rsh=run --rsync-path=run --log-file=out --write-batch=out --only-write-batch=out --remove-source-files:writes -f,--filter= --exclude= --include= --exclude-from= --include-from= --files-from= --max-size= --min-size= --port= --timeout= -T= -B= -M= -a,--archive -v,--verbose -r,--recursive -z,--compress -h,--human-readable -c,--checksum -P -i,--itemize-changes -u,--update -l,--links -L,--copy-links -p,--perms -t,--times -o,--owner -g,--group -D -H,--hard-links -A,--acls -X,--xattrs -q,--quiet -x,--one-file-system -W,--whole-file -S,--sparse -O -R,--relative -m,--prune-empty-dirs -C,--cvs-exclude -b,--backup -4,--ipv4 -6,--ipv6 -I,--ignore-times --size-only --delete --delete-excluded --delete-before --delete-during --delete-after --delete-delay --progress --stats --inplace --partial --append --existing --ignore-existing --ignore-errors --force --no-perms --no-owner --no-group --no-times --no-o --no-g --no-p --no-t --no-links --no-l --no-whole-file --no-motd --no-inc-recursive --out-format= --info= --debug= --chmod= --chown= --link-dest= --compare-dest= --copy-dest= --suffix= --backup-dir= --partial-dir= --bwlimit= --modify-window= --dirs -d --no-relative --safe-links --copy-dirlinks --mkpath --fuzzy --numeric-ids --8-bit-output --iconv=
patch:: @writes --dry-run:quiet -o,--output=out -r,--reject-file=out -i,--input= -d,--directory= -p,--strip= -B= -D= -F= -V= -Y= -z= -N,--forward -R,--reverse -s,--quiet,--silent -l,--ignore-whitespace -E,--remove-empty-files -f,--force -t,--batch -b,--backup -u,--unified -c,--context -n,--normal --verbose --binary -p0 -p1 -p2 -p3 --fuzz= --merge?= --posix
ed|red|ex|vi|vim|nvim|view|rvim|vimdiff|emacs|emacsclient|jed|kak|mg:: @writes @inline
nano|pico|joe|mcedit|micro|helix|hx|ne|code|subl|gedit|kate|open|xdg-open:: @writes @inline
split|csplit:: @writes --filter=script
tee|gtee|sponge:: @out1
dd_rescue|ddrescue:: @writes
mkfs|mkfs.ext4|mkfs.ext3|mkfs.xfs|mkfs.vfat|mke2fs|mkswap|swapon|swapoff|fdisk|sfdisk|parted|wipefs|losetup|cryptsetup|tune2fs|resize2fs|e2fsck|fsck:: @writes
debugfs:: @writes @inline
gio:: @sub
gio trash|gio copy|gio move|gio remove|gio mkdir|gio rename|gio save|gio set|gio mount:: @writes
dconf|gsettings|defaults:: @sub
dconf write|dconf reset|dconf load|gsettings set|gsettings reset|defaults write|defaults delete|defaults import:: @writes
plutil|sips|diskutil|chflags|SetFile|textutil|installer|softwareupdate|mdutil|tmutil|spctl|csrutil|nvram|pmset:: @writes
xattr:: -w:writes -d:writes -c:writes
attr:: -s=writes -r=writes
jar:: @sub @closed
jar tf|jar tvf|jar t:: -C=
pip-compile|pip-sync|virtualenv-clone:: @writes
buildah|skopeo|crictl|ctr|kind|minikube|k3d:: @sub @closed
skopeo inspect|crictl ps|crictl images|crictl logs|crictl inspect|kind get|kind version|minikube status|minikube ip|minikube version|k3d version:: -o=
mount:: @operands -a,--all:writes -o,--options=writes --bind:writes
umount:: @writes
useradd|userdel|usermod|groupadd|groupdel|groupmod|adduser|deluser|addgroup|delgroup|passwd|chpasswd|chsh|chfn|newusers|gpasswd:: @writes
vipw|vigr|visudo:: @writes @inline
shutdown|reboot|halt|poweroff|init|telinit|modprobe|insmod|rmmod|depmod|ldconfig|update-alternatives|update-initramfs|update-grub|grub-install:: @writes
crontab:: @writes -l:quiet -u= -e:code -i
at|batch:: @writes @inline -l:quiet
atq::
atrm:: @writes
sysctl:: @assigns -w,--write:writes -p,--load:writes --system:writes
systemctl:: @sub
systemctl start|systemctl stop|systemctl restart|systemctl reload|systemctl enable|systemctl disable|systemctl mask|systemctl unmask|systemctl edit|systemctl set-property|systemctl daemon-reload|systemctl kill|systemctl isolate|systemctl set-environment|systemctl link|systemctl revert|systemctl reboot|systemctl poweroff:: @writes
systemctl show-environment:: @dumps
launchctl|dbus-update-activation-environment|procenv|pargs:: @dumps
journalctl:: --vacuum-files=writes --smart-relinquish-var:writes --cursor-file=writes --setup-keys:writes --update-catalog:writes --relinquish-var:writes --sync:writes --vacuum-size=writes --vacuum-time=writes --rotate:writes --flush:writes
hostnamectl|timedatectl|localectl:: @sub
hostnamectl set-hostname|hostnamectl hostname|timedatectl set-time|timedatectl set-timezone|timedatectl set-ntp|localectl set-locale:: @writes
hostname:: @operands -F,--file=writes -b,--boot:writes -I -i -f -s -d -A
date:: -s,--set=writes -d,--date= -f,--file= -r,--reference=
logrotate|updatedb|mandb|texhash|mktexlsr|fc-cache:: @writes
lpr|lp|wall|write:: @writes
mail|mailx|mutt|sendmail|msmtp:: @writes @elsewhere @inline
twine|flit|vsce|ovsx:: @sub @client --version,-h,--help:quiet
buf:: @sub @client --version,-h,--help:quiet
buf lint|buf breaking|buf ls-files:: --config= --error-format= --against= --path= --exclude-path=
twine check|vsce ls|vsce show|vsce search:: --strict
ctags|etags:: @writes -f,-o=out -x:quiet -R,--recurse -n --languages= --fields= --kinds-c= --kinds-python= --kinds-go= --exclude= --format= --sort= --c-kinds= --python-kinds= --c++-kinds= --totals -u --language-force= -a
cscope:: @writes
strip|objcopy|patchelf|ranlib|prelink|chrpath|install_name_tool|codesign|lipo:: @writes
ar:: @sub @closed
ar t|ar tv|ar p:: @response --plugin=unseen
ld|as|nasm|yasm|gold|lld|ld.lld:: @writes -v:quiet -V:quiet
gcc|g++|cc|c++|c89|c99|c89-gcc|c99-gcc|clang|clang++:: @writes @single @compiler @response -fsyntax-only,-E,-M,-MM,-dumpversion,-dumpfullversion,-dumpmachine,-dumpspecs,-version,--version,-print-search-dirs,-print-libgcc-file-name,-print-file-name,-print-prog-name,-print-resource-dir,-print-target-triple,-help:quiet -o=out -wrapper=run -fplugin=unseen -specs=unseen -B=unseen -I= -D= -U= -L= -F= -x= -include= -imacros= -isystem= -iquote= -idirafter= -iprefix= -iwithprefix= -target= -arch= -MT= -MQ=
tcc|gfortran|rustc|javac|kotlinc|scalac|ghc|ocamlopt|ocamlc|nvcc|emcc|em++|swiftc|fpc|gnatmake|dmd|ldc2|gnat|gdc|gccgo|f77|f95|flang:: @writes @single @asks @response -o=out -e=code -print=quiet -explain=quiet -print-search-dirs,-print-libdir,-print-targets,-supported-languages:quiet
bison|yacc|flex|lex|swig|moc|uic|rcc|gperf|ragel|re2c|protoc|flatc|thrift|gcov|lcov|genhtml|doxygen|sphinx-build|mkdocs|jekyll|hugo:: @writes
zipsplit|zipnote:: @writes
zip:: @writes -TT=run --unzip-command=run -sf:quiet
unzip:: @writes -l:quiet -t:quiet -p:quiet -v:quiet -Z:quiet -c:quiet -z:quiet -hh:quiet -o -n -q -qq -j -L -C -a -b -s -U -W -x= -1 -2 -h -m -M -T -P=
gzip|gunzip|pigz|unpigz|bzip2|bunzip2|xz|unxz|lzma|unlzma|lzip|lunzip|zstd|unzstd|pzstd|lzop:: @operands -c,--stdout,--to-stdout:pipes -l,--list:quiet -t,--test,--integrity:quiet -d,-z,--decompress,--uncompress,--compress:acts @harmless -k,--keep -f,--force -q,--quiet -v,--verbose -n,--no-name -N,--name -r,--recursive -a,--ascii -h,--help,-V,--version,-L,--license -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --best --fast -e,--extreme -s,--small --no-sparse --no-check --no-progress --ultra -o,--output=out --rm:writes -S,--suffix= -T,--threads= -M,--memory= -F,--format= -D= -p= --rsyncable --long?= --adapt --block-size= --memlimit= --memlimit-decompress= --no-adjust -b= --single-thread --ignore-trailing --robot --files?=writes --trailing-error --keyword --independent -i -R
lz4|unlz4|snzip|zopfli|compress|uncompress|pbzip2|brotli:: @operands @harmless -c,--stdout,--to-stdout:pipes --list,--test:quiet -o,--output=out --rm:writes -d,--decompress -D= -f,--force -k,--keep -q,--quiet -v,--verbose -h,--help,-V,--version -0 -1 -2 -3 -4 -5 -6 -7 -8 -9 --best --fast
7z|7za|7zr|7zz|p7zip|rar|unrar|unar|lsar|arj|lha|zoo|dar|cabextract|msiextract|innoextract:: @sub @closed
7z l|7za l|7zr l|7zz l|7z t|7za t|7z i|7z h|rar l|rar t|rar v|rar p|unrar l|unrar lb|unrar lt|unrar t|unrar v|unrar vb|unrar p::
cpio:: @writes -t,--list:quiet -i,--extract -v,--verbose -n,--numeric-uid-gid -F,--file= -I= -H,--format= -c -b -B -C= -E,--pattern-file= --quiet --no-absolute-filenames --absolute-filenames --rsh-command=run -d,--make-directories -m,--preserve-modification-time -u,--unconditional
pax:: @writes
shar|makeself|ditto|hdiutil|mksquashfs|unsquashfs|genisoimage|mkisofs|xorriso|growisofs|wodim:: @writes
uudecode:: @writes
xxd:: @out2 @stops -c= -g= -l= -o= -s= -n= -R=
gpg|gpg2:: @operands -o,--output=outdash -d,--decrypt:quiet --verify:quiet -k,--list-keys,--list-public-keys:quiet -K,--list-secret-keys:quiet --fingerprint:quiet --list-packets:quiet --check-sigs:quiet --list-sigs:quiet -c,--symmetric:writes -e,--encrypt:writes -s,--sign:writes -b,--detach-sign:writes --clearsign,--clear-sign:writes --import:writes --gen-key,--generate-key,--full-generate-key:writes --delete-keys:writes --edit-key:writes --recv-keys=writes -a= -u,--local-user= -r,--recipient= --homedir= -q,--quiet -v,--verbose --batch --no-tty --with-colons --with-fingerprint --with-subkey-fingerprint --with-keygrip --keyid-format= --no-auto-key-retrieve --no-default-keyring --keyring= --status-fd= --pinentry-mode= --trust-model= --no-options --list-options= --verify-options= --no-auto-check-trustdb --armor
age|minisign|signify:: -o,--output=out -G:writes -S:writes
age-keygen|ssh-keygen|ssh-add|ssh-copy-id|mkcert|certbot|keytool:: @writes -l:quiet -F=quiet -D=run -s=run -w=run
openssl:: @sub @closed @bare @single -version,-help:quiet
openssl asn1parse|openssl ciphers|openssl crl|openssl dgst|openssl ec|openssl dsa|openssl enc|openssl errstr|openssl help|openssl info|openssl kdf|openssl list|openssl mac|openssl md5|openssl nseq|openssl passwd|openssl pkcs12|openssl pkcs7|openssl pkcs8|openssl pkey|openssl pkeyparam|openssl prime|openssl rand|openssl ripemd160|openssl rsa|openssl rsautl|openssl sess_id|openssl sha1|openssl sha224|openssl sha256|openssl sha384|openssl sha512|openssl sha512-256|openssl sha3-256|openssl sha3-384|openssl sha3-512|openssl blake2b512|openssl blake2s256|openssl shake128|openssl shake256|openssl sm3|openssl spkac|openssl speed|openssl storeutl|openssl verify|openssl version|openssl base64|openssl crl2pkcs7|openssl dhparam|openssl dsaparam|openssl ecparam|openssl genrsa|openssl gendsa|openssl aes-128-cbc|openssl aes-192-cbc|openssl aes-256-cbc|openssl aes-128-ecb|openssl aes-256-ecb|openssl aes-256-ctr|openssl des3|openssl s_time:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -sign= -verify= -prverify= -signature= -mac= -macopt= -hmac= -sigopt= -k= -K= -iv= -S= -iter= -kfile= -pass= -salt -CAfile= -CApath= -untrusted= -trusted= -purpose= -connect= -inform= -outform= -rand=
openssl x509:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -CAcreateserial:writes -CA,-CAserial=writes -CAkey= -extfile= -signkey= -key= -checkend= -checkhost= -nameopt= -certopt= -set_serial= -inform= -outform=
openssl req:: @single @writes -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in=quiet -inkey= -passin= -passout= -subj= -key=quiet -days= -extensions= -name= -md= -help:quiet -noout -text -verify -subject -modulus -pubkey -nodes -noenc -utf8 -batch -verbose -nameopt= -config= -section= -sha256 -new:writes -newkey=writes -keyout=out -reqopt= -nameopt= -inform= -outform=
openssl s_client:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -keylogfile,-msgfile,-sess_out=out -ssl_client_engine=unseen -connect= -servername= -CAfile= -CApath= -cert= -key= -sess_in= -starttls= -alpn= -cipher= -ciphersuites= -proxy= -host= -port= -groups= -sigalgs= -verify= -psk= -early_data=elsewhere
openssl genpkey|openssl pkeyutl:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -outpubkey,-secret=out -algorithm= -pkeyopt= -paramfile= -sigfile= -peerkey= -pkeyopt=
openssl cms|openssl smime:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -signer,-certsout=out -CAfile= -recip= -content= -certfile=
openssl ocsp:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -respout,-reqout=out -port=writes -issuer= -cert= -url= -host= -CAfile= -VAfile= -reqin= -respin=
openssl ts:: @single -out,-writerand=out -engine,-provider,-provider-path=unseen -config=unseen -in= -inkey= -passin= -passout= -subj= -days= -extensions= -name= -md= -reply:writes -data= -queryfile= -CAfile= -digest=
convert|magick|mogrify|composite|montage|ffmpeg|sox|lame|flac|oggenc|opusenc|cwebp|dwebp|pngcrush|optipng|jpegoptim|jpegtran|pngquant|gifsicle|inkscape|rsvg-convert|potrace|gs|ps2pdf|pdf2ps|qpdf|pdftk|pdfunite|pdfseparate|pdftoppm|pdfimages|wkhtmltopdf|wkhtmltoimage|libreoffice|soffice|bibtex|makeindex|dvips|xfig:: @writes
latex|pdflatex|xelatex|lualatex|tex|pdftex|xetex|luatex:: @writes @macros @single -shell-escape,-enable-write18,-shell-restricted:code -luaonly,-lua:code -output-directory=out
pdftotext|pdftohtml|ps2ascii:: @out2 @stops -f= -l= -r= -x= -y= -W= -H= -enc= -opw= -upw=
sqlite3:: @inline
createdb|dropdb|createuser|dropuser|pg_restore|pg_ctl|initdb|mysqladmin|mongorestore|redis-server:: @writes
pg_dump|pg_dumpall|mysqldump|mariadb-dump:: -f,--file=out -r,--result-file=out -o,--out=out -T,--tab=out --log-error=out --logfile=out
mongodump:: @writes --archive:quiet -q= --quiet --gzip --uri= --host= -h= --port= -d,--db= -c,--collection= -u,--username= -p,--password= --authenticationDatabase= --query= -o,--out=out
mongoexport:: -o,--out=out --uri= --host= -h= --port= -d,--db= -c,--collection= -u,--username= -p,--password= -q,--query=
tshark:: -w=out -W= -X=unseen -C=unseen -o=unseen -r= -Y= -T= -e= -i= -c= -f=
tcpdump|dumpcap:: -w=out -W= -z=run -C= -G=
ab:: @listed -g=out -e=out -p=elsewhere -u=elsewhere -m=elsewhere -n= -c= -t= -s= -b= -B= -v= -w -x= -y= -z= -C= -H= -A= -P= -X= -T= -Z= -f= -E=unseen -k -i -l -q -d -S -V:quiet -h:quiet -r
siege:: @elsewhere
screen|tmux:: @hidden
docker|podman|nerdctl:: @sub @closed -H= --context= -c= --host= --config=config -l= --log-level=
docker ps|docker images|docker logs|docker inspect|docker version|docker info|docker stats|docker top|docker port|docker history|docker diff|docker events|docker search|docker help|docker container ls|docker container ps|docker image ls|docker image inspect|docker volume ls|docker network ls|docker network inspect|docker volume inspect|docker container inspect|docker container logs|docker container top|docker context ls|docker system df|docker system info|docker compose ps|docker compose logs|docker compose ls|docker compose images|docker compose top|docker compose port|docker compose version|podman ps|podman images|podman logs|podman inspect|podman version|podman info::
docker container|docker image|docker volume|docker network|docker context|docker system:: @sub @closed
docker compose config|docker compose convert|docker-compose config:: @dumps
docker compose:: @sub @closed -f= -p= --profile= --env-file= --project-directory= --file=
docker run|docker create|docker exec|docker container run|docker container exec|podman run|podman exec:: @writes -e,--env=passes -u= -w= -v= -p= --name= --env-file= -l= -h= -m=
docker-compose:: @sub @closed -f= -p=
docker-compose ps|docker-compose logs|docker-compose images|docker-compose top|docker-compose version::
eksctl:: @sub @cloud --region= --profile= -n,--name= -c,--cluster= -f= -o,--output=
vagrant|packer|pulumi|cdk|serverless|sls|skaffold|tilt:: @opaque @sub @client -C,--cwd= --app= -h,--help,-v,--version:quiet
vagrant status|vagrant global-status|vagrant version|vagrant validate|vagrant port|vagrant ssh-config|packer validate|packer inspect|packer version|pulumi preview|pulumi stack ls|pulumi stack output|pulumi about|pulumi version|pulumi whoami|pulumi logs|pulumi config get|cdk ls|cdk list|cdk diff|cdk doctor|cdk version|cdk metadata|serverless info|serverless print|sls info|sls print|skaffold diagnose|skaffold version|skaffold schema|tilt version:: @opaque -s,--stack= --json
pulumi stack|pulumi config:: @sub @client
terragrunt:: @opaque @sub @client @single -version,-v,-help,-h:quiet
terraform|tofu:: @sub @client @single -version,-v,-help,-h:quiet -chdir=
terraform validate|terraform show|terraform console|terraform graph|tofu validate|tofu show|tofu console|tofu graph|terragrunt validate|terragrunt show|terragrunt graph:: @opaque @single
terraform init|terraform get|tofu init|tofu get|terragrunt init|terragrunt get|terraform workspace select|tofu workspace select|pulumi new|cdk init|cdk synth|cdk synthesize|vagrant init|packer build|packer init:: @writes
terraform apply|terraform destroy|terraform import|terraform refresh|terraform taint|terraform untaint|terraform state rm|terraform state mv|terraform state push|terraform workspace new|terraform workspace delete|terraform login|tofu apply|tofu destroy|tofu import|terragrunt apply|terragrunt destroy|terragrunt run-all|pulumi up|pulumi destroy|cdk deploy|cdk destroy|vagrant up|vagrant destroy|serverless deploy:: @elsewhere @writes
terraform state|terraform workspace|terraform providers|tofu state|tofu workspace|tofu providers|terragrunt state|terragrunt workspace:: @sub @client
terraform version|terraform help|terraform metadata|tofu version|tofu help|tofu metadata|terragrunt version:: @single -json
terraform state list|terraform state show|terraform workspace list|terraform workspace show|terraform providers schema|terraform output|tofu state list|tofu state show|tofu workspace list|tofu workspace show|tofu providers schema|tofu output|terragrunt state list|terragrunt state show|terragrunt output|terragrunt graph-dependencies|terragrunt validate-inputs|terragrunt find|terragrunt list:: @opaque @single
terraform providers lock|terraform providers mirror|tofu providers lock|tofu providers mirror:: @writes
terraform test|tofu test:: @opaque @elsewhere @single -junit-xml=out
terraform plan|tofu plan|terragrunt plan:: @opaque @single -out=out -generate-config-out=out
terraform fmt|tofu fmt|terragrunt hclfmt|packer fmt:: @writes @single -check:quiet -diff,-recursive -list= -no-color
kubectl|oc:: @sub @client --kubeconfig=config --cache-dir,--profile,--profile-output,--log-file,--log-dir=writes --context= --cluster= --user= -n,--namespace= -s,--server= --token= --as= --request-timeout= -v=
kubectl cp|kubectl edit|kubectl config set|kubectl config set-context|kubectl config set-cluster|kubectl config set-credentials|kubectl config use-context|kubectl config use|kubectl config unset|kubectl config delete-context|kubectl config delete-cluster|kubectl config delete-user|kubectl config rename-context|kubectl plugin|kubectl debug|kubectl attach|kubectl krew|oc cp|oc edit|oc rsync|oc extract:: @writes
kubectl config:: @sub @closed --kubeconfig=
kubectl exec|oc exec|oc rsh:: @runs1 @remote -n,--namespace= -c,--container= -f,--filename= --context= --pod-running-timeout= -i,--stdin -t,--tty -q,--quiet
kubectl cluster-info:: @sub
kubectl cluster-info dump:: --output-directory=out
kubectl kustomize|kustomize build:: -o,--output=out --enable-exec:writes --enable-alpha-plugins:writes --helm-command=run
kustomize:: @sub
kustomize edit|kustomize create|kustomize localize:: @writes
helm:: @sub @client --kubeconfig=config --repository-cache,--content-cache,--registry-config,--repository-config=writes --kube-context= -n,--namespace=
helm create|helm pull|helm fetch|helm package|helm plugin install|helm plugin update|helm plugin uninstall|helm repo add|helm repo update|helm repo remove|helm repo index|helm dependency update|helm dependency build|helm dep update|helm dep build|helm dep up|helm registry login:: @writes
helm plugin|helm repo|helm dependency|helm dep|helm registry:: @sub
`
