package app

import (
	"errors"
	"path/filepath"
	"slices"

	"handrail/core/approval"
	"handrail/core/grant"
	"handrail/core/setting"
)

// settingQuestion is the question whether a setting may allow more. No client asks it.
func (w Words) settingQuestion(r approval.Request) Question {
	s := r.Setting
	q := Question{
		Window:             w.say("window_title", nil),
		Title:              w.spans("title_setting_"+s.Name, nil),
		More:               w.say("more_below", nil),
		Details:            []Fact{{Label: w.say("label_setting", nil), Value: Escape(s.Name), Exact: true}},
		Refuse:             w.say("button_refuse", nil),
		Allow:              w.say("button_allow", nil),
		Authenticate:       w.say("button_authenticate", nil),
		AuthenticateReason: w.say("authenticate_setting", nil),
	}
	exact := askedSettings[s.Name] == nil
	fact := func(label, value string) {
		if value == "" && !exact {
			return
		}
		shown := Escape(value)
		switch {
		case !exact:
			shown = w.SettingValue(s.Name, value)
		case value == "" && s.Name == tunnelSetting:
			return
		case value == "":
			shown = w.say("setting_workspace_usual", nil)
		}
		q.Facts = append(q.Facts, Fact{Label: w.say(label, nil), Value: shown, Exact: exact})
	}
	until := "until_setting"
	switch s.Name {
	case searchSetting:
		fact("label_folder", s.Now)
	case tunnelSetting:
		fact("label_was", s.Was)
		fact("label_tunnel", s.Now)
		until = "until_tunnel"
	default:
		fact("label_was", s.Was)
		fact("label_becomes", s.Now)
	}
	q.Facts = append(q.Facts,
		Fact{Label: w.say("label_covers", nil), Value: w.say("covers_setting_"+s.Name, nil)},
		Fact{Label: w.say("label_careful", nil), Value: w.say("careful_setting", nil)},
		Fact{Label: w.say("label_until", nil), Value: w.say(until, nil)})
	if s.FolderID != (grant.ID{}) {
		q.Details = append(q.Details, w.folderID(s.FolderID))
	}
	return q
}

// searchSetting is a folder that would be searched.
const searchSetting = "search"

// tunnelSetting is the host name of the person's own tunnel.
const tunnelSetting = "tunnel"

// presenceSetting is whether the system checks who allows what can't be taken back.
const presenceSetting = "presence"

// askedSettings are those that there are words for, with the values that they may have; nil for a folder, and a host name.
var askedSettings = map[string][]string{"workspace": nil, searchSetting: nil, tunnelSetting: nil, "level": {"none", "look", "ask"}, "network": {"never", "ask"}, "profile": {"guarded", "classic"}, presenceSetting: {"on", "off"}}

// completeSetting says what a question about a setting lacks, or has too much: nothing else may be asked with it.
func completeSetting(r approval.Request) error {
	s := r.Setting
	if s == nil {
		return errors.New("no setting")
	}
	rest := r
	rest.Kind, rest.Setting = "", nil
	values, known := askedSettings[s.Name]
	switch {
	case r.Kind != approval.ChangeSetting, rest.Digest() != (approval.Request{}).Digest():
		return errors.New("a setting and another question")
	case !known || s.Was == s.Now:
		return errors.New("no setting that there is, or no change")
	case values != nil && (!slices.Contains(values, s.Was) || !slices.Contains(values, s.Now) || s.FolderID != (grant.ID{})):
		return errors.New("no value that there is")
	case s.Name == tunnelSetting:
		if s.FolderID != (grant.ID{}) || setting.ValidHost(s.Now) != nil || s.Was != "" && setting.ValidHost(s.Was) != nil {
			return errors.New("no host name")
		}
	case values == nil && (s.Now != "" && !filepath.IsAbs(s.Now) || s.Was != "" && !filepath.IsAbs(s.Was) || (s.Now == "") != (s.FolderID == (grant.ID{}))):
		return errors.New("no folder")
	case s.Name == searchSetting && s.Now == "":
		return errors.New("no folder to search")
	}
	return nil
}
