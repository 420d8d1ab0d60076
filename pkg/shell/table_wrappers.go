package shell

// wrapperTable holds programs that run the command that their words name. An
// option that a line does not name makes the command unknown.
const wrapperTable = `
nice|gnice:: @runs0 -n,--adjustment= -0 -1 -2 -3 -4 -5 -6 -7 -8 -9
fakeroot|fakeroot-sysv|fakeroot-tcp|fakeroot-ng|fakechroot:: @runs0 @shell -s=writes -i= -u -l,--lib= --faked= -b=
ssh-agent:: @runs0 -a=writes -E= -O= -P= -t= -s -c -k -d -D
choom:: @runs0 -n,--adjust= -p,--pid=quiet
logsave:: @runs1 @writes -a -s -v
setlock:: @runs1 @writes -n -N -x -X
debconf:: @runs0 -o,--owner= -f,--frontend= -p,--priority= --terse
tini|tini-static|catatonit:: @runs0 -g -s -v -w -p= -e=
ccache|sccache|distcc|icecc:: @runs0 -s,--show-stats:quiet -p,--show-config:quiet -V,--version,-h,--help:quiet
ip:: @sub @single -b,-batch=unseen -a,-all:hidden -n,-netns= -f,-family=
ip net|ip netn|ip netns|ip vr|ip vrf:: @sub
ip netns e|ip netns ex|ip netns exe|ip netns exec|ip net e|ip net ex|ip net exe|ip net exec|ip netn e|ip netn ex|ip netn exe|ip netn exec|ip vrf e|ip vrf ex|ip vrf exe|ip vrf exec|ip vr e|ip vr ex|ip vr exe|ip vr exec:: @runs1
nohup|gnohup|eatmydata|chronic|torsocks|torify|proxychains|proxychains4|dumb-init|noglob|nocorrect|gamemoderun:: @runs0 -q
setsid:: @runs0 -c,--ctty -f,--fork -w,--wait
unbuffer:: @runs0 -p
stdbuf|gstdbuf:: @runs0 -i,--input= -o,--output= -e,--error=
timeout|gtimeout:: @runs1 -k,--kill-after= -s,--signal= --foreground --preserve-status -v,--verbose -p -f
time|gtime:: @runs0 -o,--output=out -f,--format= -a,--append -p,--portability -v,--verbose -q,--quiet -l -h
ionice:: @runs0 -c,--class= -n,--classdata= -p,--pid=quiet -P,--pgid=quiet -u,--uid=quiet -t,--ignore
chrt:: @runs1 -p,--pid:quiet -m,--max:quiet -T,--sched-runtime= -P,--sched-period= -D,--sched-deadline= -a,--all-tasks -b,--batch -d,--deadline -f,--fifo -i,--idle -o,--other -r,--rr -R,--reset-on-fork -v,--verbose
taskset:: @runs1 -p,--pid:quiet -a,--all-tasks -c,--cpu-list
numactl:: @runs0 -m,--membind= -N,--cpunodebind= -C,--physcpubind= -i,--interleave= -p,--preferred= -l,--localalloc -H,--hardware:quiet -s,--show:quiet -a,--all
prlimit:: @runs0 -p,--pid=quiet -n?= --nofile?= -c?= --core?= -d?= -e?= -f?= -i?= -l?= -m?= -q?= -r?= -s?= -t?= --cpu?= -u?= --nproc?= -v?= --as?= -x?= -y?=
setarch:: @runs0 @shell @architecture --list:quiet -R,--addr-no-randomize -B -F -I -L -S -T -X -Z -3 -v
linux32|linux64|i386|x86_64|uname26:: @runs0 @shell --list:quiet -R,--addr-no-randomize -B -F -I -L -S -T -X -Z -3 -v
setpriv:: @runs0 --reuid= --regid= --groups= --inh-caps= --ambient-caps= --bounding-set= --securebits= --pdeathsig= --selinux-label= --apparmor-profile= --clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env -d,--dump:quiet
sudo:: @runs0 -u,--user= -g,--group= -h,--host= -p,--prompt= -C,--close-from= -r,--role= -t,--type= -T,--command-timeout= -U,--other-user= -D,--chdir=folder -R,--chroot=folder --preserve-env?=reads -s,--shell:hidden -i,--login:hidden -e,--edit:writes -l,--list:quiet -v,--validate:quiet -k,--reset-timestamp -K:quiet -V:quiet -A,--askpass -b,--background -n,--non-interactive -S,--stdin -E -H,--set-home -P,--preserve-groups -B,--bell -N
sudoedit:: @writes @inline
doas:: @runs0 -u= -a= -C= -s:hidden -L:quiet -n
chroot|gchroot:: @runs1 @shell --userspec= --groups= --skip-chdir
systemd-inhibit|systemd-cat:: @runs0 -p,--priority= --stderr-priority= --level-prefix= -t,--identifier= --what= --who= --why= --mode= --list:quiet
systemd-run:: @runs0 -p,--property=code -u,--unit= --slice= -E,--setenv=passes --working-directory=folder --uid= --gid= -M,--machine=elsewhere -H,--host=elsewhere -S,--shell:hidden -t,--pty -P,--pipe -q,--quiet -G,--collect -d,--same-dir --scope --user --system --wait --no-block --what= --who= --why= --mode= --description= --nice= -r
watch|gwatch:: @runs0 @joins -n,--interval= -q,--equexit= -d?= --differences?= -t,--no-title -b,--beep -e,--errexit -g,--chgexit -c,--color -C,--no-color -x,--exec -w,--no-wrap -p,--precise -r,--no-rerun
entr:: @runs0 -s:hidden -c -d -n -p -r -z -a -x
strace:: @runs0 -o,--output=writes -e,--trace= -p,--attach=quiet -s,--string-limit= -u,--user= -E,--env=passes -a,--columns= -O= -S= -I= -P= -b= -X= -U= -v,--no-abbrev:dump -f -ff -c -C -t -tt -ttt -T -q -y -yy -r -k -i -d -D -z -Z -w -n -x -xx -A -F -V,--version:quiet
ltrace:: @runs0 -o,--output=writes -e= -p=quiet -s= -u= -n= -a= -A= -D= -F= -l= -x= -w= -f -c -C -S -t -T -r -i -b -L
valgrind:: @runs0 --log-file=out --xml-file=out --tool=writes --leak-check= --show-leak-kinds= --track-origins= --error-exitcode= --suppressions= --trace-children= --num-callers= --gen-suppressions= -q,--quiet -v,--verbose
perf:: @sub
perf stat|perf trace:: @runs0 -e,--event= -o,--output=out -r,--repeat= -p,--pid=quiet -I= -x= -a -d -v -A
perf record|perf archive|perf script|perf data|perf buildid-cache:: @writes
busybox|toybox:: @runs0 --install:writes --list:quiet --list-full:quiet --show=quiet
coreutils|uutils:: @runs0 --coreutils-prog,--coreutils-prog-shebang:hidden --list:quiet
ld.so|ld-linux.so.2|ld-linux-x86-64.so.2|ld-linux-aarch64.so.1|ld-musl-x86_64.so.1:: @runs0 --preload=unseen --library-path= --inhibit-rpath= --argv0= --audit=unseen --inhibit-cache --list:quiet --verify:quiet
dbus-run-session:: @runs0 --config-file= --dbus-daemon=
caffeinate:: @runs0 -d -i -m -s -u -t= -w=
capsh|su|runuser|pkexec|gosu|su-exec|setuidgid|chpst|softlimit|envdir|unshare|nsenter|systemd-nspawn|machinectl|firejail|bwrap|proot|lxc-attach|cgexec|aa-exec|runcon|newgrp|sg|arch-chroot|schroot|toolbox|distrobox|flatpak-spawn|limactl|qemu-x86_64|qemu-aarch64|wine|wsl|xvfb-run|rlwrap|faketime|trickle|cpulimit|run-parts|start-stop-daemon|daemonize|pm2|forever|concurrently|watchexec|nodemon|chokidar|reflex|hyperfine|cross-env|env-cmd|dotenv|dotenvx|aws-vault|sem|scl|srun|salloc|sbatch|mpirun|mpiexec|orterun|prun|tsp|dtach|abduco|zellij|byobu|execlineb|with-contenv|devbox|devenv|daemon|bpftrace|stap|rr|heaptrack|samply:: @hidden
ifne:: @runs0 -n
pee|mispipe|lckdo|zrun|ansible|ansible-console:: @hidden
ansible-playbook:: @opaque @writes @inline -i,--inventory,--inventory-file= -l,--limit= -t,--tags= --skip-tags= -D,--diff -v,--verbose -f,--forks= -u,--user= -b,--become --become-user= -e,--extra-vars=property --start-at-task= --flush-cache -c,--connection= -T,--timeout= --check:quiet -C:quiet --syntax-check:quiet --list-hosts:quiet --list-tasks:quiet --list-tags:quiet
inotifywait|fswatch:: -o,--outfile=out -d,--daemon:writes
`
