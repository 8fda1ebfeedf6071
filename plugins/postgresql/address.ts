// connection_url, as the database's own tools read it: an address, or pairs. It is taken apart first, and the login put in its
// places then: whatever a user name or a password holds, it is nothing but that.

import { refuse } from "./refusal.ts";

export interface Login {
  readonly username: string;
  readonly password: string;
  /** What the text itself says of the login is not written in bytes. */
  readonly isRaw: boolean;
}

/** By the names that the database's own tools have. */
export type Address = Readonly<Record<string, string | undefined>>;

export function readAddress(text: string, login: Login): Address {
  const parts = /^postgres(?:ql)?:\/\//i.test(text) ? readUrl(text, login) : readPairs(text, login);
  for (const [name, value] of Object.entries(parts)) {
    if (value.includes("\0")) throw refuse(`${name} holds a zero byte, which ends a text there`);
  }
  return parts;
}

const PLACEHOLDER = /(\{\{\s*(?:username|name|password)\s*\}\})/;

/** Elsewhere others could read it, or it would say where. */
const PLACES: Readonly<Record<"username" | "password", readonly string[]>> = {
  username: ["user", "dbname"],
  password: ["password"],
};

/** A part of the text with the login in its places. `read`: what is meant by the rest. */
function filled(name: string, text: string, login: Login, read: (piece: string) => string): string {
  return text
    .split(PLACEHOLDER)
    .map((piece) => {
      if (!PLACEHOLDER.test(piece)) return read(piece);
      const kind = piece.includes("password") ? "password" : "username";
      if (PLACES[kind].includes(name)) return login[kind];
      throw refuse(
        `connection_url: {{${kind}}} stands for the ${PLACES[kind].join(" or ")}, and not for the ${name}`,
      );
    })
    .join("");
}

const ADDRESS = /^[a-z]+:\/\/(?:([^/?#]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;

function readUrl(text: string, login: Login): Record<string, string> {
  const found = ADDRESS.exec(text);
  if (found === null)
    throw refuse("connection_url is no address of the form postgresql://HOST:PORT/DATABASE");
  const [, who = "", place = "", path = "", query = ""] = found;
  const parts: Record<string, string> = {};
  const put = (name: string, value: string, read: (piece: string) => string = decoded) => {
    const part = filled(name, value, login, read);
    if (part !== "") parts[name] = part;
  };
  const colon = who.indexOf(":");
  const own = login.isRaw ? (piece: string) => piece : decoded;
  put("user", colon < 0 ? who : who.slice(0, colon), own);
  put("password", colon < 0 ? "" : who.slice(colon + 1), own);
  const places = place === "" ? [] : place.split(",").map(hostAndPort);
  put("host", places.map(([host]) => host).join(","));
  const hasPorts = places.some(([, port]) => port !== "");
  put("port", hasPorts ? places.map(([, port]) => port).join(",") : "");
  put("dbname", path);
  for (const pair of query === "" ? [] : query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals < 0) throw refuse("connection_url: a parameter has no value");
    put(decoded(pair.slice(0, equals)), pair.slice(equals + 1));
  }
  return parts;
}

/** An address of numbers with colons stands in brackets. */
function hostAndPort(place: string): [host: string, port: string] {
  const [, bracketed, plain = "", port = ""] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(place) ?? [];
  if (bracketed === undefined && plain === "" && place !== "") {
    throw refuse("connection_url: a host is a name or an address, with a port after a colon");
  }
  return [bracketed ?? plain, port];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse(
      "connection_url: a percent sign stands before two digits; write %25 for the sign itself",
    );
  }
}

const PAIR =
  /\s*([A-Za-z_]+)\s*=\s*(?:'((?:[^'\\]|\\[^])*)'|((?:\{\{[^{}]*\}\}|[^\s'\\]|\\[^])*))(?=\s|$)/y;

/** name=value name='va lue' */
function readPairs(text: string, login: Login): Record<string, string> {
  const parts: Record<string, string> = {};
  for (let at = 0; text.slice(at).trim() !== ""; at = PAIR.lastIndex) {
    PAIR.lastIndex = at;
    const found = PAIR.exec(text);
    if (found === null) {
      throw refuse("connection_url must be postgresql://… or pairs such as host=… port=… dbname=…");
    }
    const [, name = "", inQuotes, bare = ""] = found;
    const read = (piece: string) => piece.replaceAll(/\\([^])/g, "$1");
    parts[name] = filled(name, inQuotes ?? bare, login, read);
  }
  return parts;
}
