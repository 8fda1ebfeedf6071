// Where the server is, out of what a person wrote: http, https, or a Unix socket. What cannot be an
// address is refused with one that can; a password in it is never shown.

import { Failure } from "@holdfast/shared/failure";

export const DEFAULT_ADDRESS = "http://127.0.0.1:8200";

export interface ServerAddress {
  readonly secure: boolean;
  readonly host: string; // without brackets
  readonly port: number;
  readonly socketPath: string | null;
  /** In front of /v1, for servers behind a path of a proxy; empty or "/a/b". */
  readonly base: string;
  /** For messages. */
  readonly display: string;
}

export function parseServerAddress(text: string): ServerAddress {
  // Programs in JavaScript may leave it out.
  if (typeof text !== "string") throw refused("it is missing");
  if (text.startsWith("unix:")) return socketAddress(text);
  if (!/^https?:\/\//i.test(text)) {
    throw refused('it must begin with "https://", "http://" or "unix://"');
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refused("host or port cannot be read");
  }
  // The password would end up in shell histories and logs, and nothing here asks for one.
  if (url.username !== "" || url.password !== "") throw refused("it may not hold a user name");
  if (url.search !== "" || url.hash !== "") throw refused('it may not hold "?" or "#"');
  const secure = url.protocol === "https:";
  const base = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  return { secure, host, port, socketPath: null, base, display: `${url.origin}${base}` };
}

/** Whether what is sent to it stays on this machine. */
export function isLocal({ host, socketPath }: ServerAddress): boolean {
  return (
    socketPath !== null || host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host)
  );
}

function socketAddress(text: string): ServerAddress {
  const path = text.replace(/^unix:(\/\/)?/, "");
  if (!path.startsWith("/"))
    throw refused("a socket needs its full path: unix:///run/holdfast.sock");
  const display = `unix://${path}`;
  return { secure: false, host: "localhost", port: 80, socketPath: path, base: "", display };
}

function refused(what: string): Failure {
  const message = `the server's address is not valid: ${what}; an example is ${DEFAULT_ADDRESS}`;
  return new Failure("invalid", "address-invalid", message);
}
