// What users and groups may do, by the provider's own client: one method, one call.

import type { CloudAProvider } from "./provider.ts";
import { needed, texts } from "./sdk-answers.ts";
import { type IamCalls, paged } from "./sdk-calls.ts";

export function policyCalls(
  calls: IamCalls,
): Pick<
  CloudAProvider,
  | "attachUserPolicy"
  | "detachUserPolicy"
  | "attachedUserPolicies"
  | "putUserPolicy"
  | "deleteUserPolicy"
  | "userPolicies"
  | "addUserToGroup"
  | "removeUserFromGroup"
  | "groupsOfUser"
  | "attachedGroupPolicies"
  | "groupPolicies"
  | "groupPolicy"
> {
  const { sdk } = calls;
  return {
    async attachUserPolicy(name: string, arn: string): Promise<void> {
      const { AttachUserPolicyCommand } = sdk;
      await calls.ask("AttachUserPolicy", (client, options) =>
        client.send(new AttachUserPolicyCommand({ UserName: name, PolicyArn: arn }), options),
      );
    },

    async detachUserPolicy(name: string, arn: string): Promise<void> {
      const { DetachUserPolicyCommand } = sdk;
      await calls.ask("DetachUserPolicy", (client, options) =>
        client.send(new DetachUserPolicyCommand({ UserName: name, PolicyArn: arn }), options),
      );
    },

    async attachedUserPolicies(name: string): Promise<string[]> {
      const { ListAttachedUserPoliciesCommand } = sdk;
      return calls.all("ListAttachedUserPolicies", async (client, options, page) => {
        const command = new ListAttachedUserPoliciesCommand({ UserName: name, ...page });
        const answer = await client.send(command, options);
        return paged(answer, texts(answer.AttachedPolicies, "PolicyArn"));
      });
    },

    async putUserPolicy(name: string, policyName: string, document: string): Promise<void> {
      const input = { UserName: name, PolicyName: policyName, PolicyDocument: document };
      const { PutUserPolicyCommand } = sdk;
      await calls.ask("PutUserPolicy", (client, options) =>
        client.send(new PutUserPolicyCommand(input), options),
      );
    },

    async deleteUserPolicy(name: string, policyName: string): Promise<void> {
      const { DeleteUserPolicyCommand } = sdk;
      await calls.ask("DeleteUserPolicy", (client, options) =>
        client.send(
          new DeleteUserPolicyCommand({ UserName: name, PolicyName: policyName }),
          options,
        ),
      );
    },

    async userPolicies(name: string): Promise<string[]> {
      const { ListUserPoliciesCommand } = sdk;
      return calls.all("ListUserPolicies", async (client, options, page) => {
        const answer = await client.send(
          new ListUserPoliciesCommand({ UserName: name, ...page }),
          options,
        );
        return paged(answer, answer.PolicyNames ?? []);
      });
    },

    async addUserToGroup(name: string, group: string): Promise<void> {
      const { AddUserToGroupCommand } = sdk;
      await calls.ask("AddUserToGroup", (client, options) =>
        client.send(new AddUserToGroupCommand({ UserName: name, GroupName: group }), options),
      );
    },

    async removeUserFromGroup(name: string, group: string): Promise<void> {
      const { RemoveUserFromGroupCommand } = sdk;
      await calls.ask("RemoveUserFromGroup", (client, options) =>
        client.send(new RemoveUserFromGroupCommand({ UserName: name, GroupName: group }), options),
      );
    },

    async groupsOfUser(name: string): Promise<string[]> {
      const { ListGroupsForUserCommand } = sdk;
      return calls.all("ListGroupsForUser", async (client, options, page) => {
        const answer = await client.send(
          new ListGroupsForUserCommand({ UserName: name, ...page }),
          options,
        );
        return paged(answer, texts(answer.Groups, "GroupName"));
      });
    },

    async attachedGroupPolicies(group: string): Promise<string[]> {
      const { ListAttachedGroupPoliciesCommand } = sdk;
      return calls.all("ListAttachedGroupPolicies", async (client, options, page) => {
        const command = new ListAttachedGroupPoliciesCommand({ GroupName: group, ...page });
        const answer = await client.send(command, options);
        return paged(answer, texts(answer.AttachedPolicies, "PolicyArn"));
      });
    },

    async groupPolicies(group: string): Promise<string[]> {
      const { ListGroupPoliciesCommand } = sdk;
      return calls.all("ListGroupPolicies", async (client, options, page) => {
        const answer = await client.send(
          new ListGroupPoliciesCommand({ GroupName: group, ...page }),
          options,
        );
        return paged(answer, answer.PolicyNames ?? []);
      });
    },

    async groupPolicy(group: string, policyName: string): Promise<string> {
      const { GetGroupPolicyCommand } = sdk;
      const input = { GroupName: group, PolicyName: policyName };
      const answer = await calls.ask("GetGroupPolicy", (client, options) =>
        client.send(new GetGroupPolicyCommand(input), options),
      );
      const encoded = needed("iam:GetGroupPolicy", answer.PolicyDocument);
      try {
        return decodeURIComponent(encoded);
      } catch {
        return encoded; // it was none: what is no JSON is found out by whoever reads it
      }
    },
  };
}
