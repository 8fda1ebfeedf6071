// Graph, as the fake of cloud B speaks it: applications, and what was deleted.

import type { Application } from "../model.ts";
import { fits, filterTerms, selected } from "./odata.ts";
import { addPassword, removePassword, showPassword } from "./passwords.ts";
import { badRequest, notFound } from "../refusal.ts";
import {
  type CloudRequest,
  checkProperties,
  type Members,
  membersOf,
  NO_CONTENT,
  type Route,
  textOf,
} from "../route.ts";
import { listed } from "./graph-listing.ts";

const AUDIENCES = [
  "AzureADMyOrg",
  "AzureADMultipleOrgs",
  "AzureADandPersonalMicrosoftAccount",
  "PersonalMicrosoftAccount",
];
const ONE = String.raw`(?:/(?<id>[^/()]+)|\(appId='(?<appId>(?:[^']|'')*)'\))`;
const READ = ["Application.Read.All", "Application.ReadWrite.All", "Application.ReadWrite.OwnedBy"];

function showApplication(application: Application): Members {
  const { id, appId, displayName, signInAudience, tags, created, passwords } = application;
  return {
    id,
    deletedDateTime: null,
    appId,
    createdDateTime: new Date(created).toISOString(),
    displayName,
    signInAudience,
    tags,
    passwordCredentials: passwords.map(showPassword),
    keyCredentials: [],
  };
}

/** The one that the path names, if the replica that answers has seen it. */
function named({ tenant, parts }: CloudRequest): Application {
  const { id = "", appId } = parts;
  const { directory, replicas } = tenant;
  const found =
    appId === undefined
      ? directory.applications.get(id.toLowerCase())
      : directory.applicationOf(appId.toLowerCase());
  const seen = found && replicas.sees("applicationToReads", found.id, found.created);
  if (!found || seen !== true) throw notFound(appId ?? id);
  return found;
}

/** Applications that personal accounts may sign in to take tokens of version 2 and no others. */
function checkTokenVersion(api: unknown, audience: string): void {
  const members = membersOf(api ?? {});
  checkProperties(members, ["requestedAccessTokenVersion"], "Api");
  const { requestedAccessTokenVersion: version = null } = members;
  const allowed = audience.includes("Personal") ? [2] : [null, 1, 2];
  if (allowed.some((one) => one === version)) return;
  throw badRequest("Property api.requestedAccessTokenVersion is invalid.");
}

function checkTags(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  const good = (tag: unknown): tag is string =>
    typeof tag === "string" && tag !== "" && tag.length <= 256 && !/\s/.test(tag);
  if (!Array.isArray(value) || !value.every(good) || new Set(value).size !== value.length) {
    throw badRequest("Invalid value specified for property 'tags' of resource 'Application'.");
  }
  return value;
}

export const applicationRoutes: readonly Route[] = [
  {
    action: "createApplication",
    method: "POST",
    pattern: /^\/v1\.0\/applications$/,
    run: ({ tenant, caller, body }) => {
      tenant.permit(caller, "Application.ReadWrite.All", "Application.ReadWrite.OwnedBy");
      checkProperties(body, ["displayName", "signInAudience", "tags", "api"], "Application");
      const displayName = textOf(body, "displayName");
      const { signInAudience } = body;
      const known = typeof signInAudience === "string" && AUDIENCES.includes(signInAudience);
      if (signInAudience !== undefined && !known) {
        const text =
          "Invalid value specified for property 'signInAudience' of resource 'Application'.";
        throw badRequest(text);
      }
      checkTokenVersion(body["api"], known ? signInAudience : "AzureADMyOrg");
      if (displayName.length > 256) throw badRequest("'displayName' exceeds 256 characters.");
      const tags = checkTags(body["tags"]);
      const audience = known ? { signInAudience } : {};
      const options = { displayName, tags, owner: caller.appId, ...audience };
      const made = tenant.directory.createApplication(options);
      const location = `${tenant.settings.knownAs.graph}/v1.0/applications/${made.id}`;
      return { status: 201, body: showApplication(made), headers: { location } };
    },
  },
  {
    action: "listApplications",
    method: "GET",
    pattern: /^\/v1\.0\/applications$/,
    run: (request) => {
      const { tenant, caller, query } = request;
      tenant.permit(caller, ...READ);
      const terms = filterTerms(query.get("$filter"), ["id", "appId", "displayName"]);
      const all = tenant.directory.applications
        .values()
        .filter(({ id, created }) => tenant.replicas.sees("applicationToReads", id, created))
        .map(showApplication);
      return listed(
        request,
        [...all].filter((object) => fits(object, terms)),
      );
    },
  },
  {
    action: "getApplication",
    method: "GET",
    pattern: new RegExp(`^/v1\\.0/applications${ONE}$`),
    run: (request) => {
      const { tenant, caller, parts, query } = request;
      tenant.permit(caller, ...READ);
      const gone = tenant.directory.deleted.get(parts["id"] ?? "");
      const stillSeen =
        gone?.kind === "application" &&
        !tenant.replicas.sees("deletionToReads", gone.object.id, gone.deleted);
      const object = showApplication(stillSeen ? gone.object : named(request));
      return { status: 200, body: selected(object, query.get("$select")) };
    },
  },
  {
    action: "deleteApplication",
    method: "DELETE",
    pattern: new RegExp(`^/v1\\.0/applications${ONE}$`),
    run: (request) => {
      const { id, appId } = named(request);
      request.tenant.permitApplication(request.caller, appId);
      request.tenant.directory.deleteApplication(id);
      return NO_CONTENT;
    },
  },
  {
    action: "addApplicationPassword",
    method: "POST",
    pattern: new RegExp(`^/v1\\.0/applications${ONE}/addPassword$`),
    run: (request) => {
      const application = named(request);
      request.tenant.permitApplication(request.caller, application.appId);
      return addPassword(request, application);
    },
  },
  {
    action: "removeApplicationPassword",
    method: "POST",
    pattern: new RegExp(`^/v1\\.0/applications${ONE}/removePassword$`),
    run: (request) => {
      const application = named(request);
      request.tenant.permitApplication(request.caller, application.appId);
      return removePassword(request, application);
    },
  },
];
