// A fake of cloud B over real HTTP: token endpoint, Graph and ARM, each on a port of its own, so that a
// call to the wrong one is found out. It shares no code with the engine that talks to it, and is strict
// where the provider is. What a test may do to it is in control.ts.

import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Control, controlOf } from "./control.ts";
import { answerControl } from "./control-endpoint.ts";
import { ALL_PERMISSIONS, type Surface } from "./model.ts";
import { answer } from "./surface.ts";
import { Tenant } from "./tenant.ts";

const SURFACES: readonly Surface[] = ["authority", "graph", "arm"];
const TEN_YEARS = 10 * 365 * 86_400_000;

export interface FakeCloudBOptions {
  /** The port of the token endpoint; the other two follow it. Default: any free ones. */
  readonly port?: number;
  /** Milliseconds since 1970. Default the machine's clock. */
  readonly now?: () => number;
}

/** What an engine must be told to use it: an application with a password and every permission. */
export interface FakeAccess {
  readonly endpoints: Readonly<Record<Surface, string>>;
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Of the same application. */
  readonly objectId: string;
  readonly identityEndpoint: string;
  readonly identityHeader: string;
}

export interface FakeCloudB extends FakeAccess {
  /** Where /_fake/… is. */
  readonly url: string;
  readonly control: Control;
  close(): Promise<void>;
}

export async function startFakeCloudB(options: FakeCloudBOptions = {}): Promise<FakeCloudB> {
  const { port = 0, now = Date.now } = options;
  const servers = SURFACES.map(() => createServer());
  const urls: string[] = [];
  for (const [i, server] of servers.entries()) {
    urls.push(await listening(server, port === 0 ? 0 : port + i));
  }
  const [authority = "", graph = "", arm = ""] = urls;
  const endpoints = { authority, graph, arm };
  const tenant = new Tenant({
    id: randomUUID(),
    subscriptionId: randomUUID(),
    now,
    knownAs: endpoints,
    identityHeader: randomUUID(),
  });
  const root = tenant.directory.createApplication({ displayName: "root" });
  const { id: principalId } = tenant.directory.createPrincipal(root);
  const life = { start: tenant.now(), end: tenant.now() + TEN_YEARS };
  const password = tenant.directory.addPassword(root, { displayName: "first", ...life });
  tenant.replicas.know([root.id, root.appId, principalId, password.keyId]);
  tenant.permissions.set(root.appId, new Set(ALL_PERMISSIONS));
  const control = controlOf(tenant);
  for (const [i, surface] of SURFACES.entries()) {
    servers[i]?.on("connection", (socket) => {
      tenant.sockets.add(socket);
      socket.once("close", () => tenant.sockets.delete(socket));
    });
    servers[i]?.on("request", (request, response) => {
      const controls = (request.url ?? "").startsWith("/_fake/");
      const answered = controls
        ? answerControl(control, request, response)
        : answer(tenant, surface, request, response);
      answered.catch(() => response.destroy());
    });
  }
  return {
    url: authority,
    endpoints,
    tenantId: tenant.id,
    subscriptionId: tenant.subscriptionId,
    clientId: root.appId,
    clientSecret: password.secretText,
    objectId: root.id,
    identityEndpoint: `${authority}/msi/token`,
    identityHeader: tenant.identityHeader,
    control,
    close: async () => {
      await Promise.all(servers.map(closed));
    },
  };
}

async function listening(server: Server, port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, "127.0.0.1", resolve);
  await promise;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function closed(server: Server): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  return promise;
}
