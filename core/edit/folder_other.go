//go:build !linux && !darwin

package edit

import (
	"errors"
	"os"
)

// folder refuses everything: there is no way here to use one file from the check to the write.
type folder struct{ *os.File }

func (folder) openFolder(string) (folder, error)        { return folder{}, errors.ErrUnsupported }
func (folder) openRead(string) (*os.File, error)        { return nil, errors.ErrUnsupported }
func (folder) create(string, uint32) (*os.File, error)  { return nil, errors.ErrUnsupported }
func (folder) stat(string) (info, error)                { return info{}, errors.ErrUnsupported }
func (folder) readlink(string) (string, error)          { return "", errors.ErrUnsupported }
func (folder) writable(string) error                    { return errors.ErrUnsupported }
func (folder) mkdir(string) error                       { return errors.ErrUnsupported }
func (folder) remove(string) error                      { return errors.ErrUnsupported }
func (folder) rmdir(string) error                       { return errors.ErrUnsupported }
func (folder) rename(string, string) error              { return errors.ErrUnsupported }
func (folder) link(string, string) error                { return errors.ErrUnsupported }
func (folder) exchange(string, string) error            { return errors.ErrUnsupported }
func (folder) renameNew(string, string) error           { return errors.ErrUnsupported }
func (folder) flush() error                             { return errors.ErrUnsupported }
func (folder) clone(*os.File, string) (*os.File, error) { return nil, errors.ErrUnsupported }
func (folder) move(string, folder, string) error        { return errors.ErrUnsupported }
func (folder) moveNew(string, folder, string) error     { return errors.ErrUnsupported }
func (folder) linkTo(string, folder, string) error      { return errors.ErrUnsupported }
func (folder) symlink(string, string) error             { return errors.ErrUnsupported }
func (folder) setTime(string, int64) error              { return errors.ErrUnsupported }
func (folder) setPerm(string, uint32) error             { return errors.ErrUnsupported }
func (folder) free() (int64, error)                     { return 0, errors.ErrUnsupported }
func (folder) spelling(name string, _ *os.File) string  { return name }

func statFile(*os.File) (info, error)                  { return info{}, errors.ErrUnsupported }
func lockFile(*os.File) error                          { return errors.ErrUnsupported }
func chown(*os.File, uint32, uint32) error             { return errors.ErrUnsupported }
func chmod(*os.File, uint32) error                     { return errors.ErrUnsupported }
func keepAttributes(from, to *os.File, _ uint32) error { return errors.ErrUnsupported }
func euid() uint32                                     { return 0 }
func setAttributes(*os.File, map[string][]byte)        {}
func excludeFromBackup(folder) error                   { return errors.ErrUnsupported }
func flushVolume(folder) error                         { return errors.ErrUnsupported }
func attributes(*os.File) (map[string][]byte, error)   { return nil, errors.ErrUnsupported }
func openPath(string) (folder, error)                  { return folder{}, errors.ErrUnsupported }
func statPath(string) (info, error)                    { return info{}, errors.ErrUnsupported }

type handle int

func (folder) handle(string) (handle, error) { return 0, errors.ErrUnsupported }
func (folder) writeNew(string, []byte) error { return errors.ErrUnsupported }
func (handle) close()                        {}
func (handle) file(string) (*os.File, error) { return nil, errors.ErrUnsupported }
func (handle) stat() (info, error)           { return info{}, errors.ErrUnsupported }
func (handle) plain() bool                   { return false }
func (handle) read([]byte) (int, error)      { return 0, errors.ErrUnsupported }
