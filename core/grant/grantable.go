package grant

import (
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"

	"handrail/core/hint"
)

// Home says where the folders are that no grant may hold. All paths are absolute with links resolved.
type Home struct {
	Home      string // the person's home folder
	State     string // our own files
	Work      string // sessions' temporary files and output; may be empty
	Program   string // the folder, or bundle, of our own executables
	Workspace string // empty while the workspace itself is being chosen
}

// system lists folders that belong to the system. Nothing at or below them is granted.
var system = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/snap", "/sys", "/usr", "/var/lib", "/var/log", "/var/run",
	"/System", "/Library", "/Applications", "/cores", "/private/etc", "/private/var/db", "/private/var/root", "/private/var/run", "/opt/homebrew"}

// volumes lists the folders in which volumes appear: a volume's root is not granted, a folder on it may be.
var volumes = []string{"/", "/Volumes", "/mnt", "/media", "/run/media"}

// Grantable says why folder may be neither granted nor chosen as the workspace, or nil. folder is absolute with links
// resolved; it need not exist. A child of the workspace is judged less strictly: only our own files and program stay out.
// Names are compared as a file system that takes capitals and small letters for one does, for links don't tell how a name
// is spelled on the disk.
func (h Home) Grantable(folder string) error {
	never := func(why string) *hint.Hint {
		return hint.New("not_grantable", "this folder can't be opened to assistants").Because(why).Then("ask the person to put what is needed into the workspace")
	}
	no := func(why string) error { // a smaller folder would do
		return never(why).Then("choose a folder inside it, such as one for the project at hand")
	}
	switch {
	case !filepath.IsAbs(folder) || filepath.Clean(folder) != folder:
		return never("its path is not absolute")
	case folder == string(filepath.Separator):
		return no("it is the whole disk")
	case h.State == "" || h.Home == "":
		return never("it is not known where Handrail's own files are")
	case overlap(folder, h.State) || h.Work != "" && overlap(folder, h.Work):
		return no("it holds Handrail's own files")
	case h.Program != "" && (within(folder, h.Program) || strings.HasSuffix(h.Program, ".app") && within(h.Program, folder)):
		return no("it holds Handrail itself")
	}
	if h.Workspace != "" && Within(h.Workspace, folder) {
		return nil
	}
	if within(folder, h.Home) {
		return no("it is the home folder, or holds it")
	}
	for _, s := range system {
		if overlap(s, folder) {
			return never("it belongs to the system")
		}
	}
	for _, v := range volumes {
		if same(v, folder) || same(v, filepath.Dir(folder)) && v != string(filepath.Separator) {
			return no("it is a whole volume")
		}
	}
	if within(filepath.Join(h.Home, "Library"), folder) {
		return never("it holds the settings and data of other apps")
	}
	for element := range strings.SplitSeq(folder, string(filepath.Separator)) {
		if strings.HasPrefix(element, ".") {
			return never("folders whose name starts with a dot hold settings and secrets")
		}
	}
	return nil
}

// fold gives a path as a file system compares it that takes no account of case and Unicode normalisation, as macOS's.
func fold(path string) string { return strings.ToLower(norm.NFC.String(path)) }

func same(a, b string) bool { return fold(a) == fold(b) }

func within(folder, path string) bool { return Within(fold(folder), fold(path)) }

// overlap reports whether one of two folders is, or holds, the other.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }
