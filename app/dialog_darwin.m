// What the dialog needs of macOS that can't be had by plain calls from Go: facts of events, blocks, and C interfaces. All
// names begin with handrail_, since C names are global. No @available here: what it calls isn't in every linker's runtime.

#import <AppKit/AppKit.h>
#import <LocalAuthentication/LocalAuthentication.h>
#import <Security/Security.h>
#include <libproc.h>
#include <string.h>

#include "_cgo_export.h"
#include "dialog_darwin.h"

// An exception must not leave for Go. It ends the process, which allows nothing.
#define GUARDED(...) \
	@try { __VA_ARGS__; } @catch (NSException *e) { \
		fprintf(stderr, "handrail: %s\n", e.reason.UTF8String); \
		_exit(5); \
	}

static NSWindow *watched;
static NSView *allowed;
static NSView *always_allowed; // nil where no lasting rule is offered
static double changed = -1; // system uptime of the last change, negative while the window can't be seen
static struct handrail_click pressed;

static double now(void) { return NSProcessInfo.processInfo.systemUptime; }

static double still_at(double when) { return changed < 0 || when < changed ? 0 : when - changed; }

static bool is_on(NSEvent *event, NSView *view) {
	return view != nil && event.window == watched && NSPointInRect([view convertPoint:event.locationInWindow fromView:nil], view.bounds);
}

static struct handrail_click facts(NSEvent *event) {
	struct handrail_click click = {0};
	click.on_allow = is_on(event, allowed);
	click.on_always = is_on(event, always_allowed);
	click.still = still_at(event.timestamp);
	CGEventRef cg = event.CGEvent;
	if (cg != NULL) {
		click.has_event = true;
		click.source_pid = CGEventGetIntegerValueField(cg, kCGEventSourceUnixProcessID);
		click.source_state = CGEventGetIntegerValueField(cg, kCGEventSourceStateID);
	}
	return click;
}

// handrail_watch begins to note when the window changes, and each press of the left button. always may be NULL.
void handrail_watch(void *window, void *allow, void *always) {
	GUARDED({
		watched = (__bridge NSWindow *)window;
		allowed = (__bridge NSView *)allow;
		always_allowed = (__bridge NSView *)always;
		void (^note)(NSNotification *) = ^(NSNotification *n) {
			changed = (watched.occlusionState & NSWindowOcclusionStateVisible) ? now() : -1;
		};
		for (NSNotificationName name in @[
				NSWindowDidMoveNotification, NSWindowDidResizeNotification, NSWindowDidChangeScreenNotification,
				NSWindowDidBecomeKeyNotification, NSWindowDidResignKeyNotification, NSWindowDidChangeOcclusionStateNotification ]) {
			[NSNotificationCenter.defaultCenter addObserverForName:name object:watched queue:nil usingBlock:note];
		}
		[NSEvent addLocalMonitorForEventsMatchingMask:NSEventMaskLeftMouseDown handler:^NSEvent *(NSEvent *event) {
			pressed = facts(event);
			return event;
		}];
		note(nil);
	})
}

// handrail_still is how many seconds the window has stood still, 0 while it can't be seen.
double handrail_still(void) { return still_at(now()); }

// handrail_down is the last press, given out once.
struct handrail_click handrail_down(void) {
	struct handrail_click click = pressed;
	memset(&pressed, 0, sizeof pressed);
	return click;
}

// handrail_up is the release that is being handled now, or nothing: an action can also come from a key or from
// accessibility, and then the last event may be an old one.
struct handrail_click handrail_up(void) {
	struct handrail_click click = {0};
	GUARDED({
		NSEvent *event = NSApp.currentEvent;
		if (event.type == NSEventTypeLeftMouseUp && now() - event.timestamp < 0.5) {
			click = facts(event);
		}
	})
	return click;
}

// handrail_write appends a text to the question; all but the titles and parts are paragraphs.
void handrail_write(void *text_view, const char *utf8, int style) {
	GUARDED({
		NSString *text = @(utf8) ?: @"";
		NSMutableParagraphStyle *paragraph = [NSMutableParagraphStyle new];
		NSFont *font = [NSFont systemFontOfSize:13];
		NSColor *color = NSColor.labelColor;
		switch (style) {
		case handrail_title: font = [NSFont systemFontOfSize:16]; break;
		case handrail_title_bold: font = [NSFont boldSystemFontOfSize:16]; break;
		case handrail_heading: font = [NSFont boldSystemFontOfSize:13]; paragraph.paragraphSpacingBefore = 14; break;
		case handrail_label: font = [NSFont systemFontOfSize:11]; color = NSColor.secondaryLabelColor; paragraph.paragraphSpacingBefore = 8; break;
		case handrail_part: case handrail_program: case handrail_redirect: case handrail_delete:
			if (style == handrail_program) color = NSColor.systemBlueColor;
			if (style == handrail_redirect) color = NSColor.systemPurpleColor;
			if (style == handrail_delete) color = NSColor.systemRedColor;
			// fall through
		case handrail_exact:
			font = [NSFont monospacedSystemFontOfSize:12 weight:NSFontWeightRegular];
			paragraph.lineBreakMode = NSLineBreakByCharWrapping;
			break;
		}
		NSDictionary *look = @{ NSFontAttributeName: font, NSForegroundColorAttributeName: color, NSParagraphStyleAttributeName: paragraph };
		NSTextStorage *storage = ((__bridge NSTextView *)text_view).textStorage;
		[storage appendAttributedString:[[NSAttributedString alloc] initWithString:text attributes:look]];
		if (style != handrail_title && style != handrail_title_bold && style < handrail_part) {
			[storage appendAttributedString:[[NSAttributedString alloc] initWithString:@"\n" attributes:look]];
		}
	})
}

// handrail_can_authenticate says whether the system can check that the person is its owner: Touch ID, a watch or the
// password.
bool handrail_can_authenticate(void) {
	bool can = false;
	GUARDED({ can = [[LAContext new] canEvaluatePolicy:LAPolicyDeviceOwnerAuthentication error:nil]; })
	return can;
}

// handrail_authenticate has the system check, and tells handrailAuthenticated on the main thread.
void handrail_authenticate(const char *reason) {
	GUARDED({
		LAContext *context = [LAContext new];
		[context evaluatePolicy:LAPolicyDeviceOwnerAuthentication localizedReason:@(reason) reply:^(BOOL success, NSError *error) {
			dispatch_async(dispatch_get_main_queue(), ^{
				handrailAuthenticated(success ? 1 : 0);
				(void)context; // lives until here
			});
		}];
	})
}

// handrail_same_code compares a process with this one: 0 when it runs the file at path and, where this program is signed,
// its code satisfies the designated requirement of this program's signature. -1 is another file, other values are
// Security framework errors.
int handrail_same_code(int pid, const char *path) {
	char runs[PROC_PIDPATHINFO_MAXSIZE] = {0};
	if (proc_pidpath(pid, runs, sizeof runs) <= 0 || strcmp(runs, path) != 0) {
		return -1;
	}
	SecCodeRef self = NULL, other = NULL;
	SecStaticCodeRef file = NULL;
	SecRequirementRef requirement = NULL;
	OSStatus status = SecCodeCopySelf(kSecCSDefaultFlags, &self);
	if (status == errSecSuccess) {
		status = SecCodeCopyStaticCode(self, kSecCSDefaultFlags, &file);
	}
	if (status == errSecSuccess) {
		status = SecCodeCopyDesignatedRequirement(file, kSecCSDefaultFlags, &requirement);
	}
	if (status == errSecCSUnsigned) {
		status = errSecSuccess; // a developer's build: the path has to do
	} else if (status == errSecSuccess) {
		NSDictionary *which = @{ (__bridge NSString *)kSecGuestAttributePid: @(pid) };
		status = SecCodeCopyGuestWithAttributes(NULL, (__bridge CFDictionaryRef)which, kSecCSDefaultFlags, &other);
		if (status == errSecSuccess) {
			status = SecCodeCheckValidity(other, kSecCSDefaultFlags, requirement);
		}
	}
	if (self) CFRelease(self);
	if (other) CFRelease(other);
	if (file) CFRelease(file);
	if (requirement) CFRelease(requirement);
	return (int)status;
}

// handrail_has_session says whether this user has a graphical session (CGSession.h); over ssh there may be none.
bool handrail_has_session(void) {
	CFDictionaryRef session = CGSessionCopyCurrentDictionary();
	if (session == NULL) {
		return false;
	}
	CFRelease(session);
	return true;
}

// handrail_languages gives the person's languages, the preferred first, separated by commas. The caller frees it.
char *handrail_languages(void) {
	char *list = NULL;
	GUARDED({ list = strdup([NSLocale.preferredLanguages componentsJoinedByString:@","].UTF8String ?: ""); })
	return list;
}
