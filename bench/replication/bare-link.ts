// What the same bytes cost on the same machine where nothing but Node's HTTP/2 over TLS 1.3 carries them, to a process that
// throws them away: no sender of ours can take less.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { TestAuthority } from "../../tests/support/certificates.ts";

const PROGRAM = join(import.meta.dirname, "bare-link-process.ts");
const LARGEST = 1024 * 1024;

export class BareLink {
  readonly #server: Http2SecureServer;
  readonly #child: ChildProcess;
  readonly #stream: ServerHttp2Stream;
  readonly #bytes = Buffer.alloc(LARGEST, 7);

  private constructor(server: Http2SecureServer, child: ChildProcess, stream: ServerHttp2Stream) {
    this.#server = server;
    this.#child = child;
    this.#stream = stream;
  }

  static async open(): Promise<BareLink> {
    const authority = await TestAuthority.make();
    const server = createSecureServer({
      ...(await authority.issue("localhost")),
      minVersion: "TLSv1.3",
    });
    server.on("secureConnection", (socket) => socket.setNoDelay());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const came = once(server, "stream");
    const child = spawn(process.execPath, [...process.execArgv, PROGRAM, String(port)], {
      stdio: ["ignore", 2, 2, "ipc"],
    });
    const [stream] = (await came) as [ServerHttp2Stream];
    stream.respond({ ":status": 200 });
    return new BareLink(server, child, stream);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** One message. */
  send(length: number): void {
    this.#stream.write(this.#bytes.subarray(0, Math.min(length, LARGEST)));
  }

  async close(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.disconnect();
    await exit;
    this.#server.close();
  }
}
