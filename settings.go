package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"handrail/app"
	"handrail/core"
	"handrail/core/program"
	"handrail/core/release"
	"handrail/core/setting"
)

// settingsAccount names the key of the settings in a state folder.
func settingsAccount(state string) string { return "settings of " + state }

// openSettings opens the settings of a state folder, for the one process that asks.
func openSettings(state string) *setting.Store {
	return setting.Open(state, func(renew bool) ([]byte, error) {
		get := app.Secret
		if renew {
			get = app.Renew
		}
		return get(keyService, settingsAccount(state))
	})
}

// spoken gives the words of the language that is set now.
func spoken(s *setting.Store) func() app.Words {
	var mu sync.Mutex
	var last string
	var words app.Words
	return func() app.Words {
		mu.Lock()
		defer mu.Unlock()
		wanted := s.Get(setting.Language)
		if wanted != last {
			languages := app.SystemLanguages()
			if wanted != "auto" {
				languages = []string{wanted}
			}
			last, words = wanted, app.NewWords(languages...)
		}
		return words
	}
}

// manner is how the person wants to be asked now.
func manner(s *setting.Store, words func() app.Words) func() app.Manner {
	return func() app.Manner {
		minutes, _ := strconv.Atoi(s.Get(setting.Visible)) // one of a few numbers
		return app.Manner{Words: words(), VisibleFor: time.Duration(minutes) * time.Minute, Presence: s.Get(setting.Presence) == "on"}
	}
}

// Settings are what the person can set, for the window.
func (r *resident) Settings() app.Settings {
	all := app.Settings{Usual: filepath.Join(r.Home(), "Handrail")}
	for _, n := range []setting.Name{setting.Workspace, setting.Level, setting.Network, setting.Profile, setting.Presence} {
		row := app.Setting{Name: string(n), Values: n.Values(), Missing: n == setting.Presence && !app.ChecksPresence}
		value, waits := r.Setting(n)
		if row.Value = value; waits != nil {
			row.Asked, row.Wanted = true, waits.Now
		}
		all.Rows = append(all.Rows, row)
	}
	all.Rows = append(all.Rows, r.loginSetting())
	for _, n := range []setting.Name{setting.Language, setting.Visible, setting.Undo} {
		value, _ := r.Setting(n)
		all.Rows = append(all.Rows, app.Setting{Name: string(n), Values: n.Values(), Value: value})
	}
	all.Rows = append(all.Rows, r.updatesSetting())
	folders, err := r.SearchFolders()
	all.Folders = folders
	if problem := errors.Join(r.SettingsProblem(), err); problem != nil {
		all.Problem = problem.Error()
	}
	if broken := setting.Broken(r.state); exists(broken) {
		all.Broken = broken
	}
	return all
}

var onOff = []string{"on", "off"}

func chosen(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (r *resident) loginSetting() app.Setting {
	on, err := app.StartsAtLogin()
	return app.Setting{Name: "login", Value: chosen(on), Values: onOff, Missing: err != nil || r.place != program.Stays && !on}
}

func (r *resident) updatesSetting() app.Setting {
	return app.Setting{Name: "updates", Value: chosen(r.news.Status().State != release.Off), Values: onOff, Missing: updateAddress == ""}
}

// ChangeSetting sets what allows nothing more, and has the person asked about the rest.
func (r *resident) ChangeSetting(c app.SettingChange) (asks bool, err error) {
	on := c.Value == "on"
	switch c.Name {
	case core.SearchSetting:
		return true, r.AskSearchFolder(c.Value)
	case "unsearch":
		return false, r.RemoveSearchFolders(c.Value)
	case "login", "updates":
		if !slices.Contains(onOff, c.Value) {
			return false, errors.New("it is on or off")
		}
		if c.Name == "updates" {
			err = r.LookForUpdates(on)
		} else {
			err = r.startAtLogin(on)
		}
		r.changed()
		return false, err
	}
	if setting.Name(c.Name) == setting.Presence && on && !app.ChecksPresence {
		return false, errors.New("this system can't check that it is you")
	}
	return r.Set(setting.Name(c.Name), c.Value)
}

func (r *resident) startAtLogin(on bool) error {
	place, err := program.Find()
	if err == nil && on {
		err = place.Err()
	}
	if err != nil {
		return err
	}
	return app.StartAtLogin(place.Executable, on)
}
