package shell

// packageTable holds package managers: installing, removing and publishing are writes;
// running scripts of the project is opaque, and a runner of a program is a wrapper.
const packageTable = `
npm:: @sub @closed --prefix= -w= --workspace= -C= --loglevel= --registry= --userconfig=workspace --cache=writes -g,--global -s,--silent -d -q,--quiet -y,--yes
npm install|npm i|npm in|npm ci|npm clean-install|npm add|npm uninstall|npm un|npm remove|npm rm|npm r|npm update|npm up|npm upgrade|npm dedupe|npm ddp|npm prune|npm link|npm ln|npm unlink|npm rebuild|npm rb|npm init|npm create|npm innit|npm version|npm pack|npm shrinkwrap|npm install-test|npm it|npm cit|npm set|npm login|npm logout|npm edit|npm isntall|npm add-user:: @writes --dry-run:switch -g,--global -D,--save-dev -E,--save-exact -O -P -S --save --save-prod --json --long --parseable -w,--workspace= --workspaces --ws --include= --omit= --registry= --tag= --access= --otp= --ignore-scripts --no-audit --no-fund --audit --fund --legacy-peer-deps --force -f --prefer-offline --offline --loglevel= --silent -s -q --quiet --include-workspace-root --package-lock-only --no-package-lock --provenance
npm publish|npm unpublish|npm deprecate|npm undeprecate|npm owner|npm author|npm dist-tag|npm dist-tags|npm access|npm token|npm team|npm hook|npm org|npm profile|npm star|npm unstar|npm trust|npm adduser:: @elsewhere --dry-run:switch -g,--global -D,--save-dev -E,--save-exact -O -P -S --save --save-prod --json --long --parseable -w,--workspace= --workspaces --ws --include= --omit= --registry= --tag= --access= --otp= --ignore-scripts --no-audit --no-fund --audit --fund --legacy-peer-deps --force -f --prefer-offline --offline --loglevel= --silent -s -q --quiet --include-workspace-root --package-lock-only --no-package-lock --provenance @opaque
npm ls|npm list|npm ll|npm la|npm view|npm v|npm info|npm show|npm outdated|npm ping|npm root|npm prefix|npm bin|npm search|npm find|npm s|npm se|npm help|npm hlep|npm help-search|npm get|npm explain|npm why|npm fund|npm doctor|npm whoami|npm query|npm sbom|npm diff|npm docs|npm stars|npm completion|npm licenses|npm issues|npm bugs|npm repo|npm home|npm config ls|npm config list|npm config get|npm pkg get|npm cache ls|npm cache verify|npm c ls|npm c list|npm c get:: --json
npm audit:: @sub
npm audit fix:: @writes --dry-run:switch -g,--global -D,--save-dev -E,--save-exact -O -P -S --save --save-prod --json --long --parseable -w,--workspace= --workspaces --ws --include= --omit= --registry= --tag= --access= --otp= --ignore-scripts --no-audit --no-fund --audit --fund --legacy-peer-deps --force -f --prefer-offline --offline --loglevel= --silent -s -q --quiet --include-workspace-root --package-lock-only --no-package-lock --provenance
npm config|npm pkg|npm cache|npm c:: @sub
npm config set|npm config delete|npm config edit|npm config fix|npm pkg set|npm pkg delete|npm pkg fix|npm cache clean|npm cache add|npm c set:: @writes
npm run|npm run-script|npm rum|npm urn|pnpm run:: @opaque @sub
yarn run|bun run:: @opaque @sub @programs
yarn workspace:: @programs1
npm run env|npm run-script env|npm rum env|npm urn env|yarn run env|yarn env|pnpm run env:: @dumps
npm explore:: @hidden
npm test|npm t|npm tst|npm start|npm stop|npm restart:: @opaque
npm exec|npm x|npx|bunx|pnpx|bun x|pnpm dlx|pnpm exec|pnpm x|yarn dlx|yarn exec:: @runs0 @dashes -c,--call=script -p,--package= -w,--workspace= -y,--yes -n,--node-arg= --node-options= --cache= --registry= --shell=writes
yarn|yarnpkg:: --cache-folder,--modules-folder=writes @opaque @sub @programs --cwd= @bare -v,--version,-h,--help:quiet
yarn add|yarn install|yarn remove|yarn up|yarn upgrade|yarn upgrade-interactive|yarn link|yarn unlink|yarn init|yarn create|yarn import|yarn dedupe|yarn set|yarn plugin|yarn patch|yarn patch-commit|yarn pack|yarn publish|yarn version|yarn cache|yarn autoclean|yarn global|yarn rebuild|yarn self-update|yarn unplug|yarn stage|yarn sdks|yarn constraints|yarn workspaces focus|yarn npm logout|yarn npm login|yarn owner|yarn tag|yarn login|yarn logout|yarn team|yarn access:: @writes
pnpm audit|yarn npm audit|bun audit:: --fix:writes
yarn npm:: @sub @client
yarn npm info|yarn npm whoami|yarn npm tag list|yarn npm login-status|yarn workspaces list:: --json -f,--fields= --scope= -v,--verbose -R,--recursive --since?= --no-private
yarn npm tag:: @sub @client
yarn workspaces:: @sub @closed
yarn workspaces info:: --json
yarn workspaces foreach:: @again @listed -A,--all -v,--verbose -p,--parallel -i,--interlaced -t,--topological --topological-dev -R,--recursive -W,--worktree --from= --include= --exclude= -j,--jobs= --since?= --no-private -n,--dry-run
yarn workspaces run|pnpm recursive|pnpm multi|pnpm m:: @again
yarn config:: @sub @closed @bare
yarn config get|yarn config list:: --json --why --verbose --no-defaults
yarn config set|yarn config unset|yarn config delete:: @writes
pnpm:: @opaque @sub @programs -r,--recursive -w,--workspace-root --silent -C= --dir= --filter= -F=
pnpm add|pnpm install|pnpm i|pnpm ci|pnpm remove|pnpm rm|pnpm uninstall|pnpm un|pnpm update|pnpm up|pnpm upgrade|pnpm link|pnpm ln|pnpm unlink|pnpm import|pnpm prune|pnpm rebuild|pnpm rb|pnpm dedupe|pnpm fetch|pnpm init|pnpm create|pnpm store|pnpm env|pnpm patch|pnpm patch-commit|pnpm setup|pnpm publish|pnpm pack|pnpm deploy:: @writes
pnpm unpublish|pnpm deprecate|pnpm dist-tag|pnpm owner|pnpm access|pnpm token|pnpm team|pnpm profile|pnpm star|pnpm unstar|pnpm hook|pnpm org:: @elsewhere
pnpm config|pnpm c:: @sub @closed @bare
pnpm config get|pnpm config list|pnpm c get|pnpm c list:: --json -g,--global
pnpm version|pnpm pkg|pnpm edit|pnpm set-script|pnpm set|pnpm login|pnpm logout|pnpm adduser|pnpm cache|pnpm approve-builds|pnpm self-update|pnpm server:: @writes
bun install|bun i|bun add|bun a|bun remove|bun rm|bun update|bun link|bun unlink|bun create|bun c|bun init|bun upgrade|bun build|bun patch|bun publish|bun pm:: @writes
corepack|nvm|fnm|volta|n|asdf|mise|rtx|pyenv|rbenv|nodenv|goenv|sdk|rustup|ghcup|conda|mamba|micromamba|poetry|pdm|pipenv|hatch|rye|pixi|pipx|gem|luarocks|opam|stack|cabal|nuget|pod|carthage|vcpkg|conan|apk|brew|port|snap|flatpak|nix|guix|opkg|choco|winget|scoop|mas:: @sub @closed --version,-V,-h,--help:quiet --prefix,--cellar,--repository:quiet -n= -C= --manifest-path= --directory= --project= -q -y
nvm install|nvm uninstall|nvm use|nvm alias|fnm install|fnm use|volta install|volta pin|asdf install|asdf local|asdf global|asdf set|mise install|mise use|mise set|pyenv install|pyenv local|pyenv global|rbenv install|rbenv local|rbenv global|sdk install|rustup update|rustup install|rustup default|rustup self|corepack enable|corepack disable|corepack prepare|corepack use:: @writes
rustup toolchain|rustup target|rustup component|rustup override:: @sub @closed
rustup toolchain list|rustup target list|rustup component list|rustup override list::
conda install|conda create|conda remove|conda update|conda upgrade|conda uninstall|conda clean|conda init|mamba install|mamba create|mamba remove|mamba update|micromamba install|micromamba create|micromamba remove:: @writes
conda env|mamba env:: @sub @closed
conda env export|mamba env export:: -f,--file=out -n,--name= -p,--prefix= --no-builds --from-history --json --ignore-channels --override-channels -c=
conda config|mamba config:: @writes --show?=quiet --show-sources,--validate:quiet --describe?=quiet --get?=quiet --json -v,--verbose -q,--quiet
conda env create|conda env remove|conda env update|mamba env create:: @writes
pip install|pip uninstall|pip download|pip wheel|pip3 install|pip3 uninstall|pip3 download|pip3 wheel|pipx install|pipx uninstall|pipx upgrade|pipx upgrade-all|pipx inject|pipx reinstall|pipx ensurepath:: @writes --dry-run:quiet -r,--requirement= -c,--constraint= -e,--editable= -U,--upgrade -q,--quiet -v,--verbose --no-deps --pre --user --ignore-installed -I --force-reinstall --no-cache-dir --no-input --disable-pip-version-check --no-color --upgrade-strategy= --index-url= -i= --extra-index-url= --no-index -f,--find-links= --only-binary= --no-binary= --prefer-binary --python-version= --platform= --abi= --implementation= --break-system-packages --no-build-isolation --use-pep517 --timeout= --retries= --proxy= --trusted-host= --report=out --log=out --progress-bar= --require-hashes
pip|pip3:: @sub @closed --log,--log-file,--report,--src=out --cache-dir=writes --python=unseen -i= --index-url= --format= --path= --proxy= --retries= --timeout= --trusted-host= --cert= --exists-action= --extra-index-url= -f= --abi= --platform= -q -v -V,--version,-h,--help:quiet
pip list|pip show|pip freeze|pip check|pip inspect|pip index|pip debug|pip hash|pip search|pip help|pip completion|pip3 list|pip3 show|pip3 freeze|pip3 check|pip3 inspect|pip3 index|pip3 debug|pip3 hash|pip3 search|pip3 help|pip3 completion:: --log,--log-file,--report,--src=out --cache-dir=writes --python=unseen -i= --index-url= --format= --path= --proxy= --retries= --timeout= --trusted-host= --cert= --exists-action= --extra-index-url= -f= --abi= --platform=
uv:: @sub @closed --directory= --project= --cache-dir=writes --python=unseen --config-file=workspace --color= --offline --no-config --no-progress -q,--quiet -v,--verbose -V,--version,-h,--help:quiet
uv format:: @writes --check,--diff:quiet --preview --version=
uv export:: -o,--output-file=out --cache-dir=writes
pip config|pip cache|pip3 config|pip3 cache:: @sub --log=out --cache-dir=writes --python=unseen
pip config set|pip config unset|pip config edit|pip cache purge|pip cache remove|pip3 config set|pip3 cache purge:: @writes
poetry add|poetry install|poetry remove|poetry update|poetry lock|poetry init|poetry new|poetry build|poetry publish|poetry version|poetry sync|poetry cache|pdm add|pdm install|pdm remove|pdm update|pdm lock|pdm sync|pdm init|pdm build|pipenv install|pipenv uninstall|pipenv update|pipenv lock|pipenv sync|pipenv clean|hatch new|hatch build|rye add|rye sync|rye init|pixi add|pixi install|pixi init|uv add|uv remove|uv sync|uv lock|uv init|uv venv|uv build|uv publish|uv python|uv self|uv cache|uv version|virtualenv|venv:: @writes
uv pip|uv tool|poetry env:: @sub @closed
poetry config:: @sub @operands2 --unset,--migrate:writes --list --local
uv pip install|uv pip uninstall|uv pip sync|uv pip compile|uv tool install|uv tool uninstall|uv tool upgrade|poetry env use|poetry env remove:: @writes
uv run|poetry run|pdm run|pipenv run|hatch run|rye run|pixi run|bundle exec|bundler exec|uvx|uv tool run|pipx run|rye tool:: @runs0 --with= -p,--python= --from= --spec= --env-file= --extra= --group= --package= --project= --directory=folder -m,--module=module
poetry shell|pipenv shell|pdm venv|hatch shell|conda run|mamba run|micromamba run|mise exec|mise x|asdf exec|direnv exec|nix run|nix shell|nix develop|nix-shell|cargo watch:: @hidden
direnv:: @sub
direnv dump|direnv export|direnv show_dump|mise env|asdf env:: @dumps
opam exec|stack exec|cabal exec|dune exec:: @runs0 --switch= --set-root --set-switch --root= -q -v
dune:: @opaque @sub --root=
pyenv exec|rbenv exec|nodenv exec|goenv exec|volta run:: @runs0
rustup run|nvm exec|nvm run:: @runs1
yarn node|pnpm node:: @inline
gem install|gem uninstall|gem update|gem build|gem push|gem cleanup|bundle install|bundle update|bundle add|bundle remove|bundle lock|bundle init|bundle clean|bundle package|bundle cache|bundle binstubs|bundle config|composer install|composer update|composer require|composer remove|composer init|composer create-project|composer dump-autoload|composer dumpautoload|composer dump|composer global|composer bump|composer archive|composer self-update|composer selfupdate|composer clear-cache|composer i|composer u|composer upgrade|composer r|composer reinstall|composer config|luarocks install|luarocks remove|opam install|opam remove|opam switch|stack install|stack new|stack setup|cabal install|cabal init|nuget install|pod install|pod update|carthage update|vcpkg install|conan install:: @writes
bundle|bundler:: @opaque @sub @bare -v,--version,-h,--help:quiet
cargo add|cargo rm|cargo remove|cargo install|cargo uninstall|cargo update|cargo clean|cargo new|cargo init|cargo fix|cargo publish|cargo package|cargo vendor|cargo fetch|cargo generate-lockfile|cargo login|cargo yank:: @writes --dry-run:quiet -n:quiet --list:quiet @opaque -p,--package= --manifest-path= --allow-dirty --no-verify --all-features --no-default-features -F,--features= -j,--jobs= --target= --registry= --index= --locked --offline --frozen -q,--quiet -v,--verbose --color= --workspace --all --exclude= --dev --build --optional --no-optional --precise= --recursive --aggressive -L
cargo:: @sub @closed -V,--version,--list,-h,--help:quiet -C= --manifest-path= --config=unseen -Z= --color= -q -v
cargo nextest:: @sub @closed
cargo test|cargo t|cargo build|cargo b|cargo bench|cargo doc|cargo d|cargo nextest run|cargo nextest list|cargo nextest show-config|cargo llvm-cov|cargo tarpaulin|cargo udeps|cargo expand|cargo bloat:: @opaque @harmless --config=unseen --target-dir,--out-dir,--artifact-dir=out --workspace,--all --exclude= --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets --doc --no-run --no-fail-fast --all-features --no-default-features -r,--release -v,--verbose -q,--quiet --locked --offline --frozen --future-incompat-report --keep-going --ignore-rust-version --no-deps --document-private-items -h,--help -p,--package= --manifest-path= -F,--features= -j,--jobs= --target= --profile= --message-format= --color= -Z= -E,--filter-expr,--filterset= --retries= --run-ignored= --fail-fast --text --summary-only --skip-clean --ignore-tests
cargo test --:: @harmless --nocapture --no-capture --test-threads= --exact --ignored --include-ignored --skip= --list -q,--quiet --show-output --color= --format= --report-time --ensure-time --shuffle --shuffle-seed= -Z= --bench --test --force-run-in-process -h,--help
cargo run|cargo r:: @stops @opaque @harmless --config=unseen --target-dir,--out-dir,--artifact-dir=out --workspace,--all --exclude= --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets --doc --no-run --no-fail-fast --all-features --no-default-features -r,--release -v,--verbose -q,--quiet --locked --offline --frozen --future-incompat-report --keep-going --ignore-rust-version --no-deps --document-private-items -h,--help -p,--package= --manifest-path= -F,--features= -j,--jobs= --target= --profile= --message-format= --color= -Z=
cargo rustc|cargo rustdoc:: @opaque @harmless --config=unseen --target-dir,--out-dir,--artifact-dir=out --workspace,--all --exclude= --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets --doc --no-run --no-fail-fast --all-features --no-default-features -r,--release -v,--verbose -q,--quiet --locked --offline --frozen --future-incompat-report --keep-going --ignore-rust-version --no-deps --document-private-items -h,--help -p,--package= --manifest-path= -F,--features= -j,--jobs= --target= --profile= --message-format= --color= -Z= --crate-type= --print=
cargo rustc --:: @writes
cargo hack:: @again --each-feature --feature-powerset --workspace --all -p,--package= --exclude= --optional-deps?= --features= --skip= --depth= --no-private --ignore-private
cargo miri:: @again
cargo tree|cargo metadata|cargo search|cargo info|cargo version|cargo help|cargo pkgid|cargo locate-project|cargo read-manifest|cargo verify-project|cargo report|cargo outdated|cargo machete|cargo geiger:: --config=unseen -p,--package= --manifest-path= --target=
cargo audit:: @sub
cargo audit fix:: @writes
cargo fmt:: @writes @through --check:quiet -p= --manifest-path= --all -v,--verbose -q,--quiet --package= --message-format= --edition= -l --color= --config=
cargo clippy|cargo check|cargo c:: --fix:writes @opaque @harmless --config=unseen --target-dir,--out-dir,--artifact-dir=out --workspace,--all --exclude= --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --all-targets --doc --no-run --no-fail-fast --all-features --no-default-features -r,--release -v,--verbose -q,--quiet --locked --offline --frozen --future-incompat-report --keep-going --ignore-rust-version --no-deps --document-private-items -h,--help -p,--package= --manifest-path= -F,--features= -j,--jobs= --target= --profile= --message-format= --color= -Z=
cargo clippy --:: @harmless -W,--warn= -A,--allow= -D,--deny= -F,--forbid= --cap-lints= --no-deps
apt install|apt remove|apt purge|apt update|apt upgrade|apt full-upgrade|apt autoremove|apt clean|apt autoclean|apt edit-sources|apt reinstall|apt build-dep|apt source|apt download|apt-get install|apt-get remove|apt-get purge|apt-get update|apt-get upgrade|apt-get dist-upgrade|apt-get autoremove|apt-get clean|apt-get autoclean|apt-get build-dep|apt-get source|apt-get download|apt-get reinstall|aptitude install|aptitude remove|aptitude update:: @writes -s:quiet --simulate:quiet --dry-run:quiet -y,--yes,--assume-yes -q,--quiet -qq --no-install-recommends --install-recommends -f,--fix-broken -V,--verbose-versions --purge -t,--target-release= --reinstall --only-upgrade --allow-downgrades -u -m --no-upgrade --autoremove
yum install|yum remove|yum update|yum upgrade|dnf install|dnf remove|dnf update|dnf upgrade|dnf reinstall|microdnf install|zypper install|zypper in|zypper remove|zypper update|apk add|apk del|apk update|apk upgrade|apk fix|brew install|brew uninstall|brew remove|brew upgrade|brew update|brew link|brew unlink|brew tap|brew untap|brew cleanup|brew reinstall|brew services|port install|port uninstall|snap install|snap remove|snap refresh|flatpak install|flatpak uninstall|flatpak update|nix build|nix profile|guix install|guix remove|choco install|winget install|scoop install|opkg install:: @writes --simulate:quiet --dry-run:quiet
apt|apt-get|aptitude|apt-cache|apt-mark|yum|dnf|microdnf|zypper:: @sub @closed -o,--option=unseen -c,--config-file,--config=unseen --setopt=unseen -q -y -s,--simulate,--dry-run:quiet -V,-v,--version,-h,--help:quiet
apt list|apt show|apt search|apt policy|apt depends|apt rdepends|apt madison|apt-get check|apt-get changelog|aptitude search|aptitude show|apt-cache search|apt-cache show|apt-cache showpkg|apt-cache policy|apt-cache depends|apt-cache rdepends|apt-cache madison|apt-cache pkgnames|apt-cache stats|apt-mark showmanual|apt-mark showauto|apt-mark showhold|yum list|yum info|yum search|yum repolist|yum provides|yum deplist|dnf list|dnf info|dnf search|dnf repolist|dnf provides|dnf repoquery|microdnf repoquery|zypper search|zypper se|zypper info|zypper lr|zypper repos:: -o,--option=unseen -c,--config-file,--config=unseen --setopt=unseen
composer:: @opaque @sub -d,--working-dir= -n -q -v --no-interaction --no-plugins --no-scripts -V,--version,-h,--help:quiet
composer show|composer info|composer outdated|composer why|composer depends|composer why-not|composer prohibits|composer validate|composer search|composer licenses|composer check-platform-reqs|composer diagnose|composer about|composer list|composer help|composer status|composer audit|composer suggests|composer fund::
cpan:: @writes @inline
gem open|gem exec:: @hidden
apt-key|add-apt-repository|xbps-install|xbps-remove|emerge|nix-env|nix-build|nix-store|dpkg-reconfigure|easy_install|cpanm|install-info|update-rc.d:: @writes
dpkg:: -i,--install:writes -r,--remove:writes -P,--purge:writes --unpack:writes --configure:writes -x,--extract:writes -X,--vextract:writes -e,--control:writes -b,--build:writes -R:writes --set-selections:writes --add-architecture=writes --update-avail:writes -a
dpkg-deb:: -x,--extract:writes -X,--vextract:writes -R,--raw-extract:writes -e,--control:writes -b,--build:writes
rpm:: -E,--eval=code -D,--define,--predefine=code --pipe=script --load,--rcfile,--macros=unseen -i,--install:writes -U,--upgrade:writes -F,--freshen:writes -e,--erase:writes --import:writes --rebuilddb:writes -q,--query:quiet
pacman|yay|paru:: -S?=writes -R?=writes -U?=writes -D?=writes --sync:writes --remove:writes --upgrade:writes
rails|django-admin|ng|vue|copier:: @opaque @sub
django-admin shell|django-admin dbshell|rails runner|rails r|rails console|rails c|rails dbconsole|rails db:: @inline
create-react-app|yo|cookiecutter|degit|plop|hygen:: @writes
rails new|rails generate|rails g|rails destroy|rails d|ng new|ng generate|ng g|ng add|ng update|vue create|django-admin startproject|django-admin startapp|copier copy|copier update:: @writes
`
