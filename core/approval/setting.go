package approval

import "handrail/core/grant"

// Setting is a setting that would be changed so that it allows more.
type Setting struct {
	// Name is the setting's, as package setting has it, or "search": Now is then a folder that would be searched.
	Name string `json:"name"`
	// Was is what counts, Now what would; "" is what is usual. A folder is absolute with links resolved.
	Was string `json:"was,omitempty"`
	Now string `json:"now,omitempty"`
	// FolderID is the identity of the folder that Now names; all zero where it names none.
	FolderID grant.ID `json:"folder_id,omitzero"`
}
