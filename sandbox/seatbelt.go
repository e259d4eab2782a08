package sandbox

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// Param is a value that is passed to sandbox-exec as -D Name=Value.
type Param struct{ Name, Value string }

// SBPL prints the policy as a Seatbelt profile, in the profile language of macOS. No path of this computer stands in its text:
// each is a parameter, so that no name can become a rule. It fails where Validate does.
//
// Which of two matching rules wins is not documented: the last one, or the last of those that name the operation itself rather
// than a wildcard such as file-write*. The text is written to mean the same either way: what follows a wildcard names
// the operations one by one (package sbpl reads it both ways, and the tests compare).
func (p Policy) SBPL() (profile string, params []Param, err error) {
	t := p.compiled().profile()
	return t.text, slices.Clone(t.params), t.err
}

func (p Policy) sbpl() (profile string, params []Param, err error) {
	if err := p.validate(); err != nil {
		return "", nil, err
	}
	s := &seatbelt{policy: p, names: map[string]string{}, count: map[string]int{}}
	switch p.profile {
	case classic:
		s.classic()
	case outside:
		s.line("(version 1)")
		s.line("(allow default)")
	default:
		s.guarded()
	}
	return s.text.String(), s.params, nil
}

// Operations. The wildcard comes first; those after it are what a later rule must name to override it.
var (
	writeOps = []string{"file-write*", "file-write-data", "file-write-create", "file-write-unlink", "file-write-mode", "file-write-owner",
		"file-write-flags", "file-write-times", "file-write-xattr", "file-write-setugid"}
	readOps = []string{"file-read*", "file-read-data", "file-read-metadata", "file-read-xattr", "file-map-executable", "process-exec*", "process-exec"}
	// runOps read a file and run it.
	runOps = []string{"file-read*", "file-map-executable", "process-exec*"}
)

type seatbelt struct {
	policy Policy
	text   strings.Builder
	params []Param
	names  map[string]string // path → parameter
	count  map[string]int    // parameters of a kind
}

func (s *seatbelt) section(title string) { fmt.Fprintf(&s.text, "\n; %s\n", title) }

func (s *seatbelt) line(text string) { s.text.WriteString(text + "\n") }

// rule prints a rule. One without a filter would match everything, so none is printed then.
func (s *seatbelt) rule(action string, ops []string, filters ...string) {
	if len(filters) == 0 {
		return
	}
	fmt.Fprintf(&s.text, "(%s %s\n", action, strings.Join(ops, " "))
	for i, f := range filters {
		end := "\n"
		if i == len(filters)-1 {
			end = ")\n"
		}
		s.text.WriteString("    " + f + end)
	}
}

// param gives the expression for a path. The kind is part of the parameter's name, for those who read the profile.
func (s *seatbelt) param(kind, path string) string {
	name, ok := s.names[path]
	if !ok {
		m := s.policy.machine
		switch path {
		case m.Home:
			name = "HOME"
		case m.State:
			name = "STATE"
		case m.Workspace:
			name = "WORKSPACE"
		case m.Temp:
			name = "TEMP"
		case m.Caches:
			name = "CACHES"
		case m.Executable:
			name = "HANDRAIL"
		default:
			s.count[kind]++
			name = fmt.Sprintf("%s_%d", kind, s.count[kind])
		}
		s.names[path] = name
		s.params = append(s.params, Param{name, path})
	}
	return `(param "` + name + `")`
}

func (s *seatbelt) subpath(kind, path string) string { return "(subpath " + s.param(kind, path) + ")" }
func (s *seatbelt) literal(kind, path string) string { return "(literal " + s.param(kind, path) + ")" }

// place is the filter for a granted folder or file.
func (s *seatbelt) place(kind string, p Place) string {
	if p.File {
		return s.literal(kind, p.Path)
	}
	return s.subpath(kind, p.Path)
}

// fixed gives filters for paths of the system, which are text of ours.
func fixed(kind string, paths ...string) []string {
	f := make([]string, len(paths))
	for i, p := range paths {
		f[i] = "(" + kind + ` "` + p + `")`
	}
	return f
}

func regexFilter(pattern string) string { return `(regex #"` + pattern + `")` }

func (s *seatbelt) guarded() {
	p := s.policy
	m := p.machine
	s.line("(version 1)")
	s.line("(deny default)")
	s.line(seatbeltBase)
	if p.profile == guarded {
		s.line(seatbeltDevices)
	}

	s.section("What may be read and run: the system, installed tools, the workspace, what was granted.")
	s.rule("allow", runOps, fixed("subpath", systemReads["darwin"]...)...)
	var tools []string
	for _, root := range m.toolRoots() {
		tools = append(tools, s.subpath("TOOL", root))
	}
	s.rule("allow", runOps, tools...)
	var places []string
	for _, path := range []string{m.Workspace, m.Temp, m.Caches} {
		if path != "" {
			places = append(places, s.subpath("OWN", path))
		}
	}
	for _, place := range p.reads {
		places = append(places, s.place("READ", place))
	}
	for _, place := range p.writes {
		places = append(places, s.place("CHANGE", place))
	}
	s.rule("allow", runOps, places...)
	if m.Executable != "" {
		s.rule("allow", runOps, s.literal("OWN", m.Executable))
	}
	if m.Developer == "" {
		s.section("No developer tools are installed: what would ask to install them.")
		var tools []string
		for _, name := range placeholders {
			tools = append(tools, "/usr/bin/"+name)
		}
		s.rule("deny", []string{"process-exec*", "process-exec"}, fixed("literal", tools...)...)
	}
	s.section("The folders on the way there, to be looked up only.")
	s.rule("allow", []string{"file-read-metadata"}, s.ancestors()...)

	if p.spotlight {
		s.section("The index of files.")
		s.line(`(allow mach-lookup (global-name "com.apple.metadata.mds"))`)
	}
	if p.sensitive {
		s.sensitive(places)
	}
	if p.profile == readOnly {
		s.closed(nil)
		return
	}
	var roots []string
	for _, place := range p.writes {
		roots = append(roots, s.place("CHANGE", place))
	}
	own := []string{s.subpath("OWN", m.Temp)}
	if m.Caches != "" {
		own = append(own, s.subpath("OWN", m.Caches))
	}
	s.section("What may be changed.")
	s.rule("allow", writeOps, append(slices.Clone(roots), own...)...)
	// A folder is moved with all that is in it, so what is protected in granted folders is protected where one could be prepared.
	if !p.staging {
		s.protected(append(slices.Clone(roots), own...))
	}
	s.closed(append(slices.Clone(p.writes), Place{Path: m.Temp}, Place{Path: m.Caches}))
	s.network(own)
}

// sensitive closes the names that hold secrets, but for the system's own folders.
func (s *seatbelt) sensitive(places []string) {
	s.section("Names that hold secrets, wherever they lie.")
	closed, open := sensitivePatterns()
	for i, pattern := range closed {
		closed[i] = regexFilter(pattern)
	}
	for i, pattern := range open {
		open[i] = "(require-all (require-any " + strings.Join(places, " ") + ") " + regexFilter(pattern) + ")"
	}
	s.rule("deny", append(slices.Clone(readOps), writeOps...), closed...)
	s.rule("allow", readOps, append(open, fixed("subpath", systemReads["darwin"]...)...)...)
}

// ancestors gives the folders above everything that may be read.
func (s *seatbelt) ancestors() []string {
	m := s.policy.machine
	paths := slices.Concat(systemReads["darwin"], m.toolRoots(), s.policy.placePaths(), []string{m.Workspace, m.Temp, m.Caches, m.Executable, m.Home, "/System/Volumes/Data/Users", "/dev/null"})
	seen := map[string]bool{}
	for _, path := range paths {
		for path != "" && path != "/" {
			path = filepath.Dir(path)
			seen[path] = true
		}
	}
	seen[m.Home] = true
	filters := fixed("literal", "/etc", "/tmp", "/var")
	dirs := make([]string, 0, len(seen))
	for dir := range seen {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		filters = append(filters, s.literal("FOLDER", dir))
	}
	return filters
}

// protected closes the protected names in granted folders.
func (s *seatbelt) protected(roots []string) {
	if len(roots) == 0 {
		return
	}
	inRoots := func(pattern string) string {
		return "(require-all (require-any " + strings.Join(roots, " ") + ") " + regexFilter(pattern) + ")"
	}
	s.section("Protected inside them: what other programs trust and run later.")
	git := "/[^/]*" + foldedRegex(".git") + "/"
	var deny, allow []string
	for _, g := range groups(protectedInGit.list) {
		deny = append(deny, regexFilter(git+"(.*/)?("+g+")(/.*)?$"))
	}
	deny = append(deny, regexFilter(git+"(.*/)?"+otherName+"(/.*)?$"))
	for _, g := range groups(gitNames.list) {
		allow = append(allow, inRoots(git+"("+g+")/.*$"))
	}
	allow = append(allow, inRoots(git+"(.*/)?"+foldedRegex("hooks")+"/[^/]*"+foldedRegex(".sample")+"$"))
	s.rule("deny", writeOps, deny...)
	s.rule("allow", writeOps, allow...)
	dotGit := "/" + foldedRegex(".git")
	gitsOwn := "(" + foldedRegex("modules") + "|" + foldedRegex("worktrees") + ")"
	head := foldedRegex("head") + "$"
	// Of a folder that is made the kind may not be known yet: then it is taken for a file.
	s.rule("deny", writeOps, "(require-all "+regexFilter("/"+head)+" (require-not (vnode-type DIRECTORY)) (require-not "+
		regexFilter(dotGit+"/(("+foldedRegex("logs")+"|"+gitsOwn+"(/.*)?)/)?"+head)+"))")
	deny = nil
	var dotted, others []string
	for _, name := range protectedNames.list {
		if name[0] == '.' {
			dotted = append(dotted, name)
		} else {
			others = append(others, foldedRegex(name))
		}
	}
	for _, end := range protectedEndings {
		others = append(others, "[^/]*"+foldedRegex(end))
	}
	slices.Sort(others)
	for _, g := range groups(dotted) {
		deny = append(deny, regexFilter("/("+g+")(/.*)?$"))
	}
	for _, pattern := range others {
		deny = append(deny, regexFilter("/"+otherLetters(pattern)+"(/.*)?$"))
	}
	for _, folder := range slices.Sorted(maps.Keys(protectedParts)) {
		for _, g := range groups(protectedParts[folder]) {
			deny = append(deny, regexFilter("/"+otherLetters(foldedRegex(folder))+"/("+g+")(/.*)?$"))
		}
	}
	for _, way := range slices.Sorted(maps.Keys(protectedWays())) {
		deny = append(deny, regexFilter("/"+otherLetters(foldedRegex(way))+"(/"+otherName+"(/.*)?)?$"))
	}
	deny = append(deny,
		regexFilter("/[.]"+otherName+"(/.*)?$"),
		regexFilter("/"+foldedRegex(".claude")+"/"+foldedRegex("settings")+"[^/]*"+foldedRegex(".json")+"(/.*)?$"),
		regexFilter(git+gitsOwn+"/[^/]*$"),
		regexFilter("/("+foldedRegex(".git")+"|"+foldedRegex("commondir")+")$"))
	s.rule("deny", writeOps, deny...)
	// What may hold a HEAD isn't moved to where it would make a Git folder.
	s.rule("deny", []string{"file-write-unlink"},
		"(require-all (vnode-type DIRECTORY) "+regexFilter(dotGit+"/("+foldedRegex("logs")+"|"+gitsOwn+"(/.*)?)$")+")")
	var obeyed []string
	for _, path := range s.policy.machine.Obeyed {
		if slices.ContainsFunc(s.policy.Writable(), func(w string) bool { return within(fold(w), fold(path)) }) {
			obeyed = append(obeyed, s.subpath("OBEYED", path))
		}
	}
	s.rule("deny", writeOps, obeyed...)
	var names []string
	for _, name := range s.policy.names {
		names = append(names, s.literal("NAME", name))
	}
	s.rule("allow", writeOps, names...)
}

// closed closes what no grant opens, and keeps it and what was granted where they are.
func (s *seatbelt) closed(roots []Place) {
	m := s.policy.machine
	s.section("Never opened: our own files and secrets.")
	secrets := m.secretPaths()
	if s.policy.profile != classic { // the others need no rule: what isn't allowed is denied
		open := slices.Concat(systemReads["darwin"], m.toolRoots(), s.policy.placePaths(), []string{m.Workspace, m.Temp, m.Caches})
		secrets = slices.DeleteFunc(secrets, func(path string) bool {
			return !slices.ContainsFunc(open, func(o string) bool { return o != "" && within(fold(o), fold(path)) })
		})
	}
	var filters []string
	for _, path := range secrets {
		filters = append(filters, s.secret(path)...)
	}
	if s.policy.roomsShown() {
		own := []string{}
		for _, path := range s.policy.ownRooms() {
			own = append(own, s.subpath("OWN", path))
		}
		filter := s.subpath("ROOMS", m.Rooms)
		if len(own) > 0 {
			filter = "(require-all " + filter + " (require-not (require-any " + strings.Join(own, " ") + ")))"
		}
		filters = append(filters, filter)
	}
	s.rule("deny", append(slices.Clone(readOps), writeOps...), filters...)
	if m.Executable != "" {
		s.rule("deny", writeOps, s.literal("OWN", m.Executable))
	}
	pinned := map[string]bool{}
	stay := append(slices.Clone(secrets), m.Executable)
	if s.policy.profile == guarded {
		stay = append(stay, m.Obeyed...)
	}
	for _, path := range stay {
		for dir := filepath.Dir(path); path != "" && dir != "/"; dir = filepath.Dir(dir) {
			if slices.ContainsFunc(roots, func(r Place) bool { return !r.File && within(r.Path, dir) }) {
				pinned[dir] = true
			}
		}
	}
	for i, root := range roots {
		inside := slices.ContainsFunc(roots, func(r Place) bool { return !r.File && r.Path != root.Path && within(r.Path, root.Path) })
		own := i >= len(roots)-2 // the session's own folders stay where they are
		if !root.File && root.Path != "" && (own || !inside) {
			pinned[root.Path] = true
		}
	}
	var pins []string
	dirs := make([]string, 0, len(pinned))
	for dir := range pinned {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	for _, dir := range dirs {
		pins = append(pins, s.literal("FOLDER", dir))
	}
	if len(pins) > 0 {
		s.section("They, and what was granted, aren't moved or removed.")
		s.rule("deny", []string{"file-write-unlink"}, pins...)
	}
}

// secret gives the filters for a path that stays closed, by both names that a folder of the data volume has.
func (s *seatbelt) secret(path string) []string {
	names := []string{path}
	if s.policy.profile == classic {
		names = append(names, dataVolume+path)
	}
	if slices.Contains(systemSecrets["darwin"], path) {
		return fixed("subpath", names...)
	}
	for i, name := range names {
		names[i] = s.subpath("SECRET", name)
	}
	return names
}

const dataVolume = "/System/Volumes/Data"

// network opens what the permissions open.
func (s *seatbelt) network(own []string) {
	p := s.policy
	m := p.machine
	s.section("Sockets with a path, in the session's own folders.")
	var local, remote []string
	for _, f := range own {
		local = append(local, "(local unix-socket "+f+")")
		remote = append(remote, "(remote unix-socket "+f+")")
	}
	s.line("(allow system-socket (socket-domain AF_UNIX))")
	s.rule("allow", []string{"network-bind"}, local...)
	s.rule("allow", []string{"network-outbound"}, remote...)
	var sockets []string
	if p.Allows(SSHAgent) && m.SSHAgent != "" {
		sockets = append(sockets, "(remote unix-socket (path-literal "+s.param("SOCKET", m.SSHAgent)+"))")
	}
	if p.Allows(Docker) && m.Docker != "" {
		sockets = append(sockets, "(remote unix-socket (path-literal "+s.param("SOCKET", m.Docker)+"))")
	}
	if len(sockets) > 0 {
		s.section("Permissions: ssh agent, docker.")
		s.rule("allow", []string{"network-outbound"}, sockets...)
	}
	if p.Allows(Network) {
		s.section("Permission: network.")
		s.line(seatbeltNetwork)
		s.rule("deny", []string{"network-outbound"}, `(remote ip "localhost:*")`)
	}
	if p.Allows(Loopback) {
		s.section("Permission: loopback.")
		s.rule("allow", []string{"network-outbound"}, `(remote ip "localhost:*")`)
		s.rule("allow", []string{"network-bind", "network-inbound"}, `(local ip "localhost:*")`)
	}
	if p.permissions&(Network|Loopback) != 0 && len(m.Ports) > 0 {
		s.section("Our own ports.")
		s.rule("deny", []string{"network-outbound"}, ports("remote", m.Ports)...)
		s.rule("deny", []string{"network-bind", "network-inbound"}, ports("local", m.Ports)...)
	}
	if p.Allows(BrowserTest) {
		s.section("Permission: browser test.")
		s.line(seatbeltBrowser)
	}
	if p.Allows(Xcode) {
		s.section("Permission: xcode.")
		s.line(seatbeltXcode)
	}
}

// classic prints the profile that denies a list.
func (s *seatbelt) classic() {
	m := s.policy.machine
	s.line("(version 1)")
	s.line("(allow default)")
	s.section("Closed for changes: the system, the person's documents, what runs at sign-in, clients' settings.")
	filters := fixed("subpath", classicSystem["darwin"]...)
	for _, rel := range classicInHome {
		filters = append(filters, s.subpath("CLOSED", filepath.Join(m.Home, rel)))
	}
	s.rule("deny", writeOps, filters...)
	s.section("Open for changes, but for deleting in the workspace.")
	s.rule("allow", writeOps, s.subpath("OWN", m.Workspace))
	own := []string{s.subpath("OWN", m.Temp)}
	if m.Caches != "" {
		own = append(own, s.subpath("OWN", m.Caches))
	}
	s.rule("allow", writeOps, own...)
	s.closed([]Place{{Path: "/"}, {Path: m.Temp}, {Path: m.Caches}})
	s.rule("deny", []string{"file-write-unlink"}, s.subpath("OWN", m.Workspace))
	s.section("Our own socket and ports.")
	s.rule("deny", []string{"network-outbound"}, "(remote unix-socket "+s.subpath("OWN", m.State)+")")
	if len(m.Ports) > 0 {
		s.rule("deny", []string{"network-outbound"}, ports("remote", m.Ports)...)
	}
}

// ports are the filters for our ports at one end of a connection.
func ports(end string, list []int) (filters []string) {
	for _, port := range list {
		filters = append(filters, fmt.Sprintf(`(%s ip "*:%d")`, end, port))
	}
	return filters
}

// maxPattern bounds one regular expression, in bytes. A string of more than 1025 makes the whole profile fail on macOS, one of
// more than 255 can't be read by tinyscheme.
const maxPattern = 200

// groups gives regular expressions for any of the names, in any case, each short enough.
func groups(names []string) []string {
	var out []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		pattern := foldedRegex(name)
		if n := len(out) - 1; n >= 0 && len(out[n])+len(pattern) < maxPattern {
			out[n] += "|" + pattern
		} else {
			out = append(out, pattern)
		}
	}
	return out
}

// foldedRegex gives the regular expression for a lower-case ASCII name in any case. It has no backslash, which strings and
// regular expressions read differently, and nothing but ASCII: how macOS reads other characters in a profile is not documented.
func foldedRegex(name string) string {
	var b strings.Builder
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z':
			b.WriteString("[" + string(c) + string(c-'a'+'A') + "]")
		case c == '.':
			b.WriteString("[.]")
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// otherLetters lets something outside ASCII stand for s and k in a regular expression of foldedRegex: a file system may take other
// letters for these two (the long s, the sign for kelvin). It is for names that otherName would close too much for.
func otherLetters(pattern string) string {
	return strings.NewReplacer("[sS]", "([sS]|[^ -~/]+)", "[kK]", "([kK]|[^ -~/]+)").Replace(pattern)
}

// otherName is the regular expression for a name with a character outside ASCII. A file system may take one of these for a
// letter (the long s in .baſhrc), so where a protected name could be meant they are closed as well.
const otherName = "[^/]*[^ -~/][^/]*"
