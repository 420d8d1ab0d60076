package shell

// gitTable holds the subcommands of version control that only read, or whose
// options decide. git add, commit, push and fetch are no edits of files. A
// subcommand of git without a line is refused.
const gitTable = `
git:: @sub @closed -C= -c=eval --git-dir=config --work-tree=config --namespace= --super-prefix= --attr-source= --list-cmds= --exec-path?=unseen --config-env=reads
git status|git ls-files|git ls-tree|git rev-parse|git rev-list|git describe|git name-rev|git merge-base|git cat-file|git show-ref|git show-branch|git for-each-ref|git shortlog|git cherry|git count-objects|git var|git version|git check-ignore|git check-attr|git check-mailmap|git check-ref-format|git verify-commit|git verify-tag|git verify-pack|git patch-id|git stripspace|git column|git get-tar-commit-id|git fmt-merge-msg|git merge-tree|git blame|git annotate|git add|git commit|git stage|git credential-cache|git diff-pairs:: --output=out --ext-diff:writes
git help:: -w,--web:writes -i,--info:writes
git log|git show|git diff|git diff-tree|git diff-index|git diff-files|git whatchanged|git range-diff|git request-pull:: --output=out --ext-diff:writes -O= -S= -G= -n= -L= -l= -U= --since= --until= --author= --grep= --format= --diff-filter=
git grep:: -O?=run --open-files-in-pager?=run --ext-grep:writes -e= -f= -A= -B= -C= -m= --max-depth= --threads=
git push:: -n,--dry-run:quiet --receive-pack=run --exec=run -o,--push-option= --repo= -v,--verbose -q,--quiet -u,--set-upstream --all --branches --mirror --tags --follow-tags --no-follow-tags --atomic --no-atomic -f,--force --force-with-lease?= --no-force-with-lease --force-if-includes --no-force-if-includes -d,--delete --prune --porcelain --progress --no-progress --thin --no-thin --signed?= --no-signed --no-verify --verify --recurse-submodules= --no-recurse-submodules -4,--ipv4 -6,--ipv6
git fetch|git ls-remote:: --upload-pack=run --exec=run -o,--server-option= --sort= --refmap,--bundle-uri=writes -P,--prune-tags,--stdin:writes -j= --depth= --deepen= --shallow-since= --negotiation-tip= -p,--prune
git archive:: -o,--output=out --exec=run --remote= --format= --prefix= --add-file=
git branch:: @operands -l,--list,-a,--all,-r,--remotes,--show-current:quiet --contains,--no-contains,--merged,--no-merged,--points-at?=quiet -d,-D,--delete:writes -m,-M,--move:writes -c,-C,--copy:writes -f,--force:writes --edit-description:writes -u,--set-upstream-to=writes --unset-upstream:writes --sort= --format= -v,-vv,--verbose -q,--quiet -i,--ignore-case --color?= --no-color --column?= --no-column --abbrev?= --no-abbrev --omit-empty -t,--track?= --no-track
git tag:: @operands -l,--list,-v,--verify:quiet --contains,--no-contains,--merged,--no-merged,--points-at?=quiet -d,--delete:writes -f,--force:writes -m,--message= -F,--file= -u,--local-user= -n?=quiet --sort= --format= --cleanup= -i,--ignore-case --color?= --no-color --column?= --no-column --omit-empty
git config:: @sub @operands2 --unset:writes --unset-all:writes --rename-section:writes --remove-section:writes --replace-all:writes --add:writes -e,--edit:writes --get:quiet --get-all:quiet --get-regexp:quiet --get-urlmatch:quiet --get-color:quiet --get-colorbool:quiet -l,--list:quiet -f,--file= --blob= --type= --default= --global --system --local --worktree -z,--null --name-only --show-origin --show-scope --includes --no-includes --bool --int --bool-or-int --path --expiry-date --no-type --all --regexp --value= --fixed-value --url=
git config list|git config get::
git config set|git config unset|git config rename-section|git config remove-section|git config edit:: @writes
git remote:: @sub @closed -v
git remote show|git remote get-url|git remote update|git remote -v::
git stash:: @sub @closed @bare
git stash list|git stash show:: --output=out --ext-diff:writes
git worktree:: @sub @closed
git worktree list::
git submodule:: @sub @closed
git submodule status|git submodule summary::
git submodule foreach:: @runs0 @joins -q,--quiet --recursive
git notes:: @sub @closed --ref=
git notes list|git notes show::
git bisect:: @sub @closed
git bisect log|git bisect terms::
git bisect run:: @runs0 @writes
git rebase:: @writes -x,--exec=script -s= -X= -C= --onto= --strategy=
git filter-branch:: @writes --env-filter=script --tree-filter=script --index-filter=script --msg-filter=script --commit-filter=script --tag-name-filter=script --parent-filter=script --setup=script
git difftool:: @writes -x,--extcmd=script -t,--tool=
git clone|git pull:: @writes -u,--upload-pack=run -c,--config=unseen
git sparse-checkout:: @sub @closed
git sparse-checkout list|git sparse-checkout check-rules::
git reflog:: @sub
git reflog expire|git reflog delete|git reflog drop|git reflog write:: @writes -n,--dry-run:quiet -v,--verbose --expire= --expire-unreachable= --all --updateref --rewrite --stale-fix
git lfs:: @sub @closed
git lfs ls-files|git lfs status|git lfs env|git lfs version|git lfs logs|git lfs locks::
git bundle:: @sub @closed
git bundle verify|git bundle list-heads::
git rerere:: @sub @closed @bare
git rerere status|git rerere diff|git rerere remaining::
git rerere clear|git rerere forget|git rerere gc:: @writes
git symbolic-ref:: @operands2 -d,--delete:writes -m=
git hash-object:: -w:writes -t= --path=
git apply:: @writes --check:quiet --stat:quiet --numstat:quiet --summary:quiet --apply:writes --build-fake-ancestor=out --directory= --exclude= --include= -p= -C= --whitespace= -R,--reverse -v,--verbose -q,--quiet --index --cached -3,--3way --ours --theirs --union --unidiff-zero --inaccurate-eof --recount --ignore-space-change --ignore-whitespace --allow-overlap --allow-empty --unsafe-paths -z -N,--intent-to-add
git am:: @writes --show-current-patch?=quiet -q,--quiet
git format-patch:: @writes --stdout:quiet -o,--output-directory=writes --output=out --ext-diff:writes -n,--numbered -N,--no-numbered -s,--signoff -p,--no-stat --stat?= -U= -M?= -C?= --cover-letter --no-cover-letter -v= --subject-prefix= --root -k --no-signature --signature= --thread?= --no-thread --base= --no-base --no-prefix --full-index --binary -1 -2 -3 -4 -5 -6 -7 -8 -9 --no-color --color?=
git merge-file:: @writes -p,--stdout:quiet -L= -q,--quiet --diff3 --zdiff3 --ours --theirs --union --object-id --marker-size=
git interpret-trailers:: --in-place:writes --trailer= --where= --if-exists= --if-missing=
git fast-export:: --export-marks=out --import-marks=
git update-index:: @writes --refresh:quiet --really-refresh:quiet -q --ignore-submodules
git fsck:: --lost-found:writes
git clean:: @writes -n,--dry-run:quiet -e= -d -x -X -f,--force -q,--quiet --exclude=
svn:: @sub @closed --username= --password= --config-dir=unseen --config-option=unseen
svn status|svn st|svn log|svn diff|svn di|svn info|svn cat|svn list|svn ls|svn blame|svn annotate|svn praise|svn ann|svn proplist|svn propget|svn help:: --diff-cmd=run -r= -c= -l=
hg:: @sub @closed --config=unseen -R= --cwd=
hg status|hg st|hg log|hg diff|hg annotate|hg blame|hg branches|hg branch|hg tags|hg heads|hg identify|hg id|hg files|hg manifest|hg parents|hg paths|hg summary|hg sum|hg grep|hg help|hg version|hg tip|hg root|hg outgoing|hg incoming|hg showconfig|hg bookmarks:: -e= -X= -I= -r=
hg cat:: -o,--output=out -r=
jj|fossil|bzr|cvs|p4|darcs|sl:: @sub @closed
jj log|jj st|jj status|jj diff|jj show|fossil status|fossil timeline|fossil diff|bzr status|bzr log|bzr diff|cvs status|cvs log|cvs diff|p4 status|p4 changes|p4 describe|sl status|sl log|sl diff::
`
