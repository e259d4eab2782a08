// SMAppService, which macOS has since 13, looked up by name: what links this program may know no such class.

#import <Foundation/Foundation.h>
#include <dlfcn.h>

#include "login_darwin.h"

@interface NSObject (HandrailLogin)
+ (id)mainAppService;
+ (void)openSystemSettingsLoginItems;
- (NSInteger)status;
- (BOOL)registerAndReturnError:(NSError **)error;
- (BOOL)unregisterAndReturnError:(NSError **)error;
@end

static Class service_class(void) {
	dlopen("/System/Library/Frameworks/ServiceManagement.framework/ServiceManagement", RTLD_LAZY);
	return NSClassFromString(@"SMAppService");
}

int handrail_login_status(void) {
	@try {
		Class class = service_class();
		return class == Nil ? -1 : (int)[(NSObject *)[class mainAppService] status];
	} @catch (NSException *e) {
		return -1;
	}
}

int handrail_login(int on) {
	@try {
		Class class = service_class();
		if (class == Nil) {
			return -1;
		}
		NSObject *service = [class mainAppService];
		NSError *error = nil;
		BOOL done = on ? [service registerAndReturnError:&error] : [service unregisterAndReturnError:&error];
		return done ? 0 : (int)(error.code ?: -2);
	} @catch (NSException *e) {
		return -3;
	}
}

void handrail_login_settings(void) {
	@try {
		[service_class() openSystemSettingsLoginItems];
	} @catch (NSException *e) {
	}
}
