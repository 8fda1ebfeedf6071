// Users and their access keys, by the provider's own client: one method, one call.

import type { User } from "@aws-sdk/client-iam";
import { instantOf, needed, tagList, userOf } from "./sdk-answers.ts";
import { type IamCalls, paged } from "./sdk-calls.ts";
import type {
  AccessKeyFacts,
  CloudAProvider,
  CloudUser,
  NewAccessKey,
  NewUser,
} from "./provider.ts";

export function userCalls(
  calls: IamCalls,
  seen: (user: CloudUser) => void,
): Pick<
  CloudAProvider,
  | "getUser"
  | "createUser"
  | "deleteUser"
  | "tagUser"
  | "createAccessKey"
  | "deleteAccessKey"
  | "accessKeys"
> {
  const { sdk } = calls;
  const cloudUser = (step: string, user: User | undefined) => {
    const found = userOf(step, user);
    seen(found);
    return found;
  };
  return {
    async getUser(name?: string): Promise<CloudUser> {
      const input = name === undefined ? {} : { UserName: name };
      const { GetUserCommand } = sdk;
      const answer = await calls.ask("GetUser", (client, options) =>
        client.send(new GetUserCommand(input), options),
      );
      return cloudUser("iam:GetUser", answer.User);
    },

    async createUser({ name, path, permissionsBoundary, tags }: NewUser): Promise<CloudUser> {
      const input = {
        UserName: name,
        Path: path,
        ...(permissionsBoundary === undefined ? {} : { PermissionsBoundary: permissionsBoundary }),
        ...(tags === undefined ? {} : { Tags: tagList(tags) }),
      };
      const { CreateUserCommand } = sdk;
      const answer = await calls.ask("CreateUser", (client, options) =>
        client.send(new CreateUserCommand(input), options),
      );
      return cloudUser("iam:CreateUser", answer.User);
    },

    async deleteUser(name: string): Promise<void> {
      const { DeleteUserCommand } = sdk;
      await calls.ask("DeleteUser", (client, options) =>
        client.send(new DeleteUserCommand({ UserName: name }), options),
      );
    },

    async tagUser(name: string, tags: Readonly<Record<string, string>>): Promise<void> {
      const { TagUserCommand } = sdk;
      await calls.ask("TagUser", (client, options) =>
        client.send(new TagUserCommand({ UserName: name, Tags: tagList(tags) }), options),
      );
    },

    async createAccessKey(name: string): Promise<NewAccessKey> {
      const { CreateAccessKeyCommand } = sdk;
      const step = "iam:CreateAccessKey";
      // Sent once when its answer is lost: a second one would be a second key, whose secret nobody knows.
      const { AccessKey: made } = await calls.ask(
        "CreateAccessKey",
        (client, options) => client.send(new CreateAccessKeyCommand({ UserName: name }), options),
        { resend: false },
      );
      return {
        id: needed(step, made?.AccessKeyId),
        secret: needed(step, made?.SecretAccessKey),
        created: made?.CreateDate === undefined ? 0n : instantOf(made.CreateDate),
      };
    },

    async deleteAccessKey(name: string, id: string): Promise<void> {
      const { DeleteAccessKeyCommand } = sdk;
      await calls.ask("DeleteAccessKey", (client, options) =>
        client.send(new DeleteAccessKeyCommand({ UserName: name, AccessKeyId: id }), options),
      );
    },

    async accessKeys(name: string): Promise<AccessKeyFacts[]> {
      const { ListAccessKeysCommand } = sdk;
      const step = "iam:ListAccessKeys";
      return calls.all("ListAccessKeys", async (client, options, page) => {
        const answer = await client.send(
          new ListAccessKeysCommand({ UserName: name, ...page }),
          options,
        );
        const keys = (answer.AccessKeyMetadata ?? []).map((key) => ({
          id: needed(step, key.AccessKeyId),
          created: instantOf(needed(step, key.CreateDate)),
        }));
        return paged(answer, keys);
      });
    },
  };
}
