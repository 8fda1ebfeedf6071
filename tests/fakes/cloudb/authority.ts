// The token endpoint of the fake of cloud B, and the endpoint at which a machine gets tokens of its own
// identity. Passwords of an application and of its principal are good alike.

import type { IncomingHttpHeaders } from "node:http";
import { checkAssertion } from "./assertion.ts";
import type { Application, Password } from "./model.ts";
import { Refusal } from "./refusal.ts";
import type { Reply } from "./route.ts";
import type { Tenant } from "./tenant.ts";

const ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const TOKEN_PATH = /^\/([^/]+)\/oauth2\/v2\.0\/token$/;

export interface Granted {
  readonly reply: Reply;
  readonly clientId: string;
  readonly keyId: string;
}

/** What one asks of it; null for a path that is none of its own. */
export function authorityAction(method: string, path: string): string | null {
  if (method === "POST" && TOKEN_PATH.test(path)) return "token";
  const own = path === "/metadata/identity/oauth2/token" || path === "/msi/token";
  return method === "GET" && own ? "machineToken" : null;
}

export async function grantToken(
  tenant: Tenant,
  path: string,
  form: URLSearchParams | null,
): Promise<Granted> {
  const named = TOKEN_PATH.exec(path)?.[1] ?? "";
  if (named.toLowerCase() !== tenant.id) {
    const text = `Tenant '${named}' not found. Check to make sure you have the correct tenant ID.`;
    throw new Refusal(400, "invalid_request", text, { number: 90002 });
  }
  const field = (name: string): string => {
    const value = form?.get(name) ?? "";
    if (value !== "") return value;
    const text = `The request body must contain the following parameter: '${name}'.`;
    throw new Refusal(400, "invalid_request", text, { number: 900144 });
  };
  if (field("grant_type") !== "client_credentials") {
    const text = "The app requested an unsupported grant type.";
    throw new Refusal(400, "unsupported_grant_type", text, { number: 70003 });
  }
  const clientId = field("client_id").toLowerCase();
  const application = tenant.directory.applicationOf(clientId);
  if (application === null) {
    const text = `Application with identifier '${clientId}' was not found in the directory '${tenant.id}'.`;
    throw new Refusal(400, "unauthorized_client", text, { number: 700016 });
  }
  const audience = audienceOf(tenant, field("scope"));
  const keyId = await authenticate(tenant, application, form);
  if (tenant.directory.principalOf(clientId) === null) {
    const text = `The client application ${clientId} is missing service principal in the tenant ${tenant.id}.`;
    throw new Refusal(401, "invalid_client", text, { number: 7000229 });
  }
  const seconds = tenant.settings.tokenSeconds;
  const text = tenant.tokens.issue({ appId: clientId, audience, keyId }, seconds);
  const times = { expires_in: seconds, ext_expires_in: seconds };
  const body = { token_type: "Bearer", ...times, access_token: text };
  return { reply: { status: 200, body }, clientId, keyId };
}

/** For the machine, that is: as the root application. */
export function grantMachineToken(
  tenant: Tenant,
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
): Granted {
  const version = query.get("api-version");
  const allowed =
    (version === "2018-02-01" && headers["metadata"] === "true") ||
    (version === "2019-08-01" && headers["x-identity-header"] === tenant.identityHeader);
  if (!allowed) throw new Refusal(400, "invalid_request", "Required header is missing.");
  const resource = (query.get("resource") ?? "").replace(/\/$/, "");
  const clientId =
    query.get("client_id") ?? tenant.directory.applications.values().next().value?.appId;
  const known = clientId !== undefined && tenant.directory.principalOf(clientId) !== null;
  if (!known) throw new Refusal(400, "invalid_request", "Identity not found.");
  const audience = audienceOf(tenant, `${resource}/.default`);
  const seconds = tenant.settings.tokenSeconds;
  const text = tenant.tokens.issue({ appId: clientId, audience, keyId: "" }, seconds);
  const expires = String(Math.floor(tenant.now() / 1000) + seconds);
  // Platforms say only when it ends; virtual machines also how long it lasts.
  const lasts = version === "2018-02-01" ? { expires_in: String(seconds) } : {};
  const about = { expires_on: expires, ...lasts, resource, client_id: clientId };
  return {
    reply: { status: 200, body: { access_token: text, token_type: "Bearer", ...about } },
    clientId,
    keyId: "",
  };
}

function audienceOf(tenant: Tenant, scope: string): string {
  const { graph, arm } = tenant.settings.knownAs;
  const audience = [graph, arm].find((base) => scope === `${base}/.default`);
  if (audience !== undefined) return audience;
  const text = `The provided value for the input parameter 'scope' is not valid: '${scope}'.`;
  throw new Refusal(400, "invalid_scope", text, { number: 70011 });
}

/** The id of the password that was used; "" for an assertion. */
async function authenticate(
  tenant: Tenant,
  application: Application,
  form: URLSearchParams | null,
): Promise<string> {
  const assertion = form?.get("client_assertion") ?? null;
  const secret = form?.get("client_secret") ?? null;
  if (assertion !== null && secret === null && form?.get("client_assertion_type") === ASSERTION) {
    tenant.assertions.push(assertion);
    await checkAssertion(assertion, application.federated, tenant.now());
    return "";
  }
  if (secret === null || assertion !== null) {
    const text =
      "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.";
    throw new Refusal(401, "invalid_client", text, { number: 7000218 });
  }
  return passwordOf(tenant, application, secret).keyId;
}

function passwordOf(tenant: Tenant, application: Application, secret: string): Password {
  const principal = tenant.directory.principalOf(application.appId);
  const passwords = [...application.passwords, ...(principal?.passwords ?? [])];
  const found = passwords.find(({ secretText }) => secretText === secret);
  const { replicas } = tenant;
  const known =
    found !== undefined &&
    found.start <= tenant.now() + 300_000 &&
    replicas.sees("passwordToTokens", found.keyId, found.created);
  if (!known) {
    const text = `Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '${application.appId}'.`;
    throw new Refusal(401, "invalid_client", text, { number: 7000215 });
  }
  if (found.end <= tenant.now()) {
    const text = `The provided client secret keys for app '${application.appId}' are expired.`;
    throw new Refusal(401, "invalid_client", text, { number: 7000222 });
  }
  return found;
}
