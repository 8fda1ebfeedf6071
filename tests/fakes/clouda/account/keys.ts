// Actions on access keys: two to a user, each with its state.

import type { AccessKey, User } from "./account.ts";
import { type Actions, type Call, page, userOrCaller } from "../action.ts";
import { dateText, limitExceeded, noSuchEntity, validationError } from "../wire.ts";

export const keyActions: Actions = {
  CreateAccessKey(call) {
    const user = userOrCaller(call);
    if (user.keys.length >= 2) throw limitExceeded("Cannot exceed quota for AccessKeysPerUser: 2");
    const key = call.account.newKey("AKIA");
    user.keys.push(key);
    return { AccessKey: { ...showKey(user, key), SecretAccessKey: key.secret } };
  },

  ListAccessKeys(call) {
    const user = userOrCaller(call);
    const keys = call.account.visibleKeys(user, call.action);
    return {
      UserName: user.name,
      ...page(
        call,
        "AccessKeyMetadata",
        keys.map((key) => showKey(user, key)),
      ),
    };
  },

  UpdateAccessKey(call) {
    const status = call.params.required("Status");
    if (status !== "Active" && status !== "Inactive") {
      throw validationError(
        "1 validation error detected: Value at 'status' failed to satisfy constraint: Member must satisfy enum value set: [Active, Inactive]",
      );
    }
    const user = userOrCaller(call);
    namedKey(call, user).status = status;
    return null;
  },

  DeleteAccessKey(call) {
    const user = userOrCaller(call);
    call.account.removeKey(user, namedKey(call, user));
    return null;
  },

  GetAccessKeyLastUsed({ account, params }) {
    const owner = account.keyOwner(params.required("AccessKeyId"));
    if (owner === null) throw noSuchEntity("The Access Key cannot be found.");
    const { lastUsedAt } = owner.key;
    return {
      UserName: owner.user.name,
      AccessKeyLastUsed: {
        ...(lastUsedAt === null ? {} : { LastUsedDate: dateText(lastUsedAt) }),
        ServiceName: lastUsedAt === null ? "N/A" : "iam",
        Region: lastUsedAt === null ? "N/A" : "us-east-1",
      },
    };
  },
};

function namedKey({ account, params, action }: Call, user: User): AccessKey {
  const id = params.required("AccessKeyId");
  const found = account.visibleKeys(user, action).find((key) => key.id === id);
  if (found === undefined) throw noSuchEntity(`The Access Key with id ${id} cannot be found.`);
  return found;
}

function showKey(user: User, key: AccessKey): Record<string, string> {
  return {
    UserName: user.name,
    AccessKeyId: key.id,
    Status: key.status,
    CreateDate: dateText(key.createdAt),
  };
}
