package jail

import (
	"slices"
	"strings"
	"sync"
)

// What holds in every profile. Paths begin with "~/", with "/", or are relative to the workspace.

// Setting is a file by which a client hooks Interlock in: it begins with File, in a folder of the
// name Folder; in any folder when Folder is empty.
type Setting struct{ Folder, File string }

// Settings are the files that hook Interlock into clients. No call changes them (S13.2).
var Settings = []Setting{
	{".claude", "settings"},
	{"claude-code", "managed-"},
	{"", ".mcp.json"},
	{"", ".claude.json"},
	{".codex", "hooks.json"},
	{".codex", "config.toml"},
	{".cursor", "hooks.json"},
	{".cursor", "mcp.json"},
	{".gemini", "settings.json"},
	{".github", "hooks"},
	{".github", "copilot"},
}

// hookFiles are the places of Settings in a workspace. The folder of a client is protected as a
// whole, but for .github, which has much else. No rule lifts this.
var hookFiles = sync.OnceValue(func() (paths []string) {
	for _, s := range Settings {
		switch {
		case s.Folder == "":
			paths = append(paths, s.File)
		case s.Folder == ".github":
			paths = append(paths, s.Folder+"/"+s.File)
		case strings.HasPrefix(s.Folder, "."):
			paths = append(paths, s.Folder)
		}
	}
	return append(paths, ".github/copilot-instructions.md", ".interlock")
})

// runLater are files that programs outside of the jail run or obey later: an entry of `write` with
// exactly this path lifts the protection.
var runLater = sync.OnceValue(func() []string {
	return strings.Fields(`
.git/hooks .git/config .git/config.worktree .git/commondir .git/info/attributes .git/info/exclude .git/modules .git/worktrees .gitmodules
.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath
.envrc .direnv .husky .lefthook .pre-commit-config.yaml lefthook.yml
.vscode/tasks.json .vscode/launch.json .vscode/settings.json .vscode/extensions.json .vscode/mcp.json .idea .devcontainer .zed .fleet
.nvim.lua .nvimrc .exrc .vimrc .dir-locals.el
~/.profile ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bashrc ~/.bash_aliases ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout
~/.config/fish ~/.kshrc ~/.inputrc ~/.tmux.conf ~/.vimrc ~/.config/nvim ~/.emacs ~/.emacs.d ~/.pam_environment ~/.xprofile ~/.xinitrc ~/.xsessionrc
~/.config/autostart ~/.config/systemd ~/.config/environment.d ~/.local/share/systemd ~/.local/share/applications ~/.local/bin ~/bin
~/.gitconfig ~/.config/git ~/.config/direnv ~/.config/Code ~/.npmrc ~/.config/pip ~/.cargo/config ~/.cargo/config.toml ~/.cargo/bin ~/go/bin
~/.claude ~/.claude.json ~/.codex ~/.cursor ~/.gemini ~/.copilot ~/.config/interlock ~/.local/state/interlock`)
})

// hidden are files and folders with credentials, and sockets of services that act for the user.
var hidden = sync.OnceValue(func() []string {
	return strings.Fields(`
~/.ssh ~/.aws ~/.azure ~/.config/gcloud ~/.kube ~/.docker ~/.config/containers ~/.config/gh ~/.config/hub ~/.config/glab-cli ~/.netrc ~/_netrc
~/.git-credentials ~/.config/git/credentials ~/.npmrc ~/.yarnrc.yml ~/.pypirc ~/.cargo/credentials ~/.cargo/credentials.toml ~/.gem/credentials
~/.config/composer/auth.json ~/.composer/auth.json ~/.nuget/NuGet/NuGet.Config ~/.m2/settings.xml ~/.m2/settings-security.xml ~/.gradle/gradle.properties
~/.gnupg ~/.password-store ~/.local/share/keyrings ~/.local/share/kwalletd ~/.config/op ~/.1password ~/.config/Bitwarden ~/.config/keepassxc
~/.mozilla ~/.thunderbird ~/.config/google-chrome ~/.config/chromium ~/.config/BraveSoftware ~/.config/microsoft-edge ~/.config/vivaldi ~/.config/opera
~/snap/firefox ~/snap/chromium ~/.var/app ~/.vault-token ~/.terraform.d/credentials.tfrc.json ~/.config/doctl ~/.config/hcloud ~/.oci ~/.config/rclone
~/.fly ~/.config/flyctl ~/.config/netlify ~/.vercel ~/.local/share/com.vercel.cli ~/.config/heroku ~/.config/stripe ~/.s3cfg ~/.boto ~/.pgpass ~/.my.cnf
~/.claude.json ~/.claude/.credentials.json ~/.claude/projects ~/.claude/history.jsonl ~/.codex/auth.json ~/.codex/sessions ~/.gemini/oauth_creds.json
~/.config/github-copilot ~/.copilot ~/.cursor/mcp.json ~/.bash_history ~/.zsh_history ~/.python_history ~/.psql_history ~/.Xauthority
/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private /etc/krb5.keytab /etc/kubernetes /etc/docker/key.json
/etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ecdsa_key /etc/ssh/ssh_host_ed25519_key
/var/run/secrets /run/secrets /run/user /run/docker.sock /var/run/docker.sock /run/docker /run/containerd /run/podman /run/crio /run/dbus /run/systemd/private
/var/lib/docker /var/lib/containerd /var/lib/kubelet /var/spool/cron /var/spool/at /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf`)
})

// caches are folders of the user that a command changes in a copy of its run.
var caches = sync.OnceValue(func() []string {
	return strings.Fields(`
~/.cache ~/go/pkg ~/.npm ~/.yarn ~/.bun ~/.local/share/pnpm ~/.local/share/uv ~/.deno ~/.cargo/registry ~/.cargo/git ~/.m2 ~/.gradle ~/.ivy2 ~/.sbt ~/.nuget
~/.local/share/NuGet ~/.dotnet ~/.pub-cache ~/.bundle ~/.composer/cache ~/.stack ~/.cabal ~/.opam ~/.hex ~/.mix ~/.ccache ~/.terraform.d/plugin-cache`)
})

// secretVariables are patterns of variables that hold a secret, or lead to a service that acts for
// the user.
var secretVariables = sync.OnceValue(func() []string {
	return strings.Fields(`
TOKEN *_TOKEN *_TOKEN_* *SECRET* *PASSWORD* *PASSWD* *PASSPHRASE* *_PASS *API_KEY* *APIKEY* *ACCESS_KEY* *PRIVATE_KEY* *SIGNING_KEY* *ENCRYPTION_KEY*
*CREDENTIAL* *_PAT *_AUTH *_DSN AWS_* AZURE_* CLOUDSDK_* KUBECONFIG DOCKER_* CONTAINER_HOST NETRC SSH_* GIT_ASKPASS GPG_AGENT_INFO GNUPGHOME DBUS_*
XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY XAUTHORITY INTERLOCK_* VAULT_* NPM_CONFIG_USERCONFIG`)
})

// credentials are what a program needs to act for the user: files that are hidden and variables that
// are removed otherwise.
type credentials struct {
	programs, files, variables []string
	// builds is true of programs that also build and test what files of the workspace say.
	builds bool
}

// lent has the programs whose credentials are lent to a line for which the author's allowed_commands
// name them.
var lent = sync.OnceValue(func() []credentials {
	return []credentials{
		lendBuilder(
			"git git-lfs", "~/.ssh ~/.git-credentials ~/.config/git/credentials ~/.netrc ~/.gnupg ~/.config/gh ~/.config/glab-cli",
			"SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS GNUPGHOME GH_TOKEN GITHUB_TOKEN GITLAB_TOKEN",
		),
		lend("ssh scp sftp rsync mosh autossh", "~/.ssh", "SSH_AUTH_SOCK SSH_ASKPASS"),
		lend("gh hub", "~/.config/gh ~/.config/hub", "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN"),
		lend("glab", "~/.config/glab-cli", "GITLAB_TOKEN GITLAB_ACCESS_TOKEN"),
		lend(
			"aws sam cdk eksctl", "~/.aws",
			"AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_SECURITY_TOKEN AWS_PROFILE AWS_DEFAULT_PROFILE AWS_REGION AWS_DEFAULT_REGION AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE",
		),
		lend("az azd", "~/.azure", "AZURE_CONFIG_DIR AZURE_CLIENT_ID AZURE_CLIENT_SECRET AZURE_TENANT_ID AZURE_SUBSCRIPTION_ID"),
		lend("gcloud gsutil bq", "~/.config/gcloud ~/.boto", "GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG CLOUDSDK_CORE_PROJECT CLOUDSDK_AUTH_ACCESS_TOKEN"),
		lend(
			"kubectl helm k9s kustomize flux argocd skaffold", "~/.kube ~/.config/gcloud ~/.aws ~/.azure",
			"KUBECONFIG AWS_PROFILE AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS",
		),
		lend(
			"terraform tofu terragrunt pulumi", "~/.terraform.d/credentials.tfrc.json ~/.aws ~/.azure ~/.config/gcloud",
			"AWS_PROFILE AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS PULUMI_ACCESS_TOKEN TF_TOKEN_app_terraform_io",
		),
		lend(
			"docker docker-compose podman buildah skopeo nerdctl", "~/.docker ~/.config/containers /run/docker.sock /var/run/docker.sock /run/podman",
			"DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_BUILDKIT CONTAINER_HOST",
		),
		lendBuilder("npm npx pnpm yarn", "~/.npmrc ~/.yarnrc.yml", "NPM_TOKEN NODE_AUTH_TOKEN NPM_CONFIG_USERCONFIG"),
		lendBuilder("bun", "~/.npmrc", "NPM_TOKEN NODE_AUTH_TOKEN NPM_CONFIG_TOKEN"),
		lendBuilder("twine pip pip3 uv poetry hatch flit pdm", "~/.pypirc ~/.netrc", "TWINE_PASSWORD UV_PUBLISH_TOKEN UV_PUBLISH_PASSWORD HATCH_INDEX_AUTH FLIT_PASSWORD PDM_PUBLISH_PASSWORD"),
		lendBuilder("cargo", "~/.cargo/credentials ~/.cargo/credentials.toml", "CARGO_REGISTRY_TOKEN"),
		lendBuilder("gem bundle", "~/.gem/credentials", "GEM_HOST_API_KEY RUBYGEMS_API_KEY"),
		lendBuilder("composer", "~/.config/composer/auth.json ~/.composer/auth.json", "COMPOSER_AUTH"),
		lendBuilder("dotnet nuget", "~/.nuget/NuGet/NuGet.Config", "NUGET_API_KEY"),
		lendBuilder("mvn mvnw", "~/.m2/settings.xml ~/.m2/settings-security.xml ~/.gnupg", "GPG_PASSPHRASE MAVEN_GPG_PASSPHRASE"),
		lendBuilder("gradle gradlew", "~/.gradle/gradle.properties ~/.gnupg", ""),
		lend("gpg gpg2", "~/.gnupg", "GNUPGHOME GPG_AGENT_INFO"),
		lend("vault", "~/.vault-token", "VAULT_TOKEN VAULT_ADDR VAULT_NAMESPACE VAULT_CACERT"),
		lend("op", "~/.config/op", "OP_SERVICE_ACCOUNT_TOKEN OP_CONNECT_TOKEN"),
		lend("psql pg_dump pg_restore createdb dropdb", "~/.pgpass", "PGPASSWORD"),
		lend("mysql mysqldump mariadb", "~/.my.cnf", "MYSQL_PWD"),
		lend("fly flyctl", "~/.fly ~/.config/flyctl", "FLY_API_TOKEN FLY_ACCESS_TOKEN"),
		lend("vercel", "~/.vercel ~/.local/share/com.vercel.cli", "VERCEL_TOKEN"),
		lend("netlify", "~/.config/netlify", "NETLIFY_AUTH_TOKEN"),
		lend("heroku", "~/.netrc ~/.config/heroku", "HEROKU_API_KEY"),
		lend("doctl", "~/.config/doctl", "DIGITALOCEAN_ACCESS_TOKEN"),
		lend("hcloud", "~/.config/hcloud", "HCLOUD_TOKEN"),
		lend("wrangler", "", "CLOUDFLARE_API_TOKEN CLOUDFLARE_API_KEY"),
		lend("rclone", "~/.config/rclone", ""),
		lend("stripe", "~/.config/stripe", "STRIPE_API_KEY"),
	}
})

func lend(programs, files, variables string) credentials {
	return credentials{programs: strings.Fields(programs), files: strings.Fields(files), variables: strings.Fields(variables)}
}

func lendBuilder(programs, files, variables string) credentials {
	c := lend(programs, files, variables)
	c.builds = true
	return c
}

// fetching are programs without credentials of their own that reach other machines.
var fetching = sync.OnceValue(func() []string {
	return strings.Fields(`curl wget wget2 aria2c http https httpie xh lynx w3m links dig host nslookup whois ping nc ncat telnet ftp lftp
go rustup apt apt-get brew dnf yum apk pacman zypper pipx conda mamba micromamba asdf mise nix snap flatpak`)
})

// Client reports a program that reaches other machines in any of its commands; builds is true of those
// that also build and test.
func Client(program string) (client, builds bool) {
	for _, c := range lent() {
		if slices.Contains(c.programs, program) {
			return true, c.builds
		}
	}
	return slices.Contains(fetching(), program), program == "go"
}

// Credentials returns the files that a program needs to act for the user.
func Credentials(program string) (files []string) {
	files, _ = lentTo([]string{program})
	return files
}

// mostProcesses stops a fork bomb, and lets builds and tests of many threads pass.
const mostProcesses = 4096
