package command

import (
	"regexp"
	"slices"
	"strings"
)

// A variable in a program's environment can make it load code, read other settings or reach other places. These lists name
// such variables; where a name ends in "*", all that begin so. They are used for env of exec outside the sandbox, and for
// assignments in scripts.
var (
	// loaderVariables make the loader or an interpreter load code, wherever the program runs.
	loaderVariables = newNames(`DYLD_* LD_* BASH_FUNC_* NODE_OPTIONS NODE_PATH NODE_REDIRECT_WARNINGS NODE_REPL_EXTERNAL_MODULE NODE_REPL_HISTORY NODE_V8_COVERAGE PYTHONHOME PYTHONPATH
		PYTHONBREAKPOINT PERL5LIB PERL5OPT RUBYLIB RUBYOPT RUBYSHELL BASHOPTS BASH_ENV ENV KSH_ENV SHELL SHELLOPTS PS4 IFS FPATH BROWSER GIT_ALLOW_PROTOCOL GIT_EDITOR GIT_EXTERNAL_DIFF GIT_DIR
		GIT_WORK_TREE GIT_COMMON_DIR GIT_EXEC_PATH GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE GIT_PROTOCOL_FROM_USER GIT_SEQUENCE_EDITOR GIT_TEMPLATE_DIR
		GIT_SSL_NO_VERIFY GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_HOOK_PATH CC CPP CXX CXXCPP CARGO_BUILD_RUSTC* CARGO_BUILD_RUSTDOC RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC
		CMAKE_C_COMPILER CMAKE_CXX_COMPILER CMAKE_TOOLCHAIN_FILE GCONV_PATH GLIBC_TUNABLES SSLKEYLOGFILE HOSTALIASES JAVA_OPTS JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CATALINA_OPTS
		CORECLR_PROFILER* DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS MAVEN_OPTS SBT_OPTS GRADLE_OPTS ANT_OPTS MAKE MAKEFLAGS MFLAGS HGRCPATH HGEDITOR HGMERGE EXINIT VIMINIT MYVIMRC GVIMINIT
		LUA_INIT* EMACSLOADPATH SVN_EDITOR SVN_SSH BZR_EDITOR BZR_SSH BZR_PLUGIN_PATH SUDO_ASKPASS JULIA_EDITOR CONFIG_SITE CONFIG_SHELL HELM_PLUGINS PACKER_PLUGIN_PATH VAGRANT_VAGRANTFILE ERL_AFLAGS
		ERL_FLAGS ERL_ZFLAGS ELIXIR_ERL_OPTIONS R_ENVIRON* R_PROFILE* TCLLIBPATH DEVELOPER_DIR SDKROOT`)
	// placeVariables change where a program finds its settings, whom it trusts, what it opens, or hold secrets.
	placeVariables = newNames(`GIT_CONFIG* NPM_CONFIG_* CARGO_REGISTRIES_* TF_VAR_* HOME GRADLE_USER_HOME ZDOTDIR GIT_SSH_COMMAND GIT_SSH GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS LESSOPEN LESSCLOSE LESS
		LESSKEY* PAGER MANPAGER GIT_PAGER EDITOR VISUAL FCEDIT SUDO_EDITOR PROMPT_COMMAND HISTFILE PERL5DB PERL5DBCMD OPENSSL_CONF OPENSSL_ENGINES PYTHONSTARTUP WGETRC CURL_HOME CLASSPATH CFLAGS LDFLAGS
		CGO_CFLAGS CGO_LDFLAGS GOFLAGS GOPROXY GONOSUMCHECK GONOSUMDB GONOPROXY GOPRIVATE GOENV GOPATH PHPRC PHP_INI_SCAN_DIR DENO_DIR BUN_CONFIG_REGISTRY YARN_RC_FILENAME HTTP_PROXY HTTPS_PROXY ALL_PROXY
		NO_PROXY NODE_TLS_REJECT_UNAUTHORIZED NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE DOCKER_HOST DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_CONTEXT PIP_* UV_*
		LIBRARY_PATH CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH PYTHONUSERBASE RUSTFLAGS RUSTUP_* CARGO_HOME VIRTUAL_ENV LUA_PATH* LUA_CPATH* GEM_HOME GEM_PATH BUNDLE_GEMFILE COMPOSER_HOME
		CONDA_DEFAULT_ENV CONDA_PREFIX XDG_* AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS AZURE_AUTH_LOCATION HELM_HOME ANSIBLE_*
		R_LIBS_USER TF_CLI_CONFIG_FILE TF_PLUGIN_CACHE_DIR SYSTEMROOT WINDIR AMQP_URL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_SECURITY_TOKEN AWS_CONTAINER_CREDENTIALS_*
		AZURE_CLIENT_ID AZURE_CLIENT_SECRET DATABASE_URL GH_TOKEN GITHUB_TOKEN GITLAB_TOKEN MONGODB_URI NODE_AUTH_TOKEN NPM_TOKEN REDIS_URL SSH_AUTH_SOCK RIPGREP_CONFIG_PATH GREP_OPTIONS TAR_OPTIONS
		ZIPOPT UNZIP CDPATH`)
	cargoTarget = regexp.MustCompile(`^CARGO_TARGET_.*_(LINKER|RUNNER)$`)
	// validName is what every shell and system takes for the name of a variable ("(" for those of 32-bit Windows programs).
	validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_()]*$`)
)

type names struct {
	exact    map[string]bool
	prefixes []string
}

func newNames(list string) names {
	n := names{exact: make(map[string]bool)}
	for _, f := range strings.Fields(list) {
		if p, ok := strings.CutSuffix(f, "*"); ok {
			n.prefixes = append(n.prefixes, p)
		} else {
			n.exact[f] = true
		}
	}
	return n
}

func (n names) has(name string) bool {
	return n.exact[name] || slices.ContainsFunc(n.prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// harmfulVariable reports whether an assignment to the variable can change what programs run, load or reach. Names are
// compared without case, as some programs read both.
func harmfulVariable(name string) bool {
	up := strings.ToUpper(name)
	return up == "PATH" || loaderVariables.has(up) || placeVariables.has(up) || cargoTarget.MatchString(up)
}

// CheckEnvironment says which variables of a call may not be set. outside says that the command runs outside the sandbox;
// inside, only what makes the loader or an interpreter load code is refused, and PATH is put in front by the caller. blocked and invalid are sorted; both empty means that all may be set.
func CheckEnvironment(variables map[string]string, outside bool) (blocked, invalid []string) {
	for name, value := range variables {
		up := strings.ToUpper(name)
		switch {
		case !validName.MatchString(name) || strings.ContainsRune(value, 0):
			invalid = append(invalid, name)
		case (up == "PAGER" || up == "GIT_PAGER") && (value == "" || value == "cat"):
			// no pager
		case outside && harmfulVariable(name), !outside && loaderVariables.has(up):
			blocked = append(blocked, name)
		}
	}
	slices.Sort(blocked)
	slices.Sort(invalid)
	return blocked, invalid
}
