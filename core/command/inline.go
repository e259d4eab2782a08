package command

import (
	"strings"
)

// Inline is something that a program is told to run in its words.
type Inline struct {
	// Label names program and option: "python3 -c".
	Label string
	// Text is the code or command; its Doubt says what isn't known of it.
	Text Word
	Kind InlineKind
}

// InlineKind says what it is.
type InlineKind uint8

const (
	Code     InlineKind = iota // code for an interpreter
	Runs                       // a program or shell command that it starts
	Settings                   // settings that can make it start programs
	Loads                      // a file or module with code that it loads
)

// carrier describes how a program takes code.
type carrier struct {
	options optionSet
	// code, runs, settings and loads hold options by what their value is.
	code, runs, settings, loads []string
	// words are options of several letters after one dash, whose next word is code.
	words string
	// program says that the first operand is code, unless one of files was given.
	program bool
	files   []string
	// script says that the first operand is a file with code, and that without one code is read from standard input.
	script bool
	// apart says that a value is always a word of its own.
	apart bool
	// verbs are first operands after which comes code.
	verbs []string
	// rest says that operands after the first are code.
	rest bool
	// plus says that +COMMAND is code.
	plus bool
}

func carries(options string, f func(*carrier)) carrier {
	c := carrier{options: parseOptions(options)}
	f(&c)
	return c
}

func fields(s string) []string { return strings.Fields(s) }

// carriers are programs that take code, or the name of another program, in their words. Sources: their man pages.
var carriers = func() map[string]*carrier {
	python := carries(`-b -B -c=CODE! -d -E -h -i -I -m=MODULE! -O -P -q -s -S -t -u -v -V -W=ARG -x -X=OPT -3 -R --help --version --check-hash-based-pycs=MODE`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-c"), fields("-m"), true
	})
	node := carries(`-e=CODE --eval=CODE -p[=CODE] --print[=CODE] -c --check -i --interactive -r=FILE --require=FILE --import=FILE --loader=FILE --experimental-loader=FILE --env-file=FILE
		--env-file-if-exists=FILE -C=NAME --conditions=NAME --test --watch -h --help -v --version --no-warnings --inspect[=HOST] --inspect-brk[=HOST] --input-type=TYPE
		--max-old-space-size=N --experimental-strip-types --openssl-config=FILE --preload=FILE --tsconfig=FILE --run=NAME`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-e --eval -p --print"), fields("-r --require --import --loader --experimental-loader --env-file --env-file-if-exists --openssl-config --preload --run --test"), true
	})
	bun := node
	bun.verbs = fields("exec")
	deno := node
	deno.verbs = fields("eval")
	perl := carries(`-0[=N] -a -c -C[=N] -d[=MOD] -D[=N] -e=CODE -E=CODE -f -F=PATTERN -g -h -i[=EXT] -I=DIR -l[=N] -m=MODULE -M=MODULE -n -p -s -S -t -T -u -U -v -V[=NAME] -w -W -x[=DIR] -X`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-e -E"), fields("-m -M -I -S -d -x"), true
	})
	ruby := carries(`-0[=N] -a -c -C=DIR -d -e=CODE -E=ENC -F=SEP -h -i[=EXT] -I=DIR -K=ENC -l -n -p -r=LIB -s -S -T[=N] -U -v -w -W[=N] -x[=DIR] -X=DIR -y --version --help --verbose --yjit --jit --require=LIB`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-e"), fields("-r --require -I -S -C -X -x"), true
	})
	php := carries(`-a -b=ADDR -B=CODE -c=PATH -C -d=SETTING -e -E=CODE -f=FILE -F=FILE -g -h -H -i -l -m -n -q -R=CODE -r=CODE -s -S=ADDR -t=DIR -T -v -w -z=FILE`, func(c *carrier) {
		c.code, c.loads, c.settings, c.script = fields("-r -B -E -R"), fields("-c -z -F"), fields("-d"), true
	})
	lua := carries(`-e=CODE -i -l=MODULE -v -E -W`, func(c *carrier) { c.code, c.loads, c.script = fields("-e"), fields("-l"), true })
	r := carries(`-e=CODE -f=FILE --file=FILE --args --vanilla --no-save --no-restore --slave --no-echo --quiet -q --version --help --verbose --default-packages=LIST`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-e"), fields("-f --file"), true
	})
	julia := carries(`-e=CODE --eval=CODE -E=CODE --print=CODE -L=FILE --load=FILE -i -q --quiet --project[=DIR] -t=N --threads=N -O[=N] -J=FILE --sysimage=FILE --startup-file=YES -v -h`, func(c *carrier) {
		c.code, c.loads, c.script = fields("-e --eval -E --print"), fields("-L --load -J --sysimage"), true
	})
	elixir := carries(`-e=CODE --eval=CODE --rpc-eval=CODE -r=FILE -S=SCRIPT --version`, func(c *carrier) {
		c.code, c.loads, c.script, c.apart = fields("-e --eval --rpc-eval"), fields("-r -S"), true, true
	})
	guile := carries(`-c=CODE! -e=FUNCTION -s=FILE! -L=DIR -l=FILE -x=EXT -q`, func(c *carrier) { c.code, c.loads, c.script = fields("-c -e"), fields("-l -s"), true })
	groovy := carries(`-e=CODE`, func(c *carrier) { c.code, c.script, c.apart = fields("-e"), true, true })
	scala := carries(`-e=CODE --execute-script=CODE --execute-scala=CODE --execute-sc=CODE --execute-java=CODE --execute-markdown=CODE --script-snippet=CODE --scala-snippet=CODE --java-snippet=CODE
		--markdown-snippet=CODE`, func(c *carrier) {
		c.code, c.script = fields("-e --execute-script --execute-scala --execute-sc --execute-java --execute-markdown --script-snippet --scala-snippet --java-snippet --markdown-snippet"), true
	})
	clojure := carries(`-e=CODE --eval=CODE -i=FILE -m=NS -M -X -A`, func(c *carrier) { c.code, c.loads, c.script = fields("-e --eval"), fields("-i -m -M -X -A"), true })
	raku := carries(`-e=CODE -n -p -I=DIR -M=MODULE -c -v -V`, func(c *carrier) { c.code, c.loads, c.script = fields("-e"), fields("-I -M"), true })
	ghc := carries(`-e=CODE`, func(c *carrier) { c.code, c.apart = fields("-e"), true })
	erl := carrier{words: "-eval -run -s"}
	gdb := carries(`--eval-command=CODE --command=FILE --args --batch -q -p=PID -x=FILE --init-eval-command=CODE --early-init-eval-command=CODE`, func(c *carrier) {
		c.code, c.loads = fields("--eval-command --init-eval-command --early-init-eval-command"), fields("-x --command")
		c.words = "-ex -iex -eiex -eval-command"
	})
	expect := carries(`-c=CODE -d -D=N -f=FILE -i -n -N -v -b=FILE`, func(c *carrier) { c.code, c.loads, c.script = fields("-c"), fields("-f -b"), true })
	osascript := carries(`-e=CODE -l=LANG -s=FLAGS -i`, func(c *carrier) { c.code, c.script = fields("-e"), true })
	tcl := carries(``, func(c *carrier) { c.script = true })
	awk := carries(`-F=FS -v=ASSIGN -f=FILE --file=FILE -e=CODE --source=CODE -i=FILE --include=FILE -l=LIB --load=LIB -E=FILE --exec=FILE --field-separator=FS --assign=ASSIGN -b -c -C -d[=FILE]
		-D[=FILE] -g -h -k --csv -L[=X] -M -n -N -o[=FILE] -O -p[=FILE] -P -r -s -S -t -V -W=X --posix --sandbox --traditional --version --help --re-interval`, func(c *carrier) {
		c.program, c.code, c.files, c.loads = true, fields("-e --source"), fields("-f --file -E --exec"), fields("-i --include -l --load -f --file -E --exec")
	})
	sed := carries(`-n --quiet --silent -e=CODE --expression=CODE -f=FILE --file=FILE -E -r --regexp-extended -i[=SUFFIX] --in-place[=SUFFIX] -I[=SUFFIX] -l=N --line-length=N -s --separate -u --unbuffered
		-z --null-data -a -b --binary --posix --debug --sandbox --follow-symlinks --help --version`, func(c *carrier) {
		c.program, c.code, c.files, c.loads = true, fields("-e --expression"), fields("-f --file"), fields("-f --file")
	})
	// -s takes a file, but none after -e, where what follows it may be -c.
	vim := carries(`-c=CODE --cmd=CODE -S=FILE -s -u=FILE -U=FILE -i=FILE -w=FILE -W=FILE -e -E -R -n -N -b -d -g -m -M -o -O -p -v -y -Z --noplugin --clean --headless -V[=N] -T=TERM -t=TAG -q[=FILE] --not-a-term`, func(c *carrier) {
		c.code, c.loads, c.plus = fields("-c --cmd"), fields("-S -s -u -U"), true
	})
	emacs := carries(`--eval=CODE --execute=CODE -f=FUNCTION --funcall=FUNCTION -l=FILE --load=FILE --batch --script=FILE -Q -q --no-init-file`, func(c *carrier) {
		c.code, c.loads = fields("--eval --execute -f --funcall"), fields("-l --load --script")
		c.words = "-eval"
	})
	make := carries(`-f=FILE --file=FILE --makefile=FILE -E=CODE --eval=CODE -C=DIR --directory=DIR -I=DIR --include-dir=DIR -j[=N] --jobs[=N] -k --keep-going -n --dry-run --just-print -s --silent --quiet -B
		--always-make -e -i -r -R -t -w -W=FILE -o=FILE -q -p -d --debug[=X] -S -l[=N] -L -v --version -h --help -O[=X] --no-print-directory --trace --warn-undefined-variables --shuffle[=X]`, func(c *carrier) {
		c.code, c.loads = fields("-E --eval"), fields("-f --file --makefile")
	})
	less := carries(``, func(c *carrier) { c.plus = true })
	man := carries(`-P=PROGRAM --pager=PROGRAM -H[=PROGRAM] --html[=PROGRAM] -C=FILE --config-file=FILE -M=PATH -p=STRING --preprocessor=STRING`, func(c *carrier) {
		c.runs, c.settings = fields("-P --pager -H --html"), fields("-C --config-file -p --preprocessor")
	})
	tar := carries(`--checkpoint-action=ACTION --to-command=COMMAND -I=PROGRAM --use-compress-program=PROGRAM -F=PROGRAM --info-script=PROGRAM --new-volume-script=PROGRAM --rsh-command=PROGRAM --rmt-command=PROGRAM
		-f=FILE --file=FILE -C=DIR --directory=DIR -T=FILE --files-from=FILE --exclude=PATTERN -X=FILE --exclude-from=FILE --checkpoint[=N] --transform=EXPR --xform=EXPR --strip-components=N
		-c -x -t -r -u -A -d -v -z -j -J -a -p -P -k -m -h -n -O -S -U -w -W -Z --zstd --gzip --bzip2 --xz --create --extract --get --list --append --update --catenate --concatenate --delete --remove-files
		--verbose --to-stdout --no-same-owner --exclude-vcs --keep-old-files --overwrite`, func(c *carrier) {
		c.runs = fields("--checkpoint-action --to-command -I --use-compress-program -F --info-script --new-volume-script --rsh-command --rmt-command")
	})
	rsync := carries(`-e=COMMAND --rsh=COMMAND --rsync-path=PROGRAM`, func(c *carrier) { c.runs = fields("-e --rsh --rsync-path") })
	ssh := carrier{options: sshOptions, settings: fields("-o -F -I -S")}
	scp := carries(`-o=OPTION -F=FILE -S=PROGRAM -D=PROGRAM -i=FILE -P=PORT -l=N -J=HOST -c=CIPHER -X=OPTION -b=FILE -B=N -R=N -s=SYSTEM -3 -4 -6 -A -a -C -f -N -O -p -q -r -T -v`, func(c *carrier) {
		c.settings, c.runs = fields("-o -F"), fields("-S -D")
	})
	zip := carries(`--unzip-command=COMMAND`, func(c *carrier) { c.runs, c.words = fields("--unzip-command"), "-TT" })
	split := carries(`--filter=COMMAND`, func(c *carrier) { c.runs = fields("--filter") })
	sorts := carries(`--compress-program=PROGRAM`, func(c *carrier) { c.runs = fields("--compress-program") })
	wget := carries(`--use-askpass=COMMAND -e=COMMAND --execute=COMMAND --config=FILE`, func(c *carrier) {
		c.runs, c.settings = fields("--use-askpass"), fields("-e --execute --config")
	})
	curl := carries(`-K=FILE --config=FILE`, func(c *carrier) { c.settings = fields("-K --config") })
	sqlite := carries(``, func(c *carrier) {
		c.words, c.rest = "-cmd --cmd -init --init", true // .shell, and edit() in SQL
	})
	psql := carries(`-c=CODE --command=CODE -f=FILE --file=FILE`, func(c *carrier) { c.code, c.loads = fields("-c --command"), fields("-f --file") })
	mysql := carries(`-e=CODE --execute=CODE`, func(c *carrier) { c.code = fields("-e --execute") })
	pwsh := carrier{words: "-command -c -encodedcommand -e -ec -commandwithargs -cwa"}
	rg := carries(`--pre=PROGRAM --hostname-bin=PROGRAM`, func(c *carrier) { c.runs = fields("--pre --hostname-bin") })
	jq := carries(`-f=FILE --from-file=FILE -L=DIR`, func(c *carrier) { c.loads = fields("-f --from-file -L") })
	gcc := carries(`-B=DIR --specs=FILE --plugin=FILE`, func(c *carrier) { c.loads, c.words = fields("-B --specs"), "-wrapper" })
	return map[string]*carrier{
		"python": &python, "pypy": &python, "node": &node, "nodejs": &node, "tsx": &node, "ts-node": &node, "bun": &bun, "deno": &deno, "perl": &perl, "ruby": &ruby, "jruby": &ruby, "php": &php,
		"lua": &lua, "luajit": &lua, "r": &r, "rscript": &r, "julia": &julia, "elixir": &elixir, "iex": &elixir, "guile": &guile, "groovy": &groovy, "scala": &scala, "scala-cli": &scala,
		"clojure": &clojure, "clj": &clojure, "bb": &clojure, "raku": &raku, "perl6": &raku, "ghc": &ghc, "ghci": &ghc, "erl": &erl, "werl": &erl, "gdb": &gdb, "lldb": &gdb, "expect": &expect,
		"osascript": &osascript, "tclsh": &tcl, "wish": &tcl, "awk": &awk, "gawk": &awk, "mawk": &awk, "nawk": &awk, "original-awk": &awk, "sed": &sed, "gsed": &sed, "vim": &vim, "vi": &vim, "nvim": &vim,
		"ex": &vim, "view": &vim, "vimdiff": &vim, "gvim": &vim, "emacs": &emacs, "make": &make, "gmake": &make, "bmake": &make, "less": &less, "more": &less, "most": &less, "man": &man, "tar": &tar,
		"gtar": &tar, "bsdtar": &tar, "rsync": &rsync, "ssh": &ssh, "scp": &scp, "sftp": &scp, "zip": &zip, "split": &split, "sort": &sorts, "wget": &wget, "curl": &curl, "sqlite3": &sqlite,
		"psql": &psql, "mysql": &mysql, "mariadb": &mysql, "pwsh": &pwsh, "powershell": &pwsh, "rg": &rg, "jq": &jq, "gcc": &gcc, "cc": &gcc, "g++": &gcc, "clang": &gcc,
	}
}()

// family is the name of a program without its version: python3.13 is python.
func family(name string) string {
	if carriers[name] != nil {
		return name
	}
	short := strings.TrimRight(name, "0123456789.")
	short = strings.TrimSuffix(short, "-")
	if len(short) > 1 && carriers[short] != nil { // r2 is another program than R
		return short
	}
	return name
}

// code notes what a program is told to run in its words. name is canonical.
func (s *scriptReader) code(l *Layer, name string) {
	if name == "git" {
		s.gitCode(l)
		return
	}
	c := carriers[family(name)]
	if c == nil {
		return
	}
	args := l.Argv[1:]
	add := func(what string, w Word, k InlineKind) {
		l.Code = append(l.Code, Inline{Label: l.Program.Name + " " + what, Text: w, Kind: k})
		l.Doubts |= InlineCode
	}
	if c.words != "" {
		for i, w := range args {
			text, has, _ := strings.Cut(strings.ToLower(w.Lead), "=")
			_ = has
			for _, word := range fields(c.words) {
				if text == word {
					v := Word{Doubt: w.Doubt, Text: w.Text}
					if i+1 < len(args) {
						v = args[i+1]
					}
					add(word, v, Code)
				}
			}
		}
	}
	a := c.options.parse(args, c.script || c.program)
	program := c.program
	for _, o := range a.options {
		kind := Code
		switch {
		case c.apart && o.given && !o.separate && strings.HasPrefix(o.name, "-") && len(o.name) == 2:
			continue
		case oneOfText(o.name, c.code):
			program = false
			if !o.given && len(a.operands) > 0 {
				o.value = a.operands[0]
			}
			if !o.given && c.script {
				a.program = true // node -p CODE: the operand is code, not a file
			}
		case oneOfText(o.name, c.runs):
			kind = Runs
		case oneOfText(o.name, c.settings):
			kind = Settings
		case oneOfText(o.name, c.loads):
			kind = Loads
			if oneOfText(o.name, c.files) {
				program = false
			}
			l.Doubts |= ReadsScript
		default:
			continue
		}
		if kind == Code {
			a.program = true
		}
		add(o.name, o.value, kind)
	}
	if a.unsure && (c.script || c.program || len(c.code)+len(c.runs) > 0) {
		l.Doubts |= UnknownOption
	}
	switch {
	case program && len(a.operands) > 0:
		add("program", a.operands[0], Code)
	case len(c.verbs) > 0 && len(a.operands) > 0 && oneOf(a.operands[0], c.verbs):
		v := Word{}
		if len(a.operands) > 1 {
			v = a.operands[len(a.operands)-1]
		}
		add(a.operands[0].Text, v, Code)
	case c.script && !a.program:
		l.Doubts |= ReadsScript
		if len(a.operands) > 0 && !a.operands[0].Is("-") {
			l.Script = 1 + a.first
		}
	}
	if c.plus {
		for _, w := range args {
			if strings.HasPrefix(w.Lead, "+") && strings.Trim(w.Lead, "+0123456789") != "" {
				add("+", w, Code)
			}
		}
	}
	if c.rest && len(a.operands) > 1 {
		add("command", a.operands[len(a.operands)-1], Code)
	}
	if family(name) == "make" || name == "gmake" || name == "bmake" {
		l.Doubts |= ReadsScript
		for _, w := range a.operands {
			// A variable that is set on the command line is expanded, and may name the programs that make runs.
			if n, v, ok := strings.Cut(w.Text, "="); ok && (strings.ContainsAny(v, "$`") || strings.Contains(n, "!") || n == "SHELL" || n == ".SHELLFLAGS" || n == "MAKEFLAGS") {
				add(n, w, Code)
			}
		}
	}
}

func oneOfText(name string, names []string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// Carried is something that [StrictInline] found.
type Carried struct {
	// Label names it for a person: "python3 -c", "xargs".
	Label string
	// Text is the code, or what is run, as far as it is known.
	Text string
}

// StrictInline lists what in a plan is code of another language, or a command that another program makes. Such a script
// is always asked for, and no lasting rule covers it. Options after a script's name belong to that script
// and are not looked at; shell text (sh -c) is not listed, because it is read like the rest.
func StrictInline(p Plan) []Carried {
	var found []Carried
	for s := range p.All() {
		for i := range s.Layers {
			l := &s.Layers[i]
			for _, c := range l.Code {
				if c.Kind != Loads || oneOf(Word{Text: strings.ToLower(family(canonical(l.Program.Name)))}, []string{"make", "gmake", "bmake"}) {
					found = append(found, Carried{c.Label, c.Text.Text})
				}
			}
			if l.Kind == Carrier && len(s.Inner) > 0 {
				found = append(found, Carried{canonical(l.Program.Name), s.Inner[0].Text})
			}
		}
	}
	return found
}
