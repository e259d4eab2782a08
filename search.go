package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"handrail/core"
)

type searchCommand struct {
	List   searchListCommand   `cmd:"" default:"withargs" help:"List the folders."`
	Add    searchAddCommand    `cmd:"" help:"Add folders."`
	Remove searchRemoveCommand `cmd:"" help:"Take folders out."`
}

type searchState struct {
	State string `help:"Folder of Handrail's own files." type:"path" placeholder:"DIR"`
}

// change has the list of folders changed; with nil it gives the list alone.
func (c searchState) change(to func(folders []string) ([]string, error)) (folders []string, err error) {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return nil, err
	}
	folders, err = core.SearchFolders(p.State)
	if err != nil || to == nil {
		return folders, err
	}
	if folders, err = to(folders); err != nil {
		return nil, err
	}
	return folders, core.SetSearchFolders(p.State, folders)
}

type searchListCommand struct {
	searchState `embed:""`
}

// Run lists the folders whose files assistants find by what is in them.
func (c *searchListCommand) Run() error {
	folders, err := c.change(nil)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		fmt.Println("No folder is searched. Choose one with: handrail search add FOLDER")
	}
	for _, f := range folders {
		fmt.Println(f)
	}
	return nil
}

type searchAddCommand struct {
	searchState `embed:""`
	Folders     []string `arg:"" type:"path" help:"Folders to search in."`
}

// Run adds folders. Which client may see what is found there is another matter: it needs to be allowed to read it.
func (c *searchAddCommand) Run() error {
	_, err := c.change(func(folders []string) ([]string, error) {
		for _, f := range c.Folders {
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				return nil, fmt.Errorf("adding a folder: %w", err)
			}
			if info, err := os.Stat(real); err != nil || !info.IsDir() {
				return nil, fmt.Errorf("adding %s: it is no folder", f)
			}
			if !slices.Contains(folders, real) {
				folders = append(folders, real)
			}
		}
		return folders, nil
	})
	if err == nil {
		fmt.Println("Their files are read at the next search, or when Handrail starts. An assistant finds only what it may read.")
	}
	return err
}

type searchRemoveCommand struct {
	searchState `embed:""`
	Folders     []string `arg:"" type:"path" help:"Folders to take out."`
}

// Run takes folders out. What the index holds of them goes at the next search, or when Handrail starts.
func (c *searchRemoveCommand) Run() error {
	_, err := c.change(func(folders []string) ([]string, error) {
		for _, f := range c.Folders {
			real, err := filepath.EvalSymlinks(f)
			if err != nil {
				real = f
			}
			i := slices.IndexFunc(folders, func(g string) bool { return g == f || g == real })
			if i < 0 {
				return nil, fmt.Errorf("taking out %s: it is not in the list", f)
			}
			folders = slices.Delete(folders, i, i+1)
		}
		return folders, nil
	})
	return err
}
