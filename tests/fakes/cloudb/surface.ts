// One of the three listeners of the fake of cloud B: reads a request, logs it, lets faults strike, asks
// the handler, and answers in the shape of its API.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { armRoutes } from "./arm.ts";
import { authorityAction, grantMachineToken, grantToken } from "./authority.ts";
import { bearerOf } from "./bearer.ts";
import { applicationRoutes } from "./graph/graph-applications.ts";
import { groupRoutes } from "./graph/graph-groups.ts";
import { principalRoutes } from "./graph/graph-principals.ts";
import type { Surface } from "./model.ts";
import { Cut, type Received, throttled, withFaults } from "./fault-effects.ts";
import { badRequest, bodyOf, Refusal } from "./refusal.ts";
import { type Members, membersOf, type Reply, type Route } from "./route.ts";
import type { Call, Tenant } from "./tenant.ts";

const ROUTES: Readonly<Record<Exclude<Surface, "authority">, readonly Route[]>> = {
  graph: [...applicationRoutes, ...principalRoutes, ...groupRoutes],
  arm: armRoutes,
};
const SECRET = /^(?:client_secret|client_assertion)$/;

interface Request extends Received {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams | null;
  /** Null: it should have been a JSON object, and was not. */
  readonly body: Members | null;
}

export async function answer(
  tenant: Tenant,
  surface: Surface,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (tenant.cut) return void response.destroy();
  const request = await read(message);
  const route = surface === "authority" ? undefined : find(ROUTES[surface], request);
  const own = surface === "authority" ? authorityAction(request.method, request.path) : null;
  const action = route?.action ?? own ?? "unknown";
  const { method, path } = request;
  const call = tenant.logged({ surface, action, method, path, params: paramsOf(request) });
  tenant.working++;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const requestId = randomUUID();
  try {
    const reply = await withFaults({ tenant, call, request, gone: gone.signal }, () =>
      act(tenant, call, request, route),
    );
    call.status = reply.status;
    send(response, reply, { surface, requestId });
  } catch (error) {
    if (error instanceof Cut) return void response.destroy();
    const refusal = error instanceof Refusal ? error : new Refusal(500, "Fake", String(error));
    [call.status, call.code] = [refusal.status, refusal.code];
    const body = bodyOf(refusal, surface, { requestId, at: tenant.now() });
    const { headers = {} } = refusal.options;
    send(response, { status: refusal.status, body, headers }, { surface, requestId });
  } finally {
    tenant.working--;
  }
}

async function act(
  tenant: Tenant,
  call: Call,
  request: Request,
  route: Route | undefined,
): Promise<Reply> {
  const { surface, action } = call;
  const { path, query, form, body, message } = request;
  if (tenant.throttles(surface)) throw throttled(tenant.settings.retryAfter);
  if (surface === "authority") {
    if (action === "unknown") throw new Refusal(404, "not_found", "No such endpoint.");
    const granted =
      action === "token"
        ? await grantToken(tenant, path, form)
        : grantMachineToken(tenant, query, message.headers);
    [call.clientId, call.keyId] = [granted.clientId, granted.keyId];
    return granted.reply;
  }
  const token = bearerOf(tenant, surface, message.headers.authorization);
  [call.clientId, call.keyId] = [token.appId, token.keyId];
  if (body === null) throw badRequest("Unable to read JSON request payload.");
  if (route === undefined) throw new Refusal(400, "BadRequest", `No such resource: '${path}'.`);
  const denied = tenant.settings.denied.includes(action);
  const permissions = denied ? [] : tenant.permissions.get(token.appId);
  const caller = { appId: token.appId, permissions: new Set(permissions) };
  const parts = route.pattern.exec(path)?.groups ?? {};
  const decoded = Object.entries(parts)
    .filter(([, part]) => part !== undefined)
    .map(([name, part]) => [name, decodeURIComponent(part)]);
  return route.run({ tenant, caller, path, parts: Object.fromEntries(decoded), query, body });
}

function find(routes: readonly Route[], { method, path }: Request): Route | undefined {
  return routes.find((route) => route.method === method && route.pattern.test(path));
}

async function read(message: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const target = message.url ?? "/";
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  const type = message.headers["content-type"] ?? "";
  const form = type.startsWith("application/x-www-form-urlencoded")
    ? new URLSearchParams(text)
    : null;
  const body = text === "" ? {} : type.startsWith("application/json") ? parsed(text) : null;
  return { message, method: message.method ?? "", path, query, text, form, body };
}

function parsed(text: string): Members | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && !Array.isArray(value) ? membersOf(value) : null;
  } catch {
    return null;
  }
}

/** Without what is secret. */
function paramsOf({ query, form, body }: Request): Members {
  const all = { ...Object.fromEntries(query), ...Object.fromEntries(form ?? []), ...body };
  const readable = (name: string, value: unknown) =>
    SECRET.test(name) && typeof value === "string" ? "(secret)" : value;
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, readable(name, value)]),
  );
}

function send(
  response: ServerResponse,
  { status, body, headers = {} }: Reply,
  about: { readonly surface: Surface; readonly requestId: string },
): void {
  const { surface, requestId } = about;
  const id = surface === "graph" ? "request-id" : "x-ms-request-id";
  const text = Array.isArray(body) ? body.join("") : body === undefined ? "" : JSON.stringify(body);
  const type = body === undefined ? {} : { "content-type": "application/json; charset=utf-8" };
  const length = status === 204 ? {} : { "content-length": Buffer.byteLength(text) };
  response.writeHead(status, { ...type, ...length, [id]: requestId, ...headers });
  response.end(text);
}
