// What is registered, as the command line describes it: flags, variables of the environment, and the sum of a file.

import { createHash } from "node:crypto";
import { join } from "node:path";
import * as introspection from "@holdfast/client/api/introspection";
import type * as plugins from "@holdfast/client/api/plugins";
import { ApiError } from "@holdfast/client/api-error";
import type { Context } from "../command.ts";
import { flag, type FlagValues } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

const MAX_FILE = 2 ** 30;

export const DESCRIBING_FLAGS = {
  command: flag.string("File in the server's plugin directory (NAME)", "FILE"),
  args: flag.string("An argument that it is started with", "ARGUMENT").repeated(),
  env: flag
    .string("A variable to start it with: its value is taken from the environment here", "NAME")
    .repeated(),
  sha256: flag.string(
    "SHA-256 of the file (taken from the file, where it can be read here)",
    "SUM",
  ),
  file: flag.file("The same file here, to take the sum of"),
  ociImage: flag.string(
    "Image to run it from, in a container; -sha256 is then that of its configuration",
    "IMAGE",
  ),
  runtime: flag.string("Plugin runtime for the image", "NAME"),
  network: flag.oneOf(["none", "host"], "What the container reaches (none)"),
};

type Described = FlagValues<typeof DESCRIBING_FLAGS>;
type Registered = Omit<plugins.RegisterPluginInput, "type" | "name" | "version" | "verify">;

/** Whether any of them was given. */
export function isDescribed({
  command,
  args,
  env,
  sha256,
  file,
  ociImage,
  runtime,
  network,
}: Described): boolean {
  const single = [command, sha256, file, ociImage, runtime, network];
  return single.some((one) => one !== undefined) || args.length > 0 || env.length > 0;
}

export async function described(
  context: Context,
  name: string,
  flags: Described,
): Promise<Registered> {
  const { args, env, ociImage, runtime, network } = flags;
  const command = flags.command ?? (ociImage === undefined ? name : undefined);
  const sha256 = flags.sha256 ?? (await sumOf(context, command, flags));
  return {
    sha256,
    ...(command === undefined ? {} : { command }),
    ...(args.length === 0 ? {} : { args }),
    ...(env.length === 0 ? {} : { env: env.map((one) => variable(context, one)) }),
    ...(ociImage === undefined ? {} : { oci_image: ociImage }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(network === undefined ? {} : { network }),
  };
}

/** Never from the command line, where everybody on the machine reads it. */
export function variable({ settings }: Pick<Context, "settings">, name: string): string {
  if (name.includes("=")) {
    throw new UsageError(
      "-env takes the name of a variable, whose value is taken from the environment: on a command line others read it",
      "export the variable, then give -env NAME",
    );
  }
  const value = Object.hasOwn(settings.env, name) ? settings.env[name] : undefined;
  if (value === undefined) throw new UsageError(`-env ${name}: there is no such variable here`);
  return `${name}=${value}`;
}

async function sumOf(
  context: Context,
  command: string | undefined,
  { file, ociImage }: Described,
): Promise<string> {
  const { files, out } = context;
  if (ociImage !== undefined) {
    throw new UsageError("-sha256 is missing", "give the sum of the image's configuration");
  }
  const path = file ?? (await fileOnServer(context, command ?? ""));
  if (path === null || (file === undefined && !files.isFile(path))) {
    const where = path === null ? "the file cannot be read here" : `no ${path} can be read here`;
    throw new UsageError(
      `-sha256 is missing, and ${where}`,
      "copy the file there where this is the server's machine; else give -sha256, or with -file a copy of the file to take it of",
    );
  }
  const sum = createHash("sha256").update(files.read(path, MAX_FILE)).digest("hex");
  out.hint(`SHA-256 of ${path}: ${sum}`);
  return sum;
}

/** Where it is where the server is on this machine, and says where its plugins are. */
async function fileOnServer({ client }: Context, command: string): Promise<string | null> {
  if (command === "" || command.includes("/")) return null;
  try {
    const { data } = await introspection.readSanitizedConfig(client.inRoot().unwatched());
    const directory = data["plugin_directory"];
    if (typeof directory !== "string") return null;
    return join(directory, command);
  } catch (error) {
    if (error instanceof ApiError) return null; // it need not tell
    throw error;
  }
}
