package app

// Settings are what the settings window shows.
type Settings struct {
	Rows []Setting `json:"rows"`
	// Folders are searched.
	Folders []string `json:"folders"`
	// Usual is the workspace where none was chosen.
	Usual string `json:"usual"`
	// Broken is where a file of settings is kept that couldn't be read, Problem what else is wrong; "" for nothing.
	Broken  string `json:"broken,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Setting is one of them, by the name that package setting has, or "updates" or "login".
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Values are those that can be chosen; none for a folder.
	Values []string `json:"values,omitempty"`
	// Asked says that Wanted waits for the person's answer in a dialog.
	Asked  bool   `json:"asked,omitempty"`
	Wanted string `json:"wanted,omitempty"`
	// Missing says that this system, or this build, doesn't have what the setting is about.
	Missing bool `json:"missing,omitempty"`
}

// SettingChange is what a window wants to be set. The names "search" and "unsearch" are of a folder, to be searched or not.
type SettingChange struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SettingsWords are the words of the settings window.
type SettingsWords struct {
	Title, Asked, Changed, Choose, Usual, Path, Add, Remove, Folders, FoldersWhy, NoFolders string
}

// SettingsWords gives the words of the settings window.
func (w Words) SettingsWords() SettingsWords {
	say := func(id string) string { return w.say("settings_"+id, nil) }
	return SettingsWords{Title: say("title"), Asked: say("asked"), Changed: say("changed"), Choose: say("choose"), Usual: say("usual"), Path: say("path"), Add: say("add"),
		Remove: say("remove"), Folders: say("folders"), FoldersWhy: say("folders_why"), NoFolders: say("no_folders")}
}

// SettingLabel names a setting, and SettingWhy says in a sentence what it does, or that it is missing here.
func (w Words) SettingLabel(s Setting) string { return w.say("setting_"+s.Name, nil) }
func (w Words) SettingWhy(s Setting) string {
	if s.Missing {
		return w.say("setting_"+s.Name+"_missing", nil)
	}
	return w.say("setting_"+s.Name+"_why", nil)
}

// SettingValue names a value of a setting.
func (w Words) SettingValue(name, value string) string { return w.say("setting_"+name+"_"+value, nil) }

// SettingWaits says that a value waits for an answer.
func (w Words) SettingWaits(s Setting) string {
	value := Escape(s.Wanted)
	if len(s.Values) > 0 {
		value = w.SettingValue(s.Name, s.Wanted)
	} else if value == "" {
		value = w.say("settings_usual", nil)
	}
	return w.say("settings_waits", holes{"Value": value})
}

// SettingsProblem says what is wrong with the settings; "" if nothing is.
func (w Words) SettingsProblem(s Settings) string {
	switch {
	case s.Broken != "":
		return w.say("settings_broken", holes{"File": Escape(s.Broken)})
	case s.Problem != "":
		return w.say("settings_problem", holes{"Why": escapeProse(s.Problem)})
	}
	return ""
}
