// The declaration of a command: name, help, flags, arguments, and what it does. Parsing, help and
// completion are derived from it. A command gives its data to `out` and throws a Failure; lines on
// standard error and exit codes are run.ts's.

import type { Clock, Fs, Timers } from "@holdfast/shared/world";
import type { Client } from "@holdfast/client/client";
import type { Argument, Arguments, ArgumentValues } from "./line/argument.ts";
import type { ChildCommands, PassedSignal } from "./exec/child-command.ts";
import type { Flag, Flags, FlagValues } from "./line/flag.ts";
import type { Settings } from "./settings.ts";
import type { Output } from "./terminal/output.ts";
import type { Prompt } from "./terminal/prompt.ts";
import type { UserFiles } from "./line/user-file.ts";

export interface Context {
  /** Made when first asked for: reads the token file. */
  readonly client: Client;
  /** The same server without a token: nothing is said of one that is kept, and for another server. */
  readonly anonymous: Client;
  /** With a token where there is one for this server, for what anybody may ask: nothing is said where there is none. */
  readonly openly: Client;
  readonly settings: Settings;
  readonly out: Output;
  readonly prompt: Prompt;
  readonly files: UserFiles;
  readonly fs: Fs;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly children: ChildCommands;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether keys such as Ctrl-C come from a terminal that we share with the commands we run. */
  readonly onTerminal: boolean;
  /** Hears of a signal, which then does nothing by itself, until what it returns is called. */
  onSignal(name: PassedSignal, call: () => void): () => void;
  /**
   * For work without an end of its own: Ctrl-C, or a reader of the output that goes away, aborts the
   * signal and throws Interrupted.
   */
  untilInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** How far long work has come: on a terminal, in place of what requests would show; until `quiet`. */
  progress(text: string): void;
  quiet(): void;
}

interface Declaration<F extends Flags, A extends Arguments> {
  /** Words on the command line: "operator init". */
  readonly name: string;
  readonly summary: string;
  readonly description?: string;
  readonly examples: readonly string[];
  readonly flags: F;
  readonly args: A;
  /** Whether what it sends goes to the region that -region names. Default: to none, and the flag is refused. */
  readonly takesRegion?: (input: FlagValues<F> & ArgumentValues<A>) => boolean;
  /** Sends no token, so that it does not matter whether there is one, and for whom. */
  readonly withoutToken?: boolean;
  /** An exit code, or nothing for success. */
  run(
    context: Context,
    input: FlagValues<F> & ArgumentValues<A>,
  ): Promise<number | undefined> | Promise<void>;
}

/** A declaration with its types forgotten. */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly examples: readonly string[];
  readonly flags: Readonly<Record<string, Flag<unknown>>>;
  readonly args: Readonly<Record<string, Argument<unknown>>>;
  takesRegion(input: Readonly<Record<string, unknown>>): boolean;
  readonly withoutToken: boolean;
  run(context: Context, input: Readonly<Record<string, unknown>>): Promise<number>;
}

export function command<F extends Flags, A extends Arguments>(
  declared: Declaration<F, A>,
): Command {
  const { name, summary, description = "", examples, flags, args } = declared;
  const { withoutToken = false } = declared;
  return {
    name,
    summary,
    description,
    examples,
    flags,
    args,
    withoutToken,
    // Flags and arguments were read by the very declarations that this type is derived from.
    takesRegion: (input) =>
      declared.takesRegion?.(input as FlagValues<F> & ArgumentValues<A>) ?? false,
    run: async (context, input) =>
      (await declared.run(context, input as FlagValues<F> & ArgumentValues<A>)) ?? 0,
  };
}
