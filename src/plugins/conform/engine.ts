// Trying a plugin that serves mounts: two of them are opened as the server opens them, and asked what only reads.

import { OwnError } from "@holdfast/shared/failure";
import { callUnary } from "@holdfast/shared/grpc/method";
import { isObject } from "@holdfast/shared/json/json";
import { MILLISECOND, SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";
import type { EngineOptions } from "@holdfast/plugin-sdk/engine";
import { backend } from "@holdfast/plugin-sdk/wire/backend";
import {
  ErrorType,
  type ProtoError,
  request as requestCodec,
  type WireRequest,
  type WireResponse,
} from "@holdfast/plugin-sdk/wire/backend-messages";
import { ForeignMount } from "../foreign/foreign-mount.ts";
import type { ForeignHost } from "../foreign/host.ts";
import { dataOf, type Reading } from "../foreign/wire-answer.ts";
import { ownSdk } from "../own/own-sdk.ts";
import type { OwnPlugin, Processes, Program } from "../ports.ts";
import { type Around, mountFor } from "./around.ts";
import { type Finding, tried, Watch } from "./finding.ts";

const WITHIN: Nanos = 10n * SECOND;
const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_HELP = 1024 * 1024;
const AT_ONCE = 16;
const MAX_READS = 100;
/** Standing alone: performance and disaster recovery are off. */
const ALONE = 12_288;
const NOWHERE = "conformance/nothing-is-here";
const EMPTY = new Uint8Array();

export interface EngineParts extends Around {
  readonly processes: Processes;
  readonly program: Program;
  readonly options: EngineOptions;
}

export async function* tryEngine(parts: EngineParts): AsyncGenerator<Finding> {
  const { random } = parts;
  let mount: ForeignMount | null = null;
  const opened = await tried("serves a mount", async () => {
    mount = await openMount(parts, "conformance/");
    return "set up while storage refuses writes, and begun";
  });
  yield opened;
  if (mount === null) return;
  const first: ForeignMount = mount;
  const ask = (operation: string, path: string, more: Partial<WireRequest> = {}) =>
    answered(first, { ...blank(random.uuid()), operation, path, ...more });
  yield await tried("declares its paths", async () => declared(first));
  yield await tried("documents itself", async () =>
    first.own !== null
      ? "by what it declares"
      : await documented(await ask("help", ""), {
          name: parts.program.name,
          maxBytes: MAX_HELP,
          turn: () => parts.timers.turn(),
        }),
  );
  yield await tried("read where nothing is", async () => strange(await ask("read", NOWHERE)));
  yield await tried("asked whether it exists", async () => {
    const request = { ...blank(random.uuid()), operation: "create", path: NOWHERE };
    const { checkFound, exists, err } = await first.call(
      backend.handleExistenceCheck,
      { storageId: 0, request },
      { timeout: WITHIN },
    );
    if (err !== null) return refusal(err);
    return checkFound ? `looks, and says ${exists ? "yes" : "no"}` : "does not look";
  });
  if (first.own !== null) yield await tried("answers what it declares", () => readAll(first, ask));
  yield await tried("is told that a key changed", async () => {
    await first.call(backend.invalidateKey, { key: NOWHERE }, { timeout: WITHIN });
    return "takes it";
  });
  yield await tried("undoes what was left", async () => {
    if (first.own !== null) return "declares what it undoes";
    return outcome(await ask("rollback", "", { data: '{"immediate":false}' }));
  });
  yield await tried("a call that is given up", async () => {
    await first
      .call(backend.handleRequest, helpOf(random.uuid()), { timeout: MILLISECOND })
      .catch(() => {}); // that it may be late is the point
    await ask("help", "");
    return "goes on";
  });
  yield await tried(`${AT_ONCE} calls at once`, async () => {
    await Promise.all(Array.from({ length: AT_ONCE }, () => ask("help", "")));
    return "all answered";
  });
  yield await tried("serves a second mount", async () => {
    const other = await openMount(parts, "conformance-2/");
    const pids = [first.held?.pid, other.held?.pid];
    await other.close();
    await ask("help", "");
    return pids[0] === pids[1] ? "in the same process" : "in another process";
  });
  const held = first.held;
  yield await tried("lets a mount go", async () => {
    if (held === null || held.end !== null) throw new OwnError("its process has ended");
    await callUnary(held.channel, backend.cleanup, {}, { timeout: WITHIN });
    return "cleaned up";
  });
  await first.close();
}

function openMount(parts: EngineParts, path: string): Promise<ForeignMount> {
  const { processes, program, random, options } = parts;
  return opened({
    kind: program.type === "auth" ? "auth" : "secret",
    name: program.name,
    version: program.version,
    needs: mountFor(parts, path, options),
    host: hostFor(processes, random.uuid()),
    choose: () => ({ program, isPinned: false }),
    besides: null,
    user: path,
    tell: () => {},
    began: () => {},
    closed: () => {},
  });
}

async function opened(parts: Parameters<typeof ForeignMount.open>[0]): Promise<ForeignMount> {
  const mount = await ForeignMount.open(parts);
  try {
    await mount.begin();
    return mount;
  } catch (error) {
    await mount.close();
    throw error;
  }
}

function hostFor(processes: Processes, id: string): ForeignHost {
  return {
    processes,
    own: ownSdk({ isLocal: () => false, maxAnswer: MAX_ANSWER }),
    declare: () => {},
    server: { version: "0.0.0", buildDate: "" },
    cluster: () => ({ name: "conformance", id }),
    replication: () => ALONE,
    leads: () => true,
    mountState: () => ({ local: false, tainted: false }),
    stamp: () => "",
    maxAnswer: MAX_ANSWER,
  };
}

interface Answer {
  readonly response: WireResponse | null;
  readonly err: ProtoError | null;
}

function blank(id: string): WireRequest {
  return { ...requestCodec.decode(EMPTY), id, data: "{}" };
}

const helpOf = (id: string) => ({ storageId: 0, request: { ...blank(id), operation: "help" } });

async function answered(mount: ForeignMount, request: WireRequest): Promise<Answer> {
  return await mount.call(backend.handleRequest, { storageId: 0, request }, { timeout: WITHIN });
}

function declared({ own, special }: ForeignMount): string {
  if (own !== null) return ownWords(own);
  const { root = [], unauthenticated = [] } = special.toJson();
  const count = (paths: unknown) => (Array.isArray(paths) ? paths.length : 0);
  return `any path; ${count(unauthenticated)} without a token, ${count(root)} with sudo`;
}

function ownWords({ endpoints, type }: OwnPlugin): string {
  const secrets = Object.keys(type.secrets ?? {}).length;
  return `${endpoints.length} endpoints, ${secrets} kinds of secrets`;
}

async function documented({ response, err }: Answer, reading: Reading): Promise<string | Watch> {
  if (err !== null) return new Watch(`has none: ${refusal(err)}`);
  const data = response === null ? null : await dataOf(response, reading);
  if (data === null) return new Watch("has none");
  const openapi = data["openapi"];
  const paths = isObject(openapi) ? openapi["paths"] : null;
  if (!isObject(paths)) return new Watch("has text, and no OpenAPI document with paths");
  return `an OpenAPI document of ${Object.keys(paths).length} paths`;
}

/** Where nothing is, it says so, in whatever way; it does not break. */
function strange({ response, err }: Answer): string | Watch {
  if (err === null) return outcome({ response, err });
  const broke = err.type === ErrorType.internal || err.type === ErrorType.unknown;
  return broke ? new Watch(`${refusal(err)}; callers see 500`) : refusal(err);
}

function outcome({ response, err }: Answer): string {
  if (err !== null) return refusal(err);
  return response === null || response.data === "" ? "answers with nothing" : "answers";
}

function refusal({ type, message }: ProtoError): string {
  const word = Object.entries(ErrorType).find(([, number]) => number === type)?.[0] ?? String(type);
  return `refused (${word}): ${message.slice(0, 200)}`;
}

/** Each read and each list that gives no secret, with a name where its path wants one. */
async function readAll(
  { own }: ForeignMount,
  ask: (operation: string, path: string) => Promise<Answer>,
): Promise<string> {
  const reads = (own?.endpoints ?? []).filter(
    ({ method, issues, login }) => (method === "GET" || method === "LIST") && !issues && !login,
  );
  for (const { method, path, name } of reads.slice(0, MAX_READS)) {
    const below = path.slice(1).replace(/:\w+\+?/g, "conformance");
    const operation = method === "LIST" ? "list" : "read";
    const { err } = await ask(operation, operation === "list" ? `${below}/` : below);
    if (err?.own?.failure?.code === "internal") {
      throw new OwnError(
        `${name} (${method} ${path}) throws something that is no refusal; its log says where`,
      );
    }
  }
  return `${Math.min(reads.length, MAX_READS)} of its reads asked, each with an answer or a refusal`;
}
