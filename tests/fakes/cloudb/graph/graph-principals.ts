// Graph, as the fake of cloud B speaks it: service principals, made for applications that a replica may
// not have seen yet.

import type { Application, Principal } from "../model.ts";
import { filterTerms, fits, selected } from "./odata.ts";
import { addPassword, removePassword, showPassword } from "./passwords.ts";
import { badRequest, notFound, Refusal } from "../refusal.ts";
import {
  type CloudRequest,
  checkProperties,
  type Members,
  NO_CONTENT,
  type Route,
  textOf,
} from "../route.ts";
import type { Lag } from "../settings.ts";
import type { Tenant } from "../tenant.ts";
import { listed } from "./graph-listing.ts";

const ONE = String.raw`(?:/(?<id>[^/()]+)|\(appId='(?<appId>(?:[^']|'')*)'\))`;
const READ = ["Application.Read.All", "Application.ReadWrite.All", "Application.ReadWrite.OwnedBy"];

function showPrincipal(principal: Principal): Members {
  const { id, appId, displayName, created, passwords } = principal;
  return {
    id,
    deletedDateTime: null,
    accountEnabled: true,
    appId,
    createdDateTime: new Date(created).toISOString(),
    displayName,
    servicePrincipalType: "Application",
    passwordCredentials: passwords.map(showPassword),
  };
}

function named({ tenant, parts }: CloudRequest, lag: Lag): Principal {
  const { id = "", appId } = parts;
  const { directory, replicas } = tenant;
  const found =
    appId === undefined
      ? directory.principals.get(id.toLowerCase())
      : directory.principalOf(appId.toLowerCase());
  if (!found || !replicas.sees(lag, found.id, found.created)) throw notFound(appId ?? id);
  return found;
}

/** In one of the three ways in which the provider says it. */
function unseenApplication(tenant: Tenant, appId: string): Refusal {
  switch (tenant.settings.hiddenApplication) {
    case "badRequest": {
      const message = `The appId '${appId}' of the service principal does not reference a valid application object.`;
      const detail = { code: "NoBackingApplicationObject", message, target: "appId" };
      return badRequest(message, [detail]);
    }
    case "forbidden": {
      const text =
        "When using this permission, the backing application of the service principal being created must in the local tenant";
      return new Refusal(403, "Authorization_RequestDenied", text);
    }
    case "notFound":
      return notFound(appId);
  }
}

function backing(tenant: Tenant, appId: string): Application {
  const application = tenant.directory.applicationOf(appId);
  const { replicas } = tenant;
  const seen = application && replicas.sees("applicationToPrincipals", appId, application.created);
  if (!application || seen !== true) throw unseenApplication(tenant, appId);
  return application;
}

export const principalRoutes: readonly Route[] = [
  {
    action: "createServicePrincipal",
    method: "POST",
    pattern: /^\/v1\.0\/servicePrincipals$/,
    run: ({ tenant, caller, body }) => {
      tenant.permit(caller, "Application.ReadWrite.All", "Application.ReadWrite.OwnedBy");
      checkProperties(body, ["appId"], "ServicePrincipal");
      const application = backing(tenant, textOf(body, "appId").toLowerCase());
      tenant.permitApplication(caller, application.appId);
      if (tenant.directory.principalOf(application.appId) !== null) {
        const text = `The service principal cannot be created, updated, or restored because the service principal name ${application.appId} is already in use.`;
        throw new Refusal(409, "Request_MultipleObjectsWithSameKeyValue", text);
      }
      const made = tenant.directory.createPrincipal(application);
      const location = `${tenant.settings.knownAs.graph}/v1.0/servicePrincipals/${made.id}`;
      return { status: 201, body: showPrincipal(made), headers: { location } };
    },
  },
  {
    action: "listServicePrincipals",
    method: "GET",
    pattern: /^\/v1\.0\/servicePrincipals$/,
    run: (request) => {
      const { tenant, caller, query } = request;
      tenant.permit(caller, ...READ);
      const terms = filterTerms(query.get("$filter"), ["id", "appId", "displayName"]);
      const all = tenant.directory.principals
        .values()
        .filter(({ id, created }) => tenant.replicas.sees("principalToReads", id, created))
        .map(showPrincipal);
      return listed(
        request,
        [...all].filter((object) => fits(object, terms)),
      );
    },
  },
  {
    action: "getServicePrincipal",
    method: "GET",
    pattern: new RegExp(`^/v1\\.0/servicePrincipals${ONE}$`),
    run: (request) => {
      request.tenant.permit(request.caller, ...READ);
      const object = showPrincipal(named(request, "principalToReads"));
      return { status: 200, body: selected(object, request.query.get("$select")) };
    },
  },
  {
    action: "deleteServicePrincipal",
    method: "DELETE",
    pattern: new RegExp(`^/v1\\.0/servicePrincipals${ONE}$`),
    run: (request) => {
      const { id, appId } = named(request, "principalToReads");
      request.tenant.permitApplication(request.caller, appId);
      request.tenant.directory.deletePrincipal(id);
      return NO_CONTENT;
    },
  },
  {
    action: "addServicePrincipalPassword",
    method: "POST",
    pattern: new RegExp(`^/v1\\.0/servicePrincipals${ONE}/addPassword$`),
    run: (request) => {
      const principal = named(request, "principalToPasswords");
      request.tenant.permitApplication(request.caller, principal.appId);
      return addPassword(request, principal);
    },
  },
  {
    action: "removeServicePrincipalPassword",
    method: "POST",
    pattern: new RegExp(`^/v1\\.0/servicePrincipals${ONE}/removePassword$`),
    run: (request) => {
      const principal = named(request, "principalToPasswords");
      request.tenant.permitApplication(request.caller, principal.appId);
      return removePassword(request, principal);
    },
  },
];
