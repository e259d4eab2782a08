package app

import "testing"

func TestSystemLanguages(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want string
	}{
		{"nothing set", nil, "en"},
		{"LANG", map[string]string{"LANG": "th_TH.UTF-8"}, "th"},
		{"LC_ALL wins", map[string]string{"LANG": "th_TH.UTF-8", "LC_ALL": "en_GB.UTF-8"}, "en"},
		{"LC_MESSAGES wins over LANG", map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "th_TH.UTF-8"}, "th"},
		{"LANGUAGE lists", map[string]string{"LANG": "de_DE.UTF-8", "LANGUAGE": "de:th:en"}, "th"},
		{"LANGUAGE counts for nothing in C", map[string]string{"LANG": "C", "LANGUAGE": "th"}, "en"},
		{"no encoding", map[string]string{"LANG": "th"}, "th"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE"} {
				t.Setenv(name, c.env[name])
			}
			if got := NewWords(SystemLanguages()...).Language(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
