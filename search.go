package main

import (
	"fmt"

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

func (c searchState) folder() (string, error) {
	p := places{State: c.State}
	err := p.fill()
	return p.State, err
}

type searchListCommand struct {
	searchState `embed:""`
}

// Run lists the folders whose files assistants find by what is in them.
func (c *searchListCommand) Run() error {
	state, err := c.folder()
	if err != nil {
		return err
	}
	folders, err := core.SearchFolders(state)
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
	state, err := c.folder()
	if err == nil {
		err = core.AddSearchFolders(state, c.Folders...)
	}
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
	state, err := c.folder()
	if err == nil {
		err = core.RemoveSearchFolders(state, c.Folders...)
	}
	return err
}
