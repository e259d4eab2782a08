package sandbox

// seatbeltBase is what programs need to start and to run at all, in both deny-default profiles. It opens no file of the
// person's, no other program's window, no pasteboard, keychain, LaunchServices or AppleEvents.
const seatbeltBase = `
; Processes see and signal only each other.
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))

; The machine's plain facts.
(allow sysctl-read
    (sysctl-name-prefix "hw.")
    (sysctl-name-prefix "machdep.cpu.")
    (sysctl-name-prefix "kern.proc.all")
    (sysctl-name-prefix "kern.proc.pid.")
    (sysctl-name-prefix "kern.proc.pgrp.")
    (sysctl-name-prefix "net.routetable")
    (sysctl-name "kern.argmax")
    (sysctl-name "kern.bootargs")
    (sysctl-name "kern.boottime")
    (sysctl-name "kern.clockrate")
    (sysctl-name "kern.hostname")
    (sysctl-name "kern.maxfiles")
    (sysctl-name "kern.maxfilesperproc")
    (sysctl-name "kern.maxproc")
    (sysctl-name "kern.maxprocperuid")
    (sysctl-name "kern.ngroups")
    (sysctl-name "kern.osproductversion")
    (sysctl-name "kern.osrelease")
    (sysctl-name "kern.ostype")
    (sysctl-name "kern.osvariant_status")
    (sysctl-name "kern.osversion")
    (sysctl-name "kern.secure_kernel")
    (sysctl-name "kern.tcsm_available")
    (sysctl-name "kern.tcsm_enable")
    (sysctl-name "kern.usrstack64")
    (sysctl-name "kern.version")
    (sysctl-name "kern.willshutdown")
    (sysctl-name "sysctl.proc_cputype")
    (sysctl-name "sysctl.proc_native")
    (sysctl-name "vm.loadavg"))
(allow sysctl-write
    (sysctl-name "kern.tcsm_enable")
    (sysctl-name "kern.grade_cputype"))
(allow iokit-open
    (iokit-registry-entry-class "RootDomainUserClient"))
(allow mach-lookup
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.opendirectoryd.membership")
    (global-name "com.apple.system.logger")
    (global-name "com.apple.system.notification_center")
    (global-name "com.apple.logd")
    (global-name "com.apple.bsd.dirhelper")
    (global-name "com.apple.PowerManagement.control")
    (global-name "com.apple.cfprefsd.agent")
    (global-name "com.apple.cfprefsd.daemon")
    (global-name "com.apple.FSEvents"))
(allow ipc-posix-sem)
(allow ipc-sysv-sem)
(allow ipc-posix-shm-read-data
    (ipc-posix-name "apple.shm.notification_center")
    (ipc-posix-name-prefix "apple.cfprefs."))
(allow ipc-posix-shm-read-data ipc-posix-shm-write-data ipc-posix-shm-write-create ipc-posix-shm-write-unlink
    (ipc-posix-name-regex #"^/__KMP_REGISTERED_LIB_[0-9]+$"))
(allow user-preference-read)

; Devices. The dynamic linker reads the root folder's list.
(allow file-read-data
    (literal "/"))
(allow file-read* file-write-data
    (literal "/dev/null"))
(allow file-read*
    (literal "/dev/zero")
    (literal "/dev/random")
    (literal "/dev/urandom")
    (literal "/dev/autofs_nowait")
    (subpath "/dev/fd"))
(allow file-read* file-ioctl
    (literal "/dev/dtracehelper"))
(allow file-ioctl
    (regex #"^/dev/ttys[0-9]+$"))`

// seatbeltDevices opens terminals to programs that may change something: of these only what the command opened itself.
const seatbeltDevices = `(allow file-write-data
    (literal "/dev/zero"))
(allow pseudo-tty)
(allow file-read* file-write-data file-ioctl
    (literal "/dev/ptmx")
    (literal "/dev/tty")
    (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))`

// seatbeltNetwork opens other computers: names are resolved, certificates checked. It opens no socket with a path but the
// resolver's, and not the keychain.
const seatbeltNetwork = `(allow system-socket
    (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow network-outbound
    (remote ip)
    (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
    (global-name "com.apple.SystemConfiguration.configd")
    (global-name "com.apple.SystemConfiguration.DNSConfiguration")
    (global-name "com.apple.dnssd.service")
    (global-name "com.apple.networkd")
    (global-name "com.apple.ocspd")
    (global-name "com.apple.trustd")
    (global-name "com.apple.trustd.agent"))`

// seatbeltBrowser lets Chromium and its kin, started without their own sandbox, find their parts.
const seatbeltBrowser = `(allow mach-register mach-lookup
    (global-name-prefix "org.chromium.")
    (global-name-prefix "com.google.Chrome.")
    (global-name-prefix "org.mozilla."))
(allow iokit-open
    (iokit-registry-entry-class "AGXDeviceUserClient")
    (iokit-registry-entry-class "IOSurfaceRootUserClient"))`

// seatbeltXcode opens what the developer tools ask for.
const seatbeltXcode = `(allow file-read*
    (literal "/private/var/db/xcode_select_link")
    (literal "/private/var/select/developer_dir")
    (literal "/Library/Preferences/com.apple.dt.Xcode.plist"))
(allow mach-lookup
    (global-name "com.apple.CoreSimulator.CoreSimulatorService")
    (global-name-prefix "com.apple.dt."))`
