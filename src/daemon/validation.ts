// `holdfast server --validate`: everything that can be known before a start, as a table. Nothing is
// changed: a store that is not there is not made.

import { join } from "node:path";
import { describe, Failure } from "../base/failure.ts";
import type { World } from "../base/world.ts";
import { utf8 } from "../base/bytes.ts";
import { showHostPort } from "../config/address.ts";
import type { Config, ListenerConfig } from "../config/config.ts";
import type { Files } from "../config/documents.ts";
import type { Loaded } from "../config/load.ts";
import { showProblem } from "../config/problem.ts";
import { readStaticKey } from "../seal/static.ts";
import { StorageLocked } from "../storage/engines/engine.ts";
import { checkAuditDevices } from "./audit-check.ts";
import { checkCertificates } from "./certificate-check.ts";
import { hostWarnings, namedFiles, writableByOthers } from "./hardening.ts";
import { ANOTHER_LISTENS, type Host } from "./host.ts";
import { makingProblem, placeProblems } from "./places.ts";

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
  const storage = await storageFinding(config, validating);
  const running = storage.result === "warn";
  for (const listener of config.listeners) {
    findings.push(...(await listenerFindings(listener, running, validating)));
  }
  findings.push(...sealFindings(config, validating.files));
  const places = placeProblems(config, host, world.fs).map((note) => fail("directories", note));
  const data = makingProblem(config.directories.data, host, world.fs);
  if (data !== null) places.push(fail("directories", data));
  findings.push(...(places.length > 0 ? places : [ok("directories", config.directories.data)]));
  findings.push(storage);
  for (const { device, problem } of checkAuditDevices(config, host, world.fs)) {
    findings.push(problem === null ? ok("audit", device) : fail("audit", `${device}: ${problem}`));
  }
  const loose = writableByOthers([...files, ...namedFiles(config)], validating.files);
  findings.push(...[...loose, ...hostWarnings(host)].map((note) => warn("host", note)));
  return findings;
}

async function listenerFindings(
  listener: ListenerConfig,
  running: boolean,
  { host, world, files }: Validating,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const at = listener.kind === "tcp" ? showHostPort(listener) : listener.path;
  if (listener.kind === "unix") {
    const problem = await host.socketProblem(listener.path);
    if (problem === null) findings.push(ok("listener", at));
    else if (running && problem === ANOTHER_LISTENS) findings.push(warn("listener", inUse(at)));
    else findings.push(fail("listener", `${at}: ${problem}`));
  } else {
    try {
      const { host: name, port } = listener;
      const bound = await world.net.listen({ host: name, port }, (connection) =>
        connection.destroy(),
      );
      await bound.close();
      findings.push(ok("listener", at));
    } catch (error) {
      const taken = running && isAddressInUse(error);
      findings.push(taken ? warn("listener", inUse(at)) : fail("listener", describe(error)));
    }
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

/** Takes the lock of a store that is there, and gives it back. A warning: a server runs on it. */
async function storageFinding(
  { storage, directories }: Config,
  { world }: Validating,
): Promise<Finding> {
  const { store } = directories;
  if (store === null) return ok("storage", storage.type);
  try {
    if (world.fs.info(join(store, "lock.db")) === null)
      return ok("storage", `${store}, not there yet`);
    const { claimPlace } = await import("../storage/engines/sqlite-place.ts");
    claimPlace(store, world.fs).release();
    return ok("storage", `${store}, not in use`);
  } catch (error) {
    if (error instanceof StorageLocked) {
      return warn("storage", `${store}, in use by a running server: not looked into`);
    }
    return fail("storage", describe(error));
  }
}

export function showFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(
    ({ result, check, note }) => `${result.padEnd(4)}  ${check.padEnd(width)}  ${note}`,
  );
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
