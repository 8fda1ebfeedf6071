// A stand-in for IAM and STS over HTTP, strict in the places where an engine could be wrong: it checks
// signatures against the keys that exist, holds to the limits of the provider and can be as late, as
// slow and as forgetful as the provider. It shares no code with the engine.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { randomUUID } from "node:crypto";
import { Account } from "./account/account.ts";
import type { Action, Actions } from "./action.ts";
import { belongingActions } from "./account/belongings.ts";
import { Control, type LoggedCall } from "./control.ts";
import { controlAnswer } from "./control-api.ts";
import { type Fault, Faults, refusalOf } from "./faults.ts";
import { groupActions } from "./account/groups.ts";
import { keyActions } from "./account/keys.ts";
import { checkAllowed } from "./account/permissions.ts";
import { policyActions } from "./account/policies.ts";
import { roleActions } from "./account/roles.ts";
import { Settings } from "./settings.ts";
import { type Caller, scopeOf, verifySignature } from "./signature.ts";
import { stsActions } from "./sts.ts";
import { userActions } from "./account/users.ts";
import { answerXml, ApiError, errorXml, Params, type Service, type XmlObject } from "./wire.ts";

export interface FakeCloudAOptions {
  /** Default: one that is free. */
  readonly port?: number;
  /** ms since 1970. Default: the clock of the machine. */
  readonly now?: () => number;
}

export interface FakeCloudA {
  /** For iam_endpoint and for sts_endpoint. */
  readonly url: string;
  /** Those of the user `holdfast`, who may do everything. */
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly control: Control;
  close(): Promise<void>;
}

const SERVICES: Readonly<Record<string, { readonly service: Service; readonly actions: Actions }>> =
  {
    "2010-05-08": {
      service: "iam",
      actions: {
        ...userActions,
        ...keyActions,
        ...policyActions,
        ...groupActions,
        ...belongingActions,
        ...roleActions,
      },
    },
    "2011-06-15": { service: "sts", actions: stsActions },
  };

const HIDDEN = new Set([
  "Password",
  "WebIdentityToken",
  "AuthenticationCode1",
  "AuthenticationCode2",
  "TokenCode",
]);
/** Asked for before there is anything to sign with. */
const UNSIGNED = "AssumeRoleWithWebIdentity";

export async function startFakeCloudA(options: FakeCloudAOptions = {}): Promise<FakeCloudA> {
  const account = new Account(new Settings(options.now ?? null));
  const control = new Control(account, new Faults());
  const root = control.makeUser("holdfast", { allow: ["*"], keys: 1 });
  control.makeRole("deploy");
  control.makeGroup("developers", { attached: ["arn:aws:iam::aws:policy/ReadOnlyAccess"] });
  const server = createServer((request, response) => {
    serve(control, request, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(options.port ?? 0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as AddressInfo;
  const { accessKeyId, secretAccessKey } = root;
  const url = `http://127.0.0.1:${port}`;
  return { url, accessKeyId, secretAccessKey, control, close: () => close(server, control) };
}

function close(server: Server, control: Control): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  control.release();
  server.closeAllConnections();
  return promise;
}

async function serve(
  control: Control,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString("utf8");
  const url = request.url ?? "/";
  if (url.startsWith("/_fake/")) {
    const { status, value } = controlAnswer(control, request.method ?? "GET", url, body);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(`${JSON.stringify(value)}\n`);
    return;
  }
  if (control.isCut) response.destroy();
  else await answer(control, request, response, body);
}

interface Prepared {
  readonly params: Params;
  readonly action: string;
  readonly service: Service;
  readonly run: Action;
}

function prepared(request: IncomingMessage, body: string): Prepared {
  const type = request.headers["content-type"] ?? "";
  if (request.method !== "POST" || request.url !== "/") {
    throw new ApiError(404, "UnknownOperationException", "Only POST / is served here.");
  }
  if (!type.startsWith("application/x-www-form-urlencoded")) {
    throw new ApiError(404, "UnknownOperationException", `No form: ${type}`);
  }
  const params = new Params(body);
  const [action, version] = [params.required("Action"), params.required("Version")];
  const found = SERVICES[version];
  const run = found?.actions[action];
  if (found === undefined || run === undefined) {
    const said = `Could not find operation ${action} for version ${version}`;
    throw new ApiError(400, "InvalidAction", said);
  }
  return { params, action, service: found.service, run };
}

async function answer(
  control: Control,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const requestId = randomUUID();
  let service: Service = "iam";
  const send = (status: number, text: string, headers: Readonly<Record<string, string>> = {}) => {
    // Its own clock, as every answer carries it.
    const date = new Date(control.account.now()).toUTCString();
    const common = { "Content-Type": "text/xml", "x-amzn-RequestId": requestId, Date: date };
    response.writeHead(status, { ...common, ...headers });
    response.end(text);
  };
  let logged: LoggedCall | null = null;
  try {
    const call = prepared(request, body);
    service = call.service;
    logged = log(control, request, call, requestId);
    const fault = control.faults.next(call.action, call.params);
    const isAfter =
      fault !== null && (fault.when ?? (fault.kind === "lost" ? "after" : "before")) === "after";
    if (fault !== null && !isAfter && (await befall(fault))) return;
    const result = perform(call);
    logged.outcome = "ok";
    if (fault !== null && isAfter && (await befall(fault))) return;
    send(200, answerXml(service, call.action, result, requestId));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (logged !== null) logged.outcome = error.code;
    send(error.status, errorXml(service, error, requestId), error.headers);
  }

  function perform({ action, params, run, service }: Prepared): XmlObject | null {
    const { account, faults } = control;
    faults.checkRate(action, account.now());
    const { method = "", url = "", headers } = request;
    const anybody: Caller = { accessKeyId: "", region: "", user: null, session: null };
    const signed = { method, url, headers, body, service };
    const caller = action === UNSIGNED ? anybody : verifySignature(signed, account);
    if (action !== UNSIGNED) checkAllowed(account, caller, `${service}:${action}`);
    return run({ account, params, caller, action });
  }

  /** Whether it has answered, in its way. */
  async function befall(fault: Fault): Promise<boolean> {
    const outcome = (what: string) => {
      if (logged !== null) logged.outcome = logged.outcome === "ok" ? `ok, ${what}` : what;
    };
    const refusal = refusalOf(fault, echoOf(control, request, body));
    if (refusal !== null) throw refusal;
    if (fault.kind === "lost") {
      outcome("lost");
      response.destroy();
      return true;
    }
    if (fault.kind === "raw") {
      outcome("raw");
      send(fault.status ?? 200, fault.body ?? "", fault.headers);
      return true;
    }
    if (fault.kind === "delay") {
      await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 0));
    } else if (!(await control.hold())) {
      response.destroy();
    }
    if (response.destroyed) outcome("abandoned");
    return response.destroyed;
  }
}

function log(
  control: Control,
  request: IncomingMessage,
  parsed: Prepared,
  requestId: string,
): LoggedCall {
  const { action, params, service } = parsed;
  const scope = scopeOf(request.headers);
  const visible = [...params.entries()]
    .filter(([name]) => name !== "Action" && name !== "Version")
    .map(([name, value]): [string, string] => [name, HIDDEN.has(name) ? "(hidden)" : value]);
  const call: LoggedCall = {
    at: control.account.now(),
    requestId,
    action,
    params: Object.fromEntries(visible),
    accessKeyId: scope?.accessKeyId ?? "",
    region: scope?.region ?? "",
    service,
    outcome: "under way",
  };
  control.record(call);
  return call;
}

/** All that the caller has sent and the secret it has signed with: the worst a provider could say. */
function echoOf(control: Control, request: IncomingMessage, body: string): string {
  const id = scopeOf(request.headers)?.accessKeyId ?? "";
  const { account } = control;
  const secret = account.sessions.get(id)?.key.secret ?? account.keyOwner(id)?.key.secret ?? "";
  const token = String(request.headers["x-amz-security-token"] ?? "");
  const authorization = request.headers.authorization ?? "";
  return [body, id, secret, token, authorization].join(" ");
}
