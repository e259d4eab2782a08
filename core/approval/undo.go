package approval

import "time"

// Undo is what putting back a change would do.
type Undo struct {
	// Change names the change; Time is when it was made. The others say by whom, as far as that was kept.
	Change string    `json:"change"`
	Time   time.Time `json:"time"`
	Client string    `json:"client,omitempty"` // as it calls itself
	Tool   string    `json:"tool,omitempty"`
	Text   string    `json:"text,omitempty"`
	// Folder is where: absolute.
	Folder string `json:"folder"`
	// Back come back, Old get their old content back, Gone go away: paths, at most MaxListed of each; More counts those that are
	// left out.
	Back []string `json:"back,omitempty"`
	Old  []string `json:"old,omitempty"`
	Gone []string `json:"gone,omitempty"`
	More int      `json:"more,omitempty"`
	// Left stay as they are; at most MaxListed, LeftMore counts the others.
	Left     []Left `json:"left,omitempty"`
	LeftMore int    `json:"left_more,omitempty"`
	// Diff is how texts would change, of at most MaxDiff bytes, as Request.Diff; DiffMore says that it isn't all.
	Diff     string `json:"diff,omitempty"`
	DiffMore bool   `json:"diff_more,omitempty"`
}

// Left is a file that stays as it is, and why.
type Left struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
