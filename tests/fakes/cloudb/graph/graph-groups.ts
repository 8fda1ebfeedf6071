// Graph, as the fake of cloud B speaks it: groups with their members, and deleted items.

import type { DeletedItem, Group } from "../model.ts";
import { filterTerms, fits, selected } from "./odata.ts";
import { badRequest, notFound } from "../refusal.ts";
import {
  type CloudRequest,
  checkProperties,
  type Members,
  NO_CONTENT,
  type Route,
  textOf,
} from "../route.ts";
import type { Tenant } from "../tenant.ts";
import { listed } from "./graph-listing.ts";

const READ = ["Group.Read.All", "GroupMember.Read.All", "GroupMember.ReadWrite.All"];
const OWNERS = ["Application.ReadWrite.All", "Application.ReadWrite.OwnedBy"];

function shown({ id, displayName }: Group): Members {
  return { id, displayName, securityEnabled: true, mailEnabled: false };
}

function named({ tenant, parts }: CloudRequest): Group {
  const { group = "" } = parts;
  const found = tenant.directory.groups.get(group.toLowerCase());
  if (found === undefined) throw notFound(group);
  return found;
}

/** The object that a reference leads to: only below the base by which this Graph is known. */
function referenced(tenant: Tenant, reference: string): string {
  const base = `${tenant.settings.knownAs.graph}/v1.0/`;
  const rest = reference.startsWith(base) ? reference.slice(base.length) : "";
  const [, id] = /^(?:directoryObjects|servicePrincipals|users)\/([^/]+)$/.exec(rest) ?? [];
  if (id === undefined) throw badRequest("Invalid URL was specified for '@odata.id'.");
  const { directory, replicas } = tenant;
  const principal = directory.principals.get(id);
  const seen = principal !== undefined && replicas.sees("principalToGroups", id, principal.created);
  if (!seen && !directory.users.has(id)) throw notFound(id);
  return id;
}

function deletedItem({ tenant, parts }: CloudRequest): DeletedItem {
  const { id = "" } = parts;
  const item = tenant.directory.deleted.get(id.toLowerCase());
  const seen = item && tenant.replicas.sees("deletedItems", item.object.id, item.deleted);
  if (!item || seen !== true) throw notFound(id);
  return item;
}

export const groupRoutes: readonly Route[] = [
  {
    action: "listGroups",
    method: "GET",
    pattern: /^\/v1\.0\/groups$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, ...READ);
      const terms = filterTerms(asked.query.get("$filter"), ["id", "displayName"]);
      const all = [...asked.tenant.directory.groups.values()].map(shown);
      return listed(
        asked,
        all.filter((object) => fits(object, terms)),
      );
    },
  },
  {
    action: "getGroup",
    method: "GET",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, ...READ);
      const object = shown(named(asked));
      return { status: 200, body: selected(object, asked.query.get("$select")) };
    },
  },
  {
    action: "listGroupMembers",
    method: "GET",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, ...READ);
      return listed(
        asked,
        [...named(asked).members].map((id) => ({ id })),
      );
    },
  },
  {
    action: "addGroupMember",
    method: "POST",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members\/\$ref$/,
    run: (asked) => {
      const { tenant, caller, body } = asked;
      tenant.permit(caller, "GroupMember.ReadWrite.All");
      checkProperties(body, ["@odata.id"], "reference");
      const { members } = named(asked);
      const id = referenced(tenant, textOf(body, "@odata.id"));
      if (members.has(id)) {
        const text =
          "One or more added object references already exist for the following modified properties: 'members'.";
        throw badRequest(text);
      }
      members.add(id);
      return NO_CONTENT;
    },
  },
  {
    action: "removeGroupMember",
    method: "DELETE",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members\/(?<member>[^/]+)\/\$ref$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, "GroupMember.ReadWrite.All");
      const { member = "" } = asked.parts;
      if (!named(asked).members.delete(member.toLowerCase())) throw notFound(member);
      return NO_CONTENT;
    },
  },
  {
    // Without $ref it is the object itself that goes. Nobody means that; the fake does it all the same.
    action: "deleteMemberObject",
    method: "DELETE",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members\/(?<member>[^/]+)$/,
    run: (asked) => {
      const { member = "" } = asked.parts;
      if (!named(asked).members.has(member.toLowerCase())) throw notFound(member);
      asked.tenant.directory.deleteMember(member.toLowerCase());
      return NO_CONTENT;
    },
  },
  {
    action: "getDeletedItem",
    method: "GET",
    pattern: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, "Application.Read.All", ...OWNERS);
      const { object, deleted, kind } = deletedItem(asked);
      const { id, appId, displayName } = object;
      const type = `#microsoft.graph.${kind}`;
      const deletedDateTime = new Date(deleted).toISOString();
      return {
        status: 200,
        body: { "@odata.type": type, id, appId, displayName, deletedDateTime },
      };
    },
  },
  {
    action: "purgeDeletedItem",
    method: "DELETE",
    pattern: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, ...OWNERS);
      const { object } = deletedItem(asked);
      asked.tenant.permitApplication(asked.caller, object.appId);
      asked.tenant.directory.deleted.delete(object.id);
      return NO_CONTENT;
    },
  },
  {
    action: "restoreDeletedItem",
    method: "POST",
    pattern: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)\/restore$/,
    run: (asked) => {
      asked.tenant.permit(asked.caller, ...OWNERS);
      const item = deletedItem(asked);
      asked.tenant.permitApplication(asked.caller, item.object.appId);
      const { object } = asked.tenant.directory.restore(item.object.id);
      return { status: 200, body: { id: object.id, displayName: object.displayName } };
    },
  },
];
