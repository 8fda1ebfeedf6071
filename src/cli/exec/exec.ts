// `holdfast exec`

import { isObject } from "@holdfast/shared/json/json";
import type { Answer } from "@holdfast/client/client";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { argument } from "../line/argument.ts";
import { NotStarted, signalCode } from "./child-command.ts";
import { command, type Context } from "../command.ts";
import {
  credentialVariables,
  type CredentialVariables,
  type Variable,
} from "./credential-variables.ts";
import { flag } from "../line/flag.ts";
import { endLease, heldLease, keepLease } from "./held-lease.ts";
import { PassedSignals } from "./passed-signals.ts";
import { noField } from "../terminal/output.ts";
import { memberOf, showValue } from "../terminal/value.ts";
import { kvVariables } from "../kv/variables.ts";
import { UsageError } from "../line/usage-error.ts";
import { readTyped } from "../commands/path.ts";

const USAGE = "holdfast exec PATH -- COMMAND [ARGUMENTS]";

export const exec = command({
  name: "exec",
  summary: "Run a command with credentials in its environment, and end them with it",
  description:
    "Reads PATH and runs the command with what the answer holds, under the names that tools of the " +
    "provider know, or under those given by -env. The lease is renewed while the command runs " +
    "and revoked when it ends, however it ends. Signals go to the command, and its exit code comes " +
    "back. The command does not get the token that was used. With -kv it gets every member of a " +
    "key/value secret: names in capitals, each character but letters, digits and _ as _, a _ in front of " +
    "a digit; two members of one name are refused, and so are names that steer the command itself, such " +
    "as PATH.",
  examples: [
    "holdfast exec clouda/creds/deploy -- aws s3 ls",
    "holdfast exec -param ttl=20m clouda/sts/audit -- ./report.sh",
    "holdfast exec -kv secret/app -- ./server",
    "holdfast exec -kv secret/db -kv secret/mail -prefix APP_ -- ./server",
    "holdfast exec -env DB_PASSWORD=data.password secret/data/db -- psql",
  ],
  flags: {
    env: flag
      .pair("Variable and the member of the answer for it, NAME=MEMBER, instead of the usual ones")
      .repeated(),
    param: flag.pair("Parameter of the request").repeated(),
    kv: flag
      .string("Key/value secret whose members it gets, instead of PATH", "PATH", "kv")
      .repeated(),
    prefix: flag.string("With -kv: stands in front of every name; - and . become _"),
  },
  args: {
    path: argument.optional("Path that gives the credentials; none with -kv", { words: "paths" }),
    command: argument.command("The command and its arguments, after --"),
  },
  async run(context, { path, command: words, env, param, kv, prefix }) {
    const fromKv = kv.length > 0;
    if (fromKv && env.length + param.length > 0) {
      throw new UsageError("-env and -param go with PATH, and not with -kv");
    }
    if (!fromKv && prefix !== undefined) throw new UsageError("-prefix goes with -kv");
    if (!/^(?:[a-z_][\w.-]*)?$/i.test(prefix ?? "")) {
      throw new UsageError("-prefix takes letters, digits, _, - and ., and begins with no digit");
    }
    if (!fromKv && (path === undefined || path === "")) {
      throw new UsageError("PATH is missing: what gives the credentials, or -kv SECRET", USAGE);
    }
    if (fromKv && path !== undefined) {
      throw new UsageError(
        "-kv and a path do not go together: -kv names the secret, and the command stands after --",
        "give each secret a -kv of its own: holdfast exec -kv PATH -kv PATH -- COMMAND",
      );
    }
    const [program, ...args] = words;
    if (program === undefined || program === "") {
      throw new UsageError("COMMAND is missing: the program to run", USAGE);
    }
    const bad = env.find(([name]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
    if (bad !== undefined) {
      throw new UsageError("-env takes NAME=MEMBER, NAME out of letters, digits and _");
    }
    const { client, children } = context;
    const signals = new PassedSignals(context);
    let handed: readonly Variable[] = [];
    try {
      if (fromKv) {
        const variables = await signals.unlessImpatient(kvVariables(client, kv, prefix ?? ""));
        handed = variables;
        warnOfReplaced(context, variables);
        const around = environmentOf(context, { set: variables, unset: [] });
        if (signals.first !== null) return signalCode(signals.first);
        return await signals.passTo(await children.start(program, args, around));
      }
      const query = Object.fromEntries(param);
      const answer = await signals.unlessImpatient(readTyped(client, path ?? "", query));
      return await withLease(context, answer, signals, async () => {
        const variables = env.length > 0 ? chosen(env, answer) : usual(answer);
        handed = variables.set;
        if (signals.first !== null) return signalCode(signals.first);
        const around = environmentOf(context, variables);
        return signals.passTo(await children.start(program, args, around));
      });
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      if (error.tooLarge) context.out.error(...tooLarge(program, handed));
      else context.out.error(error.message, null);
      return error.exitCode;
    } finally {
      signals.close();
    }
  },
});

/** Whatever happens in between, the lease is ended. */
async function withLease(
  context: Context,
  answer: Answer,
  signals: PassedSignals,
  work: () => Promise<number>,
): Promise<number> {
  const lease = heldLease(answer);
  if (lease === null) return work();
  const stop = new AbortController();
  const kept = keepLease(lease, context, stop.signal);
  try {
    return await work();
  } finally {
    stop.abort();
    await kept;
    await endLease(lease, context, signals.hurry);
  }
}

function usual({ body, data }: Answer): CredentialVariables {
  const variables = credentialVariables(isObject(body) ? body["mount_type"] : undefined, data);
  if (variables !== null) return variables;
  const members = isObject(data) ? Object.keys(data).slice(0, 20).join(", ") : "";
  throw new AdvisedFailure(
    "invalid",
    "no-usual-names",
    "the answer holds no credentials of a cloud, and no -env says how to call what it holds",
    members === "" ? "check the path" : `give -env NAME=MEMBER; there is ${members}`,
  );
}

function chosen(
  env: readonly (readonly [string, string])[],
  { data }: Answer,
): CredentialVariables {
  const set = env.map(([name, member]) => {
    const value = memberOf(data, member);
    if (value === undefined || value === null) throw noField(member, data, `-env ${name}: `);
    const text = typeof value === "string" ? value : showValue(value);
    if (text.includes("\0")) throw new UsageError(`-env ${name}: ${member} holds a zero byte`);
    return [name, text, member] as const;
  });
  return { set, unset: [] };
}

/** A system takes so many bytes of one variable (Linux: 128 KiB), and so many of all together. */
function tooLarge(program: string, handed: readonly Variable[]): [message: string, next: string] {
  const sizes = handed.map(([name, value, from = name]) => ({
    from,
    size: Buffer.byteLength(value),
  }));
  const [first] = sizes.toSorted((a, b) => b.size - a.size);
  const largest = first === undefined ? "" : `; ${first.from} has ${first.size} bytes`;
  return [
    `${program} cannot be run: its environment and arguments are too large for this system${largest}`,
    "leave it out, and let the program read it from a file: `holdfast kv get -field NAME PATH > FILE`",
  ];
}

// What a login sets and programs go by. A secret may well have a "user", so that it is no reason to refuse.
const OF_THE_SESSION =
  /^(?:USER|LOGNAME|USERNAME|MAIL|HOSTNAME|PWD|TERM|TZ|LANG|LC_.*|TMPDIR|DISPLAY)$/;

function warnOfReplaced({ settings, out }: Context, set: CredentialVariables["set"]): void {
  const names = set.map(([name]) => name);
  const replaced = names.filter(
    (name) => OF_THE_SESSION.test(name) && settings.env[name] !== undefined,
  );
  if (replaced.length === 0) return;
  out.warn(
    `the secret replaces ${replaced.join(", ")} of the environment; -prefix TEXT keeps both`,
  );
}

/** Ours with the credentials, and without the token: it could do more than they can. */
function environmentOf(
  { settings }: Context,
  { set, unset }: CredentialVariables,
): Record<string, string | undefined> {
  // The start of ours sets NODE_COMPILE_CACHE: another program of Node's would write into our directory.
  const withheld = ["HOLDFAST_TOKEN", settings.tokenVariable ?? "", "NODE_COMPILE_CACHE", ...unset];
  const inherited = Object.entries(settings.env).filter(([name]) => !withheld.includes(name));
  return {
    ...Object.fromEntries(inherited),
    ...Object.fromEntries(set.map(([name, value]) => [name, value])),
  };
}
