// What to do next where a request on mounts, leases, wrapping, logins or secrets is refused.

import type { ApiError } from "@holdfast/client/api-error";

/** Null where there is nothing to say that is special to them. */
export function onEngineRefusal(error: ApiError, command: string): string | null {
  const { path } = error;
  if (path.startsWith("sys/wrapping/")) return onWrapping(error);
  if (error.code === "creds_role_unknown" || isStaticCreds(error)) return onUnknownRole(path);
  if (UNCONFIGURED.some((text) => error.says(text))) return onUnconfigured(path);
  if (path.startsWith("sys/leases")) return onLease(error);
  if (/^sys\/(mounts|auth|remount)\b/.test(path)) return onMount(error);
  if (command === "login" && path.startsWith("auth/")) return onLogin(error);
  if (command.startsWith("kv ")) return onKv(error, command);
  if (command === "exec" && error.kind === "not-found") return onExec(error);
  if (
    command === "patch" &&
    /^[^/]+\/data\//.test(path) &&
    error.message.startsWith("data is missing")
  ) {
    return `\`holdfast kv patch ${path.replace("/data/", "/")}\` takes the members as they are`;
  }
  return null;
}

function onUnknownRole(path: string): string {
  const [, mount = path, kept = ""] = /^(.+?)\/(static-)?[^/]+\/[^/]+$/.exec(decodeURI(path)) ?? [];
  return `\`holdfast list ${mount}/${kept}roles\` shows the roles`;
}

/** Credentials of static roles are not listed; the roles are. */
function isStaticCreds({ kind, path }: ApiError): boolean {
  return kind === "not-found" && /^[^/]+(?:\/.+)?\/static-creds\/[^/]+$/.test(path);
}

const UNCONFIGURED = ["engine is not configured", "there is no stored configuration to rotate"];

function onUnconfigured(path: string): string {
  const [mount = path] = decodeURI(path).split(
    /\/(?:creds|roles|config|rotate-root|rotate)(?:\/|$)/,
  );
  return `\`holdfast write ${mount}/config …\` configures it; \`holdfast path-help ${mount}/config\` shows with what`;
}

function onWrapping(error: ApiError): string | null {
  if (!error.says("wrapping token is not valid or does not exist")) return null;
  return (
    "among regions it is unwrapped in the one that made it. Else it was used already, has expired, or never was one. If nobody of yours has " +
    "used it, somebody else has: tell those who sent it, and have what it wrapped replaced"
  );
}

// A provider's refusal of a revocation has the provider's kind: the text tells what it was about.
const NOT_REVOKED = /^(?:the lease could not be revoked|stopped after \d+ revoked leases)/;

function onLease(error: ApiError): string | null {
  if (error.says("invalid lease") || error.says("lease not found")) {
    return "it is revoked or expired, or the id is wrong; `holdfast lease list PREFIX` shows ids";
  }
  if (error.says("lease expired and could not be revoked yet")) {
    return "`holdfast lease lookup` tells why; `holdfast lease revoke -sync` tries once more";
  }
  const lasting = ["lease is not renewable", "maximum lifetime reached", "lease expired"];
  if (lasting.some((text) => error.says(text))) return "ask for a new secret at its path instead";
  const stays = NOT_REVOKED.test(error.message);
  if (stays || error.kind === "upstream" || error.kind === "internal") {
    return (
      "the lease stays, and the server tries again by itself; `holdfast lease lookup ID` tells how that " +
      "goes. Mend the cause, or give it up with `holdfast lease revoke -force -prefix`"
    );
  }
  return null;
}

function onMount(error: ApiError): string | null {
  const group = error.path.startsWith("sys/auth") ? "auth" : "secrets";
  if (error.message.startsWith("the mount is being ")) {
    return `\`holdfast ${group} list\` shows how far that is; \`holdfast ${group} disable\` follows a disabling`;
  }
  if (error.kind === "conflict" || error.message.endsWith("it is protected")) {
    return `choose another -path: \`holdfast ${group} list\` shows what is taken`;
  }
  if (
    error.kind === "invalid" &&
    /is mounted at |no such mount|from must be the path of a mount/.test(error.message)
  ) {
    return `\`holdfast ${group} list\` shows what is mounted; check -namespace too`;
  }
  if (error.kind === "invalid" && error.message.startsWith("plugin not found in the catalog")) {
    const registered = "`holdfast plugin list` shows what is registered";
    const isSecret = group === "secrets";
    return isSecret ? `kv-v1 and kv-v2 are kv, with its version said; ${registered}` : registered;
  }
  if (error.kind === "invalid" && error.path.endsWith("/tune")) {
    return `see \`holdfast ${group} tune -help\`; \`holdfast ${group} list -detailed\` shows what is set`;
  }
  if (error.kind === "invalid" && error.message.includes("abandon=true")) {
    return "remove them first, or leave them behind with -abandon";
  }
  return null;
}

function onLogin(error: ApiError): string | null {
  // A path of no mount is one that needs a token, as far as the server tells.
  if (error.kind === "not-found" || error.says("missing client token")) {
    return "no such method is mounted there: `holdfast auth list` shows them; -path and -namespace say where";
  }
  // Trying again, even rightly, would be refused all the same.
  if (error.message.includes("too many failed logins")) {
    return "wait as long as it says; who may write the user ends it at once by setting a new password";
  }
  if (error.kind === "invalid" || error.kind === "denied") {
    // A name in the path is that of a user; roles are not locked.
    return /\/login\/[^/]+$/.test(error.path)
      ? "check what was typed, -path and -namespace; after several failures a user is locked for a while"
      : "check role_id, secret_id, -path and -namespace; a secret id may be used up or expired";
  }
  return null;
}

/** What was asked for may be a secret, by the path that kv commands take. */
function onExec(error: ApiError): string | null {
  if (AREA.test(error.path)) return onKv(error, "exec");
  return "check the path; members of a key/value secret are given with `holdfast exec -kv PATH -- COMMAND`";
}

const AREA = /^(.+?)\/(?:data|metadata|detailed-metadata|delete|undelete|destroy)(?:\/|$)(.*)$/;

/** The mount of a request on a secret, as far as its path tells. */
function mountOf(path: string): string {
  const [, mount = path.split("/")[0] ?? ""] = AREA.exec(path) ?? [];
  return decodeURI(mount);
}

/** What a person types to list where the secret should be. */
function folderOf(path: string): string {
  const [, mount, key] = AREA.exec(path) ?? [];
  const whole = mount === undefined ? path : `${mount}/${key ?? ""}`;
  return decodeURI(whole.replace(/\/[^/]*$/, "") || whole);
}

const TWICE = /\/(data|metadata)\/\1(\/|$)/;

function onKv(error: ApiError, command: string): string | null {
  const { path, message } = error;
  if (error.kind === "not-found") {
    if (/^kv (?:move|copy)$/.test(command) && /\/(?:move|copy)$/.test(path)) {
      const mount = decodeURI(path.replace(/\/[^/]+$/, ""));
      return `a folder goes with -recursive; \`holdfast kv list ${mount}\` shows what is there`;
    }
    const [, twice] = TWICE.exec(path) ?? [];
    if (twice !== undefined) return `leave ${twice}/ out of the path: kv commands put it in`;
    const list = `holdfast kv list ${folderOf(path)}`;
    return `\`${list}\` shows what is there; \`holdfast kv list -deleted ${mountOf(path)}\` what was deleted`;
  }
  if (error.kind !== "invalid") return null;
  const [, current] = /the current version is (\d+)/.exec(message) ?? [];
  if (current !== undefined) {
    return `look at what is there with \`holdfast kv get\`, and write over it with -cas ${current}`;
  }
  return null;
}
