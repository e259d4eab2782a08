// Whether anyone can see the screen, and notifications (UserNotifications, looked up by name: it works in an app's bundle alone).

#import <AppKit/AppKit.h>
#include <dlfcn.h>

#include "attended_darwin.h"

@interface NSObject (HandrailNotifications)
+ (id)currentNotificationCenter;
- (void)requestAuthorizationWithOptions:(NSUInteger)options completionHandler:(void (^)(BOOL granted, NSError *error))done;
- (void)addNotificationRequest:(id)request withCompletionHandler:(void (^)(NSError *error))done;
- (void)removeDeliveredNotificationsWithIdentifiers:(NSArray<NSString *> *)ids;
- (void)removePendingNotificationRequestsWithIdentifiers:(NSArray<NSString *> *)ids;
- (void)setBody:(NSString *)body;
+ (id)requestWithIdentifier:(NSString *)id content:(id)content trigger:(id)trigger;
@end

// The session's dictionary has CGSSessionScreenIsLocked while its screen is locked; the key is in no header, and is there since 10.9.
bool handrail_screen_seen(void) {
	CFDictionaryRef session = CGSessionCopyCurrentDictionary();
	if (session == NULL) {
		return true; // the dialog says that there is none
	}
	CFBooleanRef front = CFDictionaryGetValue(session, kCGSessionOnConsoleKey);
	CFBooleanRef locked = CFDictionaryGetValue(session, CFSTR("CGSSessionScreenIsLocked"));
	bool seen = (front == NULL || CFBooleanGetValue(front)) && !(locked != NULL && CFBooleanGetValue(locked));
	CFRelease(session);
	return seen;
}

static NSObject *center(void) {
	if (NSBundle.mainBundle.bundleIdentifier == nil) {
		return nil; // it would end the process
	}
	dlopen("/System/Library/Frameworks/UserNotifications.framework/UserNotifications", RTLD_LAZY);
	return [(id)NSClassFromString(@"UNUserNotificationCenter") currentNotificationCenter];
}

void handrail_notify(const char *utf8_id, const char *utf8_title, const char *utf8_text) {
	@try {
		NSString *id_ = @(utf8_id), *title = @(utf8_title), *text = @(utf8_text);
		NSObject *notifications = center();
		[notifications requestAuthorizationWithOptions:1 << 2 /* UNAuthorizationOptionAlert */ completionHandler:^(BOOL granted, NSError *error) {
			@try {
				if (!granted) {
					return;
				}
				NSObject *content = [NSClassFromString(@"UNMutableNotificationContent") new];
				[content setValue:title forKey:@"title"];
				[content setBody:text];
				id request = [(id)NSClassFromString(@"UNNotificationRequest") requestWithIdentifier:id_ content:content trigger:nil];
				[notifications addNotificationRequest:request withCompletionHandler:^(NSError *failed) {}];
			} @catch (NSException *e) {
			}
		}];
	} @catch (NSException *e) {
	}
}

void handrail_notified(const char *utf8_id) {
	@try {
		NSArray *ids = @[ @(utf8_id) ];
		NSObject *notifications = center();
		[notifications removePendingNotificationRequestsWithIdentifiers:ids];
		[notifications removeDeliveredNotificationsWithIdentifiers:ids];
	} @catch (NSException *e) {
	}
}
