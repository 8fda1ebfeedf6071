// Ways to log in: what each asks of the person, and of the API. Passwords come from a prompt, a file or
// standard input, never from the command line.

import type { Answer, Client } from "@holdfast/client/client";
import * as approle from "@holdfast/client/api/approle";
import * as userpass from "@holdfast/client/api/userpass";
import { readValue, type Sources } from "./data-arguments.ts";
import { UsageError } from "./usage-error.ts";

export const METHODS = ["token", "userpass", "approle"] as const;
export type LoginMethod = Exclude<(typeof METHODS)[number], "token">;

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
export type LoginRequest = (client: Client) => Promise<Answer<userpass.LoginAnswer>>;

const WAYS: Readonly<Record<LoginMethod, Method>> = {
  userpass: {
    name: "username",
    secret: "password",
    label: "Password",
    secretOptional: false,
    wordOnly: false,
    login: (mount, username, password) => (client) =>
      userpass.login(client, mount, { username, password: password ?? "" }),
  },
  approle: {
    name: "role_id",
    secret: "secret_id",
    label: "Secret id",
    secretOptional: true,
    wordOnly: true,
    login: (mount, role_id, secret) => (client) =>
      approle.login(client, mount, { role_id, ...(secret === null ? {} : { secret_id: secret }) }),
  },
};

/** `given` are name=value arguments; `path` is where the method is mounted, its name if not told. */
export async function loginRequest(
  context: Sources,
  method: LoginMethod,
  path: string | undefined,
  given: readonly string[],
): Promise<LoginRequest> {
  const way = WAYS[method];
  const fields = fieldsOf(way, given);
  const name = fields.get(way.name);
  if (name === undefined || name === "") {
    throw new UsageError(`${way.name} is missing: give ${way.name}=…`);
  }
  const secret = await secretOf(context, way, fields.get(way.secret));
  return way.login((path ?? method).replace(/^\/*auth\//, ""), name, secret);
}

function fieldsOf({ name, secret }: Method, given: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const one of given) {
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
