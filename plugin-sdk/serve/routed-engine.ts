// A request as it came over the wire, as a handler sees it: found by the same routing, read by the same declarations as built in.

import { OwnError } from "@holdfast/shared/failure";
import type { Channel } from "@holdfast/shared/grpc/method";
import { utf8 } from "@holdfast/shared/bytes";
import { type Method, type Served, serveMounted } from "@holdfast/shared/endpoint/endpoint";
import { describedInput, RequestInput } from "@holdfast/shared/endpoint/input";
import { MEANING } from "@holdfast/shared/endpoint/operation";
import { Reply } from "@holdfast/shared/endpoint/reply";
import type {
  EngineRequest,
  MountRef,
  Operation,
  RequestContext,
} from "@holdfast/shared/endpoint/request";
import { namedValues, type Route, Router } from "@holdfast/shared/endpoint/router";
import type { JsonObject } from "@holdfast/shared/json/json";
import { readJson } from "@holdfast/shared/json/json-reader";
import { ownPace } from "@holdfast/shared/sliced";
import { CanonicalPath } from "@holdfast/shared/text/canonical-path";
import { OWN_WORK } from "@holdfast/shared/waiting";
import type { EngineNeeds, EngineType } from "../engine.ts";
import type { WireRequest } from "../wire/backend-messages.ts";
import { hostService } from "../wire/host-service.ts";
import { PLUGIN_JSON } from "../wire/limits.ts";
import { callerFromWire, namespaceFromWire } from "../wire/own-caller.ts";
import { unsupportedOperation, unsupportedPath } from "./failures.ts";
import { askHost } from "./host-calls.ts";
import { clock, timers } from "./own-world.ts";

/** The handler has found that it was judged by the wrong right: the server judges it again. */
export class FoundOtherwise extends OwnError {
  readonly found: boolean;

  constructor(found: boolean) {
    super("what the request names was judged as the other of there and not there");
    this.found = found;
  }
}

const METHODS: ReadonlyMap<string, readonly [Method, Operation]> = new Map([
  ["create", ["POST", "update"]],
  ["update", ["POST", "update"]],
  ["read", ["GET", "read"]],
  ["patch", ["PATCH", "patch"]],
  ["delete", ["DELETE", "delete"]],
  ["list", ["LIST", "list"]],
  ["scan", ["LIST", "list"]],
]);

export interface RoutedParts<E> {
  readonly type: EngineType<E>;
  readonly engine: E;
  readonly needs: EngineNeeds;
  /** Null: the host knows nothing of what only ours answers. */
  readonly host: Channel | null;
}

export class RoutedEngine<E> {
  readonly #parts: RoutedParts<E>;
  readonly #router: Router;

  constructor(parts: RoutedParts<E>) {
    this.#parts = parts;
    this.#router = new Router(serveMounted(parts.type.paths(parts.needs.options)));
  }

  async answer(request: WireRequest, signal: AbortSignal): Promise<Reply> {
    const { endpoint, input, context } = this.#find(request, signal);
    const read = input.read(MEANING);
    const said = await endpoint.run(read.input, context);
    // By the declarations' own types.
    const reply = said instanceof Reply ? (said as Reply) : new Reply(said as Reply["data"]);
    // Names that nobody knows were told of where they came from.
    const warnings =
      request.own === null ? read.warnings : noticesOf(endpoint, input, read.warnings);
    return warnings.length === 0 ? reply : reply.with({ warnings });
  }

  /** Null: it is no question for this path. */
  async exists(request: WireRequest, signal: AbortSignal): Promise<boolean | null> {
    const { endpoint, values, context } = this.#find({ ...request, operation: "update" }, signal);
    return endpoint.exists === null ? null : await endpoint.exists(values, context);
  }

  async belongs(request: WireRequest, signal: AbortSignal): Promise<string> {
    const { endpoint, input, context } = this.#find(request, signal);
    return (await endpoint.belongs?.(input.read(MEANING).input, context)) ?? "";
  }

  /** `held`: the engine over what the mount had stored then. */
  async recovers(request: WireRequest, held: E, signal: AbortSignal): Promise<JsonObject | null> {
    const { endpoint, values, context } = this.#find({ ...request, operation: "update" }, signal);
    if (endpoint.recovers === null) throw unsupportedOperation();
    return await endpoint.recovers(held, values, context);
  }

  #find(request: WireRequest, signal: AbortSignal) {
    const [method, operation] = METHODS.get(request.operation) ?? [];
    if (method === undefined || operation === undefined) throw unsupportedOperation();
    const segments = segmentsOf(request.path);
    const route = this.#router.find(segments);
    if (route.methods.size === 0) throw unsupportedPath();
    const endpoint = route.methods.get(method);
    if (endpoint === undefined) throw unsupportedOperation();
    const values = namedValues(endpoint, route);
    const context = this.#context(request, { route, operation, signal });
    return { endpoint, values, context, input: inputOf(endpoint, values, request) };
  }

  #context(
    request: WireRequest,
    { route, operation, signal }: { route: Route; operation: Operation; signal: AbortSignal },
  ): RequestContext {
    const { type, engine, needs, host } = this.#parts;
    const { own } = request;
    const namespace = own === null ? needs.mount.namespace : namespaceFromWire(own.namespace);
    const path = own === null || own.mountPath === "" ? needs.mount.path() : own.mountPath;
    const mount: MountRef = {
      uuid: needs.mount.uuid,
      accessor: needs.mount.accessor,
      type: type.type,
      path,
      namespace: needs.mount.namespace,
      local: own?.mountLocal ?? false,
      readable: { request: new Set(), response: new Set() },
      engine,
    };
    const ask = async (
      what: string,
      {
        capability = "",
        path = "",
        fields,
      }: { capability?: string; path?: string; fields?: JsonObject | undefined } = {},
      duration = 0n,
    ) => {
      if (host === null || own === null) return false;
      const said = fields === undefined ? null : JSON.stringify(fields);
      const question = { number: own.number, what, capability, path, fields: said, duration };
      return (await askHost(host, hostService.ask, question, { signal })).answer;
    };
    const creates = request.operation === "create";
    const headers = new Map(
      [...request.headers].map(([name, { header }]) => [name.toLowerCase(), header.join(", ")]),
    );
    const caller = own === null || own.caller === null ? null : callerFromWire(own.caller);
    const known: EngineRequest = {
      id: request.id,
      operation,
      namespace,
      path: CanonicalPath.of([...segmentsOf(path), ...route.segments]),
      mount,
      wrapTtl: request.wrapInfo === null ? null : request.wrapInfo.ttl,
      caller,
      anonymous: request.unauthenticated,
      may: (capability, where, fields) => ask("may", { capability, path: where, fields }),
      mightEver: (capability, where) => ask("mightEver", { capability, path: where }),
      confirmExists: (exists) => {
        if (own !== null && exists === creates) throw new FoundOtherwise(exists);
      },
      creates: async () => creates,
      issues: async () => void (await ask("issues")),
      pace: ownPace({ clock, timers }),
      remote: {
        address: request.connection?.remoteAddress ?? "",
        port: request.connection?.remotePort ?? 0,
        loopback: own?.loopback ?? false,
      },
      header: (name) => headers.get(name),
      signal,
      isPrivileged: () => ask("isPrivileged"),
      allow: (duration) => void ask("allow", {}, duration).catch(() => {}),
      ...OWN_WORK,
    };
    // Handlers of engines are declared by what an engine may see: the rest is not looked at.
    return known as RequestContext;
  }
}

function inputOf(
  endpoint: Served,
  path: Readonly<Record<string, string>>,
  { own, data }: WireRequest,
): RequestInput {
  if (own === null) return describedInput(endpoint, path, read(data));
  const query = new Map<string, string | true>();
  for (const [name, value] of Object.entries(read(own.query))) {
    if (value === true || typeof value === "string") query.set(name, value);
  }
  return new RequestInput(endpoint, { path, query, body: read(own.body) });
}

/** What fields tell of their values, without what the server has told of already: names that are unknown or old. */
function noticesOf(
  endpoint: Served,
  input: RequestInput,
  warnings: readonly string[],
): readonly string[] {
  if (warnings.length === 0) return warnings;
  const known = endpoint.fields.some(({ field }) => field.notice !== undefined);
  return known && !input.isEmpty ? warnings : [];
}

function read(text: string): JsonObject {
  return text === "" || text === "null" ? {} : readJson(utf8(text), PLUGIN_JSON);
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}
