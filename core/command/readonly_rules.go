package command

import (
	"strings"
)

// readOnlyRule says with which words a program only reads. Options are those of GNU and BSD. An option
// that is in neither list is refused like one that is refused by name. Where only one of the two gives an option a value,
// that value counts as a path: to the other program it may be one.
type readOnlyRule struct {
	// allow lists options that neither write, nor run a program, nor read a file of options, nor go on for ever.
	allow string
	// refuse lists options with the reason: "-o=FILE --output=FILE: writes a file". One reason a line.
	refuse string
	// operands says what the words that are no options are.
	operands operandKind
	// check looks at what the tables can't say; nil: nothing.
	check func(c *readOnlyCheck, a *arguments)
	// parse replaces options and operands; nil: as a table.
	parse func(c *readOnlyCheck, args []Word)
	// can and cannot are examples; a test runs them.
	can, cannot []string
}

type operandKind uint8

const (
	noOperands   operandKind = iota
	paths                    // files and folders
	textOperands             // text that names no file
	patternFirst             // a pattern, then files; -e or -f take the pattern's place
)

// readOnlyRules are the programs of the access level look.
var readOnlyRules = map[string]readOnlyRule{
	"cat": {
		allow:    `-A --show-all -b --number-nonblank -e -E --show-ends -n --number -s --squeeze-blank -t -T --show-tabs -u -v --show-nonprinting --help --version`,
		refuse:   `-l: locks its output`,
		operands: paths,
		can:      []string{`cat a.txt`, `cat -n a b`, `cat -- -n`, `cat --squ a`},
		cannot:   []string{`cat -l a`, `cat --output=x a`},
	},
	"date": {
		allow: `-u --utc --universal --uct -R --rfc-email --rfc-2822 -I[=SPEC] --iso-8601[=SPEC] --rfc-3339=SPEC -d=TIME --date=TIME -r=FILE --reference=FILE -j -v=CHANGE --resolution --debug --help --version`,
		refuse: `-s=TIME --set=TIME: sets the clock
			-n -a=TIME -t=MINUTES: changes the clock
			--file=FILE: reads a file of options`,
		operands: textOperands,
		check: func(c *readOnlyCheck, a *arguments) {
			for _, w := range a.operands {
				if !strings.HasPrefix(w.Text, "+") && !a.has("-j") {
					c.refuse("date "+w.Text+" would set the clock", "put + before a format: date +%F")
				}
			}
		},
		can:    []string{`date`, `date +%F`, `date -u '+%Y-%m-%d %H:%M'`, `date -d yesterday +%s`, `date -r notes.txt`, `date -v+1d`, `date -Iseconds`, `date -j -v1m 0101000070 +%s`},
		cannot: []string{`date -s 12:00`, `date --se=12:00`, `date 0101000070`, `date --file=f`, `date -us12:00`},
	},
	"df": {
		allow: `-a --all -b -B=SIZE --block-size=SIZE -g -h --human-readable -H --si -i --inodes -I -k -l --local -m -n -P --portability -t=FILE --type=TYPE -T --print-type -x=TYPE --exclude-type=TYPE --total --output[=FIELDS]
			--no-sync -Y -c --help --version`,
		refuse:   `--sync: writes to the disk`,
		operands: paths,
		can:      []string{`df -h`, `df -hT /`, `df --output=size,avail`},
		cannot:   []string{`df --sync`, `df --sy`},
	},
	"du": {
		allow: `-0 --null -a --all -A --apparent-size -b --bytes -B=SIZE --block-size=SIZE -c --total -d=N --max-depth=N -D --dereference-args -g -h --human-readable -H -I=FILE -k -l --count-links -L --dereference -m -n -P
			--no-dereference -r -s --summarize -S --separate-dirs --si -t=SIZE --threshold=SIZE --time[=WORD] --time-style=STYLE -x --one-file-system --exclude=PATTERN --inodes --help --version`,
		refuse:   `-X=FILE --exclude-from=FILE --files0-from=FILE: reads names or patterns from a file`,
		operands: paths,
		can:      []string{`du -sh .`, `du -ah -d 1 src`, `du --max-depth=1 --exclude='*.o' .`},
		cannot:   []string{`du --files0-from=x`, `du --files0-fro x`, `du -X pats .`, `du -shX pats`},
	},
	"echo": {
		parse:  func(c *readOnlyCheck, args []Word) {},
		can:    []string{`echo hi`, `echo -n "a b"`, `echo 'rm -rf x'`},
		cannot: []string{`echo $HOME`, `echo "$(id)"`, `echo {a,b}`},
	},
	"find": {
		parse: (*readOnlyCheck).find,
		can: []string{`find . -name '*.pdf'`, `find -L /etc -maxdepth 2 -type f -newermt 2024-01-01 -print0`, `find . \( -name a -o -name b \) -prune -o -size +1M -ls`, `find`, `find . -printf '%p\n'`, `find -E . -regex 'x|y'`,
			`find -f . -- -name x`},
		cannot: []string{`find . -delete`, `find . -exec rm {} ';'`, `find . -execdir python3 {} \;`, `find . -ok rm {} \;`, `find . -fprint out`, `find . -fls out`, `find . -e\xec touch p \;`, `find . {-exec,touch,p,\;}`,
			`find -files0-from x`, `find . -name *.py`, `find . -unknown`, `find . -name`, `find . -newer x y`},
	},
	"git": {
		parse: (*readOnlyCheck).git,
		can:   []string{`git status`, `git log -p -1`, `git diff --stat HEAD~1 -- src`, `git branch --show-current`, `git branch -a`, `git show HEAD:notes.txt`, `git grep -n TODO`, `git ls-files -o --exclude-standard`, `git rev-parse --show-toplevel`},
		cannot: []string{`git`, `git fetch`, `git branch new`, `git branch -D x`, `git branch -d x`, `git branch --edit-description`, `git branch -u origin/x`, `git branch --set-upstream-to=x`, `git -c core.pager=x log`, `git -ccore.pager=x status`,
			`git --config-env core.pager=P show`, `git -C x status`, `git --git-dir=.evil diff`, `git --work-tree . status`, `git --exec-path=. show`, `git -p log`, `git --paginate log`, `git log --output=x`, `git diff --output x`,
			`git diff --ext-diff`, `git log --textconv`, `git log --exec=x`, `git grep -O x`, `git grep --open-files-in-pager=x y`, `git log --show-signature`, `git log --format=%G?`, `git log --pretty=mine`, `git diff -Oorder`, `git log --outp=x`},
	},
	"grep": {
		allow: `-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -e=PATTERN --regexp=PATTERN -f=FILE --file=FILE -i --ignore-case --no-ignore-case -y -v --invert-match -w --word-regexp -x
			--line-regexp -c --count -l --files-with-matches -L --files-without-match -m=N --max-count=N -o --only-matching -q --quiet --silent -s --no-messages -b --byte-offset -H --with-filename -h --no-filename -n
			--line-number -T --initial-tab -Z --null -z --null-data -a --text -I -r --recursive -R --dereference-recursive -U --binary -u -A=N --after-context=N -B=N --before-context=N -C=N --context=N -5 -d=ACTION
			--directories=ACTION -D=ACTION --devices=ACTION -p -O -S --color[=WHEN] --colour[=WHEN] --include=GLOB --exclude=GLOB --exclude-dir=GLOB --include-dir=GLOB --label=LABEL --line-buffered --binary-files=TYPE
			--group-separator=SEP --no-group-separator --help -V --version`,
		refuse: `--exclude-from=FILE: reads patterns from a file
			-J --bz2decompress -M --lzma -X=TYPE --xz --decompress: runs or loads something for compressed files`,
		operands: patternFirst,
		can:      []string{`grep rm file`, `grep -rn "main" src`, `grep -5i x f`, `grep -e a -e b f`, `grep -rE --include='*.go' 'a|b' .`, `grep -- -x f`, `grep -A 3 -B2 x f`},
		cannot:   []string{`grep --exclude-from=x y z`, `grep --exclude-fr=x y z`, `grep x *.go`, `grep --unknown x`},
	},
	"head": {
		allow:    `-n=N --lines=N -c=N --bytes=N -q --quiet --silent -v --verbose -z --zero-terminated -5 --help --version`,
		operands: paths,
		can:      []string{`head -5 f`, `head -n 5 f`, `head -c100 f`, `head --lin=3 f`},
		cannot:   []string{`head --unknown f`, `head -5x f`},
	},
	"hostname": {
		allow:    `-s --short -f --fqdn --long -d --domain -i --ip-address -I --all-ip-addresses -A --all-fqdns -a --alias --help -V --version`,
		refuse:   `-F=FILE --file=FILE -b --boot: sets the name of this computer`,
		operands: noOperands,
		can:      []string{`hostname`, `hostname -s`},
		cannot:   []string{`hostname evil`, `hostname -F f`, `hostname -sF f`, `hostname -- evil`},
	},
	"id": {
		allow:    `-a -A -F -g --group -G --groups -n --name -p -P -r --real -u --user -z --zero -Z --context --help --version`,
		operands: textOperands,
		can:      []string{`id`, `id -un`, `id root`},
		cannot:   []string{`id --file=x`},
	},
	"ls": {
		allow: `-1 -@ -% -a --all -A --almost-all -b --escape -B --ignore-backups -c -C -d --directory -D --dired -e -f -F --classify[=WHEN] -g -G --no-group -h --human-readable -H --dereference-command-line -i --inode
			-I=FILE --ignore=PATTERN -k --kibibytes -l -L --dereference -m -n --numeric-uid-gid -N --literal -o -O -p -P -q --hide-control-chars -Q --quote-name -r --reverse -R --recursive -s --size -S -t -T -u -U -v -w -W
			-x -X -y -Z --context --author --block-size=SIZE --color[=WHEN] --file-type --format=WORD --full-time --group-directories-first --si --dereference-command-line-symlink-to-dir --hide=PATTERN --hyperlink[=WHEN]
			--indicator-style=WORD --quoting-style=WORD --show-control-chars --sort=WORD --time=WORD --time-style=STYLE --tabsize=N --width=N --zero --help --version`,
		operands: paths,
		can:      []string{`ls`, `ls -la ~/Documents`, `ls -1 ./*.txt`, `ls src/*.go`, `/bin/ls`, `ls 2>/dev/null`},
		cannot:   []string{`./ls`, `/tmp/evil/ls`, `ls *`, `ls --output=x`, `ls > f`, `ls $HOME`, "ls\u00a0-l"},
	},
	"mdfind": {
		parse:  (*readOnlyCheck).mdfind,
		can:    []string{`mdfind -name invoice`, `mdfind -onlyin ~/Documents 'kMDItemKind == PDF'`, `mdfind -count x`, `mdfind invoice 2026`},
		cannot: []string{`mdfind -live x`, `mdfind -s saved`, `mdfind -reprint x`, `mdfind -onlyin`, `mdfind -count -name -onlyin x`},
	},
	"pwd": {
		allow:    `-L --logical -P --physical --help --version`,
		operands: noOperands,
		can:      []string{`pwd`, `pwd -P`},
		cannot:   []string{`pwd x`, `pwd -x`},
	},
	"rg": {
		allow: `-A=N --after-context=N -B=N --before-context=N -C=N --context=N -a --text -b --byte-offset -c --count --count-matches --color=WHEN --colors=SPEC --column --no-column --crlf -e=PATTERN --regexp=PATTERN -E=ENCODING
			--encoding=ENCODING -f=FILE --file=FILE --files -l --files-with-matches --files-without-match -F --fixed-strings --no-fixed-strings -g=GLOB --glob=GLOB --iglob=GLOB --glob-case-insensitive -h --help -H --with-filename -I
			--no-filename --heading --no-heading -. --hidden --no-hidden -i --ignore-case -s --case-sensitive -S --smart-case -j=N --threads=N --json -L --follow --no-follow --line-buffered -n --line-number -N --no-line-number -x
			--line-regexp -m=N --max-count=N -M=N --max-columns=N --max-columns-preview -d=N --max-depth=N --maxdepth=N --max-filesize=SIZE --mmap --no-mmap -U --multiline --no-multiline --multiline-dotall --no-config --no-ignore
			--no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages --no-require-git --no-unicode --no-pcre2-unicode -0 --null --null-data
			--one-file-system -o --only-matching --passthru --passthrough -P --pcre2 --no-pcre2 --engine=NAME -p --pretty -q --quiet -r=TEXT --replace=TEXT --sort=WORD --sortr=WORD --sort-files --stats --stop-on-nonmatch --trim -t=TYPE
			--type=TYPE -T=TYPE --type-not=TYPE --type-add=SPEC --type-clear=TYPE --type-list -u --unrestricted -v --invert-match --no-invert-match -V --version --vimgrep -w --word-regexp --include-zero --regex-size-limit=SIZE
			--dfa-size-limit=SIZE --context-separator=SEP --no-context-separator --field-context-separator=SEP --field-match-separator=SEP --path-separator=SEP --block-buffered --binary --auto-hybrid-regex --no-encoding`,
		refuse: `--pre=PROGRAM --pre-glob=GLOB --hostname-bin=PROGRAM: runs a program
			-z --search-zip: runs programs for compressed files
			--ignore-file=FILE: reads patterns from a file
			--hyperlink-format=FORMAT: may ask a program for this computer's name`,
		operands: patternFirst,
		check: func(c *readOnlyCheck, a *arguments) {
			// What a settings file (RIPGREP_CONFIG_PATH) says could be --pre.
			c.insert(1, "--no-config")
		},
		can:    []string{`rg -n foo -g'*.py'`, `rg --files src`, `rg -uu -t go x .`},
		cannot: []string{`rg --pre pwned files`, `rg --pre=pwned x`, `rg --pr\e=x y`, `rg -z x`, `rg --search-zip x`, `rg -nz x`, `rg --hostname-bin=x y`, `rg --search x`, `rg --ignore-file=x y`},
	},
	"sort": {
		allow: `-b --ignore-leading-blanks -c -C --check[=HOW] -d --dictionary-order -f --ignore-case -g --general-numeric-sort -h --human-numeric-sort -i --ignore-nonprinting -k=KEY --key=KEY -m --merge -M --month-sort -n
			--numeric-sort -r --reverse -R --random-sort -s --stable -S=SIZE --buffer-size=SIZE -t=SEP --field-separator=SEP -u --unique -V --version-sort -z --zero-terminated --parallel=N --batch-size=N --debug --sort=WORD
			--mergesort --qsort --heapsort --radixsort --mmap -H --help --version`,
		refuse: `-o=FILE --output=FILE: writes a file
			-T=DIR --temporary-directory=DIR: writes files
			--compress-program=PROGRAM: runs a program
			--files0-from=FILE: reads names from a file
			--random-source=FILE: reads a file`,
		operands: paths,
		can:      []string{`sort f`, `sort -nr f`, `sort -k2,2 -t, f`, `sort -t o -k1 f`},
		cannot:   []string{`sort -o out f`, `sort f -o out`, `sort -oout f`, `sort -nrout f`, `sort --out=x f`, `sort --compress-prog=sh f`, `sort -T /tmp f`, `sort --files0-f x`, `sort --random-source=x f`},
	},
	"sw_vers": {
		parse: func(c *readOnlyCheck, args []Word) {
			for _, w := range args {
				switch strings.TrimLeft(w.Text, "-") {
				case "productName", "productVersion", "productVersionExtra", "buildVersion":
				default:
					c.refuse("sw_vers takes no "+w.Text, "run sw_vers alone")
				}
			}
		},
		can:    []string{`sw_vers`, `sw_vers -productVersion`},
		cannot: []string{`sw_vers x`},
	},
	"tail": {
		allow: `-n=N --lines=N -c=N --bytes=N -b=N -q --quiet --silent -v --verbose -r -z --zero-terminated -5 --help --version`,
		refuse: `-f -F --follow[=HOW] --retry: goes on for ever
			--pid=PID -s=N --sleep-interval=N --max-unchanged-stats=N: only for following a file`,
		operands: paths,
		check: func(c *readOnlyCheck, a *arguments) {
			// The old way to write it, a number with letters: -10cf and +5f follow the file.
			for _, o := range a.options {
				if o.name == "-c" || o.name == "-b" {
					if v := strings.TrimLeft(o.value.Text, "+-"); v != "" && (v[0] < '0' || v[0] > '9') {
						c.refuse("tail "+o.name+o.value.Text+" may go on for ever", "write tail -n 10, or tail -c 10")
						return
					}
				}
			}
			for _, w := range a.operands {
				if strings.HasPrefix(w.Text, "+") {
					c.refuse("tail "+w.Text+" may go on for ever", "write tail -n "+w.Text+", or ./"+w.Text+" for a file of that name")
					return
				}
			}
		},
		can:    []string{`tail -5 f`, `tail -n +5 f`, `tail -n 20 f`, `tail -c +100 f`, `tail -c10 f`, `tail ./+x`},
		cannot: []string{`tail -10cf f`, `tail -10bf f`, `tail -2lf f`, `tail +5f f`, `tail +f f`, `tail -f f`, `tail -F f`, `tail --fol f`, `tail -5f f`, `tail -fn 1 f`, `tail -qf f`},
	},
	"uname": {
		allow:    `-a --all -i --hardware-platform -m --machine -n --nodename -o --operating-system -p --processor -r --kernel-release -s --kernel-name -v --kernel-version --help --version`,
		operands: noOperands,
		can:      []string{`uname -a`},
		cannot:   []string{`uname x`},
	},
	"uptime": {
		allow:    `-p --pretty -r --raw -s --since -h --help -V --version`,
		operands: noOperands,
		can:      []string{`uptime`, `uptime -p`},
		cannot:   []string{`uptime x`},
	},
	"wc": {
		allow:    `-c --bytes -m --chars -l --lines -L --max-line-length -w --words --total=WHEN --help --version`,
		refuse:   `--files0-from=FILE: reads names from a file`,
		operands: paths,
		can:      []string{`wc -l f`, `wc`},
		cannot:   []string{`wc --files0-from=x`, `wc --files0 x`},
	},
	"whoami": {
		allow:    `--help --version`,
		operands: noOperands,
		can:      []string{`whoami`},
		cannot:   []string{`whoami x`},
	},
}

// findTests are find's words with how many words follow each: 0, 1, or the letter p for a path.
var findTests = findTable(`0: -and -a -or -o -not ! ( ) , -true -false -depth -d -daystart -follow -ignore_readdir_race -noignore_readdir_race -mount -noleaf -nowarn -warn -xdev -x -empty -executable -nogroup -nouser -readable -writable
	-print -print0 -prune -quit -ls -help --help -version --version -sparse -acl -xattr
	1: -amin -atime -cmin -context -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -maxdepth -mindepth -mmin -mtime -name -path -perm -printf -regex -regextype -size -type -uid
	-used -user -wholename -xtype -Bmin -Btime -flags -since -xattrname
	p: -anewer -cnewer -mnewer -newer -samefile`)

func findTable(spec string) map[string]byte {
	m := make(map[string]byte)
	var kind byte
	for _, f := range fields(spec) {
		if len(f) == 2 && f[1] == ':' {
			kind = f[0]
		} else {
			m[f] = kind
		}
	}
	return m
}

// find checks find's words (POSIX find, GNU and BSD primaries).
func (c *readOnlyCheck) find(args []Word) {
	i := 0
	for ; i < len(args); i++ {
		t := args[i].Text
		switch {
		case t == "-f" && i+1 < len(args):
			i++
			c.path(args[i])
		case t == "--":
			i++
			goto starts
		case len(t) > 1 && t[0] == '-' && strings.Trim(t[1:], "HLPEXdsx") == "":
		case len(t) > 2 && strings.HasPrefix(t, "-O") && strings.Trim(t[2:], "0123456789") == "":
		default:
			goto starts
		}
	}
starts:
	for ; i < len(args); i++ {
		if t := args[i].Text; t == "" || strings.HasPrefix(t, "-") || t == "(" || t == ")" || t == "," || t == "!" {
			break
		}
		c.path(args[i])
	}
	for ; i < len(args); i++ {
		t := args[i].Text
		kind := findTests[t]
		if len(t) == len("-newerXY") && strings.HasPrefix(t, "-newer") {
			if kind = 'p'; t[7] == 't' {
				kind = '1'
			}
		}
		switch {
		case strings.HasPrefix(t, "-exec"), strings.HasPrefix(t, "-ok"):
			c.refuse("find "+t+" runs programs", "list the files with find alone")
		case t == "-delete":
			c.refuse("find -delete deletes what it finds", "list the files with find alone")
		case strings.HasPrefix(t, "-fprint"), t == "-fls":
			c.refuse("find "+t+" writes a file", "use -print or -printf")
		case t == "-files0-from":
			c.refuse("find -files0-from reads names from a file", "name the folders")
		case kind == 0:
			c.refuse("find does not know "+t+" here, or it isn't known to be harmless", "put folders first, then tests like -name '*.pdf'")
		case kind == '0':
			continue
		case i+1 >= len(args):
			c.refuse("find "+t+" needs a value", "")
		case kind == 'p':
			i++
			c.path(args[i])
			continue
		default:
			i++
			continue
		}
		return
	}
}

// mdfind checks mdfind's words (macOS mdfind(1)).
func (c *readOnlyCheck) mdfind(args []Word) {
	for i := 0; i < len(args); i++ {
		switch t := args[i].Text; {
		case t == "-onlyin" || t == "-name" || t == "-attr":
			if i++; i == len(args) {
				c.refuse("mdfind "+t+" needs a value", "")
				return
			}
			if strings.HasPrefix(args[i].Text, "-") { // who binds the search to folders looks for -onlyin among the words
				c.refuse("mdfind "+t+" needs a value that doesn't begin with -", "")
				return
			}
			if t == "-onlyin" {
				c.path(args[i])
			}
		case t == "-count" || t == "-0" || t == "-literal" || t == "-interpret":
		case t == "-live":
			c.refuse("mdfind -live goes on for ever", "leave out -live")
		case strings.HasPrefix(t, "-"):
			c.refuse("mdfind "+t+" isn't known to be harmless", "")
		}
	}
}
