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

function showGroup({ id, displayName }: Group): Members {
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
    run: (request) => {
      request.tenant.permit(request.caller, ...READ);
      const terms = filterTerms(request.query.get("$filter"), ["id", "displayName"]);
      const all = [...request.tenant.directory.groups.values()].map(showGroup);
      return listed(
        request,
        all.filter((object) => fits(object, terms)),
      );
    },
  },
  {
    action: "getGroup",
    method: "GET",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)$/,
    run: (request) => {
      request.tenant.permit(request.caller, ...READ);
      const object = showGroup(named(request));
      return { status: 200, body: selected(object, request.query.get("$select")) };
    },
  },
  {
    action: "listGroupMembers",
    method: "GET",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members$/,
    run: (request) => {
      request.tenant.permit(request.caller, ...READ);
      return listed(
        request,
        [...named(request).members].map((id) => ({ id })),
      );
    },
  },
  {
    action: "addGroupMember",
    method: "POST",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members\/\$ref$/,
    run: (request) => {
      const { tenant, caller, body } = request;
      tenant.permit(caller, "GroupMember.ReadWrite.All");
      checkProperties(body, ["@odata.id"], "reference");
      const { members } = named(request);
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
    run: (request) => {
      request.tenant.permit(request.caller, "GroupMember.ReadWrite.All");
      const { member = "" } = request.parts;
      if (!named(request).members.delete(member.toLowerCase())) throw notFound(member);
      return NO_CONTENT;
    },
  },
  {
    // Without $ref it is the object itself that goes. Nobody means that; the fake does it all the same.
    action: "deleteMemberObject",
    method: "DELETE",
    pattern: /^\/v1\.0\/groups\/(?<group>[^/]+)\/members\/(?<member>[^/]+)$/,
    run: (request) => {
      const { member = "" } = request.parts;
      if (!named(request).members.has(member.toLowerCase())) throw notFound(member);
      request.tenant.directory.deleteMember(member.toLowerCase());
      return NO_CONTENT;
    },
  },
  {
    action: "getDeletedItem",
    method: "GET",
    pattern: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)$/,
    run: (request) => {
      request.tenant.permit(request.caller, "Application.Read.All", ...OWNERS);
      const { object, deleted, kind } = deletedItem(request);
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
    run: (request) => {
      request.tenant.permit(request.caller, ...OWNERS);
      const { object } = deletedItem(request);
      request.tenant.permitApplication(request.caller, object.appId);
      request.tenant.directory.deleted.delete(object.id);
      return NO_CONTENT;
    },
  },
  {
    action: "restoreDeletedItem",
    method: "POST",
    pattern: /^\/v1\.0\/directory\/deletedItems\/(?<id>[^/]+)\/restore$/,
    run: (request) => {
      request.tenant.permit(request.caller, ...OWNERS);
      const item = deletedItem(request);
      request.tenant.permitApplication(request.caller, item.object.appId);
      const { object } = request.tenant.directory.restore(item.object.id);
      return { status: 200, body: { id: object.id, displayName: object.displayName } };
    },
  },
];
