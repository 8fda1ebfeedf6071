// `holdfast login`: ways to log in, and what each asks of the person. Passwords come from a prompt, a file or
// standard input, never from the command line.

import { describe } from "@holdfast/shared/failure";
import type { JsonObject } from "@holdfast/shared/json/json";
import { Secret } from "@holdfast/shared/secret";
import * as tokens from "@holdfast/client/api/tokens";
import type * as userpass from "@holdfast/client/api/userpass";
import type { Answer, Client } from "@holdfast/client/client";
import { rememberAddresses } from "@holdfast/client/node/token-address";
import { probeTokenFile, writeTokenFile } from "@holdfast/client/node/token-file";
import { AdvisedFailure } from "../advice/advised-failure.ts";
import { command, type Context } from "../command.ts";
import { argument } from "../line/argument.ts";
import { readValue, type Sources } from "../line/data-arguments.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";
import { secondsText } from "../terminal/relative-time.ts";
import { checkToken } from "../token/check.ts";

const METHODS = ["token", "userpass", "approle"] as const;
type LoginMethod = Exclude<(typeof METHODS)[number], "token">;

const MAX_SECRET = 64 * 1024;

interface Method {
  /** Told on the command line. */
  readonly name: string;
  readonly secret: string;
  readonly label: string;
  /** A role may be without. */
  readonly secretOptional: boolean;
  /** Has no blanks, so that those around it in a file are none of it. A password is what it is. */
  readonly wordOnly: boolean;
  login(mount: string, name: string, secret: string | null): LoginRequest;
}

/** Sent when everything was asked for that it takes. */
type LoginRequest = (client: Client) => Promise<Answer<userpass.LoginAnswer>>;

const WAYS: Readonly<Record<LoginMethod, Method>> = {
  userpass: {
    name: "username",
    secret: "password",
    label: "Password",
    secretOptional: false,
    wordOnly: false,
    login: (mount, username, password) => async (client) => {
      const { login: logIn } = await import("@holdfast/client/api/userpass");
      return logIn(client, mount, { username, password: password ?? "" });
    },
  },
  approle: {
    name: "role_id",
    secret: "secret_id",
    label: "Secret id",
    secretOptional: true,
    wordOnly: true,
    login: (mount, role_id, secret) => async (client) => {
      const { login: logIn } = await import("@holdfast/client/api/approle");
      return logIn(client, mount, { role_id, ...(secret === null ? {} : { secret_id: secret }) });
    },
  },
};

/** `pairs` are name=value arguments; `path` is where the method is mounted, its name if not told. */
async function loginRequest(
  context: Sources,
  method: LoginMethod,
  path: string | undefined,
  pairs: readonly string[],
): Promise<LoginRequest> {
  const way = WAYS[method];
  const fields = fieldsOf(way, pairs);
  const name = fields.get(way.name);
  if (name === undefined || name === "") {
    throw new UsageError(`${way.name} is missing: give ${way.name}=…`);
  }
  const secret = await secretOf(context, way, fields.get(way.secret));
  return way.login((path ?? method).replace(/^\/*auth\//, ""), name, secret);
}

function fieldsOf({ name, secret }: Method, pairs: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const one of pairs) {
    const at = one.indexOf("=");
    const field = one.slice(0, Math.max(0, at));
    // Not repeated: it may be a password that lost its name.
    if (field !== name && field !== secret) {
      throw new UsageError(`arguments are ${name}=…, and ${secret}=@FILE or ${secret}=-`);
    }
    fields.set(field, one.slice(at + 1));
  }
  return fields;
}

async function secretOf(
  context: Sources,
  { secret, label, secretOptional, wordOnly }: Method,
  from: string | undefined,
): Promise<string | null> {
  const { prompt } = context;
  if (from === "-" || from?.startsWith("@") === true) {
    if (wordOnly && from === "-") return (await prompt.piped(label.toLowerCase())).reveal();
    if (wordOnly) return context.files.text(from.slice(1), MAX_SECRET).trim();
    return readValue(secret, from, context);
  }
  if (from !== undefined) {
    throw new UsageError(
      `a ${secret} is not taken from the command line: it would stay in the shell's history`,
      `leave it out to be asked, or give ${secret}=@FILE or ${secret}=- for standard input`,
    );
  }
  if (secretOptional && !prompt.interactive) return null;
  if (!prompt.interactive) {
    throw new UsageError(
      `there is no terminal to ask for the ${secret} on`,
      `give ${secret}=- with it on standard input, or ${secret}=@FILE`,
    );
  }
  const typed = await prompt.secret(label, { exact: true });
  const text = typed?.reveal() ?? "";
  if (text !== "") return text;
  if (secretOptional) return null;
  throw new UsageError(`no ${secret} was given`);
}

export const login = command({
  name: "login",
  summary: "Log in, or check a token, and keep the token for later commands",
  description:
    "Asks for the token without showing it, or reads it from standard input. The server is asked " +
    "whether it knows the token; then it is kept in ~/.holdfast-token, readable by you alone. With " +
    "-method userpass or approle the server makes the token: give username=… or role_id=…; password " +
    "and secret_id are asked for, or come from a file (@FILE) or standard input (-).",
  examples: [
    "holdfast login",
    "holdfast login - < token.txt",
    "holdfast login -method userpass username=anna",
    "holdfast login -method approle -path ci role_id=5b1c2b0e secret_id=@secret-id",
    "holdfast login -no-store -field token -method userpass username=anna password=-",
  ],
  flags: {
    method: flag.oneOf(METHODS, "How to log in").default("token"),
    path: flag.string("Where the method is mounted below auth/ (its name)", "PATH"),
    noStore: flag.switch("Keep nothing; a token that was made is shown instead"),
  },
  args: { given: argument.rest("- for the token on standard input; name=value with -method") },
  async run(context, { method, path, noStore, given: words }) {
    if (!noStore) probeTokenFile(context.fs, context.settings.tokenFile);
    if (method === "token") {
      if (path !== undefined) throw new UsageError("-path goes with -method userpass or approle");
      return withToken(context, words, noStore);
    }
    return byMethod(context, method, path, words, noStore);
  },
});

async function withToken(
  context: Context,
  words: readonly string[],
  noStore: boolean,
): Promise<void> {
  const { client, out, prompt } = context;
  const [from] = words;
  if (words.length > 1 || (from !== undefined && from !== "-")) {
    throw new UsageError(
      "a token is not taken from the command line: it would stay in the shell's history",
      "run `holdfast login` and type it, or `holdfast login -` with it on standard input",
    );
  }
  const token = from === "-" ? await prompt.piped("token") : await prompt.secret("Token");
  if (token === null || token.reveal() === "") throw new UsageError("no token was given");
  const { valid, by, name, expires } = await checkToken(client.withToken(token));
  if (valid === false) {
    const next = "check the token, -address and -namespace: it may be expired, or another server's";
    throw new AdvisedFailure(
      "denied",
      "token-not-accepted",
      "the server does not know this token",
      next,
    );
  }
  if (valid === null) out.warn("the server has no endpoint that could tell whether it is valid");
  else out.hint(`The server knows this token (read ${by}).`);
  const stored = noStore ? null : keep(context, token);
  await out.show(
    { valid, display_name: name, expire_time: expires, stored_in: stored },
    {
      text:
        stored === null
          ? "The token is good; it was not kept."
          : `Logged in. The token is kept in ${stored}; other commands use it from now on.`,
      flows: () => true,
    },
  );
}

async function byMethod(
  context: Context,
  method: LoginMethod,
  path: string | undefined,
  pairs: readonly string[],
  noStore: boolean,
): Promise<void> {
  const { client, out } = context;
  const request = await loginRequest(context, method, path, pairs);
  // Without the present token: it has nothing to do with who logs in.
  const { data: auth, body } = await request(client.withToken(null));
  const stored = noStore ? null : await keptOrEnded(context, new Secret(auth.client_token));
  if (stored !== null) {
    out.hint(`Logged in. The token is kept in ${stored}; other commands use it from now on.`);
  }
  const facts = factsOf(auth);
  const { token: _, ...visible } = facts;
  await out.show(body, { pairs: Object.entries(stored === null ? facts : visible) }, facts);
}

/** Under the names that other commands show. */
function factsOf(auth: userpass.LoginAnswer): JsonObject {
  const { client_token, accessor, policies, lease_duration, renewable, metadata } = auth;
  return {
    token: client_token,
    token_accessor: accessor,
    token_duration: lease_duration === 0 ? "without end" : secondsText(lease_duration),
    token_renewable: renewable,
    token_policies: policies,
    ...(Object.keys(metadata).length > 0 ? { token_metadata: metadata } : {}),
  };
}

/** A token that cannot be kept is nobody's, and would live on: it is ended. */
async function keptOrEnded(context: Context, token: Secret<string>): Promise<string> {
  try {
    return keep(context, token);
  } catch (error) {
    const { client, out } = context;
    try {
      await tokens.authTokenRevokeSelf(client.withToken(token));
    } catch (failed) {
      out.warn(`the new token could not be ended: ${describe(failed)}`);
    }
    throw error;
  }
}

function keep({ fs, settings, out }: Context, token: Secret<string>): string {
  rememberAddresses(fs, settings.tokenFile, token, [settings.address.value.display]);
  writeTokenFile(fs, settings.tokenFile, token);
  const other = settings.tokenVariable;
  if (other !== null) out.warn(`${other} is set and goes before the token just kept`);
  return settings.tokenFile;
}
