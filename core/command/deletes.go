package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Answer says whether a script deletes something. The zero value is CantTell.
type Answer uint8

const (
	CantTell Answer = iota
	Doesnt
	Does
)

var answers = [...]string{"can't tell", "doesn't", "deletes"}

func (a Answer) String() string {
	if int(a) < len(answers) {
		return answers[a]
	}
	return answers[CantTell]
}

// Deletes says whether a script deletes files, overwrites what they hold, or discards work that git holds, and what.
//
// Does: something is removed or overwritten if the script gets that far. Doesnt: every part is known not to. Everything
// else is CantTell: unknown programs, scripts from files, text that the shell makes up. It never says Doesnt of a script
// that deletes, as far as programs are the ones their names say and run nothing out of their own settings. A name in a
// string deletes nothing. Targets come with Does and with CantTell (what may be overwritten); counting them is the caller's.
func Deletes(p Plan) (Answer, []Target) {
	effects, doubts := p.Effects()
	answer := Doesnt
	if doubts != 0 {
		answer = CantTell
	}
	var targets []Target
	for i := range effects {
		e := &effects[i]
		if e.Kind != Removes && e.Kind != Overwrites {
			continue
		}
		targets = append(targets, e.Target)
		switch {
		case e.Certain:
			answer = Does
		case answer == Doesnt:
			answer = CantTell
		}
	}
	return answer, targets
}

// Summary words the question: what would be deleted, by its targets' texts, the first few in full.
func Summary(targets []Target) string {
	var names []string
	seen := make(map[string]bool)
	for _, t := range targets {
		text := t.Text
		if text == "" {
			text = "what " + t.Why + " names"
		}
		if !seen[text] {
			seen[text] = true
			names = append(names, text)
		}
	}
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}

// harmless are programs that neither remove nor replace a file, nor run another program, whatever their arguments are.
var harmless = set(`echo printf true false : test [ pwd ls cat head tail wc cut tr nl tac rev fold fmt paste comm join expand unexpand od hexdump strings file stat basename dirname realpath
	readlink seq yes sleep date cal uptime uname hostname whoami id groups who w last users tty nproc free df du ps pgrep kill pkill killall lsof printenv locale which whereis type
	md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum md5 cksum sum b2sum cmp diff grep egrep fgrep zgrep zcat zegrep look factor expr getconf sw_vers mdfind mdls vm_stat
	pbpaste pbcopy jq mkdir touch chmod chown chgrp mkfifo mktemp sync umask export unset shift return exit break continue wait read local declare typeset readonly ulimit jobs fg bg disown
	times getopts let cd pushd popd dirs help caller logout suspend alias unalias trap numfmt column tsort nm size objdump readelf otool ping ping6 traceroute dig nslookup host ifconfig
	ip netstat ss uuidgen base32 cksum getent nohup tput clear reset stty mesg logname pathchk factor`)

// act says what a program does with its words.
type act func(j *judge, s *Segment, args []Word)

var (
	rmOptions = parseOptions("-f --force -i -I -r -R --recursive -d --dir -v --verbose -P -W -x --one-file-system --preserve-root[=ALL] --no-preserve-root --interactive[=WHEN] --help --version")
	mvOptions = parseOptions(`-f --force -i --interactive -n --no-clobber -v --verbose -u --update[=WHEN] -b --backup[=CONTROL] -S=SUFFIX --suffix=SUFFIX -t=DIR --target-directory=DIR -T --no-target-directory -Z -h
		--context[=CTX] --strip-trailing-slashes --no-copy --exchange --debug --help --version`)
	cpOptions = parseOptions(`-a --archive -R -r --recursive -f --force -i --interactive -n --no-clobber -p -v --verbose -u --update[=WHEN] -b --backup[=CONTROL] -S=SUFFIX --suffix=SUFFIX -t=DIR --target-directory=DIR -T
		--no-target-directory -d -l --link -s --symbolic-link -L --dereference -P --no-dereference -H -x --one-file-system --preserve[=LIST] --no-preserve=LIST --parents --attributes-only --remove-destination
		--reflink[=WHEN] --sparse=WHEN --strip-trailing-slashes --copy-contents -Z --context[=CTX] -c -X -N --debug --help --version`)
	lnOptions = parseOptions(`-s --symbolic -f --force -i --interactive -n --no-dereference -h -v --verbose -b --backup[=CONTROL] -S=SUFFIX --suffix=SUFFIX -t=DIR --target-directory=DIR -T --no-target-directory -r
		--relative -L --logical -P --physical -F -w --help --version`)
	installOptions = parseOptions(`-b -B=SUFFIX -C --compare -c -D -d --directory -f=FLAGS -g=GROUP --group=GROUP -l=FLAGS -m=MODE --mode=MODE -M -o=OWNER --owner=OWNER -p --preserve-timestamps -s --strip -S -t=DIR
		--target-directory=DIR -T -v --verbose --backup[=CONTROL] --suffix=SUFFIX --help --version`)
	teeOptions      = parseOptions("-a --append -i --ignore-interrupts -p --output-error[=MODE] --help --version")
	truncateOptions = parseOptions("-c --no-create -o --io-blocks -r=FILE --reference=FILE -s=SIZE --size=SIZE --help --version")
	shredOptions    = parseOptions("-f --force -n=N --iterations=N --random-source=FILE -s=N --size=N -u --remove[=HOW] -v --verbose -x --exact -z --zero --help --version")
	sortOptions     = parseOptions(readOnlyRules["sort"].allow + " -o=FILE --output=FILE -T=DIR --temporary-directory=DIR --compress-program=PROGRAM --files0-from=FILE --random-source=FILE")
	uniqOptions     = parseOptions("-c --count -d --repeated -D --all-repeated[=METHOD] -f=N --skip-fields=N -i --ignore-case -s=N --skip-chars=N -u --unique -z --zero-terminated -w=N --check-chars=N --group[=METHOD] --help --version")
	iconvOptions    = parseOptions("-f=CODE --from-code=CODE -t=CODE --to-code=CODE -c -l --list -o=FILE --output=FILE -s --silent --verbose")
	treeOptions     = parseOptions("-a -d -l -f -x -L=N -P=PATTERN -I=PATTERN -o=FILE --noreport -p -u -g -s -h -D -F -i -A -S -n -C -X -J -r -t --dirsfirst --prune --filelimit=N")
	patchedOptions  = parseOptions("-d --decode -D -i=FILE --input=FILE -o=FILE --output=FILE -b=N --break=N -w=N --wrap=N --ignore-garbage --help --version")
	compressOptions = parseOptions("-c --stdout --to-stdout -d --decompress -f --force -h -k --keep -l --list -n --no-name -N --name -q --quiet -r --recursive -S=SUFFIX -t --test -v --verbose -5 -T=N --threads=N -z -e --fast --best --rm")
	curlOptions     = parseOptions(`-o=FILE --output=FILE -O --remote-name -J --remote-header-name -s --silent -S --show-error -f --fail -L --location -i --include -I --head -v --verbose -k --insecure -X=METHOD --request=METHOD
		-H=HEADER --header=HEADER -d=DATA --data=DATA --data-raw=DATA --data-binary=DATA --data-urlencode=DATA --json=DATA -F=FORM --form=FORM -G --get -u=USER --user=USER -A=AGENT --user-agent=AGENT -e=URL --referer=URL
		-b=DATA --cookie=DATA -c=FILE --cookie-jar=FILE -D=FILE --dump-header=FILE -m=TIME --max-time=TIME --connect-timeout=TIME --retry=N -w=FORMAT --write-out=FORMAT -x=PROXY --proxy=PROXY --compressed
		--create-dirs --output-dir=DIR -T=FILE --upload-file=FILE -C=OFFSET --continue-at=OFFSET -4 -6 -0 -1 -2 -3 -g -n -N -q -r=RANGE -y=N -Y=N -z=TIME -E=CERT -K=FILE --config=FILE -# --progress-bar --http1.1 --http2
		--url=URL --no-progress-meter --stderr=FILE --trace=FILE --trace-ascii=FILE --fail-with-body`)
	wgetOptions = parseOptions(`-O=FILE --output-document=FILE -o=FILE --output-file=FILE -a=FILE --append-output=FILE -q --quiet -v --verbose -c --continue -N --timestamping -P=DIR --directory-prefix=DIR -t=N --tries=N -T=N --timeout=N -U=AGENT
		--user-agent=AGENT --header=HEADER --no-check-certificate -S --server-response --spider --no-clobber --no-verbose --show-progress`)
	rsyncOptions = parseOptions(`-a --archive -v --verbose -r --recursive -n --dry-run -z --compress -u --update -l --links -p --perms -t --times -g --group -o --owner -D -H -A -X -x -P --progress --partial --delete --del --delete-before
		--delete-during --delete-delay --delete-after --delete-excluded --delete-missing-args --remove-source-files --exclude=PATTERN --include=PATTERN --exclude-from=FILE --include-from=FILE -e=COMMAND --rsh=COMMAND --stats -q --quiet
		-c --checksum -i --itemize-changes -h --human-readable -C -L -R -m -W -S -f=RULE --filter=RULE --bwlimit=N --backup-dir=DIR --existing --ignore-existing --size-only --inplace --append --info=X --chmod=X --link-dest=DIR --files-from=FILE --force --rsync-path=PROGRAM`)
)

// acts are programs of which it is known what they do. Their names are canonical.
var acts map[string]act

func init() { // acts and the judge call each other
	acts = map[string]act{
		"rm": func(j *judge, s *Segment, args []Word) {
			a := rmOptions.parse(args, false)
			if a.has("--help", "--version") && !a.unsure && a.bad == "" {
				return
			}
			j.removes(s, a.operands, "rm")
			j.parsed(&a, len(a.operands) == 0)
		},
		"rmdir":      removesOperands("rmdir"),
		"unlink":     removesOperands("unlink"),
		"srm":        removesOperands("srm"),
		"wipe":       removesOperands("wipe"),
		"rimraf":     removesOperands("rimraf"),
		"del-cli":    removesOperands("del-cli"),
		"trash":      removesOperands("trash"),
		"trash-put":  removesOperands("trash-put"),
		"gvfs-trash": removesOperands("gvfs-trash"),
		"fdisk":      disk, "parted": disk, "wipefs": disk, "sfdisk": disk, "sgdisk": disk, "blkdiscard": disk, "newfs": disk, "mkswap": disk, "cryptsetup": disk,
		"diskutil": words("erase partition reformat secureErase zeroDisk randomDisk deleteVolume deleteContainer"),
		"tmutil":   words("delete deletelocalsnapshots thinlocalsnapshots"),
		"defaults": words("delete"),
		"security": words("delete-"),
		"crontab":  words("-r"),
		"gio":      words("trash remove"),
		"shred": func(j *judge, s *Segment, args []Word) {
			a := shredOptions.parse(args, false)
			j.removes(s, a.operands, "shred")
			j.parsed(&a, true)
		},
		"truncate": func(j *judge, s *Segment, args []Word) {
			a := truncateOptions.parse(args, false)
			j.overwrites(s, a.operands, "truncate")
			j.parsed(&a, true)
		},
		"mv":      moves,
		"cp":      copies,
		"ditto":   copies,
		"install": installs,
		"ln":      links,
		"link":    func(j *judge, s *Segment, args []Word) { j.moved = true },
		"tee":     tees,
		"dd":      dd,
		"rsync":   rsyncs,
		"find":    finds,
		"tar":     tars,
		"bsdtar":  tars,
		"unzip":   unzips,
		"zip":     zips,
		"gzip":    compresses, "gunzip": compresses, "bzip2": compresses, "bunzip2": compresses, "xz": compresses, "unxz": compresses, "zstd": compresses, "unzstd": compresses, "lz4": compresses, "lzma": compresses, "compress": compresses, "uncompress": compresses,
		"sed": seds,
		"awk": awks, "mawk": awks, "nawk": awks, "original-awk": awks,
		"git":      gits,
		"sort":     output(&sortOptions, "-o", "--output"),
		"iconv":    output(&iconvOptions, "-o", "--output"),
		"tree":     output(&treeOptions, "-o"),
		"base64":   output(&patchedOptions, "-o", "--output"),
		"uniq":     uniqs,
		"rg":       func(j *judge, s *Segment, args []Word) {},
		"curl":     curls,
		"wget":     wgets,
		"xargs":    nothingMore,
		"parallel": nothingMore, "watch": nothingMore, "entr": nothingMore,
		"env": nothingMore, "time": nothingMore, "nice": nothingMore, "timeout": nothingMore, "stdbuf": nothingMore, "command": nothingMore, "builtin": nothingMore, "exec": nothingMore,
		"eval": nothingMore, "caffeinate": nothingMore,
		"hash": nothingMore, "set": nothingMore, "shopt": nothingMore, "mapfile": nothingMore, "readarray": nothingMore,
		"ssh": network, "scp": network, "sftp": network, "nc": network, "ncat": network, "telnet": network, "ftp": network, "http": network, "https": network, "gh": network,
		"open": network,
	}
	for name := range shells {
		acts[name] = nothingMore
	}
}

func nothingMore(*judge, *Segment, []Word) {}

// command notes what a segment's program does.
func (j *judge) command(s *Segment, l *Layer) {
	if l.Program.Function {
		return // its body is among the segments
	}
	name, args := canonical(l.Program.Name), l.Argv[1:]
	for _, w := range l.Argv {
		if w.Doubt.Has(OddBlank) && !harmless[l.Program.Name] {
			j.doubts |= OddBlank
		}
	}
	if f, ok := acts[name]; ok {
		f(j, s, args)
		if !l.Program.known() && !j.packaged(s) {
			j.doubts |= UnknownProgram
		}
	} else if strings.HasPrefix(name, "mkfs") || strings.HasPrefix(name, "newfs_") {
		disk(j, s, args)
	} else if !(harmless[l.Program.Name] || !l.Program.Bare && harmless[path.Base(l.Program.Name)]) || !l.Program.known() {
		if len(l.Code) == 0 {
			j.doubts |= UnknownProgram
		}
	} else if letters := writingOptions[name]; letters != "" && slices.ContainsFunc(args, func(w Word) bool { return mayHold(w, letters) }) {
		j.doubts |= UnknownOption
	} else if readsOperands[name] {
		for _, w := range args {
			if !strings.HasPrefix(w.Lead, "-") {
				j.note(Reads, s, w, name)
			}
		}
	}
	if len(l.Code) > 0 && name != "sed" && name != "git" && family(name) != "awk" {
		j.inline(s, l)
	}
}

// writingOptions are options of harmless programs with which they are not: letters, then the beginning of a long name.
var writingOptions = map[string]string{"file": "C --c", "ss": "D --d", "jobs": "x", "date": "s --s", "hostname": "bF --"}

// mayHold reports whether a word could be one of the options.
func mayHold(w Word, options string) bool {
	letters, long, _ := strings.Cut(options, " ")
	switch {
	case w.Splits || w.Lead == "" && w.Doubt&open != 0:
		return true
	case strings.HasPrefix(w.Lead, "--"):
		return long != "" && (strings.HasPrefix(w.Lead, long) || w.Doubt&open != 0)
	}
	return strings.HasPrefix(w.Lead, "-") && (strings.ContainsAny(w.Lead, letters) || w.Doubt&open != 0)
}

var readsOperands = set("cat head tail wc ls nl tac rev od hexdump strings file stat md5sum sha256sum shasum cksum cmp diff du")

// packaged reports whether the program was named to a package manager, which finds it elsewhere.
func (j *judge) packaged(s *Segment) bool {
	n := len(s.Layers)
	return n > 1 && (s.Layers[n-2].Kind == Package || canonical(s.Layers[n-2].Program.Name) == "busybox" || canonical(s.Layers[n-2].Program.Name) == "toybox")
}

// parsed notes what isn't known of a program's words. always says that an unknown word matters even if there is an effect.
func (j *judge) parsed(a *arguments, always bool) {
	if always && (a.bad != "" || a.unsure) {
		j.doubts |= UnknownOption
	}
}

func (j *judge) removes(s *Segment, list []Word, why string) {
	for _, w := range list {
		j.note(Removes, s, w, why)
	}
}

func (j *judge) overwrites(s *Segment, list []Word, why string) {
	for _, w := range list {
		j.overwrite(s, w, why)
	}
}

func removesOperands(why string) act {
	return func(j *judge, s *Segment, args []Word) {
		ended := false
		for _, w := range args {
			if w.Is("--") && !ended {
				ended = true
			} else if ended || !strings.HasPrefix(w.Lead, "-") {
				j.note(Removes, s, w, why)
			}
		}
		if len(args) > 0 && args[0].Lead == "" && args[0].Doubt&open != 0 {
			j.doubts |= UnknownOption
		}
	}
}

// words are commands that delete something if one of their first words begins so.
func words(list string) act {
	return func(j *judge, s *Segment, args []Word) {
		j.doubts |= UnknownProgram
		for i, w := range args {
			for _, verb := range fields(list) {
				if i < 2 && strings.HasPrefix(strings.ToLower(w.Lead), strings.ToLower(verb)) {
					j.add(Removes, Target{Text: sentence(args[i+1:]), Why: canonical(s.Command().Program.Name) + " " + w.Text}, true)
					return
				}
			}
		}
	}
}

// disk notes that what a disk holds is lost.
func disk(j *judge, s *Segment, args []Word) {
	j.doubts |= UnknownProgram
	for i := len(args) - 1; i >= 0; i-- {
		if !strings.HasPrefix(args[i].Lead, "-") {
			j.note(Removes, s, args[i], canonical(s.Command().Program.Name))
			return
		}
	}
}

// temporary reports whether what is moved to a path is lost: it will be emptied, or swallows it.
func (j *judge) temporary(s *Segment, w Word) bool {
	text, ok := w.Literal()
	if !ok {
		return strings.HasPrefix(text, "$TMPDIR") || strings.HasPrefix(text, `"$TMPDIR`) || strings.HasPrefix(text, "${TMPDIR")
	}
	p := absolute(s.Dir, text)
	if p == "" {
		return false
	}
	for _, t := range append([]string{"/tmp", "/private/tmp", "/var/tmp", "/private/var/tmp", "/var/folders", "/private/var/folders", "/dev"}, j.plan.Context.Temp...) {
		if within(p, t) {
			return true
		}
	}
	return strings.Contains(p+"/", "/.Trash/") || strings.Contains(p+"/", "/.local/share/Trash/")
}

// places takes the operands of mv, cp, ln and install apart.
func (j *judge) places(a *arguments) (from []Word, to Word, ok bool) {
	if dir, has := a.valueOf("-t", "--target-directory"); has {
		return a.operands, dir, true
	}
	if len(a.operands) < 2 {
		return nil, Word{}, false
	}
	return a.operands[:len(a.operands)-1], a.operands[len(a.operands)-1], true
}

// place notes that from takes the place of to, or a place in it if that is a folder.
func (j *judge) place(s *Segment, a *arguments, from, to Word, why string, tree bool) {
	if !a.has("-T", "--no-target-directory", "-n", "--no-dereference", "-h") {
		j.replace(s, from, to, why, tree)
		return
	}
	if is, f := j.look(s, to); is == there && f.Folder { // an empty folder or a link to one gives way
		j.add(Overwrites, j.target(s, to, why), false)
		return
	}
	j.overwrite(s, to, why)
}

// keeps reports whether mv, cp leave what is there.
func keeps(a *arguments) bool {
	for i := len(a.options) - 1; i >= 0; i-- {
		switch a.options[i].name {
		case "-n", "--no-clobber":
			return true
		case "-f", "--force", "-i", "--interactive":
			return false
		}
	}
	return false
}

func moves(j *judge, s *Segment, args []Word) {
	a := mvOptions.parse(args, false)
	j.parsed(&a, true)
	from, to, ok := j.places(&a)
	if ok {
		names := make(map[string]bool)
		for _, w := range from {
			if j.temporary(s, to) && !j.temporary(s, w) {
				j.note(Removes, s, w, "mv to a folder that is emptied")
			}
			base := path.Base(w.Text)
			if names[base] || w.Doubt&open != 0 { // several may get one name
				j.add(Overwrites, j.target(s, to, "mv"), false)
			}
			names[base] = true
			if !keeps(&a) {
				j.place(s, &a, w, to, "mv", true)
			}
			j.note(Changes, s, w, "mv")
		}
		if s.Doubts.Has(Loop|Function) && !keeps(&a) {
			j.add(Overwrites, j.target(s, to, "mv"), false)
		}
	}
	j.moved = true
}

func copies(j *judge, s *Segment, args []Word) {
	a := cpOptions.parse(args, false)
	j.parsed(&a, true)
	from, to, ok := j.places(&a)
	tree := a.has("-r", "-R", "--recursive", "-a", "--archive") || canonical(s.Command().Program.Name) == "ditto"
	if a.has("-l", "--link", "-s", "--symbolic-link") {
		j.moved = true
	}
	if !ok || keeps(&a) {
		return
	}
	for _, w := range from {
		j.note(Reads, s, w, "cp")
		if a.has("--parents") {
			j.add(Overwrites, j.target(s, to, "cp"), false)
			continue
		}
		j.place(s, &a, w, to, "cp", tree)
	}
}

func installs(j *judge, s *Segment, args []Word) {
	a := installOptions.parse(args, false)
	j.parsed(&a, true)
	if a.has("-d", "--directory") {
		return
	}
	if from, to, ok := j.places(&a); ok {
		for _, w := range from {
			j.place(s, &a, w, to, "install", false)
		}
	}
}

func links(j *judge, s *Segment, args []Word) {
	a := lnOptions.parse(args, false)
	j.parsed(&a, true)
	if a.has("-f", "--force", "-F", "-i", "--interactive") {
		from, to, ok := j.places(&a)
		if !ok && len(a.operands) == 1 {
			from, to, ok = a.operands, literal("."), true
		}
		for _, w := range from {
			if ok {
				j.place(s, &a, w, to, "ln", true)
			}
		}
	}
	j.moved = true
}

func tees(j *judge, s *Segment, args []Word) {
	a := teeOptions.parse(args, false)
	j.parsed(&a, true)
	for _, w := range a.operands {
		if a.has("-a", "--append") {
			j.note(Writes, s, w, "tee")
		} else {
			j.overwrite(s, w, "tee")
		}
	}
}

func dd(j *judge, s *Segment, args []Word) {
	for _, w := range args {
		switch {
		case strings.HasPrefix(w.Lead, "of="):
			v := Word{Text: w.Text, Lead: w.Lead[3:], Doubt: w.Doubt}
			if w.Doubt&open == 0 {
				v.Text = v.Lead
			}
			j.overwrite(s, v, "dd")
		case w.Splits, w.Doubt&open != 0 && !strings.Contains(w.Lead, "="):
			j.doubts |= UnknownOption
		}
	}
}

func rsyncs(j *judge, s *Segment, args []Word) {
	a := rsyncOptions.parse(args, false)
	if a.has("-n", "--dry-run") && a.bad == "" && !a.unsure {
		return
	}
	j.doubts |= UnknownOption // which files it replaces isn't known
	to := Word{}
	if n := len(a.operands); n > 0 {
		to = a.operands[n-1]
	}
	for _, o := range a.options {
		switch {
		case strings.HasPrefix(o.name, "--del"):
			j.note(Removes, s, to, "rsync "+o.name)
		case o.name == "--remove-source-files" && len(a.operands) > 0:
			j.removes(s, a.operands[:len(a.operands)-1], "rsync "+o.name)
		}
	}
	for _, w := range a.operands {
		if host, _, ok := strings.Cut(w.Lead, ":"); ok && !strings.Contains(host, "/") {
			j.add(Network, Target{Text: host, Why: "rsync"}, true)
		}
	}
}

func finds(j *judge, s *Segment, args []Word) {
	start := starts(args)
	for i, w := range args {
		switch text := w.Text; {
		case w.Doubt&open != 0:
			if w.MayBeOption() {
				j.doubts |= UnknownOption
			}
		case text == "-delete":
			j.removes(s, start, "find -delete")
		case text == "-fprint", text == "-fprint0", text == "-fprintf", text == "-fls":
			if i+1 < len(args) {
				j.overwrite(s, args[i+1], "find "+text)
			}
		}
	}
	for _, w := range start {
		j.note(Reads, s, w, "find")
	}
}

// starts are the folders that find searches.
func starts(args []Word) (start []Word) {
	for _, w := range args {
		if strings.HasPrefix(w.Lead, "-") && len(start) == 0 && (w.Is("-H") || w.Is("-L") || w.Is("-P")) {
			continue
		}
		if w.Lead == "" || strings.ContainsAny(w.Lead[:1], "-(!") {
			break
		}
		start = append(start, w)
	}
	if len(start) == 0 {
		return []Word{literal(".")}
	}
	return start
}

// searched is the one folder that find searches; "" if there are several or it isn't known.
func (j *judge) searched(s *Segment, args []Word) string {
	start := starts(args)
	if len(start) != 1 {
		return ""
	}
	return j.target(s, start[0], "find").Path
}

func tars(j *judge, s *Segment, args []Word) {
	if len(args) > 0 && len(args[0].Lead) > 0 && args[0].Lead[0] != '-' { // tar xzf FILE: the values of the letters follow in their order
		args = append([]Word{{Text: "-" + args[0].Text, Lead: "-" + args[0].Lead, Doubt: args[0].Doubt}}, args[1:]...)
		if letters := strings.TrimRight(args[0].Lead, "f"); strings.ContainsAny(letters, "fCITXFbHKLNV") {
			j.doubts |= UnknownOption
		}
	}
	options := carriers["tar"].options
	a := options.parse(args, false)
	j.parsed(&a, true)
	modes := 0
	for _, o := range a.options {
		switch o.name {
		case "-c", "-x", "-t", "-r", "-u", "-A", "--create", "--extract", "--get", "--list", "--append", "--update", "--catenate", "--concatenate":
			modes++
		case "--remove-files":
			j.add(Removes, Target{Text: sentence(a.operands), Why: "tar --remove-files"}, true)
		case "--delete":
			j.add(Removes, Target{Text: sentence(a.operands), Why: "tar --delete"}, true)
		}
	}
	switch {
	case modes != 1:
		j.doubts |= UnknownOption
	case a.has("-t", "--list"):
	case a.has("-c", "--create"):
		if file, ok := a.valueOf("-f", "--file"); ok {
			j.overwrite(s, file, "tar")
		}
	default:
		j.doubts |= UnknownOption // what an archive holds may replace files; a change may fail half way
	}
	if len(s.Command().Code) > 0 {
		j.doubts |= InlineCode
	}
}

func unzips(j *judge, s *Segment, args []Word) {
	for _, w := range args {
		if w.Doubt&open == 0 && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "ltpnzZv") && strings.Trim(w.Text[1:], "ltpnzZvqCLaj12") == "" {
			return
		}
	}
	j.doubts |= UnknownOption
}

func zips(j *judge, s *Segment, args []Word) {
	for i, w := range args {
		if strings.HasPrefix(w.Lead, "-") && !strings.HasPrefix(w.Lead, "--") && strings.ContainsAny(w.Lead, "dm") || w.Is("--delete") || w.Is("--move") {
			j.add(Removes, Target{Text: sentence(args[i+1:]), Why: "zip " + w.Text}, true)
		}
	}
	j.doubts |= UnknownOption
}

func compresses(j *judge, s *Segment, args []Word) {
	a := compressOptions.parse(args, false)
	j.parsed(&a, true)
	if !a.has("-c", "--stdout", "--to-stdout", "-l", "--list", "-t", "--test") && (len(a.operands) > 0 || a.has("--rm")) && (!a.has("-k", "--keep") || a.has("-f", "--force")) {
		j.doubts |= UnknownOption // the file gives way to its other form
	}
}

// output is a filter that writes to a file when told to.
func output(o *optionSet, names ...string) act {
	return func(j *judge, s *Segment, args []Word) {
		a := o.parse(args, false)
		j.parsed(&a, true)
		for _, opt := range a.options {
			if oneOfText(opt.name, names) {
				j.overwrite(s, opt.value, canonical(s.Command().Program.Name)+" "+opt.name)
			}
		}
		for _, w := range a.operands {
			j.note(Reads, s, w, canonical(s.Command().Program.Name))
		}
	}
}

func uniqs(j *judge, s *Segment, args []Word) {
	a := uniqOptions.parse(args, false)
	j.parsed(&a, true)
	if len(a.operands) > 1 {
		j.overwrite(s, a.operands[1], "uniq")
	}
}

func curls(j *judge, s *Segment, args []Word) {
	a := curlOptions.parse(args, false)
	j.parsed(&a, true)
	for _, o := range a.options {
		switch o.name {
		case "-o", "--output", "-c", "--cookie-jar", "-D", "--dump-header", "--stderr", "--trace", "--trace-ascii":
			if a.has("--output-dir") {
				j.doubts |= UnknownOption
			}
			j.overwrite(s, o.value, "curl "+o.name)
		case "-O", "--remote-name":
			for _, w := range a.operands {
				j.overwrite(s, literal(path.Base(w.Text)), "curl "+o.name)
			}
		case "-J", "--remote-header-name", "-K", "--config":
			j.doubts |= UnknownOption
		}
	}
	for _, w := range a.operands {
		j.add(Network, Target{Text: w.Text, Why: "curl"}, true)
	}
}

func wgets(j *judge, s *Segment, args []Word) {
	a := wgetOptions.parse(args, false)
	j.parsed(&a, true)
	for _, o := range a.options {
		switch o.name {
		case "-O", "--output-document", "-o", "--output-file":
			j.overwrite(s, o.value, "wget "+o.name)
		case "-c", "--continue", "-N", "--timestamping":
			j.doubts |= UnknownOption
		}
	}
	for _, w := range a.operands {
		j.add(Network, Target{Text: w.Text, Why: "wget"}, true)
	}
}

func network(j *judge, s *Segment, args []Word) {
	j.doubts |= UnknownProgram
	for _, w := range args {
		if !strings.HasPrefix(w.Lead, "-") {
			j.add(Network, Target{Text: w.Text, Why: canonical(s.Command().Program.Name)}, false)
			return
		}
	}
}

// Code that removes files, by the names that the languages give it; and code that shows text at most.
var (
	removingCode = regexp.MustCompile(`\b(os\.(remove|unlink|rmdir|removedirs|truncate)|shutil\.(rmtree|move)|rmtree|remove_tree|rm_rf|rm_r|rm_f|remove_entry\w*|unlink\w*|rmSync|rmdir\w*|rimraf|truncate\w*|removeSync|deleteSync)\b\s*[(\s]|` +
		`\.(unlink|rmdir|delete|remove)\(\)|\b(File|Dir|FileUtils|fs|fsPromises|promises)\.(delete|unlink|rmdir|rm|rm_r|rm_rf|rm_f|remove)\b|\b(unlink|rmdir)\s+["'$@(]|\bdelete\s+(every\s+)?(file|folder|item|alias|POSIX)|` +
		`\b(system|popen|Popen|run|call|check_call|check_output|getoutput|exec\w*|spawn\w*|shell_exec|passthru|qx|script)\b[^\n]{0,80}?\b(rm|rmdir|unlink|shred|srm)\b|` + "`[^`]*\\b(rm|rmdir|unlink|shred)\\b[^`]*`" + `|%x.{0,40}\brm\b`)
	// Only modules that python has loaded before it looks for others in the working folder.
	showingCode = regexp.MustCompile(`^\s*((import\s+(sys|os|time)|print\s*\([^()` + "`" + `]*\)|console\.log\([^()` + "`" + `]*\)|puts\s+("[^"#\\]*"|'[^'\\]*'))\s*[;\n]?\s*)+$`)
	showingPerl = regexp.MustCompile(`^\s*(print|say)\s+("[^"$@\\{}]*(\\n)?"|'[^'\\{}]*')\s*;?\s*$`)
)

// inline judges code in an argument by what stands in it.
func (j *judge) inline(s *Segment, l *Layer) {
	for _, c := range l.Code {
		text, ok := c.Text.Literal()
		switch {
		case removingCode.MatchString(c.Text.Text):
			j.add(Removes, Target{Text: "", Why: c.Label}, true)
		case ok && c.Kind == Code && (showingCode.MatchString(text) || showingPerl.MatchString(text)) && l.Program.known() && len(l.Code) == 1:
		default:
			j.doubts |= InlineCode
		}
	}
}
