package command

import (
	"strings"
)

// wrapper describes a program that runs the rest of its words.
type wrapper struct {
	kind    LayerKind
	options optionSet
	// operands is how many words come before the program.
	operands int
	// assigns says that NAME=value words may come before the program.
	assigns bool
	// changes are options with which it is a Changer.
	changes []string
	// none are options with which it runs nothing of its words.
	none []string
	// script are options whose value is shell text that it runs.
	script []string
	doubt  Doubt
}

func wraps(kind LayerKind, operands int, options string) wrapper {
	return wrapper{kind: kind, operands: operands, options: parseOptions(options)}
}

func (w wrapper) with(f func(*wrapper)) wrapper { f(&w); return w }

// wrappers are the programs that run what follows them. Sources: their man pages (GNU coreutils, util-linux, macOS, sudo).
var wrappers = map[string]wrapper{
	"nice":       wraps(Wrapper, 0, "-n=N --adjustment=N -5 --help --version"),
	"nohup":      wraps(Wrapper, 0, "--help --version"),
	"timeout":    wraps(Wrapper, 1, "-s=SIGNAL --signal=SIGNAL -k=TIME --kill-after=TIME -f --foreground -p --preserve-status -v --verbose --help --version"),
	"stdbuf":     wraps(Wrapper, 0, "-i=MODE --input=MODE -o=MODE --output=MODE -e=MODE --error=MODE --help --version"),
	"caffeinate": wraps(Wrapper, 0, "-d -i -m -s -u -t=TIME -w=PID"),
	"time": wraps(Wrapper, 0, "-p --portability -l -h -a --append -v --verbose -q --quiet -f=FORMAT --format=FORMAT -o=FILE --output=FILE").with(func(w *wrapper) {
		w.changes = []string{"-o", "--output", "-a", "--append"}
	}),
	"ionice":       wraps(Changer, 0, "-c=CLASS --class=CLASS -n=LEVEL --classdata=LEVEL -p=PID --pid=PID -t --ignore").with(func(w *wrapper) { w.none = []string{"-p", "--pid"} }),
	"chrt":         wraps(Changer, 1, "-a -b -d -f -i -m -o -p -r -R -T=NS -P=NS -D=NS -v --batch --fifo --idle --other --rr --verbose"),
	"taskset":      wraps(Changer, 1, "-a -p -c --all-tasks --pid --cpu-list"),
	"numactl":      wraps(Changer, 0, "-i=NODES --interleave=NODES -m=NODES --membind=NODES -N=NODES --cpunodebind=NODES -C=CPUS --physcpubind=CPUS -l --localalloc"),
	"cpulimit":     wraps(Changer, 0, "-l=N --limit=N -m --include-children -z --lazy -i -v --verbose -b --background -f --foreground"),
	"setsid":       wraps(Changer, 0, "-c --ctty -f --fork -w --wait"),
	"setpriv":      wraps(Changer, 0, "--reuid=ID --regid=ID --clear-groups --keep-groups --init-groups --groups=IDS --no-new-privs --inh-caps=CAPS --bounding-set=CAPS --reset-env"),
	"setarch":      wraps(Changer, 1, "-R --addr-no-randomize -v --verbose -3 -B -F -I -L -S -T -X -Z --uname-2.6"),
	"linux32":      wraps(Changer, 0, "-R -v"),
	"linux64":      wraps(Changer, 0, "-R -v"),
	"arch":         wraps(Changer, 0, "-3 -6 -c -h -d=NAME -e=ASSIGNMENT --arm64 --arm64e --x86_64 --i386"),
	"xcrun":        wraps(Changer, 0, "-v --verbose -n --no-cache -k --kill-cache -l --log --sdk=SDK --toolchain=NAME -r --run"),
	"unbuffer":     wraps(Changer, 0, "-p"),
	"xvfb-run":     wraps(Changer, 0, "-a --auto-servernum -e=FILE --error-file=FILE -l --listen-tcp -n=N --server-num=N -s=ARGS --server-args=ARGS -w=N --wait=N"),
	"eatmydata":    wraps(Changer, 0, ""),
	"proxychains":  wraps(Changer, 0, "-q -f=FILE"),
	"proxychains4": wraps(Changer, 0, "-q -f=FILE"),
	"torify":       wraps(Changer, 0, "-v"),
	"torsocks":     wraps(Changer, 0, "-i"),
	"catchsegv":    wraps(Changer, 0, ""),
	"strace":       wraps(Changer, 0, "-f -c -C -q -t -T -v -x -y -e=EXPR -o=FILE -p=PID -s=N -E=VAR -u=USER"),
	"ltrace":       wraps(Changer, 0, "-f -c -C -S -t -T -e=EXPR -o=FILE -p=PID -s=N -u=USER"),
	"sandbox-exec": wraps(Changer, 0, "-f=FILE -n=NAME -p=PROFILE -D=KEY"),
	"firejail":     wraps(Changer, 0, "--quiet --private --noprofile"),
	"gosu":         wraps(Changer, 1, "").with(elevates),
	"su-exec":      wraps(Changer, 1, "").with(elevates),
	"chroot":       wraps(Changer, 1, "--groups=LIST --userspec=SPEC --skip-chdir -u=USER -g=GROUP -G=LIST").with(elevates),
	"unshare":      wraps(Changer, 0, "-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --cgroup --fork --map-root-user --map-current-user").with(elevates),
	"nsenter":      wraps(Changer, 0, "-a -m -u -i -n -p -U -C -T -F -t=PID --target=PID --all").with(elevates),
	"pkexec":       wraps(Changer, 0, "--user=USER --disable-internal-agent --keep-cwd").with(elevates),
	"doas":         wraps(Changer, 0, "-n -s -L -a=STYLE -C=FILE -u=USER").with(func(w *wrapper) { w.doubt = Elevated; w.none = []string{"-C", "-L"} }),
	"systemd-run": wraps(Changer, 0, "--user --scope -P --pipe -t --pty -q --quiet --wait -u=UNIT --unit=UNIT -p=PROPERTY --property=PROPERTY -d -G --collect -S --shell -E=VAR --setenv=VAR --uid=UID --gid=GID").with(func(w *wrapper) {
		w.doubt = Remote // the system's manager runs it, in a folder of its own
	}),
	"dbus-run-session": wraps(Changer, 0, "--config-file=FILE --dbus-daemon=FILE"),
	"sudo": wraps(Changer, 0, `-A --askpass -B --bell -b --background -C=N --close-from=N -D=DIR --chdir=DIR -E --preserve-env[=LIST] -g=GROUP --group=GROUP -H --set-home -h=HOST --host=HOST
		-K --remove-timestamp -k --reset-timestamp -l --list -n --non-interactive -N --no-update -P --preserve-groups -p=PROMPT --prompt=PROMPT -R=DIR --chroot=DIR -r=ROLE -S --stdin -t=TYPE
		-T=TIME -u=USER --user=USER -v --validate -V --version -i --login -s --shell -e --edit`).with(func(w *wrapper) {
		w.assigns, w.doubt = true, Elevated
		w.none = []string{"-l", "--list", "-v", "--validate", "-V", "--version", "-K", "--remove-timestamp", "-e", "--edit"}
	}),
	"su": wraps(Changer, 1, "-c=SCRIPT --command=SCRIPT -l --login -m -p --preserve-environment -s=FILE --shell=FILE -f -g=GROUP -G=GROUP").with(func(w *wrapper) {
		w.doubt, w.script, w.none = Elevated, []string{"-c", "--command"}, []string{"-c", "--command"}
	}),
	"runuser": wraps(Changer, 0, "-u=USER --user=USER -c=SCRIPT --command=SCRIPT -l --login -m -p -s=FILE --shell=FILE").with(func(w *wrapper) {
		w.doubt, w.script, w.none = Elevated, []string{"-c", "--command"}, []string{"-c", "--command"}
	}),
	"flock": wraps(Changer, 1, "-s --shared -x -e --exclusive -u --unlock -n --nb --nonblock -w=TIME --timeout=TIME -o --close -E=N --conflict-exit-code=N -c=SCRIPT --command=SCRIPT -F --no-fork --verbose").with(func(w *wrapper) {
		w.script, w.none = []string{"-c", "--command"}, []string{"-c", "--command"}
	}),
	"script": wraps(Opaque, 1, "-a --append -c=SCRIPT --command=SCRIPT -e --return -f --flush -q --quiet -t -k -p -r").with(func(w *wrapper) {
		w.script = []string{"-c", "--command"}
	}),
}

func elevates(w *wrapper) { w.doubt = Elevated }

// packages run a program out of a package, or one that a tool's environment holds. The name that follows says nothing of
// what runs.
var packages = map[string]struct {
	verbs   []string
	options optionSet
}{
	"npx":    {nil, parseOptions("-y --yes --no -p=PACKAGE --package=PACKAGE -c=SCRIPT --call=SCRIPT -q --quiet --no-install --prefer-offline --ignore-existing")},
	"bunx":   {nil, parseOptions("--bun --silent --verbose -p=PACKAGE --package=PACKAGE")},
	"npm":    {[]string{"exec", "x"}, parseOptions("-y --yes --no -p=PACKAGE --package=PACKAGE -c=SCRIPT --call=SCRIPT --silent -s -C=DIR --prefix=DIR -w=NAME --workspace=NAME")},
	"pnpm":   {[]string{"exec", "dlx", "node"}, parseOptions("-r --recursive -C=DIR --dir=DIR --silent --reporter=NAME -c --shell-mode --parallel -w --workspace-root --package=PACKAGE")},
	"yarn":   {[]string{"exec", "dlx", "node"}, parseOptions("-q --quiet -p=PACKAGE --package=PACKAGE --cwd=DIR --silent -s")},
	"bun":    {[]string{"x"}, parseOptions("--bun --silent")},
	"uvx":    {nil, parseOptions("-q --quiet --from=PACKAGE --with=PACKAGE -p=VERSION --python=VERSION")},
	"uv":     {[]string{"run"}, parseOptions("-q --quiet --with=PACKAGE -p=VERSION --python=VERSION --no-project --isolated --locked --frozen --offline -s --script -m --module")},
	"pipx":   {[]string{"run"}, parseOptions("-q --quiet --spec=PACKAGE --no-cache --python=VERSION")},
	"poetry": {[]string{"run"}, parseOptions("-q --quiet -C=DIR --directory=DIR")},
	"pipenv": {[]string{"run"}, parseOptions("-q")},
	"bundle": {[]string{"exec"}, parseOptions("--keep-file-descriptors")},
	"rbenv":  {[]string{"exec"}, parseOptions("")},
	"pyenv":  {[]string{"exec"}, parseOptions("")},
	"mise":   {[]string{"exec", "x"}, parseOptions("-q --quiet")},
	"direnv": {[]string{"exec"}, parseOptions("")},
	"conda":  {[]string{"run"}, parseOptions("-n=NAME --name=NAME -p=DIR --prefix=DIR --no-capture-output --live-stream")},
	"rustup": {[]string{"run"}, parseOptions("--install")},
}

// shells are the programs that read shell text.
var shells = set("sh bash dash ash ksh mksh yash zsh fish rbash csh tcsh")

// shellOptions are those of bash and dash.
var shellOptions = parseOptions(`-a -b -c -C -e -E -f -h -H -i -k -l -m -n -o=OPTION -O=OPTION -p -P -r -s -t -T -u -v -x -B -D --login --noprofile --norc --posix --restricted --verbose
	--rcfile=FILE --init-file=FILE --noediting --debug --debugger --dump-strings --dump-po-strings --wordexp --help --version --pretty-print`)

var (
	envOptions = parseOptions(`-i --ignore-environment -0 --null -u=NAME --unset=NAME -C=DIR --chdir=DIR -S=TEXT --split-string=TEXT -v --debug -P=PATH -L=USER -U=USER
		--block-signal[=SIG] --default-signal[=SIG] --ignore-signal[=SIG] --list-signal-handling --help --version`)
	xargsOptions = parseOptions(`-0 --null -a=FILE --arg-file=FILE -d=C --delimiter=C -E=EOF -e[=EOF] --eof[=EOF] -I=R -i[=R] --replace[=R] -J=R -L=N -l[=N] --max-lines[=N] -n=N --max-args=N
		-o --open-tty -P=N --max-procs=N -p --interactive -R=N -r --no-run-if-empty -S=N -s=N --max-chars=N -t --verbose -x --exit --process-slot-var=NAME --show-limits --help --version`)
	parallelOptions = parseOptions("-j=N --jobs=N -k --keep-order -X -m -n=N -0 --null --bar -v -q")
	watchOptions    = parseOptions("-b -c -C -d -e -g -n=N -p -t -w -x --interval=N --color --differences --errexit --exec --no-title --precise --beep --chgexit")
	entrOptions     = parseOptions("-a -c -d -n -p -r -s -x -z")
	execOptions     = parseOptions("-c -l -a=NAME")
	commandOptions  = parseOptions("-p -v -V")
)

// fed stands for words that a program adds from what it reads or finds.
func fed(text string) Word { return Word{Text: text, Doubt: Variable, Splits: true} }

// maxLayers is how many programs may run one another in one segment.
const maxLayers = 12

// layers finds the programs of a segment, outermost first.
func (s *scriptReader) layers(seg *Segment) {
	words, at, shell := seg.Argv, 0, true
	dir, sure := s.dir, s.sure
	defer func() { s.dir, s.sure = dir, sure }()
	for len(words) > 0 {
		if len(seg.Layers) == maxLayers {
			seg.Doubts |= TooDeep
			return
		}
		n := len(seg.Layers)
		if n == 0 {
			seg.Layers = s.stacks.take(1)
		}
		seg.Layers = append(seg.Layers, Layer{Argv: words, At: at, Program: s.program(words[0], shell)})
		l := &seg.Layers[n]
		if l.Program.Name == "" {
			l.Doubts |= DynamicName
		} else if n > 0 && seg.Layers[n-1].Kind == Package {
			l.Program = Program{Name: l.Program.Name} // found by the package manager
		}
		skip, keep := s.layer(seg, l, shell)
		if at >= 0 && skip >= 0 {
			at += skip
		}
		if l.Doubts.Has(Folder) { // what follows runs elsewhere
			s.dir, s.sure, seg.Dir, seg.Sure = "", false, "", false
		}
		if l.Program.Builtin { // eval may have changed the folder
			dir, sure = s.dir, s.sure
		}
		if skip < 0 {
			if keep == nil {
				return
			}
			words, at = keep, -1 // words that the program makes
		} else {
			words = words[skip:]
		}
		shell = l.Program.Builtin && l.Program.Name != "exec" // command and builtin look among the shell's own too
	}
}

// layer says what a program does with its words. The program that runs next begins skip words further; -1 if there is none
// among them, and then made holds the words that it makes, if any.
func (s *scriptReader) layer(seg *Segment, l *Layer, shell bool) (skip int, made []Word) {
	l.Kind = Plain
	args := l.Argv[1:]
	name := canonical(l.Program.Name)
	if l.Program.Name == "" {
		l.Kind = Opaque
		return -1, nil
	}
	if l.Program.Builtin {
		return s.builtin(seg, l, args)
	}
	if shells[name] {
		s.shell(seg, l, name, args)
		return -1, nil
	}
	if w, ok := wrappers[name]; ok {
		return s.wrapped(seg, l, &w, args)
	}
	if p, ok := packages[name]; ok {
		return s.packaged(seg, l, p.verbs, &p.options, args)
	}
	switch name {
	case "env":
		return s.env(l, args)
	case "xargs":
		l.Kind = Carrier
		a := xargsOptions.parse(args, true)
		if a.bad != "" || a.unsure {
			l.Doubts |= UnknownOption
		}
		if len(a.operands) == 0 {
			return -1, nil
		}
		words := append(make([]Word, 0, len(a.operands)+1), args[a.first:]...)
		if !a.has("-I", "-i", "-J", "--replace") {
			words = append(words, fed("(what is read)"))
		}
		place := "{}"
		if r, ok := a.valueOf("-I", "-i", "-J", "--replace"); ok {
			place = r.Text
		}
		for i, w := range words {
			if lead, _, found := strings.Cut(w.Text, place); found && w.Doubt&open == 0 {
				words[i] = Word{Text: w.Text, Lead: lead, Doubt: Variable, Splits: place == w.Text}
			}
		}
		seg.Inner = append(seg.Inner, s.made(words))
	case "find":
		s.finds(seg, l, args)
	case "busybox", "toybox":
		l.Kind = Changer
		if len(args) > 0 {
			return 1, nil
		}
	case "parallel":
		l.Kind = Carrier
		a := parallelOptions.parse(args, true)
		words := args[a.first:]
		for i, w := range words {
			if strings.HasPrefix(w.Text, ":::") {
				words = words[:i]
				break
			}
		}
		s.joined(seg, l, words, fed("(an argument)"))
	case "watch":
		l.Kind = Carrier
		a := watchOptions.parse(args, true)
		s.joined(seg, l, args[a.first:])
	case "entr":
		l.Kind = Carrier
		a := entrOptions.parse(args, true)
		s.joined(seg, l, args[a.first:])
	case "ssh", "mosh", "docker", "podman", "kubectl", "nerdctl", "lima", "limactl", "multipass", "vagrant", "adb":
		l.Kind = Opaque
		l.Doubts |= Remote
		if name == "ssh" {
			s.ssh(seg, l, args)
		}
	}
	s.code(l, name)
	return -1, nil
}

func (s *scriptReader) wrapped(seg *Segment, l *Layer, w *wrapper, args []Word) (int, []Word) {
	l.Kind = w.kind
	l.Doubts |= w.doubt
	a := w.options.parse(args, true)
	if a.bad != "" || a.unsure {
		l.Kind = Opaque
		l.Doubts |= UnknownOption
	}
	if a.has("-D", "--chdir", "-R", "--chroot") {
		l.Doubts |= Folder
	}
	if l.Kind == Wrapper && a.has(w.changes...) {
		l.Kind = Changer
	}
	for _, o := range a.options {
		for _, script := range w.script {
			if o.name == script && o.given {
				s.carried(seg, l, o.value)
			}
		}
	}
	if a.has(w.none...) {
		return -1, nil
	}
	at := a.first
	for n := 0; n < w.operands && at < len(args); n++ {
		at++
	}
	for w.assigns && at < len(args) && assignment(args[at]) {
		l.Assigns = append(l.Assigns, assigned(args[at]))
		at++
	}
	for _, as := range l.Assigns {
		if harmfulVariable(as.Name) {
			l.Doubts |= Environment
		}
	}
	if at >= len(args) {
		if l.Kind != Opaque && (w.doubt == Elevated || len(args) == 0) {
			l.Kind = Opaque // sudo -s: a shell that reads on
		}
		return -1, nil
	}
	return at + 1, nil
}

// assignment reports whether a word could be NAME=value for env.
func assignment(w Word) bool { return strings.IndexByte(w.Lead, '=') > 0 }

func assigned(w Word) Assign {
	name, value, _ := strings.Cut(w.Lead, "=")
	if w.Doubt&open != 0 {
		value = w.Text
	}
	return Assign{Name: name, Value: Word{Text: value, Lead: value, Doubt: w.Doubt}}
}

func (s *scriptReader) env(l *Layer, args []Word) (int, []Word) {
	l.Kind = Wrapper
	a := envOptions.parse(args, true)
	if a.bad != "" || a.unsure {
		l.Kind, l.Doubts = Opaque, l.Doubts|UnknownOption
		return -1, nil
	}
	if len(a.options) > 0 {
		l.Kind = Changer
	}
	if a.has("-C", "--chdir") {
		l.Doubts |= Folder
	}
	at := a.first
	if at < len(args) && args[at].Is("-") {
		l.Kind = Changer
		at++
	}
	if text, ok := a.valueOf("-S", "--split-string"); ok {
		words := s.split(text)
		if words == nil {
			l.Kind, l.Doubts = Opaque, l.Doubts|InlineCode
			return -1, nil
		}
		// What follows the text is added to it; assignments may be in either.
		words = append(words, args[at:]...)
		i := 0
		for i < len(words) && assignment(words[i]) {
			l.Assigns = append(l.Assigns, assigned(words[i]))
			i++
		}
		l.harm()
		if i == len(words) {
			return -1, nil
		}
		return -1, words[i:]
	}
	for at < len(args) && assignment(args[at]) {
		l.Kind = Changer
		l.Assigns = append(l.Assigns, assigned(args[at]))
		at++
	}
	l.harm()
	if at >= len(args) {
		l.Kind = Plain // it prints the environment
		return -1, nil
	}
	return at + 1, nil
}

func (l *Layer) harm() {
	for _, a := range l.Assigns {
		if harmfulVariable(a.Name) {
			l.Doubts |= Environment
		}
	}
}

// split takes text apart into words as env -S does, where that is the same as for a shell; nil if it isn't.
func (s *scriptReader) split(w Word) []Word {
	text, ok := w.Literal()
	if !ok || strings.ContainsAny(text, "\\$#\n;|&<>()`") {
		return nil
	}
	file, err := s.parse(text)
	if err != nil || len(file.Stmts) != 1 {
		return nil
	}
	segs := s.sub(file.Stmts)
	if len(segs) != 1 || segs[0].Doubts&^Subshell&^s.outer != 0 {
		return nil
	}
	var words []Word
	for _, a := range segs[0].Assigns {
		words = append(words, literal(a.Name+"="+a.Value.Text))
	}
	return append(words, segs[0].Argv...)
}

func (s *scriptReader) builtin(seg *Segment, l *Layer, args []Word) (int, []Word) {
	switch l.Program.Name {
	case "command":
		a := commandOptions.parse(args, true)
		switch {
		case a.bad != "" || a.unsure:
			l.Kind, l.Doubts = Opaque, l.Doubts|UnknownOption
		case a.has("-v", "-V") || a.first == len(args):
		case a.has("-p"):
			l.Kind = Changer
			return a.first + 1, nil
		default:
			l.Kind = Wrapper
			return a.first + 1, nil
		}
	case "builtin":
		if len(args) > 0 && args[0].Is("--") {
			args = args[1:]
		}
		if len(args) > 0 {
			l.Kind = Wrapper
			return len(l.Argv) - len(args), nil
		}
	case "exec":
		a := execOptions.parse(args, true)
		switch {
		case a.bad != "" || a.unsure:
			l.Kind, l.Doubts = Opaque, l.Doubts|UnknownOption
		case a.first == len(args):
		default:
			l.Kind = Wrapper
			if len(a.options) > 0 {
				l.Kind = Changer
			}
			return a.first + 1, nil
		}
	case "eval":
		seg.Doubts |= Eval
		l.Kind = ShellRun
		if len(args) > 0 && args[0].Is("--") {
			args = args[1:]
		}
		from := len(seg.Inner)
		s.joined(seg, l, args)
		for i := range seg.Inner[from:] {
			if seg.Inner[from+i].all().Has(Folder) {
				s.dir, s.sure = "", false
			}
		}
	case "source", ".":
		seg.Doubts |= Source
		l.Kind, l.Doubts = ShellRun, l.Doubts|ReadsScript
		if len(args) > 0 {
			l.Script = 1
		}
	case "trap":
		seg.Doubts |= Trap
		if len(args) > 0 && args[0].Is("--") {
			args = args[1:]
		}
		if len(args) > 1 && !args[0].Is("-") && !args[0].Is("-l") && !args[0].Is("-p") {
			l.Kind = ShellRun
			dir := s.dir
			s.dir = "" // it runs wherever the script is by then
			s.carried(seg, l, args[0])
			s.dir = dir
		}
	case "alias":
		for _, a := range args {
			if i := strings.IndexByte(a.Lead, '='); i >= 0 {
				seg.Doubts |= Alias
				v := Word{Text: a.Text, Lead: a.Lead[i+1:], Doubt: a.Doubt}
				if _, ok := a.Literal(); ok {
					v.Text = v.Lead + ` "$@"` // what follows the alias where it is used
				}
				s.carried(seg, l, v)
			} else if _, ok := a.Literal(); !ok {
				seg.Doubts |= Alias
			}
		}
	case "set", "shopt", "enable", "hash", "bind", "complete", "fc":
		if !harmlessOption(l.Program.Name, args) {
			seg.Doubts |= Option
		}
	case "mapfile", "readarray":
		for _, a := range args {
			if a.MayBeOption() && !a.Is("-t") {
				seg.Doubts |= Eval // -C runs a command
			}
		}
	case "let", "declare", "typeset", "local":
		// As words of a command, not of the grammar: behind command and builtin.
		seg.Doubts |= Arithmetic
	case "printf", "read", "unset", "test", "[", "wait", "getopts", "export", "readonly":
		// A variable's name may hold a subscript, which is evaluated.
		for i, a := range args {
			if strings.IndexByte(a.Text, '[') >= 0 && a.Text != "[" && a.Doubt&open == 0 && subscript(l.Program.Name, args, i) {
				seg.Doubts |= Arithmetic
			}
		}
	}
	return -1, nil
}

// subscript reports whether the word at i is the name of a variable.
func subscript(name string, args []Word, i int) bool {
	switch name {
	case "printf":
		return i > 0 && args[i-1].Is("-v") || strings.HasPrefix(args[i].Text, "-v")
	case "test", "[":
		return i > 0 && args[i-1].Is("-v")
	}
	return true
}

// harmlessOption reports whether a command that changes the shell changes nothing of how a script is read or what it runs.
func harmlessOption(name string, args []Word) bool {
	if len(args) == 0 {
		return true
	}
	if name != "set" {
		return false
	}
	for i := 0; i < len(args); i++ {
		text, ok := args[i].Literal()
		switch {
		case !ok:
			return false
		case text == "--":
			return true
		case text == "-o" || text == "+o":
			i++
			if i < len(args) && !args[i].Is("errexit") && !args[i].Is("nounset") && !args[i].Is("pipefail") && !args[i].Is("xtrace") {
				return false
			}
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
			flags := text[1:]
			if strings.HasSuffix(flags, "o") && i+1 < len(args) && (args[i+1].Is("pipefail") || args[i+1].Is("errexit") || args[i+1].Is("nounset")) {
				flags = flags[:len(flags)-1]
				i++
			}
			if strings.Trim(flags, "euxv") != "" {
				return false
			}
		default:
			return true
		}
	}
	return true
}

// shell reads what a shell is told to run.
func (s *scriptReader) shell(seg *Segment, l *Layer, name string, args []Word) {
	l.Kind = ShellRun
	rest := args
	a := shellOptions.parse(rest, true)
	if len(a.operands) > 0 && strings.HasPrefix(a.operands[0].Lead, "+") && len(a.operands[0].Lead) > 1 { // +e, +O, and more options after it
		l.Doubts |= UnknownOption
	}
	if a.bad != "" || a.unsure || len(a.options) > 0 && name != "bash" && a.has("-O", "-D", "--rcfile", "--init-file") {
		l.Doubts |= UnknownOption
	}
	if a.has("-l", "-i", "--login", "--rcfile", "--init-file", "-O", "--posix", "-o", "-k", "-a") {
		l.Doubts |= Option // start-up files are read, or the text is read otherwise
	}
	switch name {
	case "sh", "bash", "dash":
	default:
		l.Doubts |= UnknownShell
	}
	switch {
	case a.has("-n"):
		// It only checks the syntax, of what it would have run.
	case a.has("-c"):
		if len(a.operands) == 0 {
			return
		}
		if len(a.operands) > 1 {
			l.Doubts |= Variable // $0, $1 … come from the words
		}
		if was := s.context; name != "bash" && was.Shell == Bash {
			as := *was
			as.Shell = Sh
			s.context = &as
			defer func() { s.context = was }()
		}
		s.carried(seg, l, a.operands[0])
	case len(a.operands) > 0 && !a.has("-s"):
		l.Doubts |= ReadsScript
		l.Script = a.first + 1
	default:
		l.Doubts |= ReadsScript
		if text, ok := s.input(seg); ok {
			s.run(seg, l, text)
		}
	}
}

// input is what a segment reads from standard input, where the script itself says it: a here-document, a here-string, or
// what the segment before it in the pipeline prints.
func (s *scriptReader) input(seg *Segment) (string, bool) {
	for i := len(seg.Redirects) - 1; i >= 0; i-- {
		r := seg.Redirects[i]
		switch {
		case r.FD != 0:
		case r.Kind == HereDocs:
			return r.Body, r.Body != ""
		case r.Kind == HereStrs:
			return r.Target.Literal()
		default:
			return "", false
		}
	}
	if n := len(*s.out); seg.Join == Pipe && n >= 2 {
		return printed(&(*s.out)[n-2])
	}
	return "", false
}

// printed is what a segment prints, where it is plain text.
func printed(seg *Segment) (string, bool) {
	l := seg.Command()
	if l == nil || len(seg.Layers) != 1 {
		return "", false
	}
	var words []string
	for _, w := range l.Argv[1:] {
		text, ok := w.Literal()
		if !ok {
			return "", false
		}
		words = append(words, text)
	}
	switch canonical(l.Program.Name) {
	case "echo":
		for len(words) > 0 && (words[0] == "-n" || words[0] == "-e" || words[0] == "-E") {
			words = words[1:]
		}
		return strings.Join(words, " "), true
	case "printf":
		if len(words) > 0 {
			return strings.NewReplacer(`\n`, "\n", "%s", " "+strings.Join(words[1:], " ")).Replace(words[0]), true
		}
	case "cat":
		for _, r := range seg.Redirects {
			if r.Kind == HereDocs && r.FD == 0 && len(words) == 0 {
				return r.Body, r.Body != ""
			}
		}
	}
	return "", false
}

// carried reads a script that stands in a word.
func (s *scriptReader) carried(seg *Segment, l *Layer, w Word) {
	text, ok := w.Literal()
	if !ok {
		l.Doubts |= w.Doubt&open | Eval
		return
	}
	s.run(seg, l, text)
}

// joined reads a script that a program makes of its words by putting blanks between them. more are words it adds.
func (s *scriptReader) joined(seg *Segment, l *Layer, words []Word, more ...Word) {
	var b strings.Builder
	for i, w := range words {
		text, ok := w.Literal()
		if !ok {
			l.Doubts |= w.Doubt&open | Eval
			return
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(text)
	}
	if len(more) > 0 {
		b.WriteString(` "$@"`) // what it adds
	}
	s.run(seg, l, b.String())
}

// run reads a script that a program runs.
func (s *scriptReader) run(seg *Segment, l *Layer, text string) {
	dir := s.dir
	if s.lost {
		dir = ""
	}
	inner := s.script(&l.Doubts, text, dir, s.depth+1)
	seg.Inner = append(seg.Inner, inner...)
}

// made is a segment that a program makes of words.
func (s *scriptReader) made(words []Word) Segment {
	n := *s
	var out []Segment
	n.out = &out
	n.depth++
	seg := Segment{Argv: words, Text: sentence(words), Dir: s.dir, Sure: s.sure, Doubts: s.outer}
	if s.lost {
		seg.Dir, seg.Sure = "", false
	}
	for _, w := range words {
		seg.Doubts |= w.Doubt
	}
	if n.depth > maxDepth {
		seg.Doubts |= TooDeep
		return seg
	}
	n.layers(&seg)
	return seg
}

func sentence(words []Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Text)
	}
	return b.String()
}

// finds reads the commands that find runs.
func (s *scriptReader) finds(seg *Segment, l *Layer, args []Word) {
	for i := 0; i < len(args); i++ {
		switch text, ok := args[i].Literal(); {
		case !ok:
			if args[i].MayBeOption() {
				l.Doubts |= UnknownOption
			}
			continue
		case text == "-exec", text == "-execdir", text == "-ok", text == "-okdir":
		default:
			continue
		}
		l.Kind = Carrier
		start := i + 1
		for i = start; i < len(args) && !args[i].Is(";") && !(args[i].Is("+") && i > start && args[i-1].Is("{}")); i++ {
		}
		if i == len(args) {
			l.Doubts |= UnknownOption
		}
		words := make([]Word, 0, i-start)
		for _, w := range args[start:min(i, len(args))] {
			if strings.Contains(w.Text, "{}") && w.Doubt&open == 0 {
				lead, _, _ := strings.Cut(w.Text, "{}")
				w = Word{Text: w.Text, Lead: lead, Doubt: Variable}
				if lead == "" {
					w.Lead = "./" // what is found begins with the folder that is searched
				}
			}
			words = append(words, w)
		}
		if len(words) > 0 {
			dir, sure := s.dir, s.sure
			if strings.HasSuffix(args[start-1].Text, "dir") {
				s.dir, s.sure = "", false
			}
			seg.Inner = append(seg.Inner, s.made(words))
			s.dir, s.sure = dir, sure
		}
	}
}

func (s *scriptReader) packaged(seg *Segment, l *Layer, verbs []string, options *optionSet, args []Word) (int, []Word) {
	a := options.parse(args, true)
	at := a.first
	if len(verbs) > 0 {
		if at == len(args) || !oneOf(args[at], verbs) {
			s.code(l, canonical(l.Program.Name))
			return -1, nil
		}
		rest := args[at+1:]
		a2 := options.parse(rest, true)
		at += 1 + a2.first
		a.options, a.bad, a.unsure = append(a.options, a2.options...), orFirst(a.bad, a2.bad), a.unsure || a2.unsure
		if len(args) > at && oneOf(Word{Text: l.Program.Name}, []string{"conda", "direnv", "rustup"}) && l.Program.Name != "conda" {
			at++ // a folder or a toolchain comes first
		}
	}
	l.Kind = Package
	if a.bad != "" || a.unsure {
		l.Doubts |= UnknownOption
	}
	if text, ok := a.valueOf("-c", "--call"); ok {
		s.carried(seg, l, text)
		return -1, nil
	}
	if at >= len(args) {
		return -1, nil
	}
	return at + 1, nil
}

func oneOf(w Word, texts []string) bool {
	for _, t := range texts {
		if w.Is(t) {
			return true
		}
	}
	return false
}

var sshOptions = parseOptions(`-4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y -B=IF -b=ADDRESS -c=CIPHER -D=ADDRESS -E=FILE -e=CHAR -F=FILE -I=LIB -i=FILE -J=HOST
	-L=ADDRESS -l=USER -m=MAC -O=CMD -o=OPTION -P=TAG -p=PORT -Q=QUERY -R=ADDRESS -S=PATH -W=HOST -w=TUN`)

// ssh reads what runs on the other computer.
func (s *scriptReader) ssh(seg *Segment, l *Layer, args []Word) {
	a := sshOptions.parse(args, true)
	if len(a.operands) > 1 {
		dir := s.dir
		s.dir = ""
		s.joined(seg, l, a.operands[1:])
		s.dir = dir
	}
}
