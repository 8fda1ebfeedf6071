// Flags of `holdfast server`, for completion alone: the main program reads them, and refuses what is wrong with them.

import { flag, type Flags } from "./line/flag.ts";

export const SERVER_FLAGS: Flags = {
  config: flag.file("A configuration file, or a directory of them"),
  configLenient: flag.switch("Unknown keys are warnings, not errors"),
  validate: flag.switch("Check, then exit"),
  logLevel: flag.oneOf(["debug", "info", "warn", "error", "off"], "How much the log tells"),
  dev: flag.switch("Run in development mode"),
  devRootTokenId: flag.string("Use this root token"),
  devListenAddress: flag.string("Listen here", "HOST:PORT"),
  devPersist: flag.file("Keep data in this directory"),
  devTls: flag.switch("TLS with a certificate made for the occasion"),
  devClouds: flag.switch("With stand-ins for both clouds"),
  devReplica: flag.oneOf(["dr", "performance", "four"], "With further clusters"),
  devPlugin: flag.file("With a plugin in TypeScript, built when it is saved"),
  devPluginDir: flag.file("With every program of a directory that is a plugin"),
  devPluginReattach: flag.string("With plugins that run already"),
  devInsecureListen: flag.switch("Allow an address that other machines can reach"),
};
