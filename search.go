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

func (c searchState) folders() (state string, folders []string, err error) {
	p := places{State: c.State}
	if err := p.fill(); err != nil {
		return "", nil, err
	}
	folders, err = core.SearchFolders(p.State)
	return p.State, folders, err
}

type searchListCommand struct {
	searchState `embed:""`
}

// Run lists the folders whose files assistants find by what is in them.
func (c *searchListCommand) Run() error {
	_, folders, err := c.folders()
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
	state, folders, err := c.folders()
	if err != nil {
		return err
	}
	for _, f := range c.Folders {
		real, err := filepath.EvalSymlinks(f)
		if err != nil {
			return fmt.Errorf("adding a folder: %w", err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return fmt.Errorf("adding %s: it is no folder", f)
		}
		if !slices.Contains(folders, real) {
			folders = append(folders, real)
		}
	}
	if err := core.SetSearchFolders(state, folders); err != nil {
		return err
	}
	fmt.Println("Their files are read at the next search, or when Handrail starts. An assistant finds only what it may read.")
	return nil
}

type searchRemoveCommand struct {
	searchState `embed:""`
	Folders     []string `arg:"" type:"path" help:"Folders to take out."`
}

// Run takes folders out, with what the index holds of them.
func (c *searchRemoveCommand) Run() error {
	state, folders, err := c.folders()
	if err != nil {
		return err
	}
	for _, f := range c.Folders {
		real, err := filepath.EvalSymlinks(f)
		if err != nil {
			real = f
		}
		i := slices.IndexFunc(folders, func(g string) bool { return g == f || g == real })
		if i < 0 {
			return fmt.Errorf("taking out %s: it is not in the list", f)
		}
		folders = slices.Delete(folders, i, i+1)
	}
	return core.SetSearchFolders(state, folders)
}
