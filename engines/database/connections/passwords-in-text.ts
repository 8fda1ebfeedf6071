// Passwords in the texts of a configuration, in one of the forms that addresses have: reads show such a text, so it must hold
// none. What could be read in two ways holds one where either says so.

import { isObject, type JsonValue } from "@holdfast/shared/json/json";

/** In place of {{username}} and {{password}}. */
const USERNAME = "\u0001";
const PASSWORD = "\u0002";

const SHORTEST = 6; // a shorter one may be found in any text
const ENCODED_AT_MOST = 3; // times

/** Where in it the first text is that holds one; null: nowhere. `password`: one that is known. */
export function passwordIn(
  value: JsonValue | undefined,
  place: string,
  password: string,
): string | null {
  if (typeof value === "string") return holdsPassword(value, password) ? place : null;
  for (const [name, one] of membersOf(value)) {
    if (isSecretName(name)) continue; // nobody is shown it
    const found = passwordIn(one, `${place}.${name}`, password);
    if (found !== null) return found;
  }
  return null;
}

function membersOf(value: JsonValue | undefined): [name: string, value: JsonValue | undefined][] {
  if (Array.isArray(value)) return Object.entries(value as readonly JsonValue[]);
  return value !== undefined && isObject(value) ? Object.entries(value) : [];
}

/** What is a secret by its name, whatever a plugin says. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name.replaceAll(/[_.-]/g, ""));
}
const SECRET =
  /(?:password|passwd|pwd|passphrase|secret|token|privatekey|apikey|accesskey|secretkey|credentials|serviceaccountjson|certificatekey|pembundle|pemjson)$/i;

export function holdsPassword(text: string, password: string): boolean {
  const places = text
    .replaceAll(/\{\{\s*\.?(?:user)?name\s*\}\}/gi, USERNAME)
    .replaceAll(/\{\{\s*\.?password\s*\}\}/gi, PASSWORD);
  return [...readings(places)].some(
    (read) =>
      (password.length >= SHORTEST && read.includes(password)) ||
      passwordsOfLogins(read).some((one) => one !== "" && one !== PASSWORD) ||
      isAmongPairs(read),
  );
}

/** As it is, and with what is written in bytes as what that means. */
function* readings(text: string): Iterable<string> {
  let read = text;
  for (let times = 0; times <= ENCODED_AT_MOST; times++) {
    yield read;
    const next = read.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, (all) =>
      Buffer.from(all.replaceAll("%", ""), "hex").toString(),
    );
    if (next === read) return;
    read = next;
  }
}

/** Of scheme://user:password@host, user:password@tcp(host), user/password@host. */
function passwordsOfLogins(text: string): string[] {
  const [first = "", ...addresses] = text.split(/(?:^|(?<=[a-z0-9]:|@))\/\//i);
  return [...plainLogin(first), ...addresses.flatMap(loginOf)];
}

/** Of several hosts each may have its own. */
function loginOf(address: string): string[] {
  const [authority = ""] = /^[^/?#]*/.exec(address) ?? [];
  // A password that holds / ? or # goes on behind what others take for the host.
  const at = authority.includes("@") ? authority.lastIndexOf("@") : address.lastIndexOf("@");
  return at < 0 ? [] : [address.slice(0, at).replace(/^[^:]*:?/, "")];
}

function plainLogin(text: string): string[] {
  const bare = text.replace(/^jdbc:(?:[a-z0-9]+:)+/i, "");
  if (isPairs(bare) || bare.startsWith(`${USERNAME}:${PASSWORD}@`)) return [];
  const at = bare.lastIndexOf("@");
  return at < 0 ? [] : [bare.slice(0, at).replace(/^[^:/]*[:/]?/, "")];
}

function isPairs(text: string): boolean {
  return /^\s*[A-Za-z_][\w. -]*=/.test(text);
}

const NAME = "(?:password|passwd|pwd|passphrase|secret|token|api_?key)";
const QUOTED = `"(?:[^"\\\\]|\\\\[^])*"?|'(?:[^'\\\\]|\\\\[^]|'')*'?`;
/** A comma ends it where another pair follows. */
const BARE = `(?:[^\\s&;,)}]|,(?!\\s*[\\w.-]+\\s*=))+`;
const PAIR = new RegExp(`${NAME}["']?\\s*(?:=|(?<=["']\\s*):)\\s*(${QUOTED}|${BARE})`, "gi");

/** name=value in an address or a list of pairs, or "name":value. */
function isAmongPairs(text: string): boolean {
  return [...text.matchAll(PAIR)].some(([, value = ""]) => {
    const bare = value.replace(/^(["'])([^]*)\1$/, "$2");
    return bare !== "" && bare !== PASSWORD;
  });
}
