// `holdfast server --validate`: everything that can be known before a start, as a table. Nothing is
// changed: a store that is not there is not made.

import type { Duplex } from "node:stream";
import { describe, Failure } from "@holdfast/shared/failure";
import type { Address, Listener, World } from "@holdfast/shared/world";
import { utf8 } from "@holdfast/shared/bytes";
import { showHostPort } from "../../config/address.ts";
import type { Config, ListenerConfig } from "../../config/config.ts";
import { ownFiles } from "../../config/directories.ts";
import type { Files } from "../../config/documents.ts";
import type { Loaded } from "../../config/load.ts";
import { showProblem } from "../../config/problem.ts";
import { readStaticKey } from "../../seal/static.ts";
import { isCalled } from "../../replication/addresses.ts";
import { StorageLocked } from "../../storage/engines/engine.ts";
import { checkAuditDevices } from "./audit-check.ts";
import { checkCertificates } from "./certificate-check.ts";
import { writingProblem } from "../written-file.ts";
import { hostWarnings, namedFiles, writableByOthers } from "../hardening.ts";
import { ANOTHER_LISTENS, type Host } from "../host.ts";
import { broken } from "../../base/lines.ts";
import { directoryProblems, nearestThere } from "../places.ts";

export interface Finding {
  readonly check: string;
  readonly result: "ok" | "warn" | "FAIL";
  readonly note: string;
}

export interface Validating {
  readonly host: Host;
  readonly world: World;
  readonly files: Files;
}

export async function validate(loaded: Loaded, validating: Validating): Promise<Finding[]> {
  const { config, warnings, files } = loaded;
  const { host, world } = validating;
  const findings: Finding[] = [
    ok("configuration", `${files.length} ${files.length === 1 ? "file" : "files"} read`),
    ...warnings.map((problem) => warn("configuration", showProblem(problem))),
  ];
  const storage = await guarded("storage", () => storageFindings(config, validating));
  const running = storage.some(({ note }) => note.endsWith(IN_USE));
  const binding = new Binding(world, running);
  for (const listener of config.listeners) {
    const look = () => listenerFindings(listener, binding, validating);
    findings.push(...(await guarded("listener", look)));
  }
  const { clusterPort } = config;
  if (clusterPort !== null) {
    findings.push(await binding.try("cluster port", clusterPort));
    findings.push(...calledFindings(clusterPort, config));
  }
  await binding.release();
  findings.push(...sealFindings(config, validating.files));
  findings.push(...(await guarded("directories", () => directoryFindings(config, validating))));
  findings.push(...storage);
  for (const { device, problem } of checkAuditDevices(config, host, world.fs)) {
    findings.push(problem === null ? ok("audit", device) : fail("audit", `${device}: ${problem}`));
  }
  for (const { setting, path } of ownFiles(config)) {
    const look = () => [fileFinding(setting, path, validating)];
    findings.push(...(await guarded(setting, look)));
  }
  const loose = writableByOthers([...files, ...namedFiles(config)], validating.files);
  findings.push(...[...loose, ...hostWarnings(host)].map((note) => warn("host", note)));
  return findings;
}

/** Whatever a check meets on its way is a finding of it: the other checks are made all the same. */
async function guarded(
  check: string,
  look: () => Finding[] | Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    return [fail(check, describe(error))];
  }
}

function directoryFindings(config: Config, { host, world }: Validating): Finding[] {
  const { data } = config.directories;
  const problems = directoryProblems(config, host, world.fs);
  if (problems.length === 0)
    return [ok("directories", `${data}${madeBelow(data, host, world.fs)}`)];
  return problems.map((note) => fail("directories", note));
}

/** A name that is mistyped is seen here, since all of it would be made. */
function madeBelow(path: string, host: Host, fs: World["fs"]): string {
  const nearest = nearestThere(path, host, fs);
  if ("problem" in nearest || nearest.at === host.realPath(path)) return "";
  return `, not there yet: the server makes it at its start, below ${nearest.at}`;
}

function fileFinding(setting: string, path: string, { host, world }: Validating): Finding {
  const problem = writingProblem(path, host, world.fs);
  return problem === null ? ok(setting, path) : fail(setting, problem);
}

async function listenerFindings(
  listener: ListenerConfig,
  binding: Binding,
  { host, world, files }: Validating,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const at = listener.kind === "tcp" ? showHostPort(listener) : listener.path;
  if (listener.kind === "unix") {
    const problem = await host.socketProblem(listener.path);
    if (problem === null) findings.push(ok("listener", at));
    else if (binding.running && problem === ANOTHER_LISTENS)
      findings.push(warn("listener", inUse(at)));
    else findings.push(fail("listener", `${at}: ${problem}`));
  } else {
    findings.push(await binding.try("listener", listener));
  }
  if (listener.tls === null) return findings;
  const report = checkCertificates(listener.tls, files, world.clock.now());
  return [
    ...findings,
    ...report.problems.map((note) => fail("certificate", note)),
    ...report.warnings.map((note) => warn("certificate", note)),
    ...(report.problems.length === 0 ? [ok("certificate", report.found)] : []),
  ];
}

/** Whether addresses can be listened at, all at once as a server would. */
class Binding {
  /** Whether a server of this store does already. */
  readonly running: boolean;
  readonly #world: World;
  readonly #bound: Listener[] = [];

  constructor(world: World, running: boolean) {
    this.#world = world;
    this.running = running;
  }

  async try(check: string, { host, port }: Address): Promise<Finding> {
    const at = showHostPort({ host, port });
    try {
      const accept = (connection: Duplex) => connection.destroy();
      this.#bound.push(await this.#world.net.listen({ host, port }, accept));
      return ok(check, at);
    } catch (error) {
      const isOwn = this.running && isAddressInUse(error);
      return isOwn ? warn(check, inUse(at)) : fail(check, describe(error));
    }
  }

  async release(): Promise<void> {
    for (const bound of this.#bound.splice(0)) await bound.close();
  }
}

/** Where secondaries would be sent; see replication/addresses.ts. */
function calledFindings(port: Address, { clusterAddr }: Config): Finding[] {
  const at = showHostPort(port);
  if (isCalled(clusterAddr ?? at)) return [];
  const note =
    clusterAddr === null
      ? `no other cluster can be sent to ${at}: for replication add cluster_addr = "https://host:port", where others reach this port`
      : 'cluster_addr is called by no other cluster: expected "https://host:port", where others reach the cluster port';
  return [warn("cluster port", note)];
}

function sealFindings({ seal }: Config, files: Files): Finding[] {
  if (seal.type === "shamir") return [ok("seal", "shamir")];
  try {
    const bytes = "file" in seal.key ? files.read(seal.key.file, 4096) : utf8(seal.key.reveal());
    if (bytes === null) return [fail("seal", "the key_file of the static seal is not there")];
    readStaticKey(bytes);
    return [ok("seal", "static, the key is readable")];
  } catch (error) {
    return [fail("seal", describe(error))];
  }
}

/** While the server of this store runs, its listeners are where the configuration says. */
function inUse(at: string): string {
  return `${at}, in use: by the running server, or by something else if the address is new`;
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Failure && error.code === "address-in-use";
}

/** Looks at a store that is there, and makes nothing. */
async function storageFindings(
  { storage, directories }: Config,
  { world }: Validating,
): Promise<Finding[]> {
  const { store } = directories;
  if (store === null) return [ok("storage", storage.type)];
  const { lookAtPlace } = await import("../../storage/engines/sqlite-place.ts");
  try {
    const found = lookAtPlace(store, world.fs);
    if (found === "empty") return [warn("storage", `${store}, ${EMPTY_STORE}`)];
    return [ok("storage", `${store}, ${found === "absent" ? NO_STORE : "not in use"}`)];
  } catch (error) {
    if (!(error instanceof StorageLocked)) throw error;
    return [warn("storage", `${store}, ${IN_USE}`)];
  }
}

const IN_USE = "in use by a running server: not looked into";

const EMPTY_STORE =
  "there is a file with no store in it, store.db of 0 bytes: a start would begin a new one; if the server was " +
  "initialised before, restore it";

const NO_STORE =
  "not there yet: right for a new server; if it was initialised before, its disk is not mounted";

/** On a terminal of so many columns notes go on below their beginning. */
export function showFindings(findings: readonly Finding[], columns: number | null): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = 4 + 2 + width + 2;
  const lines = findings.map(({ result, check, note }) => {
    const shaped = columns === null ? [note] : broken(note, columns - indent);
    const rest = shaped.join(`\n${" ".repeat(indent)}`);
    return `${result.padEnd(4)}  ${check.padEnd(width)}  ${rest}`;
  });
  return `${lines.join("\n")}\n`;
}

function ok(check: string, note: string): Finding {
  return { check, result: "ok", note };
}

function warn(check: string, note: string): Finding {
  return { check, result: "warn", note };
}

function fail(check: string, note: string): Finding {
  return { check, result: "FAIL", note };
}
