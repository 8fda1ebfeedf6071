// Whether a program is a plugin that this server can run: started, asked and stopped by the very parts that do so for a mount, with
// a storage that is kept nowhere. Nothing is asked of it that writes.

import { OwnError } from "@holdfast/shared/failure";
import { SECOND } from "@holdfast/shared/text/duration";
import type { ChildProcesses, Clock, Nanos } from "@holdfast/shared/world";
import type { HeldProcess, PluginType, Processes, Program } from "../ports.ts";
import { environmentOf } from "../process/environment.ts";
import { tryDatabase } from "./database.ts";
import { tryEngine } from "./engine.ts";
import { type Finding, tried, Watch } from "./finding.ts";
import type { Around } from "./around.ts";

const NEVER = new AbortController().signal;
const ENDS_WITHIN: Nanos = 15n * SECOND; // a busy machine takes its time to start it
/** It is killed when it has not ended by then. */
const STOPS_WITHIN: Nanos = 2n * SECOND;

export interface ConformParts extends Around {
  readonly processes: Processes;
  readonly children: ChildProcesses;
  readonly clock: Clock;
  /** Where it is said to be nothing, what it says itself counts. */
  readonly program: Omit<Program, "type"> & { readonly type: PluginType | null };
  /** The whole path of its file. */
  readonly file: string;
  readonly options: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** One after the other; what follows from one that is wrong is not tried. */
export async function* conform(parts: ConformParts): AsyncGenerator<Finding> {
  const { program, processes } = parts;
  yield await tried("without a server", () => byHand(parts));
  const kind = { type: program.type ?? ("secret" as PluginType), isSaid: program.type !== null };
  const about = await tried("says what it is", async () => {
    const said = await processes.probe({ ...program, type: kind.type }, NEVER);
    if (kind.isSaid && said.kind !== null && said.kind !== kind.type) {
      throw new OwnError(`it is said to be of type ${kind.type}, and says ${said.kind}`);
    }
    if (!kind.isSaid) kind.type = said.kind ?? kind.type;
    if (said.kind === null && !kind.isSaid) {
      return new Watch("does not say whether it is secret or auth; taken for secret, see -type");
    }
    const words = `${kind.type} ${said.version}`.trim();
    return said.version === "" ? new Watch(`${words}, without a version`) : words;
  });
  yield about;
  if (about.result === "wrong") return;
  const known: Program = { ...program, type: kind.type };
  let held: HeldProcess | null = null;
  const start = await tried("starts", async () => {
    const began = parts.clock.elapsed();
    held = await processes.hold(known, "first", NEVER);
    const ms = (parts.clock.elapsed() - began) / 1_000_000n;
    const shared = held.isShared ? "serves several mounts at once" : "a process for each mount";
    return `healthy after ${ms} ms, protocol ${held.protocol}, ${shared}`;
  });
  yield start;
  if (held === null) return;
  const first: HeldProcess = held;
  yield* kind.type === "database"
    ? tryDatabase({ processes, program: known, first })
    : tryEngine({ ...parts, program: known });
  yield await tried("stops", () => stopped(parts, first));
}

/** Whoever runs it from a shell is told, and has nothing that listens. */
async function byHand({
  children,
  file,
  program,
  env,
  timers,
}: ConformParts): Promise<string | Watch> {
  const child = await children.start({
    file,
    args: program.args,
    env: environmentOf({
      ours: env,
      inherits: false,
      entry: program.env,
      protocol: {},
      runtime: children.runtime,
    }),
  });
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  const late = Promise.withResolvers<null>();
  const timer = timers.after(ENDS_WITHIN, () => late.resolve(null));
  const exit = await Promise.race([child.exited, late.promise]);
  timer.cancel();
  if (exit === null) {
    child.killGroup();
    throw new OwnError("it was started without the words of a server, and goes on running");
  }
  if (exit.signal !== null)
    return new Watch(`was ended by ${exit.signal} when nobody had it serve`);
  return exit.code === 0
    ? new Watch("exits with code 0, as if it had done something")
    : `exits with code ${exit.code}`;
}

async function stopped({ clock }: ConformParts, held: HeldProcess): Promise<string> {
  if (held.end !== null) throw new OwnError(`it has ended before: ${held.end.cause}`);
  const began = clock.elapsed();
  await held.release();
  await held.ended;
  const took = clock.elapsed() - began;
  if (took >= STOPS_WITHIN)
    throw new OwnError("it did not end when it was told to (Shutdown), and was killed");
  return `ended ${took / 1_000_000n} ms after it was told to`;
}
