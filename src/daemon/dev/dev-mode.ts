// Development mode: a configuration out of a few flags, and a node that is initialised and unsealed
// by itself. Insecure by definition.

import { join, resolve } from "node:path";
import { utf8, text, wipe } from "@holdfast/shared/bytes";
import { shellWord } from "../../base/shell-text.ts";
import {
  devCloudsTokenless,
  devTokenDiffers,
  devKeysDamaged,
  devKeysMissing,
} from "../failures.ts";
import type { Fs, World } from "@holdfast/shared/world";
import { parseHostPort } from "../../config/address.ts";
import { showBanner } from "./banner.ts";
import type { DevClouds } from "./dev-clouds.ts";
import type { DevPlugins } from "./dev-plugins.ts";
import { type DevFlags, type DevReplicaKind, hasPlugins } from "../flags.ts";
import type { Host } from "../host.ts";
import type { Config } from "../../config/config.ts";
import type { DevReplica } from "./dev-replica.ts";
import type { ServerModule, ServerPart, ServerParts } from "../server-part.ts";
import { offerToken } from "../token-file.ts";
import type { Failure } from "@holdfast/shared/failure";

const MAX_PEM = 64 * 1024;
/** Two that share data have names of their own. */
const REGIONS = { first: "a", second: "b" };
/** The region of each further cluster: who stands in for another one is of its region. */
const OTHERS: Readonly<Record<DevReplicaKind, readonly string[]>> = {
  dr: [REGIONS.first],
  performance: [REGIONS.second],
  four: [REGIONS.first, REGIONS.second, REGIONS.second],
};

export interface DevPlace {
  readonly directory: string;
  /** To be removed at the end. */
  readonly temporary: boolean;
  /** Path of the authority's file, with TLS. */
  readonly authority: string | null;
  /** The configuration as a document. */
  readonly document: string;
  readonly clouds: DevClouds | null;
  readonly plugins: DevPlugins | null;
  /** Of the other clusters; null where there are none. */
  readonly replica: {
    readonly kind: DevReplicaKind;
    readonly clusters: readonly { readonly directory: string; readonly document: string }[];
  } | null;
}

/** Makes directory, certificate and stand-ins for clouds, and the configuration that names them. */
export async function prepareDev(flags: DevFlags, host: Host, world: World): Promise<DevPlace> {
  // First: where it is refused, nothing is left behind.
  const devPlugins = hasPlugins(flags) ? await import("./dev-plugins.ts") : null;
  devPlugins?.checkDevPlugins(flags, host);
  const clouds = flags.clouds
    ? await (await import("./dev-clouds.ts")).startDevClouds(host, world.fs)
    : null;
  const temporary = flags.persist === null;
  const directory =
    flags.persist === null ? host.makeTemporary() : resolve(host.directory, flags.persist);
  if (!temporary) world.fs.makeDirectory(directory);
  const tls = flags.tls ? await certificateIn(join(directory, "tls"), flags.address, world) : null;
  const plugins = devPlugins?.prepareDevPlugins(flags, host) ?? null;
  const document = (dataDir: string, address: string, region: string) => ({
    data_dir: literal(dataDir),
    ...(flags.replica === null || flags.replica === "dr" ? {} : { region }),
    storage: temporary ? { memory: {} } : { sqlite: {} },
    listener: {
      tcp: {
        address,
        ...(flags.replica === null ? {} : { cluster_address: "127.0.0.1:0" }),
        ...(tls === null
          ? { tls_disable: true }
          : { tls_cert_file: literal(tls.certFile), tls_key_file: literal(tls.keyFile) }),
      },
    },
    ...(clouds === null ? {} : { cloudb_endpoints: clouds.cloudbEndpoints }),
    // Programs of whoever runs the server, and nobody else's.
    ...(plugins === null
      ? {}
      : { plugin_directory: literal(plugins.directory), plugin_isolation: "none" }),
  });
  const others = flags.replica === null ? [] : OTHERS[flags.replica];
  const clusters = others.map((region, i) => {
    const own = host.makeTemporary();
    return {
      directory: own,
      document: JSON.stringify(document(own, besides(flags.address, i + 1), region)),
    };
  });
  return {
    directory,
    temporary,
    authority: tls?.authorityFile ?? null,
    document: JSON.stringify(document(directory, flags.address, REGIONS.first)),
    clouds,
    plugins,
    replica: flags.replica === null ? null : { kind: flags.replica, clusters },
  };
}

/** Where another cluster listens: two ports further than the one before, or anywhere where the first does. */
function besides(address: string, number: number): string {
  const { host = "127.0.0.1", port = 0 } = parseHostPort(address) ?? {};
  const next = port === 0 || port + 2 * number > 65_535 ? 0 : port + 2 * number;
  return `${host.includes(":") ? `[${host}]` : host}:${next}`;
}

/** A path is what it is: nothing in it is to be substituted. */
function literal(path: string): string {
  return path.replaceAll("${", "$${");
}

/** Initialises or unseals; gives what was needed for it. */
export async function openDev(
  server: ServerPart,
  flags: DevFlags,
  { directory, temporary }: DevPlace,
  fs: Fs,
): Promise<DevKeys> {
  if (server.keeper.status().initialized) {
    const keys = readDevKeys(fs, directory);
    if (keys === null) throw keysMissing(directory);
    if (flags.rootToken !== null && flags.rootToken !== keys.rootToken) {
      const message = `${directory} was made with another root token; leave --dev-root-token-id out`;
      throw devTokenDiffers(message);
    }
    await server.keeper.unseal({ key: keys.unsealKey });
    return keys;
  }
  const made = await server.keeper.init({ secretShares: 1, secretThreshold: 1 });
  const [unsealKey = ""] = made.keysBase64.reveal();
  const keys = { unsealKey, rootToken: made.rootToken?.reveal() ?? null };
  // Before anything is written to the store: a directory whose key is lost would be of no use.
  if (!temporary) writeDevKeys(fs, directory, keys);
  await server.keeper.unseal({ key: unsealKey });
  return keys;
}

/** An environment without what engines of clouds look for there. */
export function withoutClouds(env: Host["env"]): Host["env"] {
  const names = /^(?:CLOUDA|CLOUDB|AWS|AZURE)_/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.test(name)));
}

/** Tells the engines of the stand-ins for clouds, where there are any. */
export async function prepareClouds(
  server: ServerPart,
  { rootToken }: DevKeys,
  { clouds, authority }: DevPlace,
  { fs, timers }: Pick<World, "fs" | "timers">,
): Promise<void> {
  if (clouds === null) return;
  if (rootToken === null) {
    const message = "--dev-clouds needs a root token, and this store was left without one";
    throw devCloudsTokenless(message);
  }
  const { configureDevClouds } = await import("./dev-clouds.ts");
  const pem = authority === null ? null : (fs.read(authority, MAX_PEM)?.toString("utf8") ?? null);
  const [address = ""] = server.addresses;
  await configureDevClouds(clouds, { address, authority: pem, token: rootToken, timers });
}

/** Mounts plugins that are written, and follows their files; gives how to stop that. */
export async function prepareDevPlugins(
  server: ServerPart,
  { rootToken }: DevKeys,
  { plugins, authority }: DevPlace,
  { host, world }: { readonly host: Host; readonly world: Pick<World, "fs" | "timers"> },
): Promise<() => void> {
  if (plugins === null || rootToken === null) return () => {};
  const { fs, timers } = world;
  const { runDevPlugins } = await import("./dev-plugins.ts");
  const pem = authority === null ? null : (fs.read(authority, MAX_PEM)?.toString("utf8") ?? null);
  const [address = ""] = server.addresses;
  return await runDevPlugins(plugins, { address, authority: pem, token: rootToken, timers }, host);
}

/** The other clusters, where there are to be some. */
export async function prepareReplicas(
  server: ServerPart,
  keys: DevKeys,
  { replica, authority }: DevPlace,
  parts: {
    readonly module: ServerModule;
    readonly server: ServerParts;
    readonly load: (document: string) => Promise<Config>;
    readonly world: World;
  },
): Promise<readonly DevReplica[]> {
  if (replica === null) return [];
  const { module, load, world } = parts;
  const { startDevReplicas } = await import("./dev-replica.ts");
  const pem =
    authority === null ? null : (world.fs.read(authority, MAX_PEM)?.toString("utf8") ?? null);
  const clusters = [];
  for (const { directory, document } of replica.clusters) {
    clusters.push({ directory, config: await load(document) });
  }
  return startDevReplicas(server, keys, {
    module,
    server: parts.server,
    kind: replica.kind,
    clusters,
    authority: pem,
    world,
  });
}

export function announceDev(
  server: ServerPart,
  keys: DevKeys,
  place: DevPlace,
  parts: {
    readonly host: Host;
    readonly fs: Fs;
    readonly version: string;
    readonly replicas: readonly DevReplica[];
  },
): void {
  const { host, fs, version, replicas } = parts;
  const { unsealKey, rootToken } = keys;
  const addresses = [server, ...replicas.map((one) => one.server)].flatMap((one) => one.addresses);
  const offered = rootToken === null ? null : offerToken(fs, host, rootToken, addresses);
  const text = showBanner({
    version,
    address: server.addresses[0] ?? "",
    authority: place.authority,
    storage: place.temporary ? "memory, gone when this process ends" : place.directory,
    unsealKey,
    rootToken,
    tokenFile: offered?.written === true ? offered.path : null,
    tokenNote: offered?.written === false ? offered.why : null,
    // Never by npx: outside of a checkout it would ask the public registry for a package of this name.
    command: shellWord(join(host.root, "bin", "holdfast")),
    clouds: place.clouds?.states ?? [],
    replicas: replicas.map((one) => ({
      name: one.name,
      address: one.server.addresses[0] ?? "",
      ticket: one.ticket,
    })),
    regions: REGIONS,
  });
  host.out(text);
}

interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
}

/** A new one at every start: it takes a tenth of a second, and never expires under a developer. */
async function certificateIn(
  directory: string,
  address: string,
  { fs, clock }: World,
): Promise<TlsFiles> {
  const { makeDevCertificate } = await import("./dev-certificate.ts");
  const host = parseHostPort(address)?.host ?? "localhost";
  const isAddress = /^[0-9.]+$|:/.test(host);
  const made = await makeDevCertificate(
    [
      { type: "dns", value: "localhost" },
      { type: "ip", value: "127.0.0.1" },
      { type: "ip", value: "::1" },
      { type: isAddress ? "ip" : "dns", value: host },
    ],
    clock.now(),
  );
  fs.makeDirectory(directory);
  const put = (name: string, pem: string) => {
    const path = join(directory, name);
    fs.replace(path, utf8(`${pem}\n`));
    return path;
  };
  return {
    certFile: put("cert.pem", made.certificate),
    keyFile: put("key.pem", made.key),
    authorityFile: put("ca.pem", made.authority),
  };
}

// --- dev keys ---

// What --dev-persist keeps beside the store so that it comes up unsealed: the unseal key and the root
// token, in clear, in a file of mode 0600. That is what makes such a directory unfit for real secrets.

export interface DevKeys {
  readonly unsealKey: string;
  /** Null when the node was left without one. */
  readonly rootToken: string | null;
}

const NAME = "dev-keys.json";
const MAX_FILE = 8192;

export function writeDevKeys(fs: Fs, directory: string, keys: DevKeys): void {
  const note = "development only: whoever has this file has everything in the store beside it";
  const { unsealKey: unseal_key, rootToken: root_token } = keys;
  const bytes = utf8(`${JSON.stringify({ note, unseal_key, root_token }, null, 2)}\n`);
  fs.replace(join(directory, NAME), bytes);
  wipe(bytes);
}

/** Null when there is no such file. */
export function readDevKeys(fs: Fs, directory: string): DevKeys | null {
  const path = join(directory, NAME);
  const bytes = fs.read(path, MAX_FILE);
  if (bytes === null) return null;
  try {
    const found: unknown = JSON.parse(text(bytes));
    if (
      typeof found === "object" &&
      found !== null &&
      "unseal_key" in found &&
      "root_token" in found
    ) {
      const { unseal_key: unsealKey, root_token: rootToken } = found;
      const known = rootToken === null || typeof rootToken === "string";
      if (typeof unsealKey === "string" && known) return { unsealKey, rootToken };
    }
  } catch {
    // refused below: the parser's message would show a part of the keys
  } finally {
    wipe(bytes);
  }
  throw devKeysDamaged(`${path} is not what --dev-persist wrote`);
}

export function keysMissing(directory: string): Failure {
  const message =
    `${directory} holds a store, but not the ${NAME} that opens it: it was not made by --dev-persist, ` +
    "or its first start was interrupted; use another directory, or remove this one";
  return devKeysMissing(message);
}
