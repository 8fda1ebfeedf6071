// Actions on groups and on who is in them.

import { type Group, groupArn, newId } from "./account.ts";
import { type Actions, namedUser, page, sorted } from "../action.ts";
import { checkName } from "./rules.ts";
import { showUser } from "./users.ts";
import {
  alreadyExists,
  ApiError,
  dateText,
  limitExceeded,
  noSuchEntity,
  type XmlObject,
} from "../wire.ts";

export const groupActions: Actions = {
  CreateGroup({ account, params }) {
    const name = checkName("groupName", params.required("GroupName"), 128);
    if (account.groups.has(name)) throw alreadyExists(`Group with name ${name} already exists.`);
    const group: Group = {
      name,
      id: newId("AGPA"),
      createdAt: account.now(),
      attached: new Set(),
      inline: new Map(),
    };
    account.groups.set(name, group);
    return { Group: showGroup(group) };
  },

  GetGroup(call) {
    const group = call.account.group(call.params.required("GroupName"));
    const members = call.account
      .visibleUsers(call.action)
      .filter(({ groups }) => groups.has(group.name));
    return { Group: showGroup(group), ...page(call, "Users", members.map(showUser)) };
  },

  DeleteGroup({ account, params }) {
    const group = account.group(params.required("GroupName"));
    const isUsed = [...account.users.values()].some(({ groups }) => groups.has(group.name));
    if (isUsed || group.attached.size > 0 || group.inline.size > 0) {
      const said = "Cannot delete entity, must remove users and policies from group first.";
      throw new ApiError(409, "DeleteConflict", said);
    }
    account.groups.delete(group.name);
    return null;
  },

  AddUserToGroup(call) {
    const group = call.account.group(call.params.required("GroupName"));
    const user = namedUser(call);
    if (!user.groups.has(group.name) && user.groups.size >= 10) {
      throw limitExceeded("Cannot exceed quota for GroupsPerUser: 10");
    }
    user.groups.add(group.name);
    return null;
  },

  RemoveUserFromGroup(call) {
    const group = call.account.group(call.params.required("GroupName"));
    const user = namedUser(call);
    if (!user.groups.delete(group.name)) {
      throw noSuchEntity(`User ${user.name} is not in group ${group.name}.`);
    }
    return null;
  },

  ListGroupsForUser(call) {
    const groups = sorted(namedUser(call).groups).map((name) => call.account.group(name));
    return page(call, "Groups", groups.map(showGroup));
  },
};

function showGroup(group: Group): XmlObject {
  return {
    Path: "/",
    GroupName: group.name,
    GroupId: group.id,
    Arn: groupArn(group),
    CreateDate: dateText(group.createdAt),
  };
}
