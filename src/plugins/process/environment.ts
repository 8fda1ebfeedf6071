// What a plugin finds in its environment: few variables of ours, then those of its entry, then those of the protocol, so that
// nobody takes the place of the last.

import { dirname } from "node:path";
import { isOfProtocol } from "@holdfast/plugin-sdk/wire/handshake";

/** Where it may find things, and how it speaks. The rest of ours holds keys of clouds and of seals. */
const PASSED_ON =
  /^(?:PATH|HOME|LANG|LC_[A-Z]+|TZ|SSL_CERT_FILE|SSL_CERT_DIR|(?:HTTP|HTTPS|NO|ALL|http|https|no|all)_(?:PROXY|proxy))$/;

/**
 * They make a program load other code than what was registered, have the names of hosts looked up elsewhere, or are set here. By
 * whom they are read: the loader and the C library (what it passes over itself in programs that run as somebody else), shells, the
 * runtimes of languages, OpenSSL. Where a program reaches and whom it trusts (proxies, files of certificates) is for its entry to say.
 */
const REFUSED = new RegExp(
  `^(?:${[
    "PATH|TMPDIR",
    "LD_.*|LDR_.*|LIBPATH|SHLIB_PATH|_RLD.*|DYLD_.*",
    "GCONV_PATH|GETCONF_DIR|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|MALLOC_TRACE|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR",
    "ENV|IFS|PS4|PROMPT_COMMAND|CDPATH|GLOBIGNORE|SHELLOPTS|BASHOPTS|BASH_.*|ZDOTDIR|FPATH|(?:READ)?NULLCMD|TMPPREFIX",
    "NODE_(?!(?:ENV|NO_WARNINGS|EXTRA_CA_CERTS)$).*|BUN_.*|DENO_.*",
    "PYTHON(?!(?:UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE|HASHSEED)$).*",
    "PERL.*|RUBY.*|GEM_.*|BUNDLE_.*",
    "(?:.*_)?JAVA_.*|CLASSPATH",
    "DOTNET_.*|CORECLR_.*|COR_.*|COMPlus_.*|MONO_.*|ASPNETCORE_HOSTINGSTARTUPASSEMBLIES",
    "PHPRC|PHP_INI_SCAN_DIR|LUA_.*|ERL_.*|ELIXIR_.*|TCL.*",
    "OPENSSL_.*",
  ].join("|")})$`,
);

/** What shells of old ran as a function, whatever the variable was called. */
const FUNCTION = /^\s*\(\)/;

/** Tells what runs for us from everything else, in whatever a plugin starts. */
export const RUN_MARK = "HOLDFAST_PLUGIN_RUN";

const MAX_ENTRIES = 128;
const MAX_BYTES = 64 * 1024;

/** Why variables of an entry, each NAME=value, are not taken; null where they are. No value is quoted. */
export function envProblem(env: readonly string[]): string | null {
  if (env.length > MAX_ENTRIES)
    return `env has ${env.length} variables; there may be ${MAX_ENTRIES}`;
  let bytes = 0;
  const seen = new Set<string>();
  for (const [at, entry] of env.entries()) {
    bytes += Buffer.byteLength(entry);
    const equals = entry.indexOf("=");
    const name = entry.slice(0, equals);
    if (equals < 1) return `env: variable ${at + 1} has no name; each is NAME=value`;
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) {
      return `env: the name of variable ${at + 1} must be letters, digits and _, and begin with no digit`;
    }
    if (entry.includes("\0")) return `env: ${name} holds a NUL`;
    if (REFUSED.test(name)) return `env: ${name} is not for plugins: it changes which code runs`;
    if (FUNCTION.test(entry.slice(equals + 1))) {
      return `env: ${name} is not for plugins: a shell would run it`;
    }
    if (isOfProtocol(name) || name === RUN_MARK) return `env: ${name} is set by the server itself`;
    if (seen.has(name)) return `env: ${name} is there twice`;
    seen.add(name);
  }
  return bytes > MAX_BYTES ? `env has ${bytes} bytes; there may be ${MAX_BYTES}` : null;
}

export interface EnvironmentParts {
  /** Of the server; null where nothing of it is passed on, into containers. */
  readonly ours: Readonly<Record<string, string | undefined>> | null;
  /** All of it, as servers of old did. */
  readonly inherits: boolean;
  readonly entry: readonly string[];
  readonly protocol: Readonly<Record<string, string>>;
  /** Path of the runtime that we run on: scripts say only its name. */
  readonly runtime: string;
}

export function environmentOf(parts: EnvironmentParts): Record<string, string> {
  const { ours, inherits, entry, protocol, runtime } = parts;
  const env: Record<string, string> = {};
  if (ours !== null) {
    for (const [name, value] of Object.entries(ours)) {
      if (value !== undefined && (inherits || PASSED_ON.test(name))) env[name] = value;
    }
    const path = env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
    env["PATH"] = `${dirname(runtime)}:${path}`;
  }
  for (const one of entry) {
    const equals = one.indexOf("=");
    env[one.slice(0, equals)] = one.slice(equals + 1);
  }
  return { ...env, ...protocol };
}
