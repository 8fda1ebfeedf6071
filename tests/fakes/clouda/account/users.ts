// Actions on users and their tags.

import { type User, userArn } from "./account.ts";
import { type Actions, namedUser, page, tagList, userOrCaller } from "../action.ts";
import { checkName, checkPath, tagsOf } from "./rules.ts";
import { managedPolicy } from "./policies.ts";
import { alreadyExists, ApiError, dateText, limitExceeded, type XmlObject } from "../wire.ts";

export const userActions: Actions = {
  CreateUser({ account, params }) {
    const name = checkName("userName", params.required("UserName"), 64);
    const path = checkPath(params.optional("Path") ?? "/");
    const boundary = params.optional("PermissionsBoundary");
    const tags = tagsOf(params);
    // Names are unique without regard to case, and a name is taken from the first moment on.
    const isTaken = [...account.users.keys()].some(
      (other) => other.toLowerCase() === name.toLowerCase(),
    );
    if (isTaken) throw alreadyExists(`User with name ${name} already exists.`);
    if (account.users.size >= 5000) {
      throw limitExceeded("Cannot exceed quota for UsersPerAccount: 5000");
    }
    if (boundary !== null) managedPolicy(account, boundary);
    const user = account.newUser(name, path);
    user.boundary = boundary;
    for (const [key, value] of tags) user.tags.set(key, value);
    return { User: showUser(user) };
  },

  GetUser(call) {
    return { User: showUser(userOrCaller(call)) };
  },

  ListUsers(call) {
    const prefix = call.params.optional("PathPrefix") ?? "/";
    const users = call.account
      .visibleUsers(call.action)
      .filter(({ path }) => path.startsWith(prefix))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return page(call, "Users", users.map(listed));
  },

  DeleteUser(call) {
    const user = namedUser(call);
    const hindrance = hindranceOf(user);
    if (hindrance !== null) {
      const said = `Cannot delete entity, must ${hindrance} first.`;
      throw new ApiError(409, "DeleteConflict", said);
    }
    call.account.removeUser(user);
    return null;
  },

  TagUser(call) {
    const user = namedUser(call);
    const tags = tagsOf(call.params);
    if (new Set([...user.tags.keys(), ...tags.keys()]).size > 50) {
      throw limitExceeded("Cannot exceed quota for TagsPerUser: 50");
    }
    for (const [key, value] of tags) user.tags.set(key, value);
    return null;
  },

  UntagUser(call) {
    const user = namedUser(call);
    for (const item of call.params.list("TagKeys")) user.tags.delete(item.get("") ?? "");
    return null;
  },

  ListUserTags(call) {
    return page(call, "Tags", tagList(namedUser(call).tags));
  },
};

/** What has to go before the user can. */
function hindranceOf(user: User): string | null {
  const { extras } = user;
  if (user.keys.length > 0) return "delete access keys";
  if (user.inline.size > 0) return "delete policies";
  if (user.attached.size > 0) return "detach all policies";
  if (user.groups.size > 0) return "remove users from group";
  if (extras.loginProfile !== null) return "delete login profile";
  if (extras.mfaDevices.size > 0) return "delete MFA device";
  if (extras.certificates.size > 0) return "delete signing certificates";
  if (extras.sshKeys.size > 0) return "delete SSH public keys";
  if (extras.serviceCredentials.size > 0) return "delete service specific credentials";
  return null;
}

function listed(user: User): XmlObject {
  return {
    Path: user.path,
    UserName: user.name,
    UserId: user.id,
    Arn: userArn(user),
    CreateDate: dateText(user.createdAt),
  };
}

export function showUser(user: User): XmlObject {
  const { boundary, tags } = user;
  return {
    ...listed(user),
    ...(boundary === null
      ? {}
      : {
          PermissionsBoundary: {
            PermissionsBoundaryType: "Policy",
            PermissionsBoundaryArn: boundary,
          },
        }),
    ...(tags.size === 0 ? {} : { Tags: tagList(tags) }),
  };
}
