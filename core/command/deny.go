package command

import "regexp"

// denyPatterns know text that destroys, and what to say of it. They improve a message and decide nothing.
var denyPatterns = []struct {
	pattern *regexp.Regexp
	message string
}{
	{regexp.MustCompile(`:\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;?\s*:`), "this is a fork bomb"},
	{regexp.MustCompile(`(?i)\|&?\s*(sudo\s+)?(/\S*/)?(env\s+)?(ba|z|da|k|fi|a|c|tc)?sh\b`), "piping text into a shell is not allowed"},
	{regexp.MustCompile(`(?i)(^|[\s;&|(])(sudo|doas|pkexec)(\s|$)`), "acting as another user is not allowed"},
	{regexp.MustCompile(`(?i)(^|[\s;&|(/])(mkfs(\.\w+)?|newfs\w*|wipefs|fdisk|sfdisk|shred|diskutil\s+\w*(erase|partition|zero|secure)\w*)(\s|$)`), "wiping disks and files is not allowed"},
	{regexp.MustCompile(`(?i)(^|[\s;&|(/])dd\s[^;&|]*\bof=`), "writing to disks is not allowed"},
	{regexp.MustCompile(`>\s*/dev/(sd|hd|nvme|disk|rdisk|mmcblk|vd)`), "writing to disks is not allowed"},
}

// removal is rm with its options, up to the end of its command.
var (
	removal   = regexp.MustCompile(`(?i)(^|[\s;&|(/"'` + "`" + `])\\?rm\s([^;&|\n]*)`)
	recursive = regexp.MustCompile(`(^|\s)(-[a-zA-Z]*[rR][a-zA-Z]*|--r[a-z]*)(\s|$)`)
	forced    = regexp.MustCompile(`(^|\s)(-[a-zA-Z]*f[a-zA-Z]*|--f[a-z]*)(\s|$)`)
)

// DenyPattern looks for text that is known to destroy, in every spelling of its options: rm -rf, -fr, -fR, -r -f,
// --recursive --force, but not across ;, & or |. It reads text, not a script, so it must decide nothing: it only says
// better why something was refused anyway.
func DenyPattern(script string) (message string, ok bool) {
	if len(script) > MaxScript {
		script = script[:MaxScript]
	}
	for _, m := range removal.FindAllStringSubmatch(script, 64) {
		if recursive.MatchString(m[2]) && forced.MatchString(m[2]) {
			return "deleting files is not allowed (rm -rf)", true
		}
	}
	for _, d := range denyPatterns {
		if d.pattern.MatchString(script) {
			return d.message, true
		}
	}
	return "", false
}
