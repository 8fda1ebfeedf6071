// Requests as clients should not send them: well-formed ones with something changed, cut or put together
// wrongly, and how their bytes are spread over segments. Everything follows from the seed.

import type { Prng } from "../../sim/prng.ts";

const HOST = "Host: localhost\r\n";
const GOOD: readonly string[] = [
  `GET /v1/sys/health HTTP/1.1\r\n${HOST}\r\n`,
  `LIST /v1/sys/namespaces HTTP/1.1\r\n${HOST}X-Vault-Token: abc\r\nX-Vault-Request: true\r\n\r\n`,
  `GET /v1/sys/namespaces?list=true HTTP/1.1\r\n${HOST}Authorization: Bearer abc\r\n\r\n`,
  `HEAD /v1/sys/health HTTP/1.1\r\n${HOST}\r\n`,
  `POST /v1/sys/unseal HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{"key":"ab"}`,
  `PUT /v1/sys/unseal HTTP/1.1\r\n${HOST}Content-Length: 2\r\nConnection: keep-alive\r\n\r\n{}`,
  `POST /v1/sys/a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n4;x=y\r\n{"a"\r\n3\r\n:1}\r\n0\r\nX-Trailer: 1\r\n\r\n`,
  `PATCH /v1/sys/a HTTP/1.1\r\n${HOST}Content-Type: application/merge-patch+json\r\nContent-Length: 2\r\n\r\n{}`,
  `DELETE /v1/sys/a/b%20c HTTP/1.1\r\n${HOST}X-Service-Namespace: a/b\r\n\r\n`,
  `OPTIONS /v1/sys/a HTTP/1.1\r\n${HOST}Origin: http://localhost\r\nAccess-Control-Request-Method: LIST\r\n\r\n`,
  `POST /acl/token HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`,
  `GET /ui/ HTTP/1.0\r\n${HOST}\r\n`,
  `GET /v1/sys/a HTTP/1.1\r\n${HOST}X-Forwarded-For: 192.0.2.1, 10.0.0.1\r\nX-Service-Wrap-TTL: 5m\r\n\r\n`,
  `GET / HTTP/1.1\r\n${HOST}Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n`,
];

/** What parsers have stumbled over. */
const PIECES: readonly string[] = [
  "\r\n",
  "\n",
  "\r",
  "\0",
  " ",
  "\t",
  ":",
  "\r\n ",
  "\x7f",
  "\xff",
  "LIST ",
  "LINK ",
  "LIS",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "HTTP/1.1",
  "HTTP/9.9",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: identity\r\n",
  "Content-Length: 5\r\n",
  "Content-Length: -1\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "0\r\n\r\n",
  "ffffffff\r\n",
  ";".repeat(300),
  "A".repeat(9000),
  "__proto__: x\r\n",
  "Host: evil.example\r\n",
  "X-Vault-Token: other\r\n",
  "Expect: 100-continue\r\n",
  "%00",
  "%2e%2e/",
  "//",
  "GET /v1/sys/b HTTP/1.1\r\nHost: localhost\r\n\r\n",
  "\x16\x03\x01\x02\x00",
];

const VERBS: readonly string[] = [
  "LIST",
  "LINK",
  "LISK",
  "LIST\t",
  "LISTS",
  "LIS",
  "UNLINK",
  "list",
  "GET",
  "REVOKE",
  "\r\nLIST",
];

/** One request, changed in one place or a few; one in twenty stays as it should be. */
export function mutatedRequest(random: Prng): string {
  let text = random.pick(GOOD);
  if (random.chance(0.05)) return text;
  do text = mutate(text, random);
  while (random.chance(0.35));
  return text;
}

function mutate(text: string, random: Prng): string {
  const at = random.int(text.length + 1);
  const length = random.int(Math.min(20, text.length - at + 1));
  const before = text.slice(0, at);
  const after = text.slice(at);
  switch (random.int(8)) {
    case 0:
      return before + String.fromCharCode(random.int(256)) + after.slice(1);
    case 1:
      return before + random.pick(PIECES) + after;
    case 2:
      return before + after.slice(length);
    case 3:
      return before + after.slice(0, length) + after;
    case 4:
      return before + random.bytes(1 + random.int(8)).toString("latin1") + after;
    case 5: {
      const other = random.pick(GOOD);
      return before + other.slice(random.int(other.length));
    }
    case 6:
      return text.replace(/^[A-Z]+/, random.pick(VERBS));
    default: {
      // A header more, where one may stand.
      const line = text.indexOf("\r\n") + 2;
      return line < 2 ? text : text.slice(0, line) + random.pick(PIECES) + text.slice(line);
    }
  }
}

/** The same bytes in one to four segments. */
export function segments(text: string, random: Prng): string[] {
  if (random.chance(0.6) || text.length < 2) return [text];
  const cuts = Array.from({ length: 1 + random.int(3) }, () => random.int(text.length));
  const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((end, i) => text.slice(places[i], end));
}
