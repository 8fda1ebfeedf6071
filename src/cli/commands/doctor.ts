// `holdfast doctor`: looks at everything between this machine and a server that works, and says what to do.

import { describe, Failure } from "@holdfast/shared/failure";
import { isObject, type JsonObject, type JsonValue } from "@holdfast/shared/json/json";
import { MILLISECOND, DAY, SECOND, showDuration } from "@holdfast/shared/text/duration";
import { ApiError } from "@holdfast/client/api-error";
import * as audit from "@holdfast/client/api/audit";
import * as replication from "@holdfast/client/api/replication";
import * as introspection from "@holdfast/client/api/introspection";
import * as seal from "@holdfast/client/api/seal";
import type { Setting } from "@holdfast/client/node/environment";
import { probeTls } from "@holdfast/client/node/tls-probe";
import { tokenFileProblem } from "@holdfast/client/node/token-file";
import { isLocal } from "@holdfast/client/server-address";
import * as attention from "@holdfast/client/api/attention";
import { adviceFor, another, ON_UNINITIALISED } from "../advice/advice.ts";
import { onGovernedDenial } from "../advice/policy-advice.ts";
import { command, type Context } from "../command.ts";
import { VERSION } from "../../system/version.ts";
import { HEALTH_CODES } from "../operator/seal-status.ts";
import { stateText } from "../replication/status-fields.ts";
import { statusView } from "../replication/status-view.ts";
import { showValue } from "../terminal/value.ts";
import { checkToken, type TokenCheck } from "../token/check.ts";

export const doctor = command({
  name: "doctor",
  summary: "Check address, TLS, seal, clock, token, audit and versions, and say what to do",
  description: "Changes nothing. Exit code 1 when something is wrong.",
  examples: ["holdfast doctor", "holdfast doctor -format json"],
  flags: {},
  args: {},
  async run(context) {
    const findings = await examine(context);
    const data = findings.map((finding) => ({ ...finding }));
    await context.out.show(data, {
      columns: ["Check", "Result", "Found", "What to do"],
      unbroken: ["Found", "What to do"],
      rows: findings.map(({ check, result, found, next }) => [check, result, found, next || "–"]),
    });
    return findings.some(({ result }) => result === "wrong") ? 1 : 0;
  },
});

export interface Finding {
  readonly check: string;
  readonly result: "good" | "watch" | "wrong";
  readonly found: string;
  readonly next: string; // empty when there is nothing to do
}

const RENEW_WITHIN = 30n * DAY;
// Tokens and certificates live by the clock; a few seconds are the network's.
const SKEW_NOTABLE = 5n * SECOND;
const SKEW_WRONG = 60n * SECOND;

async function examine(context: Context): Promise<Finding[]> {
  const findings: Finding[] = [addressFinding(context), tokenFileFinding(context)];
  if (context.settings.address.value.secure) findings.push(await tlsFinding(context));
  if (findings.some(({ result }) => result === "wrong")) return findings;
  const before = context.clock.now();
  const health = await reach(context);
  if (!("data" in health)) return [...findings, health];
  const { data } = health;
  const took = context.clock.now() - before;
  findings.push(good("server", `answers in ${showDuration(took - (took % MILLISECOND))}`));
  findings.push(clockFinding(data, before + took / 2n), sealFinding(data), versionFinding(data));
  const open = data["acl_bootstrap_open"] === true ? [bootstrapFinding()] : [];
  if (data["sealed"] !== false) return [...findings, ...open];
  if (data["replication_dr_mode"] === "secondary") {
    return [...findings, await secondaryFinding(context)];
  }
  findings.push(...(await tokenFindings(context)));
  const onServer = await attentionFindings(context);
  if (onServer !== null) return [...findings, ...onServer];
  // An older server, or a token that may not ask: what can be seen from here.
  findings.push(...open, await auditFinding(context), ...(await diskFindings(context)));
  return findings;
}

/** Tokens, audit devices and the disk are a primary's to tell of: here is what its secondary can answer. */
async function secondaryFinding({ anonymous, clock }: Context): Promise<Finding> {
  try {
    const { data } = await replication.readDrStatus(anonymous.inRoot());
    const { troubled, advice } = statusView(data, clock.now());
    const found = `disaster-recovery secondary: ${stateText(showValue(data["state"]))}`;
    return troubled
      ? wrong("replication", found, advice[0] ?? "see `holdfast replication status`")
      : good("replication", `${found}; it looks no tokens up`);
  } catch (error) {
    return failed("replication", error);
  }
}

function bootstrapFinding(): Finding {
  return watch("bootstrap", "anybody can make the first token", "run `holdfast acl bootstrap` now");
}

/** What the server itself says; null where it does not tell. */
async function attentionFindings({ client }: Context): Promise<Finding[] | null> {
  try {
    const { data } = await attention.readAttention(client.inRoot());
    const items = data.items.map(({ code, severity, subject, text, remedy, snoozed_until }) => {
      const found = subject === null || subject === "" ? text : `${subject}: ${text}`;
      const now = severity === "act" && snoozed_until === null;
      return now ? wrong(code, found, remedy) : watch(code, found, remedy);
    });
    if (!data.complete) items.push(watch("attention", "a check could not be made", "see the log"));
    return items.length === 0 ? [good("attention", "nothing on the server needs any")] : items;
  } catch (error) {
    if (error instanceof ApiError && UNTOLD.includes(error.kind)) return null;
    return [failed("attention", error)];
  }
}

const UNTOLD: readonly ApiError["kind"][] = ["denied", "not-found", "unsupported"];

function addressFinding({ settings }: Context): Finding {
  const { value: address, from } = settings.address;
  const found = `${address.display} (from ${from})`;
  return address.secure || isLocal(address)
    ? good("address", found)
    : watch("address", `${found}; not encrypted on its way`, "use https:// for other machines");
}

function tokenFileFinding({ settings, fs }: Context): Finding {
  const path = settings.tokenFile;
  const problem = tokenFileProblem(fs, path);
  if (problem !== null) return wrong("token file", problem, `remove it, or run chmod 600 ${path}`);
  return good("token file", fs.info(path) === null ? `none at ${path}` : `${path}, for you alone`);
}

async function tlsFinding({ settings, files, timers, clock }: Context): Promise<Finding> {
  const tls = settings.tls(files);
  const { value: address } = settings.address;
  try {
    const seen = await probeTls({ address, tls, timeout: settings.timeout, timers });
    const about = `${seen.protocol}, ${seen.subject || "no name"}, issued by ${seen.issuer || "?"}`;
    const left = BigInt(Date.parse(seen.validTo) || 0) * MILLISECOND - clock.now();
    if (left <= 0n)
      return wrong("tls", `${about}; expired ${seen.validTo}`, "renew the certificate");
    if (tls.skipVerify) {
      return watch("tls", `${about}; not checked`, "leave out -tls-skip-verify, give -ca-cert");
    }
    if (seen.distrust !== null) {
      const next = /ALTNAME|HOSTNAME/.test(seen.distrust)
        ? "use a name from the certificate, or -tls-server-name"
        : "give the authority with -ca-cert FILE or HOLDFAST_CACERT";
      return wrong("tls", `${about}; not trusted: ${seen.distrust}`, next);
    }
    const days = `valid for ${left / DAY} days`;
    return left < RENEW_WITHIN
      ? watch("tls", `${about}; ${days}`, "renew the certificate soon")
      : good("tls", `${about}; ${days}`);
  } catch (error) {
    return failed("tls", error);
  }
}

async function reach({
  anonymous,
  settings,
}: Context): Promise<{ readonly data: JsonObject } | Finding> {
  try {
    const options = { accept: HEALTH_CODES };
    const { data } = await seal.health(anonymous.inRoot(), {}, options);
    if (isObject(data)) return { data };
    return notHoldfast();
  } catch (error) {
    const strange = error instanceof Failure && error.code === "answer-malformed";
    return strange && !(error instanceof ApiError)
      ? notHoldfast()
      : failed("server", error, settings.base);
  }
}

function notHoldfast(): Finding {
  return wrong("server", "it answers, but not as Holdfast does", "check the address and proxies");
}

function clockFinding(health: JsonObject, now: bigint): Finding {
  const serverTime = health["server_time_utc"];
  if (typeof serverTime !== "number")
    return watch("clock", "the server does not tell its time", "");
  const seconds = BigInt(Math.trunc(serverTime)) - now / SECOND;
  const skew = (seconds < 0n ? -seconds : seconds) * SECOND;
  const found = `${showDuration(skew)} ${seconds < 0n ? "behind" : "ahead of"} this machine`;
  if (skew <= SKEW_NOTABLE) return good("clock", "the server's and this machine's agree");
  const next = "set both clocks by NTP";
  return skew > SKEW_WRONG ? wrong("clock", found, next) : watch("clock", found, next);
}

function sealFinding({ initialized, sealed, standby }: JsonObject): Finding {
  if (initialized !== true) {
    return wrong("seal", "not initialised", ON_UNINITIALISED);
  }
  if (sealed !== false) return wrong("seal", "sealed", "run `holdfast operator unseal`");
  return good("seal", standby === true ? "unsealed, standby" : "unsealed, active");
}

function versionFinding({ version }: JsonObject): Finding {
  const server = typeof version === "string" ? version : "unknown";
  return server === VERSION
    ? good("version", `${VERSION} here and there`)
    : watch("version", `${VERSION} here, server ${server}`, "use the same version on both");
}

/** The token, and the namespace in which it is used where that is not root. */
async function tokenFindings({ client, settings, fs }: Context): Promise<Finding[]> {
  const { namespaceSetting: namespace } = settings;
  const token = settings.token(fs);
  if (token === null) {
    const where = namespace === null ? [] : [good("namespace", namespaceText(namespace))];
    return [...where, watch("token", "none", `run \`${settings.login}\`, or set HOLDFAST_TOKEN`)];
  }
  try {
    const there = await checkToken(client);
    if (namespace === null) return [tokenFinding(token.from, settings.login, there)];
    if (there.readable) {
      return [
        good("namespace", namespaceText(namespace)),
        tokenFinding(token.from, settings.login, there),
      ];
    }
    // Whether it is the token or the namespace: the same token outside of it.
    const outside = await checkToken(client.inRoot());
    const missing = outside.valid === true;
    const where = missing
      ? wrong(
          "namespace",
          `${namespaceText(namespace)}: there is none of this name, or the token may do nothing in it`,
          "give -namespace / for root; `holdfast namespace list` shows those below it",
        )
      : good("namespace", namespaceText(namespace));
    return [where, tokenFinding(token.from, settings.login, missing ? outside : there)];
  } catch (error) {
    return [failed("token", error)];
  }
}

function namespaceText({ value, from }: Setting<string>): string {
  return `${value} (from ${from})`;
}

function tokenFinding(
  from: string,
  login: string,
  { valid, by, expires, governed }: TokenCheck,
): Finding {
  if (governed.length > 0) {
    const found = `known to the server, from ${from}; reading it (${by}) is denied by ${governed.join(", ")}`;
    return watch("token", found, onGovernedDenial());
  }
  const until = expires === "" ? "" : `, until ${expires}`;
  if (valid === true) return good("token", `known to the server, from ${from}${until}`);
  if (valid === null) return watch("token", `from ${from}; nothing here can check it`, "");
  return wrong("token", `the one from ${from} is not known (${by})`, another(from, login));
}

/** Below twice the reserve, 64 MiB, under which nothing but deletions is written, it is high time. */
const LITTLE_ROOM = 128 * 2 ** 20;
const SOME_ROOM = 2 ** 30;

/** Nothing where the token may not look, or everything is in memory. */
async function diskFindings({ client }: Context): Promise<Finding[]> {
  try {
    const { data } = await introspection.readHostInfo(client.inRoot());
    const disk: JsonValue | undefined = data.disk;
    const free = isObject(disk) ? disk["free_bytes"] : undefined;
    if (typeof free !== "number") return [];
    const found = `${Math.floor(free / 2 ** 20)} MiB are free where data is kept`;
    if (free >= SOME_ROOM) return [good("disk", found)];
    const next = "make room: when it is nearly full nothing new is written";
    return [free < LITTLE_ROOM ? wrong("disk", found, next) : watch("disk", found, next)];
  } catch (error) {
    if (error instanceof ApiError && UNTOLD.includes(error.kind)) return [];
    return [failed("disk", error)];
  }
}

async function auditFinding({ client }: Context): Promise<Finding> {
  try {
    const { data } = await audit.listAuditDevices(client.inRoot());
    const devices = Object.entries(data);
    const count = devices.length;
    const down = devices.flatMap(([path, { healthy }]) => (healthy === false ? [path] : []));
    if (down.length > 0) {
      const found = `${down.join(", ")} cannot be written to (${down.length} of ${count} devices)`;
      const cause =
        "the server's log says why; mend the place it writes to, then reload the server";
      return wrong("audit", found, cause);
    }
    if (count > 1) return good("audit", `${count} devices`);
    return count === 1
      ? watch("audit", "1 device: when it fails, everything stops", "enable a second one")
      : watch(
          "audit",
          "no device: nothing is recorded",
          "run `holdfast audit enable file file_path=PATH`",
        );
  } catch (error) {
    if (error instanceof ApiError && error.kind === "denied") {
      return watch("audit", "this token may not look", "use one with sudo on sys/audit to see it");
    }
    return failed("audit", error);
  }
}

function failed(check: string, error: unknown, base: Setting<string> | null = null): Finding {
  if (!(error instanceof Failure)) throw error;
  const next = adviceFor(error, {
    command: "doctor",
    tokenFrom: null,
    login: "holdfast login",
    namespace: null,
    base,
  });
  return wrong(check, describe(error), next ?? "look at the server's log");
}

function good(check: string, found: string): Finding {
  return { check, result: "good", found, next: "" };
}

function watch(check: string, found: string, next: string): Finding {
  return { check, result: "watch", found, next };
}

function wrong(check: string, found: string, next: string): Finding {
  return { check, result: "wrong", found, next };
}
