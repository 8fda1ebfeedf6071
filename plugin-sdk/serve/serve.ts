// An engine as a program of its own: `serve(type)` at the end of its file, and whoever starts plugins of the ecosystem can start
// it. The same type is built in by being named in the server.

import { writeSync } from "node:fs";
import { ClientSession } from "@holdfast/shared/grpc/client-session";
import type { EngineType } from "../engine.ts";
import { ENGINE_COOKIE, ENGINE_PROTOCOLS } from "../wire/handshake.ts";
import { AUTHORITY, PLUGIN_LIMITS } from "../wire/limits.ts";
import { unservedOf } from "./describe.ts";
import { reach } from "./door.ts";
import { Numbered } from "./numbered.ts";
import { timers } from "./own-world.ts";
import { Services } from "./plugin-calls.ts";
import { runPlugin } from "./plugin-process.ts";

/** Asked by whoever has built it. */
const ABOUT = "--about";

const HINT = `This program is a plugin: a server starts it, nobody runs it by hand.
Register it and mount it:
  holdfast plugin register -command=FILE -sha256=SUM secret NAME
  holdfast secrets enable NAME
`;

/** Resolves when it can be reached; the process then lives as long as its host wants it. */
export async function serve<E>(type: EngineType<E>): Promise<void> {
  if (process.argv[2] === ABOUT) {
    const { type: name, kind, version } = type;
    const refused = unservedOf(type);
    writeSync(1, `${JSON.stringify({ type: name, kind, version, refused })}\n`);
    process.exit(0);
  }
  await runPlugin({
    name: type.type,
    cookie: ENGINE_COOKIE,
    protocols: ENGINE_PROTOCOLS,
    hint: HINT,
    serve: ({ log, env, world, certificates, leave }) => {
      const numbered = new Numbered(timers);
      const services = new Services({
        type,
        log,
        environment: env,
        isProbed: env["VAULT_PLUGIN_METADATA_MODE"] === "true",
        reach: async (id) => {
          const socket = await reach(await numbered.address(id), certificates);
          return new ClientSession(socket, AUTHORITY, world, PLUGIN_LIMITS);
        },
        announced: (id, address) => numbered.announced(id, address),
        leave,
      });
      return { services: services.all(), close: () => services.close() };
    },
  });
}
